package docs_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/testing/llmtest"
)

// block is a fenced block of a page.
type block struct {
	line     int    // of its opening fence
	language string // "" where the fence names none
	notRun   string // why its commands are not run, from <!-- not run: why --> above it; "" where they are
	text     string
}

// ranBeside are the commands that CI runs beside this test, as steps of their own or with it in them.
var ranBeside = regexp.MustCompile(`(?m)^make (test|race|verify) .*\n`)

// ownModule matches the command by which a page makes a module in a folder of that name, in which its programs in Go are.
var ownModule = regexp.MustCompile(`(?m)^go mod init (\w+)$`)

const (
	notRun       = "<!-- not run: "
	serveCommand = "bin/strata serve" // it runs until the page is through
)

func blocks(page string) []block {
	var all []block
	open := -1
	why := ""
	for i, l := range strings.Split(page, "\n") {
		fence, isFence := strings.CutPrefix(l, "```")
		switch {
		case isFence && open < 0:
			all, open = append(all, block{line: i + 1, language: fence, notRun: why}), len(all)
		case isFence:
			open = -1
		case open >= 0:
			all[open].text += l + "\n"
		}
		why = ""
		if w, ok := strings.CutPrefix(l, notRun); ok {
			why = strings.TrimSuffix(w, " -->")
		}
	}
	return all
}

// pages returns the README, what else lies beside it and all below docs, as paths from the top of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "-C", "..", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", "docs/*.md").Output()
	if err != nil {
		t.Fatalf("list the pages: %v", err)
	}
	all := strings.Fields(string(out))
	return slices.DeleteFunc(all, func(p string) bool { return strings.Contains(p, "/") && !strings.HasPrefix(p, "docs/") })
}

// TestBlocksSayWhatTheyAre: without a language nobody, and no test, can tell a command from what it prints.
func TestBlocksSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	known := []string{"sh", "text", "yaml", "json", "go", "python", "ts", "mermaid", "diff"}
	for _, path := range pages(t) {
		page, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks(string(page)) {
			if !slices.Contains(known, b.language) {
				t.Errorf("%s:%d: the block's language is %q; it must be one of %v", path, b.line, b.language, known)
			}
		}
	}
}

// TestCommandsRun runs every command of every page, and every program in Go, Python and TypeScript, as they stand there: in a copy
// of the repository, from top to bottom, all of a page against the server that it starts. What cannot run says why above it. It wants
// Python 3, Node.js and the registries of packages, so that only STRATA_TEST_REQUIRE=docs runs it, as make docs does.
func TestCommandsRun(t *testing.T) {
	if !strings.Contains(os.Getenv("STRATA_TEST_REQUIRE"), "docs") {
		t.Skip("make docs runs it: it installs packages of Python and Node.js")
	}
	repository := t.TempDir()
	models := scriptedModels(t)
	run(t, "..", nil, "git ls-files --cached --others --exclude-standard -z | xargs -0 cp --parents -t "+repository)
	run(t, repository, nil, "make build tools && python3 -m venv .venv && "+frameworksOfClients)
	for _, path := range pages(t) {
		t.Run(path, func(t *testing.T) { follow(t, repository, path, models) })
	}
}

// frameworksOfClients has the environment of the pages find the frameworks that the Python client is tested with, so that pip fetches
// only what the pages want beside them.
const frameworksOfClients = `"$(clients/python/venv.sh)" -c 'import site; print(site.getsitepackages()[0])' ` +
	`>"$(echo .venv/lib/python3*/site-packages)/frameworks.pth"`

// scriptedModels starts a model for the programs of the pages, by the protocols of OpenAI and of Gemini, and returns the variables by which
// their SDKs find it. It fails where it is asked what to cook without being told that the user is vegan, as the pages promise.
func scriptedModels(t *testing.T) []string {
	t.Helper()
	answer := func(prompt string) (string, bool) {
		if !strings.Contains(prompt, "What can I cook for dinner?") {
			return "Noted!", true
		}
		return "A chickpea curry, since you are vegan.", strings.Contains(strings.ToLower(prompt), "vegan")
	}
	openAI := llmtest.New(llmtest.Options{Chat: func(r llmtest.Request) llmtest.Reply {
		text, told := answer(r.System + r.User)
		if !told {
			return llmtest.Fails(http.StatusBadRequest, llmtest.Failure{Type: "invalid_request_error", Message: "nobody says what the user eats"})
		}
		return llmtest.Say(text)
	}})
	t.Cleanup(openAI.Close)
	gemini := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		prompt, err := io.ReadAll(r.Body)
		text, told := answer(string(prompt))
		if err != nil || !told {
			http.Error(w, "nobody says what the user eats", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":%q}]},"finishReason":"STOP"}]}`, text)
	}))
	t.Cleanup(gemini.Close)
	return []string{
		"OPENAI_BASE_URL=" + openAI.URL(), "OPENAI_API_KEY=scripted", "GOOGLE_GEMINI_BASE_URL=" + gemini.URL, "GOOGLE_API_KEY=scripted",
	}
}

