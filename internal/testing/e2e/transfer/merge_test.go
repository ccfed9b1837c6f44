package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// factTexts are the user's current facts, in the order of the alphabet.
func factTexts(t *testing.T, h *e2e.Server, user string) (texts []string) {
	t.Helper()
	for _, f := range e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: user, PageSize: 100}))(t).GetFacts() {
		texts = append(texts, f.GetText())
	}
	slices.Sort(texts)
	return texts
}

func sessionIDs(t *testing.T, h *e2e.Server, user string) (ids []string) {
	t.Helper()
	for _, s := range e2e.Must(h.ListSessions(h.Ctx, &memoryv1.ListSessionsRequest{UserId: user, PageSize: 100}))(t).GetSessions() {
		ids = append(ids, s.GetSessionId())
	}
	slices.Sort(ids)
	return ids
}

func TestImportIntoAUserWhoIsThere(t *testing.T) {
	t.Parallel()
	filled := func(t *testing.T) (*e2e.Server, string) {
		h := e2e.StartSweeping(t)
		h.FillPortable(t)
		return h, h.Settled(t, "ada")
	}
	const more = "My sister lives in Porto."
	t.Run("skip leaves what is there and adds the rest, with hashes, summaries and facts", func(t *testing.T) {
		from, file := filled(t)
		h := e2e.Start(t)
		h.RecordTurn(t, "s0", e2e.User("mine", "I work as a baker."), e2e.Assistant("mine too", "A fine trade."))
		e2e.Eventually(t, "a fact of one's own", func() bool { return len(factTexts(t, h, "ada")) > 0 })
		own := factTexts(t, h, "ada")
		got := e2e.Must(h.Merged(h.Ctx, "", file, 1000, e2e.Skip))(t)
		if got.GetSessions() != 2 || got.GetMessages() != 32 || got.GetLeftSessions() != 1 || got.GetFacts() == 0 {
			t.Errorf("imported %v", got)
		}
		if n := len(h.Transcript(t, "s0")); n != 2 {
			t.Errorf("the session that was there has %d messages", n)
		}
		if n := len(h.Transcript(t, "s1")); n != 16 {
			t.Errorf("the session that came has %d messages", n)
		}
		facts := factTexts(t, h, "ada")
		if !slices.Contains(facts, own[0]) || !slices.Contains(facts, "Has two cats.") || !slices.Contains(facts, "Name is Ada.") {
			t.Errorf("facts are %q", facts)
		}
		again := e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{
			UserId: "ada", SessionId: "s1", Messages: []*memoryv1.Message{e2e.User("m1-1u", "My name is Ada and I live in Lisbon, house 1. <b>&\u2028말</b>")},
		}))(t)
		if len(again.GetDeduplicatedIds()) != 1 {
			t.Errorf("a known message was stored again: %v", again)
		}
		want := e2e.Must(from.Summaries().GetSummary(from.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s1"}))(t).GetSummary().GetText()
		if now := e2e.Must(h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s1"}))(t); now.GetSummary().GetText() != want {
			t.Errorf("the summary is %q, want %q", now.GetSummary().GetText(), want)
		}
		e2e.Eventually(t, "what came in a search", func() bool {
			hits := e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: "Lisbon house"}))(t)
			return len(hits.GetHits()) > 0
		})
		second := e2e.Must(h.Merged(h.Ctx, "", file, 1000, e2e.Skip))(t)
		if second.GetSessions() != 0 || second.GetFacts() != 0 {
			t.Errorf("a second import brought %v", second)
		}
		if now := factTexts(t, h, "ada"); !slices.Equal(now, facts) {
			t.Errorf("facts are %q after a second import, want %q", now, facts)
		}
	})
	t.Run("overwrite erases what has the same id and puts what comes in its place, as often as it is asked", func(t *testing.T) {
		h, file := filled(t)
		for range 2 {
			h.RecordTurn(t, "s1", e2e.User("new", more), e2e.Assistant("newer", "Say hello."))
			h.RecordTurn(t, "only here", e2e.User("h", "I keep bees."))
			got := e2e.Must(h.Merged(h.Ctx, "", file, 1000, e2e.Overwrite))(t)
			if got.GetSessions() != 2 || got.GetLeftSessions() != 1 { // a message of s0 is hidden
				t.Errorf("imported %v", got)
			}
			if n := len(h.Transcript(t, "s1")); n != 16 {
				t.Errorf("the session has %d messages", n)
			}
			if n := len(h.Transcript(t, "only here")); n == 0 {
				t.Error("a session that is not in the file is gone")
			}
		}
		if facts := fmt.Sprint(factTexts(t, h, "ada")); strings.Contains(facts, "Porto") || !strings.Contains(facts, "Name is Ada") {
			t.Errorf("facts are %s", facts)
		}
	})
	t.Run("overwrite gives a fact the words of the file, with none of those it had", func(t *testing.T) {
		h, file := filled(t)
		var cats *memoryv1.Fact
		for _, f := range e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "ada"}))(t).GetFacts() {
			if f.GetText() == "Has two cats." {
				cats = f
			}
		}
		edited := &memoryv1.Fact{UserId: "ada", FactId: cats.GetFactId(), Text: "Has three dogs."}
		e2e.Must(h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: edited, UpdateMask: e2e.MaskOf("text")}))(t)
		e2e.Must(h.Merged(h.Ctx, "", file, 1000, e2e.Skip))(t)
		if facts := factTexts(t, h, "ada"); slices.Contains(facts, "Has two cats.") {
			t.Errorf("facts are %q after skip", facts)
		}
		e2e.Must(h.Merged(h.Ctx, "", file, 1000, e2e.Overwrite))(t)
		if facts := factTexts(t, h, "ada"); !slices.Contains(facts, "Has two cats.") || slices.Contains(facts, "Has three dogs.") {
			t.Errorf("facts are %q after overwrite", facts)
		}
		revisions := e2e.Must(h.Facts().ListFactRevisions(h.Ctx, &memoryv1.ListFactRevisionsRequest{UserId: "ada", FactId: cats.GetFactId()}))(t)
		if strings.Contains(revisions.String(), "dogs") {
			t.Errorf("the revisions are %v", revisions)
		}
	})
	t.Run("new-ids adds all sessions of the file under new ids, each time", func(t *testing.T) {
		h, file := filled(t)
		facts := factTexts(t, h, "ada")
		for n := 1; n <= 2; n++ {
			got := e2e.Must(h.Merged(h.Ctx, "", file, 1000, e2e.NewIDs))(t)
			if got.GetSessions() != 3 || got.GetLeftSessions() != 0 {
				t.Errorf("imported %v", got)
			}
			ids := sessionIDs(t, h, "ada")
			if len(ids) != 3*(n+1) || !strings.HasPrefix(ids[1], "s0-") {
				t.Errorf("sessions are %q", ids)
			}
			if len(h.Transcript(t, ids[1])) != 16 {
				t.Errorf("the session %s has %d messages", ids[1], len(h.Transcript(t, ids[1])))
			}
		}
		if now := factTexts(t, h, "ada"); !slices.Equal(now, facts) {
			t.Errorf("facts are %q, want each in its words once: %q", now, facts)
		}
	})
	for _, rule := range []memoryv1.OnConflict{e2e.Skip, e2e.Overwrite} {
		t.Run("what was deleted since does not come back by "+rule.String(), func(t *testing.T) {
			h, file := filled(t)
			e2e.Must(h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "s1", MessageIds: []string{"m1-3u"}}))(t)
			e2e.Must(h.DeleteSession(h.Ctx, &memoryv1.DeleteSessionRequest{UserId: "ada", SessionId: "s2"}))(t)
			var deleted []string
			for _, f := range e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "ada"}))(t).GetFacts() {
				deleted = append(deleted, f.GetFactId())
				e2e.Must(h.Facts().DeleteFact(h.Ctx, &memoryv1.DeleteFactRequest{UserId: "ada", FactId: f.GetFactId()}))(t)
			}
			got := e2e.Must(h.Merged(h.Ctx, "", file, 1000, rule))(t)
			if got.GetLeftSessions() != 3 || got.GetLeftFacts() == 0 {
				t.Errorf("imported %v", got)
			}
			if ids := sessionIDs(t, h, "ada"); slices.Contains(ids, "s2") {
				t.Errorf("sessions are %q", ids)
			}
			if strings.Contains(fmt.Sprint(h.Transcript(t, "s1")), "house 3") {
				t.Error("a deleted message is back")
			}
			if facts := factTexts(t, h, "ada"); len(facts) > 0 {
				t.Errorf("facts are back: %q", facts)
			}
			// Past ones may be overwritten: the deletions changed how long some of them held.
			past := e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "ada", IncludePast: true, PageSize: 100}))(t)
			for _, f := range past.GetFacts() {
				taught := slices.ContainsFunc(f.GetEvidence(), func(e *memoryv1.Evidence) bool {
					return e.GetSessionId() == "s2" || e.GetMessageId() == "m1-3u"
				})
				if taught || slices.Contains(deleted, f.GetFactId()) {
					t.Errorf("of what was deleted came %v", f)
				}
			}
		})
	}
	t.Run("a fact comes only with messages that taught it", func(t *testing.T) {
		h, file := filled(t)
		for _, id := range []string{"s0", "s1", "s2"} {
			e2e.Must(h.DeleteSession(h.Ctx, &memoryv1.DeleteSessionRequest{UserId: "ada", SessionId: id}))(t)
		}
		e2e.Must(h.Merged(h.Ctx, "", file, 1000, e2e.Skip))(t)
		if facts := factTexts(t, h, "ada"); !slices.Equal(facts, []string{"Has two cats."}) {
			t.Errorf("facts are %q, want the one that a person wrote", facts)
		}
	})
	t.Run("an import that meets the user's erasure is ABORTED and leaves nothing", func(t *testing.T) {
		h, file := filled(t)
		half := len(file) / 2
		stream := e2e.Must(h.Users().ImportUser(h.Ctx))(t)
		if err := stream.Send(&memoryv1.ImportUserRequest{OnConflict: e2e.Skip, Chunk: []byte(file[:half])}); err != nil {
			t.Fatal(err)
		}
		e2e.Eventually(t, "an import under way", func() bool { // what was sent has not arrived yet
			return len(e2e.Must(h.Store.StaleImports(h.Ctx, time.Now().Add(time.Hour), 1))(t)) > 0
		})
		e2e.Must(h.Users().EraseUser(h.Ctx, &memoryv1.EraseUserRequest{UserId: "ada", Wait: durationpb.New(time.Minute)}))(t)
		h.RecordTurn(t, "another life", e2e.User("m", "I keep bees."))
		if err := stream.Send(&memoryv1.ImportUserRequest{Chunk: []byte(file[half:])}); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if _, err := stream.CloseAndRecv(); err != nil {
			e2e.Refused(t, err, codes.Aborted, "CONTENTION", "")
		} else {
			t.Error("the import went to another life")
		}
		if ids := sessionIDs(t, h, "ada"); !slices.Equal(ids, []string{"another life"}) {
			t.Errorf("sessions are %q", ids)
		}
	})
	t.Run("a file that is cut leaves the user as he was", func(t *testing.T) {
		h, file := filled(t)
		for _, rule := range []memoryv1.OnConflict{e2e.Skip, e2e.Overwrite, e2e.NewIDs} {
			_, err := h.Merged(h.Ctx, "", file[:len(file)-10], 1000, rule)
			e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "")
		}
		if again := h.Settled(t, "ada"); again != file {
			t.Errorf("differs:\n%s", firstDifference(file, again))
		}
	})
	t.Run("a server that goes on ends an import that had come whole", func(t *testing.T) {
		_, file := filled(t)
		data := t.TempDir() + "/strata.db"
		h := e2e.StartWith(t, data, app.Options{Hooks: app.Hooks{Wrap: func(s store.PrimaryStore) store.PrimaryStore { return &endsAfter{PrimaryStore: s, left: 1} }}}, func(*config.Config) {})
		h.RecordTurn(t, "mine", e2e.User("m", more))
		if _, err := h.Merged(h.Ctx, "", file, 1000, e2e.Skip); err == nil {
			t.Error("an import that could not end was acknowledged")
		}
		h.Stop()
		h = e2e.StartWith(t, data, app.Options{Hooks: app.Hooks{Wrap: func(s store.PrimaryStore) store.PrimaryStore { return staleAtOnce{s} }}}, func(*config.Config) {})
		e2e.Eventually(t, "all sessions and facts", func() bool {
			return len(sessionIDs(t, h, "ada")) == 4 && slices.Contains(factTexts(t, h, "ada"), "Has two cats.")
		})
	})
	t.Run("a rule that is none is refused", func(t *testing.T) {
		h := e2e.Start(t)
		_, err := h.Merged(h.Ctx, "", "{}\n", 9, 99)
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "on_conflict")
	})
}

// endsAfter is a store of a process that is killed after it adopted so many sessions.
type endsAfter struct {
	store.PrimaryStore
	left int
}

func (s *endsAfter) AdoptSession(ctx context.Context, p store.Adoption) (store.Adopted, error) {
	if s.left == 0 {
		return 0, errors.New("killed")
	}
	s.left--
	return s.PrimaryStore.AdoptSession(ctx, p)
}

// staleAtOnce is a store in which every import looks abandoned.
type staleAtOnce struct{ store.PrimaryStore }

func (s staleAtOnce) StaleImports(ctx context.Context, before time.Time, limit int) ([]store.StaleImport, error) {
	return s.PrimaryStore.StaleImports(ctx, before.Add(time.Hour), limit)
}
