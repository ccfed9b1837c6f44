package storetest

import (
	"errors"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func metadata(err error) map[string]string {
	if e, ok := errors.AsType[*memory.Error](err); ok {
		return e.Metadata
	}
	return nil
}

func testRequestIDs(t *testing.T, open Open[Turns]) {
	t.Run("Append must answer a known RequestID with the first result when RequestDigest is the same", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		p := request("r1", "body", turn(ref, chat("a", 2)...))
		first := mustAppend(t, s, p)
		mustAppend(t, s, turn(ref, chat("b", 2)...))
		p.ExpectedLastSeq = ptr(int64(99)) // is not compared: the request has its result
		again := mustAppend(t, s, p)
		if !again.Replayed || first.Replayed {
			t.Errorf("Replayed is %v, then %v", first.Replayed, again.Replayed)
		}
		again.Replayed = false
		wantEqual(t, again, first)
		wantEqual(t, len(all(t, s, ref)), 4)
	})
	t.Run("Append must refuse a known RequestID with another RequestDigest with REQUEST_ID_REUSED", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		mustAppend(t, s, request("r1", "body", turn(ref, chat("a", 1)...)))
		_, err := s.Append(t.Context(), request("r1", "other", turn(ref, chat("b", 1)...)))
		wantReason(t, err, memory.ReasonRequestIDReused)
		wantEqual(t, metadata(err)["request_id"], "r1")
		wantEqual(t, len(all(t, s, ref)), 1)
	})
	t.Run("a RequestID is known in its session only", func(t *testing.T) {
		s := open(t)
		for _, ref := range []memory.SessionRef{alice.Session("s"), alice.Session("t"), bob.Session("s")} {
			res := mustAppend(t, s, request("r1", ref.SessionID+ref.UserID, turn(ref, chat("a", 1)...)))
			wantEqual(t, []any{res.Replayed, res.TurnNo}, []any{false, int64(1)})
		}
	})
	t.Run("a refused call leaves its RequestID free", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		p := request("r1", "body", turn(ref, chat("a", 1)...))
		p.ExpectedLastSeq = ptr(int64(5))
		_, err := s.Append(t.Context(), p)
		wantReason(t, err, memory.ReasonLastSeqMismatch)
		p.ExpectedLastSeq = nil
		wantEqual(t, mustAppend(t, s, p).Replayed, false)
	})
	t.Run("a call with a RequestID is a turn even when it stores nothing", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		mustAppend(t, s, turn(ref, chat("a", 1)...))
		res := mustAppend(t, s, request("r1", "body", turn(ref, chat("a", 1)...)))
		wantEqual(t, []int64{res.TurnNo, res.FirstSeq, res.LastSeq}, []int64{2, 2, 1})
	})
}

func testMessageIDs(t *testing.T, open Open[Turns]) {
	t.Run("Append must skip a message whose id is known with the same BodyDigest", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		mustAppend(t, s, turn(ref, chat("a", 2)...))
		known := chat("a", 1)[0]
		known.Tags, known.Pinned, known.CreateTime = []string{"new"}, true, minute(9)
		res := mustAppend(t, s, turn(ref, known, chat("b", 1)[0], chat("a", 2)[1]))
		wantEqual(t, res, store.AppendResult{
			TurnNo: 2, MessageIDs: []string{"a-1", "b-1", "a-2"}, FirstSeq: 3, LastSeq: 3, Deduplicated: []string{"a-1", "a-2"},
		})
		got := all(t, s, ref)
		wantEqual(t, ids(t, got), []string{"a-1", "a-2", "b-1"})
		wantEqual(t, got[0].Pinned, false)
	})
	t.Run("Append must refuse the call with MESSAGE_ID_REUSED when an id is known with another BodyDigest", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		mustAppend(t, s, turn(ref, chat("a", 1)...))
		_, err := s.Append(t.Context(), turn(ref, say("new", memory.RoleUser, "w"), say("a-1", memory.RoleUser, "changed")))
		wantReason(t, err, memory.ReasonMessageIDReused)
		wantEqual(t, metadata(err)["message_id"], "a-1")
		wantEqual(t, ids(t, all(t, s, ref)), []string{"a-1"})
	})
	t.Run("an id that stands twice in one call is stored once", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		a := chat("a", 1)[0]
		res := mustAppend(t, s, turn(ref, a, a))
		wantEqual(t, []any{res.LastSeq, res.Deduplicated}, []any{int64(1), []string{"a-1"}})
		_, err := s.Append(t.Context(), turn(ref, say("b", memory.RoleUser, "x"), say("b", memory.RoleUser, "y")))
		wantReason(t, err, memory.ReasonMessageIDReused)
		wantEqual(t, len(all(t, s, ref)), 1)
	})
	t.Run("a message id is known in its session only", func(t *testing.T) {
		s := open(t)
		for i, ref := range []memory.SessionRef{alice.Session("s"), alice.Session("t"), bob.Session("s")} {
			res := mustAppend(t, s, turn(ref, say("m", memory.RoleUser, string(rune('a'+i)))))
			wantEqual(t, res.LastSeq, int64(1))
		}
	})
	t.Run("ids are compared byte by byte", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		for i, id := range hostile() {
			res := mustAppend(t, s, request(id, id, turn(ref, say(id, memory.RoleUser, id))))
			wantEqual(t, res.LastSeq, int64(i+1))
		}
		wantEqual(t, ids(t, all(t, s, ref)), hostile())
	})
}

// hostile are ids that are easily taken for each other, or for a query.
func hostile() []string {
	return []string{
		"a", "A", "a ", " a", "a%", "a_", "\u00e1", "a\u0301", "\uff41", "' OR 1=1 --", `"; DROP TABLE users; --`, "$gt", `{"$ne":null}`,
		"a:b", "a/b", "a|b", "a\x1fb", "a.b", "a\\b", "1", "01", "1.0", "null", "true", "*", "[1]", "\uac15", "\u1100\u1161\u11bc", "\U0001f600",
	}
}