// TestDiffsAreOfThePrograms: a diff shows how few lines a program takes to change, so the program must have those lines.
func TestDiffsAreOfThePrograms(t *testing.T) {
	t.Parallel()
	const most = 10
	for _, path := range pages(t) {
		page, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			t.Fatal(err)
		}
		all := blocks(string(page))
		for i, b := range all {
			if b.language != "diff" {
				continue
			}
			at := slices.IndexFunc(all[i:], func(b block) bool { return b.language == "python" || b.language == "ts" || b.language == "go" })
			if at < 0 {
				t.Errorf("%s:%d: no program follows the diff", path, b.line)
				continue
			}
			program := strings.Split(all[i+at].text, "\n")
			changed := 0
			for _, l := range strings.Split(strings.TrimSuffix(b.text, "\n"), "\n") {
				if l[0] != ' ' {
					changed++
				}
				if has := slices.Contains(program, l[1:]); has != (l[0] != '-') {
					t.Errorf("%s:%d: the program and the diff do not agree on %q", path, b.line, l)
				}
			}
			if changed > most {
				t.Errorf("%s:%d: the diff changes %d lines; the most is %d", path, b.line, changed, most)
			}
		}
	}
}

// follow runs a page's blocks. Of the fixed addresses in it free ports are made, so that a server of this machine stays out of it.
func follow(t *testing.T, repository, path string, models []string) {
	text, err := os.ReadFile(filepath.Join(repository, path))
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	page := strings.ReplaceAll(string(text), "127.0.0.1:8081", address)
	env := append(os.Environ(), "STRATA_LISTEN="+address, "STRATA_SERVER="+address, "STRATA_METRICS_LISTEN=127.0.0.1:0",
		"STRATA_DATA="+filepath.Join(t.TempDir(), "strata.db"),
		"PATH="+filepath.Join(repository, ".venv", "bin")+":"+filepath.Join(repository, "bin")+":"+os.Getenv("PATH"))
	env = append(env, models...)
	env = append(env, "STRATA_BINARY="+filepath.Join(repository, "bin", "strata"))
	todo := slices.DeleteFunc(blocks(page), func(b block) bool {
		return b.notRun != "" || !slices.Contains([]string{"sh", "go", "python", "ts"}, b.language)
	})
	if len(todo) > 0 && !strings.Contains(page, serveCommand) {
		serve(t, repository, env, serveCommand)
	}
	for _, b := range todo {
		command := b.text
		switch b.language {
		case "sh":
			command = ranBeside.ReplaceAllString(command, "")
		case "go":
			folder, prepare := "docs-program", ""
			if module := ownModule.FindStringSubmatch(page); module != nil {
				folder, prepare = module[1], "../tools/again.sh go mod tidy && "
			}
			write(t, filepath.Join(repository, folder, "main.go"), b.text)
			command = "cd " + folder + " && " + prepare + "go run ."
		case "python":
			write(t, filepath.Join(repository, "agent.py"), b.text)
			command = "python agent.py"
		case "ts":
			write(t, filepath.Join(repository, "agent.ts"), b.text)
			command = "npx tsx agent.ts"
		}
		before, after, serves := strings.Cut(command, serveCommand)
		printed := run(t, repository, env, before)
		if serves {
			flags, rest := restOfCommand(after)
			serve(t, repository, env, serveCommand+flags)
			printed += run(t, repository, env, rest)
		}
		t.Logf("%s:%d:\n%s", path, b.line, printed)
	}
}

// restOfCommand divides a script behind the beginning of a command where that ends: with its line, unless that goes on in the next.
func restOfCommand(script string) (command, rest string) {
	for {
		line, after, _ := strings.Cut(script, "\n")
		command += line
		if !strings.HasSuffix(line, "\\") {
			return command, after
		}
		command, script = command+"\n", after
	}
}

func run(t *testing.T, folder string, env []string, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	c.Dir, c.Env = folder, env
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s\nprinted:\n%s", err, script, out)
	}
	return string(out)
}

// serve starts a server on the page's data file, which is empty at first, and stops it when the page is through.
func serve(t *testing.T, repository string, env []string, command string) {
	t.Helper()
	c := exec.Command("bash", "-euo", "pipefail", "-c", "exec "+strings.TrimSpace(command))
	c.Dir, c.Env = repository, env
	out, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan struct{})
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			t.Log(lines.Text())
		}
	}()
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		<-said
		_ = c.Wait()
	})
	run(t, repository, env, "timeout 180 bash -c 'until bin/strata health >/dev/null 2>&1; do sleep 0.1; done'")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// freeAddress returns an address that nobody listens on. Its port is below those that a system gives to connections, and to listeners
// that ask for any, so that none of them has it when the page's server starts.
func freeAddress(t *testing.T) string {
	t.Helper()
	const first, ports, tries = 20_000, 7_000, 100
	for range tries {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.N(ports)))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return l.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}
