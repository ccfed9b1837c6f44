package sqlitestore_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

// What this test binary does with which data file when it runs as another test's second process.
const (
	otherDoes = "STRATA_TEST_OTHER_DOES"
	otherFile = "STRATA_TEST_OTHER_FILE"
)

// TestOtherProcess is the second process.
func TestOtherProcess(t *testing.T) {
	path := os.Getenv(otherFile)
	switch os.Getenv(otherDoes) {
	case "serve":
		serve(t, path)
	case "read":
		execSQL(t, path, "SELECT count(*) FROM turns")
	default:
		t.Skip("runs only as another test's second process")
	}
}

// serve opens the file, reports it, and records the message ids that it is sent.
func serve(t *testing.T, path string) {
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: path})
	if err != nil {
		fmt.Printf("refused: %v\n", err)
		return
	}
	fmt.Println("serving")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		_, err := s.Append(t.Context(), oneMessage(in.Text()))
		fmt.Printf("recorded: %v\n", err)
	}
	fmt.Printf("closed: %v\n", s.Close())
}

// process is a server in a process of its own.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	begun string // its first line
}

func elsewhere(does, path string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestOtherProcess$", "-test.v=false")
	cmd.Env = append(os.Environ(), otherDoes+"="+does, otherFile+"="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// serveElsewhere starts a process that opens the file.
func serveElsewhere(t *testing.T, path string) *process {
	t.Helper()
	cmd := elsewhere("serve", path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: cmd, in: in, out: bufio.NewReader(out)}
	t.Cleanup(p.stop)
	p.begun = p.line()
	return p
}

func (p *process) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("the other process ended: %v", err)
	}
	return strings.TrimSpace(line)
}

// record has it append one message, and reports whether that was acknowledged.
func (p *process) record(id string) bool {
	p.t.Helper()
	fmt.Fprintln(p.in, id)
	return p.line() == "recorded: <nil>"
}

// stop has it close the file and end.
func (p *process) stop() {
	p.in.Close()
	io.Copy(io.Discard, p.out)
	p.cmd.Wait()
}

func TestASecondServerOnTheSameFileIsRefusedHoweverItIsNamed(t *testing.T) {
	needsFileLock(t)
	cases := []struct {
		promise string
		other   func(t *testing.T, path string) string // the name that the second server is given
		says    []string
	}{
		{"by a hard link", func(t *testing.T, path string) string {
			link := filepath.Join(t.TempDir(), "link.db")
			if err := os.Link(path, link); err != nil {
				t.Fatal(err)
			}
			return link
		}, []string{"has 2 names", "hard link", "remove the others", "copy"}},
		{"by a symbolic link", func(t *testing.T, path string) string {
			link := filepath.Join(t.TempDir(), "link.db")
			if err := os.Symlink(path, link); err != nil {
				t.Fatal(err)
			}
			return link
		}, []string{"another server (pid ", "stop that one"}},
		{"after its lock file was removed", func(t *testing.T, path string) string {
			if err := os.Remove(path + ".lock"); err != nil {
				t.Fatal(err)
			}
			return path
		}, []string{"another server is using it", "stop that one"}},
		{"by a symbolic link, after its lock file was removed", func(t *testing.T, path string) string {
			link := filepath.Join(t.TempDir(), "link.db")
			if err := os.Remove(path + ".lock"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(path, link); err != nil {
				t.Fatal(err)
			}
			return link
		}, []string{"another server is using it", "stop that one"}},
		{"by a mount of the file, whose lock file is another", func(t *testing.T, path string) string {
			bound := filepath.Join(t.TempDir(), "bound.db")
			if err := os.WriteFile(bound, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if os.Getuid() != 0 {
				t.Skip("needs root, to mount a file")
			}
			mount(t, bound, "--bind", path)
			return bound
		}, []string{"another server is using it", "stop that one"}},
	}
	for _, c := range cases {
		t.Run(c.promise, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "strata.db")
			first := serveElsewhere(t, path)
			if first.begun != "serving" {
				t.Fatal(first.begun)
			}
			second := serveElsewhere(t, c.other(t, path))
			if second.begun == "serving" {
				t.Fatalf("two servers serve one file: %s", lost(t, path, first, second))
			}
			for _, want := range c.says {
				if !strings.Contains(second.begun, want) {
					t.Errorf("%q does not say %q", second.begun, want)
				}
			}
			if !first.record("after") {
				t.Error("the first server cannot write after the second was refused")
			}
		})
	}
}

