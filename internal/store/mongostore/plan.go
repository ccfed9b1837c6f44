package mongostore

import (
	"fmt"
	"maps"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

// maxTurnBytes is the largest turn that fits into a document, which MongoDB limits to 16 MiB.
const maxTurnBytes = 15 << 20

// knownSession is what is known of a session while calls are decided. Ids and requests that it does not hold are caught by
// the unique keys.
type knownSession struct {
	head
	bodies   map[memory.KeyedHash]memory.KeyedHash // of known message ids
	uses     map[string]int                        // of message ids that were free again: see heldID
	requests map[memory.KeyedHash]writeplan.Recorded
}

func newKnownSession(h head) *knownSession {
	return &knownSession{
		head: h, bodies: map[memory.KeyedHash]memory.KeyedHash{}, uses: map[string]int{}, requests: map[memory.KeyedHash]writeplan.Recorded{},
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
		l.requests[memory.KeyedHash(t.Request)] = writeplan.Recorded{Digest: memory.KeyedHash(t.RequestDigest), Result: st.result}
	}
}

func (l *knownSession) step(c *call) step {
	p, ids := &c.p, newIDs(l)
	t, err := writeplan.Append(l.planned(), p, l.recorded(p), ids.claim)
	if err != nil || t.No == 0 {
		return step{call: c, result: t.Result, err: err}
	}
	st := step{call: c, result: t.Result}
	if st.turn, st.err = l.encode(&t, p); st.err == nil {
		st.turn.IDs = ids.taken
		st.raw, st.err = encodeTurn(st.turn)
	}
	return st
}

// planned is what a plan needs to know of the session.
func (l *knownSession) planned() writeplan.Session {
	return writeplan.Session{
		HashKey: l.hashKey, LastTurn: l.lastTurn, LastSeq: l.lastSeq, Steps: l.steps,
		State: jsonOf(l.state), StateRevision: l.stateRevision, UpdateTime: l.updateTime,
	}
}

// recorded is the stored turn that has the call's request id; nil for none.
func (l *knownSession) recorded(p *store.AppendParams) *writeplan.Recorded {
	if p.RequestID == "" {
		return nil
	}
	if first, known := l.requests[writeplan.Request(l.hashKey, p.RequestID)]; known {
		return &first
	}
	return nil
}

// newMessageIDs are the ids of a call's messages, which the unique key has not seen yet.
type newMessageIDs struct {
	known  *knownSession
	bodies map[memory.KeyedHash]memory.KeyedHash
	taken  [][]byte // in the order of the messages
}

func newIDs(l *knownSession) *newMessageIDs {
	return &newMessageIDs{known: l, bodies: map[memory.KeyedHash]memory.KeyedHash{}}
}

// claim is a writeplan.Claim.
func (n *newMessageIDs) claim(m *store.NewMessage, _ int64, body memory.KeyedHash) (*memory.KeyedHash, error) {
	id := memory.KeyedHash(idHash(n.known.hashKey, m.ID, n.known.uses[m.ID]))
	for _, bodies := range []map[memory.KeyedHash]memory.KeyedHash{n.bodies, n.known.bodies} {
		if known, ok := bodies[id]; ok {
			return &known, nil
		}
	}
	n.bodies[id] = body
	n.taken = append(n.taken, id[:])
	return nil, nil
}

// encode is the document of a turn, but for the ids of its messages.
func (l *knownSession) encode(t *writeplan.Turn, p *store.AppendParams) (turnDoc, error) {
	d := turnDoc{
		ID: turnID(l.key, t.No), Scope: l.scope, Session: l.key, Turn: t.No, FirstSeq: t.FirstSeq, LastSeq: t.LastSeq, N: t.N(),
		Recallable: t.Recallable, RecordTime: t.RecordTime, LastMessage: t.LastMessage, Patch: string(p.StatePatch),
		State: string(t.State), StateRevision: t.StateRevision, Steps: t.Steps,
	}
	if p.RequestID != "" {
		d.Request, d.RequestDigest, d.Result = keyed(l.hashKey, p.RequestID), t.RequestDigest[:], t.EncodedResult
	}
	if d.N > 0 {
		d.Pending = turnPending
	}
	for _, m := range t.Messages {
		if err := d.add(l.hashKey, m, p.Time); err != nil {
			return d, err
		}
	}
	return d, nil
}

func (t *turnDoc) add(key memory.HashKey, m writeplan.NewMessage, at time.Time) error {
	stored := m.Message
	stored.Seq, stored.TurnNo, stored.RecordTime = m.Seq, t.Turn, at
	doc, err := encodeMessage(key, stored, m.BodyDigest)
	if err != nil {
		return err
	}
	t.Tokens += m.Tokens.O200K
	t.Messages = append(t.Messages, doc)
	doc.Original = nil
	t.Bytes += doc.storedBytes()
	for _, id := range m.ToolCalls() {
		t.Calls = append(t.Calls, keyed(key, id))
	}
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
