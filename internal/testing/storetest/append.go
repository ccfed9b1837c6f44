package storetest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func testInsert(t *testing.T, open Open[Turns]) {
	t.Run("Append stores one turn: all of it or nothing", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		res := mustAppend(t, s, turn(ref, chat("a", 3)...))
		wantEqual(t, res, store.AppendResult{
			TurnNo: 1, MessageIDs: []string{"a-1", "a-2", "a-3"}, FirstSeq: 1, LastSeq: 3, StepsSinceUser: 0,
		})
		clash := append(chat("b", 2), say("a-1", memory.RoleUser, "other words"))
		_, err := s.Append(t.Context(), turn(ref, clash...))
		wantReason(t, err, memory.ReasonMessageIDReused)
		wantEqual(t, ids(t, all(t, s, ref)), []string{"a-1", "a-2", "a-3"})
	})
	t.Run("Append must number turns and messages from 1 without gaps, in the order of acknowledgement", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		mustAppend(t, s, turn(ref, chat("a", 2)...))
		res := mustAppend(t, s, turn(ref, chat("b", 2)...))
		wantEqual(t, []int64{res.TurnNo, res.FirstSeq, res.LastSeq}, []int64{2, 3, 4})
		got := all(t, s, ref)
		wantEqual(t, ids(t, got), []string{"a-1", "a-2", "b-1", "b-2"})
		wantEqual(t, []int64{got[0].TurnNo, got[3].TurnNo}, []int64{1, 2})
	})
	t.Run("every part of a message comes back as it was stored", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		want := message(everything())
		mustAppend(t, s, turn(ref, want))
		got, err := s.Messages(t.Context(), store.MessageQuery{Ref: ref, Limit: 1, WithOriginal: true})
		if err != nil {
			t.Fatal(err)
		}
		want.Seq, want.TurnNo, want.RecordTime = 1, 1, noon
		wantEqual(t, got, []memory.Message{want.Message})
	})
}

// everything is a message that uses every field.
func everything() memory.Message {
	return memory.Message{
		ID: "m'\"$gt:\\", Role: memory.RoleAssistant, Name: "Bot 🤖",
		Parts: []memory.Part{
			memory.TextPart("words <b>&\u2028</b> 말 \u0000 \U0001f600"),
			{Kind: memory.PartReasoning, Text: "hm", Signature: "sig", Data: []byte{0, 1, 255}},
			{Kind: memory.PartToolCall, CallID: "c1", Name: "look", Arguments: `{"a" : 1.50, "b":"<"}`},
			{Kind: memory.PartToolResult, CallID: "c0", IsError: true, Parts: []memory.Part{memory.TextPart("no")}},
			{Kind: memory.PartBlob, MIMEType: "image/png", Data: []byte("\x89PNG")},
			{Kind: memory.PartURI, MIMEType: "text/html", URI: "https://example.com/?a=1&b=2"},
			{Kind: memory.PartOpaque, Type: "x", JSON: `{"k": [1, 2]}`},
		},
		Tags: []string{"b", "a"}, Metadata: json.RawMessage(`{"k":"v"}`),
		CreateTime: time.Date(1999, 12, 31, 23, 59, 59, 999999000, time.UTC),
		Origin:     memory.OriginRecalled, Extract: memory.ExtractNone, Pinned: true,
		Tokens:   memory.TokenCounts{O200K: 7, CL100K: 8},
		Original: &memory.Original{Format: "openai", Data: []byte(`{ "role":"assistant" }`)},
	}
}

