package writeplan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

var (
	noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	ref  = memory.UserRef{Tenant: "t", UserID: "u"}.Session("s")
)

// session is a session in memory: what a driver keeps of it.
type session struct {
	writeplan.Session
	ids      map[string]memory.KeyedHash
	requests map[string]writeplan.Recorded
}

func newSession() *session {
	return &session{
		Session: writeplan.Session{HashKey: "key"}, ids: map[string]memory.KeyedHash{}, requests: map[string]writeplan.Recorded{},
	}
}

// call decides a call as a driver does, and keeps what it stores.
func (s *session) call(p store.AppendParams) (writeplan.Turn, error) {
	var first *writeplan.Recorded
	if r, known := s.requests[p.RequestID]; known {
		first = &r
	}
	taken := map[string]memory.KeyedHash{}
	t, err := writeplan.Append(s.Session, &p, first, func(m *store.NewMessage, _ int64, body memory.KeyedHash) (*memory.KeyedHash, error) {
		for _, ids := range []map[string]memory.KeyedHash{taken, s.ids} {
			if known, ok := ids[m.ID]; ok {
				return &known, nil
			}
		}
		taken[m.ID] = body
		return nil, nil
	})
	if err != nil || t.No == 0 {
		return t, err
	}
	for id, body := range taken {
		s.ids[id] = body
	}
	if p.RequestID != "" {
		result, err := writeplan.DecodeResult([]byte(t.EncodedResult))
		if err != nil {
			return t, err
		}
		s.requests[p.RequestID] = writeplan.Recorded{Digest: t.RequestDigest, Result: result}
	}
	s.LastTurn, s.LastSeq, s.Steps, s.UpdateTime = t.No, t.LastSeq, t.Steps, t.RecordTime
	if t.StateRevision == t.No {
		s.State = t.State
	}
	s.StateRevision = t.StateRevision
	return t, nil
}

func says(role memory.Role, id, words string) store.NewMessage {
	return store.NewMessage{
		Message:    memory.Message{ID: id, Role: role, Parts: []memory.Part{memory.TextPart(words)}, CreateTime: noon},
		BodyDigest: memory.IDDigest(words),
	}
}

func turn(messages ...store.NewMessage) store.AppendParams {
	return store.AppendParams{Ref: ref, Messages: messages, Time: noon}
}

func wantReason(t *testing.T, err error, want memory.Reason) {
	t.Helper()
	if got := memory.ReasonOf(err); got != want {
		t.Errorf("the reason is %q (%v), want %q", got, err, want)
	}
}

