package storetest

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// model is what a session must be: a list of messages and what is known of them.
type model struct {
	messages []string          // ids, by seq
	bodies   map[string]string // of known ids
	requests map[string]answer
	state    json.RawMessage
	revision int64
	turns    int64
	steps    int
}

type answer struct {
	body   string
	result store.AppendResult
}

func testModel(t *testing.T, open Open[store.PrimaryStore]) {
	t.Run("any sequence of calls leaves what a plain list would hold", func(t *testing.T) {
		s, run := open(t), 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			sessions := map[string]*model{}
			for range rapid.IntRange(1, 25).Draw(rt, "calls") {
				id := rapid.SampledFrom([]string{"s", "t"}).Draw(rt, "session")
				ref := memory.UserRef{Tenant: "acme", UserID: fmt.Sprint("user-", run)}.Session(id)
				if sessions[id] == nil {
					sessions[id] = &model{bodies: map[string]string{}, requests: map[string]answer{}}
				}
				step(rt, s, ref, sessions[id])
			}
		})
	})
}

// step makes one call with few ids and bodies, so that repeats and clashes are common, and compares.
func step(rt *rapid.T, s store.PrimaryStore, ref memory.SessionRef, m *model) {
	var bodies []string
	p := turn(ref)
	for range rapid.IntRange(0, 3).Draw(rt, "messages") {
		id := fmt.Sprint("m", rapid.IntRange(1, 12).Draw(rt, "id"))
		role := rapid.SampledFrom([]memory.Role{memory.RoleUser, memory.RoleAssistant, memory.RoleTool}).Draw(rt, "role")
		words := rapid.SampledFrom([]string{"x", "x", "x", "y"}).Draw(rt, "words")
		p.Messages = append(p.Messages, say(id, role, words))
		bodies = append(bodies, fmt.Sprint(role, words))
	}
	if key := rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(rt, "patch"); key != "" {
		p.StatePatch = json.RawMessage(fmt.Sprintf(`{%q:%s}`, key, rapid.SampledFrom([]string{"1", "2", "null"}).Draw(rt, "value")))
	}
	if rapid.IntRange(0, 3).Draw(rt, "expects") == 0 {
		p.ExpectedLastSeq = ptr(rapid.Int64Range(0, int64(len(m.messages)+1)).Draw(rt, "last seq"))
	}
	if r := rapid.SampledFrom([]string{"", "r1", "r2"}).Draw(rt, "request"); r != "" {
		p = request(r, rapid.SampledFrom([]string{"same", "same", "other"}).Draw(rt, "body"), p)
	}
	want, reason := m.append(p, bodies)
	got, err := s.Append(rt.Context(), p)
	if memory.ReasonOf(err) != reason || (err != nil) != (reason != "") {
		rt.Fatalf("Append: error %v, want reason %q", err, reason)
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		rt.Fatalf("Append: got %+v, want %+v", got, want)
	}
	m.compare(rt, s, ref)
}

// append is the contract of Append, in memory.
func (m *model) append(p store.AppendParams, bodies []string) (store.AppendResult, memory.Reason) {
	digest := string(p.RequestDigest[:])
	if a, ok := m.requests[p.RequestID]; ok && p.RequestID != "" {
		if a.body != digest {
			return store.AppendResult{}, memory.ReasonRequestIDReused
		}
		a.result.Replayed = true
		return a.result, ""
	}
	if e := p.ExpectedLastSeq; e != nil && *e != int64(len(m.messages)) {
		return store.AppendResult{}, memory.ReasonLastSeqMismatch
	}
	res := store.AppendResult{FirstSeq: int64(len(m.messages)) + 1}
	if !m.fits(p, bodies) {
		return store.AppendResult{}, memory.ReasonMessageIDReused
	}
	for i, msg := range p.Messages {
		res.MessageIDs = append(res.MessageIDs, msg.ID)
		if _, known := m.bodies[msg.ID]; known {
			res.Deduplicated = append(res.Deduplicated, msg.ID)
			continue
		}
		m.bodies[msg.ID] = bodies[i]
		m.messages = append(m.messages, msg.ID)
		m.step(msg.Role)
	}
	res.LastSeq = int64(len(m.messages))
	if res.LastSeq >= res.FirstSeq || p.RequestID != "" || p.StatePatch != nil {
		m.turns++
		res.TurnNo = m.turns
	}
	m.patch(p.StatePatch)
	res.StateRevision, res.StepsSinceUser = m.revision, m.steps
	if p.RequestID != "" {
		m.requests[p.RequestID] = answer{digest, res}
	}
	return res, ""
}

// fits reports whether no id of the call is known with another body, by the session or earlier in the call.
func (m *model) fits(p store.AppendParams, bodies []string) bool {
	seen := map[string]string{}
	for i, msg := range p.Messages {
		known, ok := m.bodies[msg.ID]
		if !ok {
			known, ok = seen[msg.ID]
		}
		if ok && known != bodies[i] {
			return false
		}
		seen[msg.ID] = bodies[i]
	}
	return true
}

func (m *model) step(role memory.Role) {
	switch role {
	case memory.RoleUser:
		m.steps = 0
	case memory.RoleAssistant:
		m.steps++
	}
}

func (m *model) patch(patch json.RawMessage) {
	if patch == nil {
		return
	}
	merged, err := memory.MergeState(m.state, patch, memory.Change{Revision: m.turns, Time: noon})
	if err != nil {
		panic(err) // the test draws valid patches only
	}
	if string(merged) != string(m.state) {
		m.state, m.revision = merged, m.turns
	}
}

func (m *model) compare(rt *rapid.T, s store.PrimaryStore, ref memory.SessionRef) {
	head, err := s.Session(rt.Context(), ref)
	if memory.ReasonOf(err) == memory.ReasonUserNotFound || memory.ReasonOf(err) == memory.ReasonSessionNotFound {
		if m.turns > 0 {
			rt.Fatalf("the session is gone: %v", err)
		}
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	got := fmt.Sprint(head.LastSeq, head.LastTurnNo, head.StepsSinceUser, head.StateRevision, string(head.State))
	if want := fmt.Sprint(len(m.messages), m.turns, m.steps, m.revision, string(m.state)); got != want {
		rt.Fatalf("the head is %s, want %s", got, want)
	}
	messages, err := s.Messages(rt.Context(), store.MessageQuery{Ref: ref, Limit: 1000})
	if err != nil {
		rt.Fatal(err)
	}
	var stored []string
	for i, msg := range messages {
		if msg.Seq != int64(i+1) {
			rt.Fatalf("message %s has seq %d, want %d", msg.ID, msg.Seq, i+1)
		}
		stored = append(stored, msg.ID)
	}
	if fmt.Sprint(stored) != fmt.Sprint(m.messages) {
		rt.Fatalf("stored %v, want %v", stored, m.messages)
	}
}