func testAppend(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("Append must create the user and the session when they do not exist", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		_, err := s.Session(t.Context(), ref)
		wantReason(t, err, memory.ReasonUserNotFound)
		p := turn(ref, chat("a", 1)...)
		p.Profile = "coding"
		mustAppend(t, s, p)
		head := mustSession(t, s, ref)
		wantEqual(t, []string{head.Ref.SessionID, head.Profile}, []string{"s", "coding"})
		if len(head.ScopeKey) != 32 || len(head.Key) != 32 || string(head.Key) == string(head.ScopeKey) || head.ETag == "" {
			t.Errorf("keys are %q and %q, etag %q", head.ScopeKey, head.Key, head.ETag)
		}
		_, err = s.Session(t.Context(), alice.Session("other"))
		wantReason(t, err, memory.ReasonSessionNotFound)
	})
	t.Run("Append must keep the profile that the session began with", func(t *testing.T) {
		s, p := open(t), turn(alice.Session("s"), chat("a", 1)...)
		p.Profile = "one"
		mustAppend(t, s, p)
		p.Profile = "two"
		mustAppend(t, s, p)
		wantEqual(t, mustSession(t, s, p.Ref).Profile, "one")
	})
	t.Run(
		"Append must refuse the call with LAST_SEQ_MISMATCH when ExpectedLastSeq is set and is not the session's last seq",
		func(t *testing.T) {
			testExpectedLastSeq(t, open(t))
		},
	)
	t.Run("Append must merge StatePatch by memory.MergeState", func(t *testing.T) { testStatePatch(t, open(t)) })
	t.Run("Append must refuse the call with Refused where that is set, unless its RequestID is known", func(t *testing.T) {
		s, p := open(t), turn(alice.Session("s"), chat("a", 1)...)
		p.Refused = memory.InvalidField("messages", "are refused")
		_, err := s.Append(t.Context(), request("r", "b", p))
		wantReason(t, err, memory.ReasonFieldInvalid)
		_, err = s.Session(t.Context(), p.Ref)
		wantReason(t, err, memory.ReasonUserNotFound)
		p.Refused = nil
		first := mustAppend(t, s, request("r", "b", p))
		p.Refused = memory.InvalidField("messages", "are refused")
		first.Replayed = true
		wantEqual(t, mustAppend(t, s, request("r", "b", p)), first)
		_, err = s.Append(t.Context(), request("q", "b", p))
		wantReason(t, err, memory.ReasonFieldInvalid)
	})
	t.Run("Append must stamp notes with the turn and its record time", func(t *testing.T) {
		s, p := open(t), turn(alice.Session("s"))
		p.StatePatch = json.RawMessage(`{"notes":{"plan":"a","goal":["b"]}}`)
		mustAppend(t, s, p)
		p.StatePatch, p.Time = json.RawMessage(`{"notes/plan":"c","notes/goal":["b"]}`), minute(1)
		mustAppend(t, s, p)
		want := `{"notes":{"goal":{"value":["b"],"revision":1,"time":"2026-03-01T12:00:00.123456Z"},"plan":{"value":"c","revision":2,"time":"2026-03-01T12:01:00.123456Z"}}}`
		wantEqual(t, string(mustSession(t, s, p.Ref).State), want)
	})
	t.Run("Append must keep Findings of messages that a check removed", func(t *testing.T) {
		s, p := open(t), turn(alice.Session("s"), chat("a", 1)...)
		gone := memory.Finding{MessageID: "gone", Kind: memory.FindingCheck, Index: 1, Rule: "r", Action: memory.CheckRemove, Removed: true}
		p.Findings = []memory.Finding{gone}
		wantEqual(t, mustAppend(t, s, request("r", "b", p)).Findings, []memory.Finding{gone})
		wantEqual(t, mustAppend(t, s, request("r", "b", p)).Findings, []memory.Finding{gone})
	})
	t.Run("Append must write no turn when there is neither a RequestID, a StatePatch nor a new message", func(t *testing.T) {
		s, p := open(t), turn(alice.Session("s"), chat("a", 2)...)
		mustAppend(t, s, p)
		before := mustSession(t, s, p.Ref)
		p.Time = minute(1)
		res := mustAppend(t, s, p)
		wantEqual(t, res, store.AppendResult{
			MessageIDs: []string{"a-1", "a-2"}, Deduplicated: []string{"a-1", "a-2"}, FirstSeq: 3, LastSeq: 2, StepsSinceUser: 1,
		})
		wantEqual(t, mustSession(t, s, p.Ref), before)
	})
	t.Run("Append must count the assistant messages since the last message of a user", func(t *testing.T) { testSteps(t, open(t)) })
	t.Run("Append must keep Findings for the messages that are stored", func(t *testing.T) {
		s, p := open(t), turn(alice.Session("s"), chat("a", 1)...)
		mustAppend(t, s, p)
		p.Messages = chat("a", 2)
		kept := memory.Finding{MessageID: "a-2", Kind: memory.FindingOrphanToolResult, CallID: "c"}
		p.Findings = []memory.Finding{{MessageID: "a-1", Kind: memory.FindingDuplicateToolCall}, kept}
		wantEqual(t, mustAppend(t, s, request("r", "b", p)).Findings, []memory.Finding{kept})
		wantEqual(t, mustAppend(t, s, request("r", "b", p)).Findings, []memory.Finding{kept})
	})
	t.Run("a head's UpdateTime must not move back", func(t *testing.T) {
		s, ref := open(t), alice.Session("s")
		late, early := turn(ref, chat("a", 1)...), turn(ref, chat("b", 1)...)
		late.Time, early.Time = minute(5), minute(1)
		mustAppend(t, s, late)
		mustAppend(t, s, early)
		head := mustSession(t, s, ref)
		wantEqual(t, []time.Time{head.CreateTime, head.UpdateTime}, []time.Time{minute(5), minute(5)})
		wantEqual(t, all(t, s, ref)[1].RecordTime, minute(1))
	})
	t.Run("times are UTC to the microsecond", func(t *testing.T) {
		s, p := open(t), turn(alice.Session("s"), chat("a", 1)...)
		p.Time = time.Date(2026, 3, 1, 21, 0, 0, 123456789, time.FixedZone("KST", 9*3600))
		mustAppend(t, s, p)
		got := all(t, s, p.Ref)[0].RecordTime
		if want := noon; got != want {
			t.Errorf("record time is %v, want %v", got, want)
		}
	})
}