// lost reports how many acknowledged messages are gone after both servers recorded in turn.
func lost(t *testing.T, path string, servers ...*process) string {
	t.Helper()
	acknowledged := 0
	for n := range 300 {
		for i, p := range servers {
			if p.record(fmt.Sprint(i, "-", n)) {
				acknowledged++
			}
		}
	}
	for _, p := range servers {
		p.stop()
	}
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Path: path})
	if err != nil {
		return fmt.Sprintf("%d messages were acknowledged, and the file cannot be opened: %v", acknowledged, err)
	}
	defer s.Close()
	head, err := s.Session(t.Context(), alice.Session("s"))
	return fmt.Sprintf("%d messages were acknowledged, %d are there (error %v)", acknowledged, head.LastSeq, err)
}

// A program may read the file beside the server. When it closes the file, or a second server is refused, the server's own
// locks must hold on: SQLite's belong to the process and the file, and go with the first descriptor that is closed.
func TestTheServersLocksOutliveWhoeverElseOpensTheFile(t *testing.T) {
	needsFileLock(t)
	t.Run("a reader beside it takes no message away", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "strata.db")
		p := serveElsewhere(t, path)
		for n := range 5 {
			if !p.record(fmt.Sprint("m", n)) {
				t.Fatal("not acknowledged")
			}
			copied := filepath.Join(t.TempDir(), "backup.db")
			execSQL(t, path, "VACUUM INTO '"+copied+"'") // what a backup beside a server does
			if got := session(t, open(t, sqlitestore.Options{Path: copied})).LastSeq; got != int64(n+1) {
				t.Errorf("the copy has %d messages, want %d", got, n+1)
			}
		}
		p.stop()
		if got := session(t, open(t, sqlitestore.Options{Path: path})).LastSeq; got != 5 {
			t.Errorf("%d messages are there, want 5", got)
		}
	})
	t.Run("a second server of the same process that is refused leaves SQLite's locks", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "strata.db")
		s := open(t, sqlitestore.Options{Path: path})
		record(t, s, "m1")
		if err := os.Remove(path + ".lock"); err != nil {
			t.Fatal(err)
		}
		refuses(t, path, "another server is using it")
		runtime.GC() // closes what nobody holds any more
		// Another process that opens and closes the file would take itself for the last one, and delete the WAL.
		if out, err := elsewhere("read", path).Output(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		record(t, s, "m2")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := session(t, open(t, sqlitestore.Options{Path: path})).LastSeq; got != 2 {
			t.Errorf("%d messages are there, want 2", got)
		}
	})
}

func TestTheFileIsFreeAgainWhenItsServerWasKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	p := serveElsewhere(t, path)
	p.record("m1")
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.stop()
	if got := session(t, open(t, sqlitestore.Options{Path: path})).LastSeq; got != 1 {
		t.Errorf("%d messages are there, want 1", got)
	}
}

func TestAFileThatWasReplacedUnderTheServerIsUnavailable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := open(t, sqlitestore.Options{Path: path})
	record(t, s, "m1")
	aside := path + ".aside"
	if err := os.Rename(path, aside); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); memory.ReasonOf(err) != memory.ReasonStoreUnavailable || !strings.Contains(err.Error(), "put it back") {
		t.Errorf("without its file, Check says %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); memory.ReasonOf(err) != memory.ReasonStoreUnavailable {
		t.Errorf("with another file in its place, Check says %v", err)
	}
	if err := os.Rename(aside, path); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("with its file back, Check says %v", err)
	}
}

func needsFileLock(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has locks on a descriptor that do not meet SQLite's own: elsewhere the lock file guards alone")
	}
}
