package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/app"
	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/memory"
)

func (h *harness) export(t testing.TB, user string) (string, error) {
	t.Helper()
	stream, err := h.users().ExportUser(h.ctx, &memoryv1.ExportUserRequest{UserId: user})
	if err != nil {
		return "", err
	}
	var file bytes.Buffer
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return file.String(), nil
		}
		if err != nil {
			return "", err
		}
		if len(m.GetChunk()) > 1<<20 {
			t.Errorf("a chunk of %d bytes", len(m.GetChunk()))
		}
		file.Write(m.GetChunk())
	}
}

// imported imports a file in chunks of so many bytes.
func (h *harness) imported(ctx context.Context, user, file string, size int) (*memoryv1.ImportUserResponse, error) {
	return h.merged(ctx, user, file, size, memoryv1.OnConflict_ON_CONFLICT_UNSPECIFIED)
}

// merged imports a file by a rule for a user who is there.
func (h *harness) merged(ctx context.Context, user, file string, size int, rule memoryv1.OnConflict) (*memoryv1.ImportUserResponse, error) {
	stream, err := h.users().ImportUser(ctx)
	if err != nil {
		return nil, err
	}
	for first := true; first || len(file) > 0; first = false {
		n := min(size, len(file))
		err := stream.Send(&memoryv1.ImportUserRequest{UserId: user, OnConflict: rule, Chunk: []byte(file[:n])})
		if errors.Is(err, io.EOF) { // the reply says why
			break
		}
		if err != nil {
			return nil, err
		}
		file = file[n:]
	}
	return stream.CloseAndRecv()
}

// fillPortable leaves a user with something of everything that is stored without a chat model, and everything said learnt and indexed.
func (h *harness) fillPortable(t *testing.T) {
	t.Helper()
	for s := range 3 {
		for i := range 8 {
			id := fmt.Sprintf("m%d-%d", s, i)
			must(h.Record(h.ctx, &memoryv1.RecordRequest{
				UserId: "ada", SessionId: fmt.Sprintf("s%d", s), RequestId: "r" + id,
				Messages: []*memoryv1.Message{
					{
						Id: id + "u", Role: memoryv1.Role_ROLE_USER, Text: fmt.Sprintf("My name is Ada and I live in Lisbon, house %d. <b>&\u2028말</b>", i),
						Original: &memoryv1.Original{Format: "openai", Data: []byte("{ \"role\":\"user\" }\xff")}, Tags: []string{"x"},
					},
					assistant(id+"a", "Noted, Ada."),
				},
				StatePatch: object("step", structpb.NewNumberValue(float64(i))),
			}))(t)
		}
	}
	must(h.users().UpdateUser(h.ctx, &memoryv1.UpdateUserRequest{
		User: &memoryv1.User{UserId: "ada", Timezone: "Europe/Lisbon"}, StatePatch: object("plan", structpb.NewStringValue("pro")),
	}))(t)
	made := must(h.facts().CreateFact(h.ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: "ada", Text: "Is vegan."}}))(t).GetFact()
	must(h.facts().DeleteFact(h.ctx, &memoryv1.DeleteFactRequest{UserId: "ada", FactId: made.GetFactId()}))(t)
	must(h.facts().CreateFact(h.ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: "ada", Text: "Has two cats."}}))(t)
	must(h.UpdateMessage(h.ctx, &memoryv1.UpdateMessageRequest{
		UserId: "ada", SessionId: "s0", Message: &memoryv1.Message{Id: "m0-1u", Hidden: true}, UpdateMask: maskOf("hidden"),
	}))(t)
	for s := range 3 {
		eventually(t, "what was said is learnt and indexed", func() bool {
			return must(h.work().WaitForWatermark(h.ctx, &memoryv1.WaitForWatermarkRequest{
				UserId: "ada", SessionId: fmt.Sprintf("s%d", s), Timeout: durationpb.New(time.Second),
				Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED, memoryv1.Watermark_WATERMARK_INDEXED},
			}))(t).GetReached()
		})
	}
}

// startSweeping is start with background work that looks at all that waits five times a second, as settled wants it.
func startSweeping(t *testing.T) *harness {
	t.Helper()
	return startWith(t, t.TempDir()+"/strata.db", app.Options{Sweep: 200 * time.Millisecond}, func(*config.Config) {})
}

// settled exports the user once background work has nothing left to do, summaries too, which fillPortable does not wait for.
func (h *harness) settled(t *testing.T, user string) string {
	t.Helper()
	eventually(t, "the end of background work", func() bool { return !working(t, h, memory.UserRef{Tenant: "default", UserID: user}) })
	return must(h.export(t, user))(t)
}

