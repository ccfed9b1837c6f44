package writeplan

import (
	"encoding/json"
	"fmt"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Session is a session as a turn finds it; the zero value is one without turns, but for its HashKey.
type Session struct {
	HashKey       memory.HashKey
	LastTurn      int64
	LastSeq       int64
	Steps         int64           // assistant messages since the last one of a user
	State         json.RawMessage // read only where the call has a StatePatch
	StateRevision int64
	UpdateTime    int64
}

// Recorded is a stored turn whose request id is the call's.
type Recorded struct {
	Digest memory.KeyedHash // of the request
	Result store.AppendResult
}

// Claim takes the message's id for the seq. Where the session or an earlier message of the call has the id, it takes nothing and
// returns the keyed hash of the body that is known by it.
type Claim func(m *store.NewMessage, seq int64, body memory.KeyedHash) (known *memory.KeyedHash, err error)

// Turn is what a call of Append stores.
type Turn struct {
	No            int64 // 0 for no turn: there is nothing to store, and Result is what the call returns
	FirstSeq      int64
	LastSeq       int64 // FirstSeq - 1 without messages
	RecordTime    int64 // never below that of an earlier turn
	Messages      []NewMessage
	Recallable    int64 // of the messages
	LastMessage   int64 // the latest SaidTime of the messages; 0 without any
	Steps         int64 // after it
	State         json.RawMessage
	StateRevision int64 // No where it changed the state, which is State then
	RequestDigest memory.KeyedHash
	Result        store.AppendResult
	EncodedResult string // JSON, where the call has a request id
}

// NewMessage is a message that a turn stores.
type NewMessage struct {
	*store.NewMessage
	Seq  int64
	Body memory.KeyedHash
}

// N is how many messages the turn stores.
func (t *Turn) N() int64 { return int64(len(t.Messages)) }

// Request is what of a request id is stored.
func Request(key memory.HashKey, id string) memory.KeyedHash { return key.Keyed(memory.IDDigest(id)) }

// Append decides a call by the rules of store.Transcript: a known request gets its first result, else Refused and ExpectedLastSeq
// are looked at, then the messages in their order, the state, and at last whether there is room. first is nil for a request that
// is not known. After an error nothing of the call may be stored, what claim took included.
func Append(s Session, p *store.AppendParams, first *Recorded, claim Claim) (Turn, error) {
	switch {
	case first != nil:
		return replay(s, p, first)
	case p.Refused != nil:
		return Turn{}, p.Refused
	case p.ExpectedLastSeq != nil && *p.ExpectedLastSeq != s.LastSeq:
		return Turn{}, store.LastSeqMismatch(p.Ref, *p.ExpectedLastSeq, s.LastSeq)
	}
	t := Turn{
		No: s.LastTurn + 1, FirstSeq: s.LastSeq + 1, LastSeq: s.LastSeq, RecordTime: max(p.Time.UnixMicro(), s.UpdateTime),
		Steps: s.Steps, StateRevision: s.StateRevision,
	}
	for i := range p.Messages {
		if err := t.add(s, p, &p.Messages[i], claim); err != nil {
			return Turn{}, err
		}
	}
	if err := t.merge(s, p); err != nil {
		return Turn{}, err
	}
	return t, t.finish(s, p)
}

func replay(s Session, p *store.AppendParams, first *Recorded) (Turn, error) {
	if first.Digest != s.HashKey.Keyed(p.RequestDigest) {
		return Turn{}, store.RequestIDReused(p.Ref, p.RequestID)
	}
	t := Turn{Result: first.Result}
	t.Result.Replayed = true
	return t, nil
}

// add adds a message to the turn, or finds it known.
func (t *Turn) add(s Session, p *store.AppendParams, m *store.NewMessage, claim Claim) error {
	t.Result.MessageIDs = append(t.Result.MessageIDs, m.ID)
	body := s.HashKey.Keyed(m.BodyDigest)
	known, err := claim(m, t.LastSeq+1, body)
	switch {
	case err != nil:
		return err
	case known != nil && *known != body:
		return store.MessageIDReused(p.Ref, m.ID)
	case known != nil:
		t.Result.Deduplicated = append(t.Result.Deduplicated, m.ID)
		return nil
	}
	t.LastSeq++
	switch m.Role {
	case memory.RoleUser:
		t.Steps = 0
	case memory.RoleAssistant:
		t.Steps++
	}
	if m.Recallable() {
		t.Recallable++
	}
	t.LastMessage = max(t.LastMessage, memory.SaidBy(m.CreateTime, p.Time).UnixMicro())
	t.Messages = append(t.Messages, NewMessage{NewMessage: m, Seq: t.LastSeq, Body: body})
	return nil
}

// merge applies the patch; only one that changes the state raises its revision.
func (t *Turn) merge(s Session, p *store.AppendParams) error {
	if len(p.StatePatch) == 0 {
		return nil
	}
	merged, err := memory.MergeState(s.State, p.StatePatch, memory.Change{Revision: t.No, Time: fromMicros(t.RecordTime)})
	if err != nil || string(merged) == string(s.State) {
		return err
	}
	t.State, t.StateRevision = merged, t.No
	return nil
}

// finish completes the result, and drops a turn that there is no reason to store.
func (t *Turn) finish(s Session, p *store.AppendParams) error {
	if err := p.Room.Check(t.N()); err != nil {
		return err
	}
	stored := make(map[string]bool, len(t.Messages))
	for _, m := range t.Messages {
		stored[m.ID] = true
	}
	r := &t.Result
	r.FirstSeq, r.LastSeq, r.StateRevision, r.StepsSinceUser = t.FirstSeq, t.LastSeq, t.StateRevision, int(t.Steps)
	r.Findings = store.KeptFindings(p.Findings, stored)
	if t.N() == 0 && p.RequestID == "" && len(p.StatePatch) == 0 {
		t.No = 0
		return nil
	}
	r.TurnNo = t.No
	if p.RequestID == "" {
		return nil
	}
	encoded, err := json.Marshal(t.Result)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	t.RequestDigest, t.EncodedResult = s.HashKey.Keyed(p.RequestDigest), string(encoded)
	return nil
}

// DecodeResult returns the first result of a stored request.
func DecodeResult(encoded []byte) (r store.AppendResult, err error) {
	if err := json.Unmarshal(encoded, &r); err != nil {
		return r, fmt.Errorf("decode the first result: %w", err)
	}
	return r, nil
}
