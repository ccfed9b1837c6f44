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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// runMain runs a command in this process and returns its exit code, stdout and stderr.
func runMain(ctx context.Context, env Env, args ...string) (int, string, string) {
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
			if code, _, stderr := runMain(t.Context(), Env{}, c.args...); code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, stderr)
			}
		})
	}
}

func TestTheVersionIsTheOneThatTheBuildWasTold(t *testing.T) {
	_, told, _ := runMain(t.Context(), Env{Version: "v1.2.3"}, "version", "-o", "quiet")
	_, stamped, _ := runMain(t.Context(), Env{}, "version", "-o", "quiet")
	if told != "v1.2.3\n" || strings.TrimSpace(stamped) == "" {
		t.Errorf("told %q, else %q", told, stamped)
	}
}

func TestUsageNamesWhatIsMissingAmongTheVerbatimMessages(t *testing.T) {
	var out bytes.Buffer
	printUsage(&out, &memoryv1.BuildContextResponse{
		Watermarks: &memoryv1.Watermarks{Recorded: 9},
		Coverage: &memoryv1.Coverage{RawFrom: 3, Gaps: []*memoryv1.SeqRange{
			{FromSeq: 1, ToSeq: 2}, {FromSeq: 4, ToSeq: 4}, {FromSeq: 6, ToSeq: 7},
		}},
	})
	if want := "; messages 3 to 9 verbatim but for 4, 6 to 7\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %q", out.String())
	}
}

func TestServeSaysWhereItIsAndDrainsWhenToldToStop(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	env := Env{Stdin: strings.NewReader(""), Stdout: in, Stderr: io.Discard, Now: time.Now}
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
			if c, _, stderr := runMain(ctx, Env{}, "record", "ada", "s1", "hello", "--server", addr); c != 0 {
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
	terminal := Env{StdoutTerminal: true, Width: 80}
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

func TestImportDerivesTheSameIDsFromTheSamePlaces(t *testing.T) {
	line := []byte(`{"user_id":"ada","session_id":"s","messages":[{"role":"user","text":"yes"},{"role":"user","text":"yes"},{"id":"mine","role":"user","text":"yes"}]}`)
	ids := func(im *importer) (all []string) {
		requests, err := im.requests(line)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range requests.requests {
			all = append(all, r.GetRequestId())
			for _, m := range r.GetMessages() {
				all = append(all, m.GetId())
			}
		}
		return all
	}
	fresh := func() *importer { im := newImporter(); return &im }
	once := fresh()
	first, later := ids(once), ids(once)
	if diff := cmp.Diff(first, ids(fresh())); diff != "" {
		t.Errorf("a second import has other ids: %s", diff)
	}
	if first[1] == first[2] || first[1] == later[1] || first[0] == later[0] {
		t.Errorf("two places share an id: %v, %v", first, later)
	}
	if first[3] != "mine" {
		t.Errorf("the id of the file was not kept: %v", first)
	}
}

func TestImportKeepsCallsWithinTheLimitsOfRecord(t *testing.T) {
	var line strings.Builder
	line.WriteString(`{"user_id":"ada","session_id":"s","state":{"k":1},"messages":[`)
	for i := range 2500 {
		if i > 0 {
			line.WriteString(",")
		}
		fmt.Fprintf(&line, `{"role":"user","text":"%d %s"}`, i, strings.Repeat("x", 2000))
	}
	line.WriteString("]}")
	im := newImporter()
	calls, err := im.requests([]byte(line.String()))
	if err != nil {
		t.Fatal(err)
	}
	requests := calls.requests
	total := 0
	for i, r := range requests {
		bytes := 0
		for _, m := range r.GetMessages() {
			bytes += len(m.GetText())
		}
		if len(r.GetMessages()) > 1000 || bytes > 2<<20 {
			t.Errorf("call %d has %d messages and %d bytes", i, len(r.GetMessages()), bytes)
		}
		if last := i == len(requests)-1; last != (r.GetStatePatch() != nil) {
			t.Errorf("call %d of %d: state %v", i, len(requests), r.GetStatePatch())
		}
		total += len(r.GetMessages())
	}
	if total != 2500 {
		t.Errorf("%d messages", total)
	}
}

func TestTextOfOthersCannotDriveTheTerminal(t *testing.T) {
	if got := clean("a\x1b[2Jb\x07\u009bc\td\n\u202ee\u2066f"); got != "a�[2Jb��c\td\n�e�f" {
		t.Errorf("got %q", got)
	}
}

func TestHighlightsCountCodePoints(t *testing.T) {
	hit := &memoryv1.MessageHit{Snippet: "저는 비건 입니다", Highlights: []*memoryv1.TextRange{{Start: 3, End: 5}, {Start: 4, End: 99}}}
	if got := highlighted(palette{on: true}, hit); got != "저는 \x1b[33m비건\x1b[0m 입니다" {
		t.Errorf("got %q", got)
	}
	if got := highlighted(palette{}, hit); got != "저는 비건 입니다" {
		t.Errorf("got %q", got)
	}
}

func TestTablesFitTheTerminalByCells(t *testing.T) {
	var out bytes.Buffer
	r := &run{printer: printer{env: Env{Width: 40}}}
	r.table(&out, slices.Concat(whole.columns("who"), cut.columns("text")), [][]string{{"아다", strings.Repeat("한국어 ", 20)}, {"ada", "short"}})
	lines := strings.Split(out.String(), "\n")
	if !strings.HasPrefix(lines[1], "아다  한국어") || !strings.HasPrefix(lines[2], "ada   short") || !strings.HasSuffix(lines[1], "…") {
		t.Errorf("columns shift:\n%s", out.String())
	}
}

func TestCompletionScriptsAreShells(t *testing.T) {
	for shell, check := range map[string][]string{"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "-n"}} {
		t.Run(shell+" accepts its script", func(t *testing.T) {
			_, script, _ := runMain(t.Context(), Env{}, "completion", shell)
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
	_, script, _ := runMain(t.Context(), Env{}, "completion", "bash")
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
	code, stdout, stderr := runMain(t.Context(), Env{StderrTerminal: true}, "import", file)
	if code != 1 || !strings.Contains(stderr, "importing") && !strings.Contains(stderr, "0 stored") || !strings.Contains(stderr, "line 1: ") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestProgressWithoutATerminalIsAJSONLine(t *testing.T) {
	var out bytes.Buffer
	p := &importProgress{counts: importCounts{Lines: 2, Stored: 3, Bytes: 9, TotalBytes: 20}}
	p.writeLine(&out)
	want := `{"lines":2,"messages_stored":3,"messages_skipped":0,"lines_failed":0,"bytes":9,"total_bytes":20}` + "\n"
	if out.String() != want {
		t.Errorf("got %s", out.String())
	}
}

func TestMessagesOfOtherAPIs(t *testing.T) {
	all, err := parseMessages(strings.NewReader(`[{"role":"user","content":"hi"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"search","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"found"},{"role":"user","text":"bye"}]`))
	if err != nil || len(all) != 4 || all[0].GetText() != "hi" || all[3].GetText() != "bye" {
		t.Fatalf("%v, %v", all, err)
	}
	if c := all[1].GetParts()[0].GetToolCall(); c.GetId() != "c1" || all[2].GetParts()[0].GetToolResult().GetCallId() != "c1" {
		t.Errorf("%v, %v", all[1], all[2])
	}
}
