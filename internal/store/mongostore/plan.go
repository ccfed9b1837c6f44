package mongostore

import (
	"encoding/json"
	"fmt"
	"maps"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// maxTurnBytes is the largest turn that fits into a document, which MongoDB limits to 16 MiB.
const maxTurnBytes = 15 << 20

// knownSession is what is known of a session while calls are decided. Ids and requests that it does not hold are caught by
// the unique keys.
type knownSession struct {
	head
	bodies   map[memory.KeyedHash]memory.KeyedHash // of known message ids
	uses     map[string]int                        // of message ids that were free again: see heldID
	requests map[memory.KeyedHash]answered
}

// answered is a stored request with its first result.
type answered struct {
	digest memory.KeyedHash
	result store.AppendResult
}

func newKnownSession(h head) *knownSession {
	return &knownSession{
		head: h, bodies: map[memory.KeyedHash]memory.KeyedHash{}, uses: map[string]int{}, requests: map[memory.KeyedHash]answered{},
	}
}

func (l *knownSession) clone() *knownSession {
	return &knownSession{head: l.head, bodies: maps.Clone(l.bodies), uses: l.uses, requests: maps.Clone(l.requests)}
}

// step is what is decided about a call: an error, a result alone, or a turn to be stored before the result counts.
type step struct {
	call   *call
	turn   turnDoc // without a number when there is nothing to store
	raw    bson.Raw
	result store.AppendResult
	err    error
}

// stores reports whether there is a turn to be stored.
func (st *step) stores() bool { return st.err == nil && st.turn.Turn != 0 }

// decide plans each call as if all were done in order, from what is known of the session. If the turn of a step cannot be
// stored, those after it must not be stored either: they are decided again.
func (l *knownSession) decide(calls []*call) []step {
	plan, steps := l.clone(), make([]step, len(calls))
	for i, c := range calls {
		steps[i] = plan.step(c)
		if steps[i].stores() {
			plan.apply(&steps[i])
		}
	}
	return steps
}

// apply adds a stored turn to what is known.
func (l *knownSession) apply(st *step) {
	t := st.turn
	l.advance(t)
	for i, id := range t.IDs {
		l.bodies[memory.KeyedHash(id)] = memory.KeyedHash(t.Messages[i].BodyHash)
	}
	if t.Request != nil {
		l.requests[memory.KeyedHash(t.Request)] = answered{memory.KeyedHash(t.RequestDigest), st.result}
	}
}

func (l *knownSession) step(c *call) step {
	p := &c.p
	if first, known := l.requests[l.hashKey.Keyed(memory.IDDigest(p.RequestID))]; known && p.RequestID != "" {
		return l.replay(c, first)
	}
	if p.Refused != nil {
		return step{call: c, err: p.Refused}
	}
	if e := p.ExpectedLastSeq; e != nil && *e != l.lastSeq {
		return step{call: c, err: store.LastSeqMismatch(p.Ref, *e, l.lastSeq)}
	}
	t := &turnPlan{knownSession: l, p: p, bodies: map[memory.KeyedHash]memory.KeyedHash{}, stored: map[string]bool{}}
	if err := t.write(); err != nil {
		return step{call: c, err: err}
	}
	st := step{call: c, turn: t.turn, result: t.result}
	if st.turn.Turn != 0 {
		st.raw, st.err = encodeTurn(t.turn)
	}
	return st
}

func (l *knownSession) replay(c *call, first answered) step {
	if first.digest != l.hashKey.Keyed(c.p.RequestDigest) {
		return step{call: c, err: store.RequestIDReused(c.p.Ref, c.p.RequestID)}
	}
	first.result.Replayed = true
	return step{call: c, result: first.result}
}

// turnPlan is a turn that is being written.
type turnPlan struct {
	*knownSession
	p      *store.AppendParams
	bodies map[memory.KeyedHash]memory.KeyedHash // of ids that this turn stores
	stored map[string]bool                       // ids of messages that this turn stores
	turn   turnDoc
	result store.AppendResult
}

func (t *turnPlan) write() error {
	t.turn = turnDoc{
		ID: turnID(t.key, t.lastTurn+1), Scope: t.scope, Session: t.key, Turn: t.lastTurn + 1,
		FirstSeq: t.lastSeq + 1, LastSeq: t.lastSeq, RecordTime: max(micros(t.p.Time), t.updateTime),
		Patch: string(t.p.StatePatch), StateRevision: t.stateRevision, Steps: t.steps,
	}
	for i := range t.p.Messages {
		if err := t.message(&t.p.Messages[i]); err != nil {
			return err
		}
	}
	if err := t.merge(); err != nil {
		return err
	}
	return t.finish()
}

// message adds one message, or finds it known.
func (t *turnPlan) message(m *store.NewMessage) error {
	t.result.MessageIDs = append(t.result.MessageIDs, m.ID)
	id, body := memory.KeyedHash(idHash(t.hashKey, m.ID, t.uses[m.ID])), t.hashKey.Keyed(m.BodyDigest)
	known, ok := t.bodies[id]
	if !ok {
		known, ok = t.knownSession.bodies[id]
	}
	switch {
	case ok && known != body:
		return store.MessageIDReused(t.p.Ref, m.ID)
	case ok:
		t.result.Deduplicated = append(t.result.Deduplicated, m.ID)
		return nil
	}
	t.bodies[id], t.stored[m.ID] = body, true
	t.turn.IDs = append(t.turn.IDs, id[:])
	return t.add(m)
}

func (t *turnPlan) add(m *store.NewMessage) error {
	stored := m.Message
	t.turn.LastSeq++
	stored.Seq, stored.TurnNo, stored.RecordTime = t.turn.LastSeq, t.turn.Turn, t.p.Time
	d, err := encodeMessage(t.hashKey, stored, m.BodyDigest)
	if err != nil {
		return err
	}
	switch m.Role {
	case memory.RoleUser:
		t.turn.Steps = 0
	case memory.RoleAssistant:
		t.turn.Steps++
	}
	t.turn.LastMessage = max(t.turn.LastMessage, micros(memory.SaidBy(m.CreateTime, t.p.Time)))
	if m.Recallable() {
		t.turn.Recallable++
	}
	t.turn.Tokens += m.Tokens.O200K
	t.turn.Messages = append(t.turn.Messages, d)
	d.Original = nil
	t.turn.Bytes += d.storedBytes()
	for _, id := range m.ToolCalls() {
		t.turn.Calls = append(t.turn.Calls, keyed(t.hashKey, id))
	}
	return nil
}

// merge applies the patch; only one that changes the state raises its revision.
func (t *turnPlan) merge() error {
	if len(t.p.StatePatch) == 0 {
		return nil
	}
	merged, err := memory.MergeState(
		jsonOf(t.state),
		t.p.StatePatch,
		memory.Change{Revision: t.turn.Turn, Time: fromMicros(t.turn.RecordTime)},
	)
	if err != nil || string(merged) == t.state {
		return err
	}
	t.turn.State, t.turn.StateRevision = string(merged), t.turn.Turn
	return nil
}

// finish completes the result, and the turn with it, if there is one.
func (t *turnPlan) finish() error {
	r := &t.result
	r.FirstSeq, r.LastSeq = t.turn.FirstSeq, t.turn.LastSeq
	r.StateRevision, r.StepsSinceUser = t.turn.StateRevision, int(t.turn.Steps)
	r.Findings = store.KeptFindings(t.p.Findings, t.stored)
	t.turn.N = t.turn.LastSeq - t.turn.FirstSeq + 1
	if err := t.p.Room.Check(t.turn.N); err != nil {
		return err
	}
	if t.turn.N == 0 && t.p.RequestID == "" && len(t.p.StatePatch) == 0 {
		t.turn = turnDoc{}
		return nil
	}
	if t.turn.N > 0 {
		t.turn.Pending = turnPending
	}
	r.TurnNo = t.turn.Turn
	return t.request()
}

func (t *turnPlan) request() error {
	if t.p.RequestID == "" {
		return nil
	}
	digest := t.hashKey.Keyed(t.p.RequestDigest)
	encoded, err := json.Marshal(t.result)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	t.turn.Request, t.turn.RequestDigest, t.turn.Result = keyed(t.hashKey, t.p.RequestID), digest[:], string(encoded)
	return nil
}

func encodeTurn(t turnDoc) (bson.Raw, error) {
	raw, err := bson.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encode turn: %w", err)
	}
	if len(raw) > maxTurnBytes {
		return nil, memory.InvalidField("messages", "the turn would take %d bytes; the limit is %d: record it in several", len(raw), maxTurnBytes)
	}
	return raw, nil
}