func TestAppend(t *testing.T) {
	t.Run("turns and messages are numbered from 1", func(t *testing.T) {
		s := newSession()
		for i := int64(1); i <= 3; i++ {
			got, err := s.call(turn(says(memory.RoleUser, fmt.Sprint("a", i), "x"), says(memory.RoleAssistant, fmt.Sprint("b", i), "y")))
			if err != nil || got.No != i || got.FirstSeq != 2*i-1 || got.LastSeq != 2*i || got.Messages[1].Seq != 2*i {
				t.Fatalf("turn %d is %+v, %v", i, got, err)
			}
		}
	})
	t.Run("a known request gets its first result, whatever else would refuse it", func(t *testing.T) {
		s, p, other := newSession(), turn(says(memory.RoleUser, "a", "x")), int64(9)
		p.RequestID, p.RequestDigest = "r", memory.IDDigest("body")
		first, err := s.call(p)
		if err != nil {
			t.Fatal(err)
		}
		p.Refused, p.ExpectedLastSeq, p.Room = errors.New("refused"), &other, &store.Room{Full: errors.New("full")}
		again, err := s.call(p)
		first.Result.Replayed = true
		if err != nil || again.No != 0 || fmt.Sprint(again.Result) != fmt.Sprint(first.Result) {
			t.Errorf("again is %+v, %v, want the result %+v and nothing to store", again, err, first.Result)
		}
		p.RequestDigest = memory.IDDigest("another")
		_, err = s.call(p)
		wantReason(t, err, memory.ReasonRequestIDReused)
	})
	t.Run("Refused comes before ExpectedLastSeq, and that before the messages", func(t *testing.T) {
		s, other := newSession(), int64(9)
		if _, err := s.call(turn(says(memory.RoleUser, "a", "x"))); err != nil {
			t.Fatal(err)
		}
		p := turn(says(memory.RoleUser, "a", "other words"))
		p.ExpectedLastSeq = &other
		_, err := s.call(p)
		wantReason(t, err, memory.ReasonLastSeqMismatch)
		p.Refused = errors.New("refused")
		if _, err := s.call(p); !errors.Is(err, p.Refused) {
			t.Errorf("the error is %v, want that of Refused", err)
		}
		p.Refused, p.ExpectedLastSeq = nil, nil
		_, err = s.call(p)
		wantReason(t, err, memory.ReasonMessageIDReused)
	})
	t.Run("a message is known by its id and body, also within one call", func(t *testing.T) {
		got, err := newSession().call(turn(says(memory.RoleUser, "a", "x"), says(memory.RoleUser, "a", "x"), says(memory.RoleUser, "b", "x")))
		if err != nil || got.N() != 2 || got.LastSeq != 2 || fmt.Sprint(got.Result.Deduplicated) != "[a]" || len(got.Result.MessageIDs) != 3 {
			t.Errorf("the turn is %+v, %v", got, err)
		}
	})
	t.Run("room is counted in new messages", func(t *testing.T) {
		s, full := newSession(), errors.New("full")
		if _, err := s.call(turn(says(memory.RoleUser, "a", "x"))); err != nil {
			t.Fatal(err)
		}
		p := turn(says(memory.RoleUser, "a", "x"), says(memory.RoleUser, "b", "x"))
		p.Room = &store.Room{Messages: 0, Full: full}
		if _, err := s.call(p); !errors.Is(err, full) {
			t.Errorf("one new message: %v, want the error of a full room", err)
		}
		p.Messages = p.Messages[:1]
		if _, err := s.call(p); err != nil {
			t.Errorf("a known message: %v", err)
		}
	})
	t.Run("a turn without a reason is none, and its result is complete", func(t *testing.T) {
		s := newSession()
		if _, err := s.call(turn(says(memory.RoleAssistant, "a", "x"))); err != nil {
			t.Fatal(err)
		}
		got, err := s.call(turn(says(memory.RoleAssistant, "a", "x")))
		want := store.AppendResult{MessageIDs: []string{"a"}, FirstSeq: 2, LastSeq: 1, Deduplicated: []string{"a"}, StepsSinceUser: 1}
		if err != nil || got.No != 0 || fmt.Sprint(got.Result) != fmt.Sprint(want) {
			t.Errorf("the turn is %+v, %v, want the result %+v alone", got, err, want)
		}
	})
	t.Run("a patch is a turn, and raises the revision only where it changes the state", func(t *testing.T) {
		s, p := newSession(), turn()
		for i, want := range []int64{1, 1, 3} {
			p.StatePatch = json.RawMessage([]string{`{"a":1}`, `{"a":1}`, `{"a":null}`}[i])
			got, err := s.call(p)
			if err != nil || got.No != int64(i+1) || got.StateRevision != want {
				t.Errorf("patch %d: turn %d at revision %d, %v; want turn %d at %d", i, got.No, got.StateRevision, err, i+1, want)
			}
		}
		if len(s.State) != 0 {
			t.Errorf("the state is %s, want none", s.State)
		}
	})
	t.Run("a turn's time is never below that of an earlier turn", func(t *testing.T) {
		s, p := newSession(), turn(says(memory.RoleUser, "a", "x"))
		if _, err := s.call(p); err != nil {
			t.Fatal(err)
		}
		p = turn(says(memory.RoleUser, "b", "x"))
		p.Time = noon.Add(-time.Hour)
		got, err := s.call(p)
		if err != nil || got.RecordTime != noon.UnixMicro() || got.LastMessage != noon.Add(-time.Hour+time.Minute).UnixMicro() {
			t.Errorf("the turn is %+v, %v", got, err)
		}
	})
	t.Run("findings are kept for what is stored and for what a check removed", func(t *testing.T) {
		s := newSession()
		if _, err := s.call(turn(says(memory.RoleUser, "a", "x"))); err != nil {
			t.Fatal(err)
		}
		p := turn(says(memory.RoleUser, "a", "x"), says(memory.RoleUser, "b", "x"))
		p.Findings = []memory.Finding{{MessageID: "a"}, {MessageID: "b"}, {MessageID: "c", Removed: true}}
		got, err := s.call(p)
		if err != nil || len(got.Result.Findings) != 2 || got.Result.Findings[0].MessageID != "b" {
			t.Errorf("the findings are %+v, %v", got.Result.Findings, err)
		}
	})
}

// TestAppendInAnyOrder: whatever calls come, what is stored is contiguous, each id once, and repeating them all changes nothing.
func TestAppendInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, stored := newSession(), map[string]int64{}
		var calls []store.AppendParams
		for i := range rapid.IntRange(1, 8).Draw(t, "calls") {
			p := turn()
			for range rapid.IntRange(0, 4).Draw(t, "messages") {
				id := fmt.Sprint("m", rapid.IntRange(0, 9).Draw(t, "id"))
				p.Messages = append(p.Messages, says(rapid.SampledFrom([]memory.Role{memory.RoleUser, memory.RoleAssistant}).Draw(t, "role"), id, id))
			}
			p.RequestID, p.RequestDigest = fmt.Sprint("r", i), memory.IDDigest("body")
			calls = append(calls, p)
			got, err := s.call(p)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range got.Messages {
				if stored[m.ID] != 0 || m.Seq != int64(len(stored))+1 {
					t.Fatalf("message %s has seq %d after %d messages; stored before at %d", m.ID, m.Seq, len(stored), stored[m.ID])
				}
				stored[m.ID] = m.Seq
			}
		}
		before := s.Session
		for _, p := range calls {
			if got, err := s.call(p); err != nil || got.No != 0 || !got.Result.Replayed {
				t.Fatalf("repeated: %+v, %v", got, err)
			}
		}
		if fmt.Sprint(s.Session) != fmt.Sprint(before) {
			t.Fatalf("the session is %+v after repeats, was %+v", s.Session, before)
		}
	})
}
