package portable

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Encoder turns the records of one user, in the order of store.Exporter, into lines without keys.
type Encoder struct {
	scope       memory.ScopeKey
	hashKey     memory.HashKey
	sessions    []string                    // ids, in the order of the records
	keys        []memory.SessionKey         // of sessions
	at          map[memory.SessionKey]int32 // in sessions
	corrections map[string]*CorrectionRef   // by the id that the correction has among summaries
	jobs        jobIndex                    // of extractions: what they made names them
	vectors     Vectors
}

// Vectors are those that a file holds; the zero Vectors for none.
type Vectors struct {
	Embedding memory.Embedding // that they are of
	// OfMessage returns the vector of a message, which holds until the next call; nil for none. It is called in the order of the file.
	OfMessage func(p memory.Place) ([]int8, error)
}

// NewEncoder makes an Encoder for one user.
func NewEncoder(vectors Vectors) *Encoder {
	return &Encoder{
		at: map[memory.SessionKey]int32{}, corrections: map[string]*CorrectionRef{}, vectors: vectors,
	}
}

// Line returns the record's line.
func (e *Encoder) Line(r store.Record) (Line, error) {
	switch {
	case r.User != nil:
		e.scope, e.hashKey = r.User.Scope, r.User.HashKey
		return Line{User: userLine(*r.User)}, nil
	case r.Session != nil:
		e.at[r.Session.Key] = int32(len(e.sessions)) //nolint:gosec // a user has fewer sessions
		e.sessions, e.keys = append(e.sessions, r.Session.Ref.SessionID), append(e.keys, r.Session.Key)
		line := sessionLine(*r.Session)
		if r.Session.HashKey != e.hashKey {
			line.HashKey = string(r.Session.HashKey)
		}
		return Line{Session: line}, nil
	case r.Turn != nil:
		t, err := e.turn(*r.Turn)
		return Line{Turn: t}, err
	case r.Revised != nil:
		return Line{Edits: e.edits(*r.Revised)}, nil
	case r.Node != nil:
		return Line{Summary: e.summary(*r.Node)}, nil
	case r.Job != nil:
		return Line{Job: e.job(*r.Job)}, nil
	case r.Fact != nil:
		return Line{Fact: e.fact(*r.Fact)}, nil
	case r.Forgotten != nil:
		f := *r.Forgotten
		return Line{ForgottenFact: &ForgottenFact{FactID: f.FactID, KeyHash: f.Key[:], Change: f.Change, Time: f.Time}}, nil
	case r.Refused != nil:
		q := *r.Refused
		return Line{RefusedOperation: &RefusedOperation{
			ID: q.ID, SessionID: q.SessionID, CausedBy: e.causedBy(q.JobID), Reason: q.Reason, Operation: q.Operation, Model: q.Model, Time: q.Time,
		}}, nil
	}
	return documentLine(r)
}

func documentLine(r store.Record) (Line, error) {
	switch {
	case r.Document != nil:
		d := r.Document
		return Line{Document: &Document{
			Namespace: d.Namespace, Key: d.Key, Value: d.Value, IndexFields: d.Fields, Unindexed: d.Unindexed, TTLSeconds: d.TTL.Seconds(),
			CreateTime: d.CreateTime, UpdateTime: d.UpdateTime, ExpireTime: d.ExpireTime,
		}}, nil
	case r.Deleted != nil:
		return Line{DeletedDocument: &DeletedDocument{PlaceHash: r.Deleted.Hash[:], Time: r.Deleted.Time}}, nil
	}
	return Line{}, fmt.Errorf("a record of no kind")
}

func userLine(u store.UserRecord) *User {
	return &User{
		UserID: u.Ref.UserID, HashKey: string(u.HashKey), Timezone: u.Timezone, Language: u.Language, Extract: extractNames.of[u.Extract],
		State: u.State, StateRevision: u.StateRevision, Revision: u.Revision, FactRevision: u.FactRevision,
		CreateTime: u.CreateTime, UpdateTime: u.UpdateTime,
	}
}

func sessionLine(s store.SessionRecord) *Session {
	return &Session{
		SessionID: s.Ref.SessionID, Title: s.Title, Metadata: s.Metadata, Profile: s.Profile, Extract: extractNames.of[s.Extract],
		State: s.State, StateRevision: s.StateRevision, LastTurn: s.LastTurnNo, LastSeq: s.LastSeq, StepsSinceUser: s.StepsSinceUser,
		ContextStart: s.ContextStart, Revision: s.Revision, CoveredSeq: s.CoveredSeq, CoveredTime: s.CoveredTime,
		CreateTime: s.CreateTime, UpdateTime: s.UpdateTime, LastMessageTime: s.LastMessageTime,
	}
}

// session is the id of a session of the user; false for a key that none has.
func (e *Encoder) session(key memory.SessionKey) (string, bool) {
	at, ok := e.at[key]
	if !ok {
		return "", false
	}
	return e.sessions[at], true
}