func testExpectedLastSeq(t *testing.T, s store.PrimaryStore) {
	p := turn(alice.Session("s"), chat("a", 2)...)
	p.ExpectedLastSeq = ptr(int64(1))
	_, err := s.Append(t.Context(), p)
	wantReason(t, err, memory.ReasonLastSeqMismatch)
	_, err = s.Session(t.Context(), p.Ref)
	wantReason(t, err, memory.ReasonUserNotFound)
	p.ExpectedLastSeq = ptr(int64(0))
	mustAppend(t, s, p)
	p.Messages, p.ExpectedLastSeq = chat("b", 1), ptr(int64(7))
	_, err = s.Append(t.Context(), p)
	wantReason(t, err, memory.ReasonLastSeqMismatch)
	if !strings.Contains(metadata(err)["expected"]+"/"+metadata(err)["actual"], "7/2") {
		t.Errorf("metadata is %v, want expected 7 and actual 2", metadata(err))
	}
	wantEqual(t, len(all(t, s, p.Ref)), 2)
	p.ExpectedLastSeq = ptr(int64(2))
	wantEqual(t, mustAppend(t, s, p).LastSeq, int64(3))
}

func testStatePatch(t *testing.T, s store.PrimaryStore) {
	p := turn(alice.Session("s"))
	p.StatePatch = json.RawMessage(`{"step":1,"draft":{"a":1}}`)
	res := mustAppend(t, s, p)
	wantEqual(t, []int64{res.TurnNo, res.FirstSeq, res.LastSeq, res.StateRevision}, []int64{1, 1, 0, 1})
	p.StatePatch = json.RawMessage(`{"step":2,"draft":null}`)
	wantEqual(t, mustAppend(t, s, p).StateRevision, int64(2))
	head := mustSession(t, s, p.Ref)
	wantEqual(t, string(head.State), `{"step":2}`)
	wantEqual(t, []int64{head.StateRevision, head.LastTurnNo, head.LastSeq}, []int64{2, 2, 0})
	p.StatePatch = json.RawMessage(`{"step":2}`)
	res = mustAppend(t, s, p)
	wantEqual(t, []int64{res.TurnNo, res.StateRevision}, []int64{3, 2})
	p.StatePatch = json.RawMessage(`{"big":"` + strings.Repeat("x", memory.MaxStateBytes) + `"}`)
	_, err := s.Append(t.Context(), p)
	wantReason(t, err, memory.ReasonFieldInvalid)
	wantEqual(t, mustSession(t, s, p.Ref).LastTurnNo, int64(3))
	p.StatePatch = json.RawMessage(`{"step":null}`)
	mustAppend(t, s, p)
	wantEqual(t, string(mustSession(t, s, p.Ref).State), "")
}

func testSteps(t *testing.T, s store.PrimaryStore) {
	ref := alice.Session("s")
	roles := []memory.Role{
		memory.RoleAssistant, memory.RoleUser, memory.RoleAssistant, memory.RoleTool, memory.RoleSystem,
		memory.RoleDeveloper, memory.RoleAssistant, memory.RoleUser,
	}
	for i, want := range []int{1, 0, 1, 1, 1, 1, 2, 0} {
		res := mustAppend(t, s, turn(ref, say(string(rune('a'+i)), roles[i], "w")))
		wantEqual(t, []int{res.StepsSinceUser, mustSession(t, s, ref).StepsSinceUser}, []int{want, want})
	}
}