// working reports whether background work has still to look at the user or at one of the sessions, as far as is known now: it puts off
// what it has looked at only once nothing was left to do.
func working(t *testing.T, h *harness, user memory.UserRef) bool {
	t.Helper()
	now := time.Now()
	for _, ref := range must(h.store.WaitingSessions(h.ctx, user, 1000))(t) {
		work := must(h.store.SessionWork(h.ctx, ref))(t)
		if len(work.Jobs) > 0 || work.UnindexedFrom > 0 || !work.LookAt.After(now) {
			return true
		}
	}
	return slices.Contains(must(h.store.PendingPeriods(h.ctx, now, 1000))(t), user)
}

func TestExportAndImport(t *testing.T) {
	t.Parallel()
	t.Run("a user imported by another server is what it was: a second export is equal byte for byte", func(t *testing.T) {
		h, other := startSweeping(t), startSweeping(t)
		h.fillPortable(t)
		file := h.settled(t, "ada")
		for _, kind := range []string{"header", "user", "session", "turn", "summary", "job", "fact", "forgotten_fact", "trailer"} {
			if !strings.Contains(file, "{\""+kind+"\":") {
				t.Errorf("the file has no line of kind %s", kind)
			}
		}
		got := must(other.imported(h.ctx, "", file, 1000))(t)
		if got.GetUser().GetUserId() != "ada" || got.GetSessions() != 3 || got.GetMessages() != 48 || got.GetFacts() == 0 {
			t.Errorf("imported %v", got)
		}
		if again := other.settled(t, "ada"); again != file {
			t.Errorf("differs:\n%s", firstDifference(file, again))
		}
		replayed := must(other.Record(h.ctx, &memoryv1.RecordRequest{
			UserId: "ada", SessionId: "s1", Messages: []*memoryv1.Message{user("m1-1u", "My name is Ada and I live in Lisbon, house 1. <b>&\u2028말</b>")},
		}))(t)
		if len(replayed.GetDeduplicatedIds()) != 1 {
			t.Errorf("a known message was stored again: %v", replayed)
		}
		reply := must(other.BuildContext(h.ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "new", Query: "Where does Ada live?"}))(t)
		if !strings.Contains(fmt.Sprint(reply), "Lisbon") {
			t.Errorf("the context of the imported user knows nothing: %v", reply)
		}
	})
	t.Run("export, erase, import: a second export is equal byte for byte, and what was deleted before stays deleted", func(t *testing.T) {
		h := startSweeping(t)
		h.fillPortable(t)
		must(h.DeleteMessages(h.ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "s0", MessageIds: []string{"m0-2u"}}))(t)
		must(h.PopMessages(h.ctx, &memoryv1.PopMessagesRequest{UserId: "ada", SessionId: "s2", Count: 1}))(t)
		file := h.settled(t, "ada")
		if !strings.Contains(file, `"deleted":true`) {
			t.Error("the file does not say what was deleted")
		}
		must(h.users().EraseUser(h.ctx, &memoryv1.EraseUserRequest{UserId: "ada", Wait: durationpb.New(time.Minute)}))(t)
		must(h.imported(h.ctx, "", file, 1<<20))(t)
		if again := h.settled(t, "ada"); again != file {
			t.Errorf("differs:\n%s", firstDifference(file, again))
		}
		again := h.record(t, "s0", user("m0-2u", "My name is Ada and I live in Lisbon, house 2. <b>&\u2028말</b>"))
		if len(again.GetDeduplicatedIds()) != 1 {
			t.Errorf("a deleted message was stored again: %v", again)
		}
		t.Run("no replay of the erasure ledger touches the new life", func(t *testing.T) {
			h.stop()
			h := startOn(t, h.data, func(*config.Config) {})
			if n := len(h.transcript(t, "s1")); n != 16 {
				t.Errorf("%d messages after a restart, want 16", n)
			}
		})
	})
	t.Run("an import that is under way when another life of the user is erased is whole, and one that meets it is refused", func(t *testing.T) {
		h, other := startSweeping(t), startSweeping(t)
		h.fillPortable(t)
		file := h.settled(t, "ada")
		half := len(file) / 2
		underWay := func() (finish func() error) {
			stream := must(other.users().ImportUser(h.ctx))(t)
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
		other.record(t, "meanwhile", user("m", "I keep bees."))
		refused(t, finish(), codes.AlreadyExists, "USER_EXISTS", "")
		must(other.users().EraseUser(h.ctx, &memoryv1.EraseUserRequest{UserId: "ada"}))(t)
		// A chunk that was sent has not arrived yet: an import that the server takes up only after the user was recorded is refused.
		eventually(t, "an import that began before the user was recorded", func() bool {
			finish := underWay()
			other.record(t, "meanwhile", user("m", "I keep bees."))
			must(other.users().EraseUser(h.ctx, &memoryv1.EraseUserRequest{UserId: "ada", Wait: durationpb.New(time.Minute)}))(t)
			err := finish()
			if err != nil && status.Code(err) != codes.AlreadyExists {
				t.Fatal(err)
			}
			return err == nil
		})
		if again := other.settled(t, "ada"); again != file {
			t.Errorf("differs:\n%s", firstDifference(file, again))
		}
	})
	t.Run("an import of a user who is there is ALREADY_EXISTS, under another id it stands beside", func(t *testing.T) {
		h := startSweeping(t)
		h.fillPortable(t)
		file := h.settled(t, "ada")
		_, err := h.imported(h.ctx, "ada", file, 1<<20)
		refused(t, err, codes.AlreadyExists, "USER_EXISTS", "")
		must(h.imported(h.ctx, "grace", file, 1<<20))(t)
		if again := h.settled(t, "grace"); withoutTrailer(again) != withoutTrailer(strings.Replace(file, `"user_id":"ada"`, `"user_id":"grace"`, 1)) {
			t.Errorf("differs:\n%s", firstDifference(file, again))
		}
	})
	t.Run("a file that was cut, changed or is of another kind is refused, and nobody is served any of it", func(t *testing.T) {
		h := startSweeping(t)
		h.fillPortable(t)
		file := h.settled(t, "ada")
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
			_, err := h.imported(h.ctx, "grace", bad, 999)
			if status.Code(err) != codes.InvalidArgument {
				t.Errorf("a file %s: %v", name, err)
			}
			if strings.Contains(fmt.Sprint(err), "Lisbon") {
				t.Errorf("a file %s: the error holds content: %v", name, err)
			}
			_, err = h.users().GetUser(h.ctx, &memoryv1.GetUserRequest{UserId: "grace"})
			refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
		}
		must(h.imported(h.ctx, "grace", file, 1<<20))(t)
	})
	t.Run("an import whose client goes away is removed", func(t *testing.T) {
		h := startSweeping(t)
		h.fillPortable(t)
		file := h.settled(t, "ada")
		ctx, cancel := context.WithCancel(h.ctx)
		stream := must(h.users().ImportUser(ctx))(t)
		if err := stream.Send(&memoryv1.ImportUserRequest{UserId: "grace", Chunk: []byte(file[:len(file)-10])}); err != nil {
			t.Fatal(err)
		}
		cancel()
		eventually(t, "an import after one that was given up", func() bool {
			_, err := h.imported(h.ctx, "grace", file, 1<<20)
			if err != nil && status.Code(err) != codes.ResourceExhausted {
				t.Fatal(err)
			}
			return err == nil
		})
	})
	t.Run("a client that sends nothing is given up", func(t *testing.T) {
		h := startWithPatience(t, 300*time.Millisecond)
		stream := must(h.users().ImportUser(h.ctx))(t)
		if err := stream.Send(&memoryv1.ImportUserRequest{UserId: "grace", Chunk: []byte("{")}); err != nil {
			t.Fatal(err)
		}
		var reply memoryv1.ImportUserResponse
		err := stream.RecvMsg(&reply)
		refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "chunk")
	})
	t.Run("an unknown user is NOT_FOUND, and a bad id is refused", func(t *testing.T) {
		h := start(t)
		_, err := h.export(t, "nobody")
		refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
		_, err = h.export(t, "")
		refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "user_id")
		_, err = h.imported(h.ctx, "a\x00b", "", 9)
		refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "user_id")
		_, err = h.imported(h.ctx, "grace", strings.Repeat("x", 2<<20), 2<<20)
		refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "chunk")
	})
	t.Run("hostile ids are refused, or nobody's", func(t *testing.T) {
		h := start(t)
		for _, id := range sampled(hostileStrings(), 10) {
			if !utf8.ValidString(id) {
				continue // no client encodes it
			}
			_, err := h.export(t, id)
			if code := status.Code(err); code != codes.NotFound && code != codes.InvalidArgument {
				t.Errorf("export of %q: %v", id, err)
			}
			_, err = h.imported(h.ctx, id, "{}\n", 9)
			if code := status.Code(err); code != codes.InvalidArgument {
				t.Errorf("import as %q: %v", id, err)
			}
		}
	})
}

func startWithPatience(t *testing.T, patience time.Duration) *harness {
	t.Helper()
	return startOn(t, t.TempDir()+"/strata.db", func(c *config.Config) { c.ReplyTimeout = patience })
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