func (e *Encoder) turn(t store.TurnRecord) (*Turn, error) {
	id, ok := e.session(t.Session)
	if !ok {
		return nil, fmt.Errorf("a turn of a session that does not come before it")
	}
	line := &Turn{SessionID: id, Turn: t.TurnNo, FirstSeq: t.FirstSeq, RecordTime: t.RecordTime, StatePatch: t.StatePatch}
	if t.RequestHash != nil {
		line.Request = &Request{IDHash: t.RequestHash, BodyHash: t.RequestDigest}
		var result store.AppendResult
		if err := json.Unmarshal(t.Result, &result); err != nil {
			return nil, fmt.Errorf("decode the result of turn %d: %w", t.TurnNo, err)
		}
		line.Request.Result = resultLine(result)
	}
	for i := range t.Messages {
		line.Messages = append(line.Messages, messageLine(&t.Messages[i]))
		if e.vectors.OfMessage == nil || t.Messages[i].Deleted {
			continue
		}
		values, err := e.vectors.OfMessage(memory.Place{Session: t.Session, Seq: t.Messages[i].Seq})
		if err != nil {
			return nil, fmt.Errorf("find the vector of a message: %w", err)
		}
		line.Messages[i].Vector = signedBytes(values)
	}
	return line, nil
}

func signedBytes(values []int8) []byte {
	if values == nil {
		return nil
	}
	out := make([]byte, len(values))
	for i, v := range values {
		out[i] = byte(v)
	}
	return out
}

func resultLine(r store.AppendResult) *Result {
	line := &Result{
		Turn: r.TurnNo, MessageIDs: r.MessageIDs, FirstSeq: r.FirstSeq, LastSeq: r.LastSeq, DeduplicatedIDs: r.Deduplicated,
		StateRevision: r.StateRevision, StepsSinceUser: r.StepsSinceUser,
	}
	for _, f := range r.Findings {
		line.Findings = append(line.Findings, Finding{
			MessageID: f.MessageID, Kind: findingNames.of[f.Kind], CallID: f.CallID, Index: f.Index, Rule: f.Rule,
			Action: actionNames.of[f.Action], Removed: f.Removed,
		})
	}
	return line
}

func messageLine(m *store.MessageRecord) Message {
	line := Message{
		ID: m.ID, Seq: m.Seq, Role: roleNames.of[m.Role], Name: m.Name, Parts: partLines(m.Parts), Tags: m.Tags, Metadata: m.Metadata,
		Origin: originNames.of[m.Origin], Extract: extractNames.of[m.Extract], Pinned: m.Pinned, Hidden: m.Hidden, Deleted: m.Deleted,
		CreateTime: m.CreateTime, RecordTime: m.RecordTime, Tokens: Tokens(m.Tokens), BodyHash: m.BodyHash, IDHash: m.IDHash,
	}
	if m.Original != nil {
		line.Original = &Original{Format: m.Original.Format, Data: m.Original.Data}
	}
	return line
}

func partLines(parts []memory.Part) []Part {
	var lines []Part
	for _, p := range parts {
		line := Part{
			Kind: partNames.of[p.Kind], Text: p.Text, Signature: p.Signature, Data: p.Data, CallID: p.CallID, Name: p.Name,
			Arguments: p.Arguments, Parts: partLines(p.Parts), IsError: p.IsError, MIMEType: p.MIMEType, URI: p.URI, Type: p.Type, JSON: p.JSON,
		}
		if p.Image != nil {
			line.Image = &Image{Width: p.Image.Width, Height: p.Image.Height, Detail: detailNames.of[p.Image.Detail]}
		}
		for _, s := range p.Echoes {
			line.Echoes = append(line.Echoes, Span(s))
		}
		for _, s := range p.Secrets {
			line.Secrets = append(line.Secrets, Secret{Start: s.Start, End: s.End, Kind: s.Kind, No: s.No})
		}
		lines = append(lines, line)
	}
	return lines
}

// sessionRef names a session by its id: that of the key, or, where no session has the key, the one that was noted with it.
func (e *Encoder) sessionRef(key memory.SessionKey, noted string) SessionRef {
	if id, ok := e.session(key); ok {
		return SessionRef{SessionID: id}
	}
	return SessionRef{SessionID: noted, Gone: true}
}

func (e *Encoder) edits(h store.SummaryHistory) *Edits {
	first := h.Revisions[0]
	line := &Edits{Kind: summaryNames.of[first.Kind], SessionID: first.SessionID, Period: first.Period}
	for _, r := range h.Revisions {
		e.corrections[r.Node().ID] = &CorrectionRef{Kind: line.Kind, SessionID: line.SessionID, Period: line.Period, Revision: r.Revision}
		edit := Edit{
			Revision: r.Revision, Cause: editNames.of[r.Cause], Text: r.Text, Tokens: Tokens(r.Tokens), FromTime: r.FromTime, ToTime: r.ToTime,
			Rebuilds: r.Rebuilds, CreateTime: r.CreateTime, Author: r.Author,
		}
		for _, c := range r.Covers {
			edit.Covers = append(edit.Covers, Covered{
				Session: e.sessionRef(c.Session, ""), Range: Range(c.Range), Passed: rangeLines(c.Passed),
			})
		}
		slices.SortFunc(edit.Covers, func(a, b Covered) int { // they are in the order of keys
			return cmp.Or(cmp.Compare(a.Session.SessionID, b.Session.SessionID), cmp.Compare(a.Range.From, b.Range.From))
		})
		if r.RequestHash != nil {
			edit.Request = &Request{IDHash: r.RequestHash, BodyHash: r.RequestDigest}
		}
		line.Revisions = append(line.Revisions, edit)
	}
	return line
}

