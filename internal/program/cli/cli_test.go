package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// runMain runs a command in this process and returns its exit code, stdout and stderr.
func runMain(ctx context.Context, env terminal.Env, args ...string) (int, string, string) {
	var stdout, stderr bytes.Buffer
	env.Stdin, env.Stdout, env.Stderr, env.Now = strings.NewReader(""), &stdout, &stderr, time.Now
	code := Main(ctx, args, env)
	return code, stdout.String(), stderr.String()
}

func TestExitCodesTellUsageFromFailure(t *testing.T) {
	cases := []struct {
		code int
		args []string
	}{
		{0, []string{"version"}},
		{0, []string{"--help"}},
		{2, []string{"messages"}},
		{2, []string{"config", "validate", "--listen", "0.0.0.0:1"}},
		{2, []string{"config", "validate", "--log-level", "loud"}},
		{1, []string{"sessions", "list", "ada", "--server", "127.0.0.1:1"}},
	}
	for _, c := range cases {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			if code, _, stderr := runMain(t.Context(), terminal.Env{}, c.args...); code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, stderr)
			}
		})
	}
}

func TestTheVersionIsTheOneThatTheBuildWasTold(t *testing.T) {
	_, told, _ := runMain(t.Context(), terminal.Env{Version: "v1.2.3"}, "version", "-o", "quiet")
	_, stamped, _ := runMain(t.Context(), terminal.Env{}, "version", "-o", "quiet")
	if told != "v1.2.3\n" || strings.TrimSpace(stamped) == "" {
		t.Errorf("told %q, else %q", told, stamped)
	}
}

func TestServeSaysWhereItIsAndDrainsWhenToldToStop(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	env := terminal.Env{Stdin: strings.NewReader(""), Stdout: in, Stderr: io.Discard, Now: time.Now}
	code := make(chan int, 1)
	go func() {
		code <- Main(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "s.db")}, env)
		in.Close()
	}()
	var addr string
	lines := bufio.NewScanner(out)
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		fmt.Sscanf(lines.Text(), " address %s", &addr)
		if strings.Contains(lines.Text(), "Ctrl-C") {
			if c, _, stderr := runMain(ctx, terminal.Env{}, "record", "ada", "s1", "hello", "--server", addr); c != 0 {
				t.Errorf("record: %s", stderr)
			}
			stop()
		}
	}
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
	for _, want := range []string{"lexical recall", "reflection", "tenant default", "s.db", "stopped: everything acknowledged is stored\n"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("serve does not say %q:\n%s", want, said.String())
		}
	}
}

func TestADemoOnATerminalHasColoursUnlessForbidden(t *testing.T) {
	terminal := terminal.Env{StdoutTerminal: true, Width: 80}
	_, colored, _ := runMain(t.Context(), terminal, "demo")
	terminal.Environ = []string{"NO_COLOR=1"}
	_, plain, _ := runMain(t.Context(), terminal, "demo")
	if !strings.Contains(colored, "\x1b[1m") || strings.Contains(plain, "\x1b") {
		t.Error("colours do not follow NO_COLOR")
	}
	for line := range strings.Lines(plain) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 84 {
			t.Errorf("a line of %d columns on a terminal of 80: %s", n, line)
		}
	}
}

func TestCompletionScriptsAreShells(t *testing.T) {
	for shell, check := range map[string][]string{"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "-n"}} {
		t.Run(shell+" accepts its script", func(t *testing.T) {
			_, script, _ := runMain(t.Context(), terminal.Env{}, "completion", shell)
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("no %s on this machine: only the words are checked elsewhere", shell)
			}
			cmd := exec.Command(check[0], check[1:]...)
			cmd.Stdin = strings.NewReader(script)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func TestBashCompletesCommandsFlagsAndValues(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash on this machine")
	}
	_, script, _ := runMain(t.Context(), terminal.Env{}, "completion", "bash")
	cases := map[string]string{
		"se": "serve search sessions", "sessions|e": "edit", "sessions|list|--li": "--limit", "-o|": "table json quiet",
		"serve|--log-format|t": "text", "completion|z": "zsh", "config|p": "print",
	}
	for words, want := range cases {
		t.Run(words, func(t *testing.T) {
			test := script + "\nIFS='|' read -r -a w <<< \"strata|$1\"; [[ $1 == *'|' ]] && w+=('')\n" +
				"COMP_WORDS=(\"${w[@]}\"); COMP_CWORD=$((${#w[@]}-1)); _strata; echo \"${COMPREPLY[*]}\""
			out, err := exec.Command("bash", "-c", test, "bash", words).CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != want {
				t.Errorf("got %q, want %q (%v)", got, want, err)
			}
		})
	}
}

func TestImportShowsABarOnATerminalAndEndsIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bad.jsonl")
	if err := os.WriteFile(file, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runMain(t.Context(), terminal.Env{StderrTerminal: true}, "import", file)
	if code != 1 || !strings.Contains(stderr, "importing") && !strings.Contains(stderr, "0 stored") || !strings.Contains(stderr, "line 1: ") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestMessagesOfOtherAPIs(t *testing.T) {
	all, err := terminal.ParseMessages(strings.NewReader(`[{"role":"user","content":"hi"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"search","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"found"},{"role":"user","text":"bye"}]`))
	if err != nil || len(all) != 4 || all[0].GetText() != "hi" || all[3].GetText() != "bye" {
		t.Fatalf("%v, %v", all, err)
	}
	if c := all[1].GetParts()[0].GetToolCall(); c.GetId() != "c1" || all[2].GetParts()[0].GetToolResult().GetCallId() != "c1" {
		t.Errorf("%v, %v", all[1], all[2])
	}
}
