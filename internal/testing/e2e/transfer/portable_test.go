package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

func TestExportAndImport(t *testing.T) {
	t.Parallel()
	t.Run("a user imported by another server is what it was: a second export is equal byte for byte", func(t *testing.T) {
		h, other := e2e.StartSweeping(t), e2e.StartSweeping(t)
		h.FillPortable(t)
		file := h.Settled(t, "ada")
		for _, kind := range []string{"header", "user", "session", "turn", "summary", "job", "fact", "forgotten_fact", "trailer"} {
			if !strings.Contains(file, "{\""+kind+"\":") {
				t.Errorf("the file has no line of kind %s", kind)
			}
		}
		got := e2e.Must(other.Imported(h.Ctx, "", file, 1000))(t)
		if got.GetUser().GetUserId() != "ada" || got.GetSessions() != 3 || got.GetMessages() != 48 || got.GetFacts() == 0 {
			t.Errorf("imported %v", got)
		}
		if again := other.Settled(t, "ada"); again != file {
			t.Errorf("differs:\n%s", firstDifference(file, again))
		}
		replayed := e2e.Must(other.Record(h.Ctx, &memoryv1.RecordRequest{
			UserId: "ada", SessionId: "s1", Messages: []*memoryv1.Message{e2e.User("m1-1u", "My name is Ada and I live in Lisbon, house 1. <b>&\u2028말</b>")},
		}))(t)
		if len(replayed.GetDeduplicatedIds()) != 1 {
			t.Errorf("a known message was stored again: %v", replayed)
		}
		reply := e2e.Must(other.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "new", Query: "Where does Ada live?"}))(t)
		if !strings.Contains(fmt.Sprint(reply), "Lisbon") {
			t.Errorf("the context of the imported user knows nothing: %v", reply)
		}
	})
	t.Run("export, erase, import: a second export is equal byte for byte, and what was deleted before stays deleted", func(t *testing.T) {
		h := e2e.StartSweeping(t)
		h.FillPortable(t)
		e2e.Must(h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "s0", MessageIds: []string{"m0-2u"}}))(t)
		e2e.Must(h.PopMessages(h.Ctx, &memoryv1.PopMessagesRequest{UserId: "ada", SessionId: "s2", Count: 1}))(t)
		file := h.Settled(t, "ada")
		if !strings.Contains(file, `"deleted":true`) {
			t.Error("the file does not say what was deleted")
		}
		e2e.Must(h.Users().EraseUser(h.Ctx, &memoryv1.EraseUserRequest{UserId: "ada", Wait: durationpb.New(time.Minute)}))(t)
		e2e.Must(h.Imported(h.Ctx, "", file, 1<<20))(t)
		if again := h.Settled(t, "ada"); again != file {
			t.Errorf("differs:\n%s", firstDifference(file, again))
		}
		again := h.RecordTurn(t, "s0", e2e.User("m0-2u", "My name is Ada and I live in Lisbon, house 2. <b>&\u2028말</b>"))
		if len(again.GetDeduplicatedIds()) != 1 {
			t.Errorf("a deleted message was stored again: %v", again)
		}
		t.Run("no replay of the erasure ledger touches the new life", func(t *testing.T) {
			h.Stop()
			h := e2e.StartOn(t, h.Data, func(*config.Config) {})
			if n := len(h.Transcript(t, "s1")); n != 16 {
				t.Errorf("%d messages after a restart, want 16", n)
			}
		})
	})
	t.Run("an import that is under way when another life of the user is erased is whole, and one that meets it is refused", func(t *testing.T) {
		h, other := e2e.StartSweeping(t), e2e.StartSweeping(t)
		h.FillPortable(t)
		file := h.Settled(t, "ada")
		half := len(file) / 2
		underWay := func() (finish func() error) {
			stream := e2e.Must(other.Users().ImportUser(h.Ctx))(t)
			if err := stream.Send(&memoryv1.ImportUserRequest{Chunk: []byte(file[:half])}); err != nil {
				t.Fatal(err)
			}
			return func() error {
				if err := stream.Send(&memoryv1.ImportUserRequest{Chunk: []byte(file[half:])}); err != nil && !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
				_, err := stream.CloseAndRecv()
				return err
			}
		}
		finish := underWay()
		other.RecordTurn(t, "meanwhile", e2e.User("m", "I keep bees."))
		e2e.Refused(t, finish(), codes.AlreadyExists, "USER_EXISTS", "")
		e2e.Must(other.Users().EraseUser(h.Ctx, &memoryv1.EraseUserRequest{UserId: "ada"}))(t)
		// A chunk that was sent has not arrived yet: an import that the server takes up only after the user was recorded is refused.
		e2e.Eventually(t, "an import that began before the user was recorded", func() bool {
			finish := underWay()
			other.RecordTurn(t, "meanwhile", e2e.User("m", "I keep bees."))
			e2e.Must(other.Users().EraseUser(h.Ctx, &memoryv1.EraseUserRequest{UserId: "ada", Wait: durationpb.New(time.Minute)}))(t)
			err := finish()
			if err != nil && status.Code(err) != codes.AlreadyExists {
				t.Fatal(err)
			}
			return err == nil
		})
		if again := other.Settled(t, "ada"); again != file {
			t.Errorf("differs:\n%s", firstDifference(file, again))
		}
	})
	t.Run("an import of a user who is there is ALREADY_EXISTS, under another id it stands beside", func(t *testing.T) {
		h := e2e.StartSweeping(t)
		h.FillPortable(t)
		file := h.Settled(t, "ada")
		_, err := h.Imported(h.Ctx, "ada", file, 1<<20)
		e2e.Refused(t, err, codes.AlreadyExists, "USER_EXISTS", "")
		e2e.Must(h.Imported(h.Ctx, "grace", file, 1<<20))(t)
		if again := h.Settled(t, "grace"); withoutTrailer(again) != withoutTrailer(strings.Replace(file, `"user_id":"ada"`, `"user_id":"grace"`, 1)) {
			t.Errorf("differs:\n%s", firstDifference(file, again))
		}
	})
	t.Run("a file that was cut, changed or is of another kind is refused, and nobody is served any of it", func(t *testing.T) {
		h := e2e.StartSweeping(t)
		h.FillPortable(t)
		file := h.Settled(t, "ada")
		lines := strings.SplitAfter(file, "\n")
		for name, bad := range map[string]string{
			"cut within a line":           file[:len(file)/2],
			"cut between lines":           strings.Join(lines[:len(lines)/2], ""),
			"cut before its trailer":      strings.Join(lines[:len(lines)-2], ""),
			"cut before its last newline": file[:len(file)-1],
			"with a changed word":         strings.Replace(file, "Noted, Ada.", "Noted, Eve.", 1),
			"with a line twice":           strings.Join(lines[:5], "") + lines[4] + strings.Join(lines[5:], ""),
			"without a line":              strings.Join(lines[:5], "") + strings.Join(lines[6:], ""),
			"with words after it":         file + "{}\n",
			"with an unknown field":       strings.Replace(file, `"session_id":`, `"favourite_colour":1,"session_id":`, 1),
			"of a later version":          strings.Replace(file, `"version":1`, `"version":2`, 1),
			"that is none":                "hello\n",
			"that is empty":               "",
		} {
			_, err := h.Imported(h.Ctx, "grace", bad, 999)
			if status.Code(err) != codes.InvalidArgument {
				t.Errorf("a file %s: %v", name, err)
			}
			if strings.Contains(fmt.Sprint(err), "Lisbon") {
				t.Errorf("a file %s: the error holds content: %v", name, err)
			}
			_, err = h.Users().GetUser(h.Ctx, &memoryv1.GetUserRequest{UserId: "grace"})
			e2e.Refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
		}
		e2e.Must(h.Imported(h.Ctx, "grace", file, 1<<20))(t)
	})
	t.Run("an import whose client goes away is removed", func(t *testing.T) {
		h := e2e.StartSweeping(t)
		h.FillPortable(t)
		file := h.Settled(t, "ada")
		ctx, cancel := context.WithCancel(h.Ctx)
		stream := e2e.Must(h.Users().ImportUser(ctx))(t)
		if err := stream.Send(&memoryv1.ImportUserRequest{UserId: "grace", Chunk: []byte(file[:len(file)-10])}); err != nil {
			t.Fatal(err)
		}
		cancel()
		e2e.Eventually(t, "an import after one that was given up", func() bool {
			_, err := h.Imported(h.Ctx, "grace", file, 1<<20)
			if err != nil && status.Code(err) != codes.ResourceExhausted {
				t.Fatal(err)
			}
			return err == nil
		})
	})
	t.Run("a client that sends nothing is given up", func(t *testing.T) {
		h := e2e.StartWithPatience(t, 300*time.Millisecond)
		stream := e2e.Must(h.Users().ImportUser(h.Ctx))(t)
		if err := stream.Send(&memoryv1.ImportUserRequest{UserId: "grace", Chunk: []byte("{")}); err != nil {
			t.Fatal(err)
		}
		var reply memoryv1.ImportUserResponse
		err := stream.RecvMsg(&reply)
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "chunk")
	})
	t.Run("an unknown user is NOT_FOUND, and a bad id is refused", func(t *testing.T) {
		h := e2e.Start(t)
		_, err := h.Export(t, "nobody")
		e2e.Refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
		_, err = h.Export(t, "")
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "user_id")
		_, err = h.Imported(h.Ctx, "a\x00b", "", 9)
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "user_id")
		_, err = h.Imported(h.Ctx, "grace", strings.Repeat("x", 2<<20), 2<<20)
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "chunk")
	})
	t.Run("hostile ids are refused, or nobody's", func(t *testing.T) {
		h := e2e.Start(t)
		for _, id := range e2e.Sampled(e2e.HostileStrings(), 10) {
			if !utf8.ValidString(id) {
				continue // no client encodes it
			}
			_, err := h.Export(t, id)
			if code := status.Code(err); code != codes.NotFound && code != codes.InvalidArgument {
				t.Errorf("export of %q: %v", id, err)
			}
			_, err = h.Imported(h.Ctx, id, "{}\n", 9)
			if code := status.Code(err); code != codes.InvalidArgument {
				t.Errorf("import as %q: %v", id, err)
			}
		}
	})
}

func withoutTrailer(file string) string {
	return file[:strings.LastIndex(file, `{"trailer":`)]
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return as[i] + "\n" + bs[i]
		}
	}
	return fmt.Sprintf("%d and %d lines", len(as), len(bs))
}