func rangeLines(in []memory.SeqRange) (out []Range) {
	for _, r := range in {
		out = append(out, Range(r))
	}
	return out
}

func (e *Encoder) summary(n memory.SummaryNode) *Summary {
	line := &Summary{
		ID: n.ID, Kind: summaryNames.of[n.Kind], SessionID: n.SessionID, Level: n.Level, Range: Range(n.Range), Period: n.Period.Name,
		PeriodStart: n.Period.Start, PeriodEnd: n.Period.End, Generation: n.Generation, Cumulative: n.Cumulative,
		Passed: rangeLines(n.Passed), Rebuild: n.Rebuild, Text: n.Text, Appended: n.Appended, Tokens: Tokens(n.Tokens),
		Language: n.Language, Model: n.Model, FromTime: n.FromTime, ToTime: n.ToTime, CreateTime: n.CreateTime,
	}
	if n.Previous != "" {
		s := e.source(n.Previous)
		line.Previous = &s
	}
	for _, id := range n.Children {
		line.Children = append(line.Children, e.source(id))
	}
	return line
}

func (e *Encoder) source(id string) Source {
	if c, ok := e.corrections[id]; ok {
		return Source{Correction: c}
	}
	return Source{SummaryID: id}
}

func (e *Encoder) job(j memory.Job) *Job {
	if j.Kind == memory.JobExtract {
		id, _ := beginning(j.ID())
		level, generation, from := int32(j.Level), int32(j.Generation), int32(j.From) //nolint:gosec // a seq and less
		e.jobs.add(jobPlace{id: id, session: e.at[j.Session], level: level, generation: generation, from: from})
	}
	line := &Job{
		JobRef: JobRef{SessionID: j.SessionID, Kind: jobNames.of[j.Kind], Level: j.Level, From: j.From, Generation: j.Generation},
		To:     j.To, State: stateNames.of[j.State], Attempts: j.Attempts, NotBefore: j.NotBefore, FailingSince: j.FailingSince,
		Reason: j.Reason, Calls: j.Usage.Calls, InputTokens: j.Usage.InputTokens, OutputTokens: j.Usage.OutputTokens,
		CreateTime: j.CreateTime, UpdateTime: j.UpdateTime,
	}
	if j.Answer != nil {
		line.Answer = &j.Answer
	}
	return line
}

func (e *Encoder) causedBy(jobID string) CausedBy {
	if jobID == "" {
		return CausedBy{}
	}
	id, ok := beginning(jobID)
	at, known := e.jobs.find(id, func(p jobPlace) bool { return e.jobKey(p).ID() == jobID })
	if !ok || !known {
		return CausedBy{UnknownJobID: jobID}
	}
	return CausedBy{Job: &JobRef{
		SessionID: e.sessions[at.session], Kind: jobNames.of[memory.JobExtract], Level: int(at.level), From: int64(at.from),
		Generation: int(at.generation),
	}}
}

func (e *Encoder) fact(f store.FactRecord) *Fact {
	line := &Fact{ID: f.ID, FactState: e.factState(f.Fact)}
	for _, r := range f.Revisions {
		line.Revisions = append(line.Revisions, FactRevision{
			FactState: e.factState(r.Fact), Cause: causeNames.of[r.Cause], CausedBy: e.causedBy(r.JobID), Author: r.Author,
		})
	}
	for _, v := range f.Vectors {
		if e.vectors.Embedding.Version != 0 && v.Version == e.vectors.Embedding.Version {
			line.Vector = store.EncodeVector(v.Vector)
		}
	}
	return line
}

func (e *Encoder) factState(f memory.Fact) FactState {
	s := FactState{
		Revision: f.Revision, Change: f.Change, Text: f.Text, Category: categoryNames.of[f.Category], Tags: f.Tags,
		Significance: f.Significance, Confidence: f.Confidence, Subject: f.Subject, Attribute: f.Attribute, ValidFrom: f.ValidFrom,
		ValidTo: f.ValidTo, SupersededBy: f.SupersededBy, Pinned: f.Pinned, Origin: factOriginNames.of[f.Origin], Protected: f.Protected,
		Language: f.Language, Model: f.Model, CreateTime: f.CreateTime, UpdateTime: f.UpdateTime, LastUsedTime: f.LastUsedTime,
	}
	for _, v := range f.Evidence {
		s.Evidence = append(s.Evidence, Evidence{
			Session: e.sessionRef(v.Session, v.SessionID), Seq: v.Seq, MessageID: v.MessageID, Quote: v.Quote, Time: stored(v.Time), Ends: v.Ends,
		})
	}
	return s
}

// stored is a time as stores keep it.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}
