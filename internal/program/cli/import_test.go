package cli

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// failingServer answers Record with a code when a message says "fail", and keeps the texts of the others.
type failingServer struct {
	memoryv1.UnimplementedMemoryServiceServer
	code   codes.Code
	stored []string // written by one call at a time: an import waits for each
}

func (s *failingServer) Record(_ context.Context, req *memoryv1.RecordRequest) (*memoryv1.RecordResponse, error) {
	for _, m := range req.GetMessages() {
		if m.GetText() == "fail" {
			return nil, status.Error(s.code, "as told")
		}
		s.stored = append(s.stored, req.GetSessionId()+" "+m.GetText())
	}
	return &memoryv1.RecordResponse{}, nil
}

// importInto imports lines into a server that fails, and returns what it stored, with stderr.
func importInto(t *testing.T, code codes.Code, file string, flags ...string) (stored []string, stderr string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	service, server := &failingServer{code: code}, grpc.NewServer()
	memoryv1.RegisterMemoryServiceServer(server, service)
	go server.Serve(l)
	exit, _, stderr := runMain(t.Context(), terminal.Env{}, append([]string{"import", path, "--server", l.Addr().String()}, flags...)...)
	server.Stop()
	if exit != 1 {
		t.Errorf("exit code %d", exit)
	}
	return service.stored, stderr
}

func TestAnImportNeverStoresALineAfterOneOfItsSessionThatFailed(t *testing.T) {
	const file = `{"user_id":"a","session_id":"s1","messages":[{"role":"user","text":"one"}]}
{"user_id":"a","session_id":"s1","messages":[{"role":"user","text":"fail"}]}
{"user_id":"a","session_id":"s1","messages":[{"role":"user","text":"three"}]}
{"user_id":"a","session_id":"s2","messages":[{"role":"user","text":"other"}]}
`
	for _, code := range []codes.Code{codes.InvalidArgument, codes.AlreadyExists} {
		t.Run(code.String()+" is a bad line: it stops the import", func(t *testing.T) {
			stored, stderr := importInto(t, code, file)
			if !slices.Equal(stored, []string{"s1 one"}) || !strings.Contains(stderr, "mend the line and run it again") {
				t.Errorf("stored %v: %s", stored, stderr)
			}
		})
		t.Run(code.String()+" can be skipped: its session is held back, others are not", func(t *testing.T) {
			stored, stderr := importInto(t, code, file, "--skip-bad")
			if !slices.Equal(stored, []string{"s1 one", "s2 other"}) || !strings.Contains(stderr, "line 2: as told\nline 3: held back: line 2") {
				t.Errorf("stored %v: %s", stored, stderr)
			}
		})
	}
	for _, code := range []codes.Code{
		codes.ResourceExhausted, codes.DeadlineExceeded, codes.Aborted, codes.Internal, codes.Unavailable, codes.Canceled,
		codes.FailedPrecondition, codes.Unknown,
	} {
		t.Run(code.String()+" stops the import, bad lines skipped or not", func(t *testing.T) {
			stored, stderr := importInto(t, code, file, "--skip-bad")
			if !slices.Equal(stored, []string{"s1 one"}) || !strings.Contains(stderr, "run it again to go on: line 2: as told") {
				t.Errorf("stored %v: %s", stored, stderr)
			}
		})
	}
}

func TestAFilesEncoding(t *testing.T) {
	const line = `{"user_id":"a","session_id":"s1","messages":[{"role":"user","text":"one"}]}` + "\n"
	const bad = `{"user_id":"a","session_id":"s1","messages":[{"role":"user","text":"fail"}]}` + "\n"
	t.Run("a UTF-8 byte order mark is passed over, also where files were joined", func(t *testing.T) {
		stored, stderr := importInto(t, codes.InvalidArgument, "\ufeff"+line+"\ufeff"+line+bad)
		if !slices.Equal(stored, []string{"s1 one", "s1 one"}) || !strings.Contains(stderr, "line 3: as told") {
			t.Errorf("stored %v: %s", stored, stderr)
		}
	})
	for _, order := range []struct {
		promise  string
		mark     bool
		low, top int // of the bytes of a character
	}{{"UTF-16, little end first", true, 0, 1}, {"UTF-16, big end first", true, 1, 0}, {"UTF-16 without a mark", false, 0, 1}} {
		t.Run(order.promise+", stops the import and names the line and the fix", func(t *testing.T) {
			text := line
			if order.mark {
				text = "\ufeff" + line
			}
			var wide []byte
			for _, r := range text {
				two := make([]byte, 2)
				two[order.low], two[order.top] = byte(r), byte(r>>8)
				wide = append(wide, two...)
			}
			stored, stderr := importInto(t, codes.InvalidArgument, string(wide), "--skip-bad")
			if len(stored) > 0 || !strings.Contains(stderr, "line 1 is in UTF-16: save the file as UTF-8") {
				t.Errorf("stored %v: %s", stored, stderr)
			}
		})
	}
}
