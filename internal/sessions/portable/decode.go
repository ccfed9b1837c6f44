package portable

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/documentquery"
	"github.com/stratamem/strata/internal/store"
)

// Limits of a file, beside that of a line.
const (
	MaxID  = 255 // bytes of an id
	maxNo  = 1<<31 - 1
	maxKey = 128
	// MaxDimension is how many numbers a vector may have: more than any model gives.
	MaxDimension = 1 << 15
)

// Life is the life that a user is imported into. Both parts must be minted for one import.
type Life struct {
	User  memory.UserRef // whose it will be; without a UserID that of the file
	Scope memory.ScopeKey
	// Seed is 128 random bits that nobody keeps: the session keys derive from it, so that a record can name a session which is
	// far away in the file.
	Seed string
	// IDs are those of sessions and facts.
	IDs IDs
}

// IDs says which ids things get.
type IDs int

// Which ids things of a file get.
const (
	// AsInFile are the ids of the file.
	AsInFile IDs = iota
	// Beside are those of the file, but new ones for summaries: what the user has, or had, may have these.
	Beside
	// New are new ids for sessions and facts too.
	New
)

// derive is a new id in place of one of the file.
func (l Life) derive(kind, id string) string {
	mac := hmac.New(sha256.New, []byte(l.Seed))
	fmt.Fprintf(mac, "%s/%s", kind, id)
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// newSuffix is how much of a derived id makes a session's id a new one, in bytes of hex and the dash before them.
const newSuffix = 9

// sessionID is the id that a session of the file gets. A new one shows which it was, where there is room.
func (l Life) sessionID(id string) string {
	if l.IDs != New || id == "" {
		return id
	}
	fresh := l.derive("session id", id)
	if len(id)+newSuffix > MaxID {
		return fresh
	}
	return id + "-" + fresh[:newSuffix-1]
}

// documentKey is the key that a document of the file gets. A new one shows which it was, where there is room.
func (l Life) documentKey(namespace []string, key string) string {
	if l.IDs != New {
		return key
	}
	fresh := l.derive("document", store.PlaceKey(memory.DocumentPlace{Namespace: namespace, Key: key}))
	if len(key)+newSuffix > MaxID {
		return fresh
	}
	return key + "-" + fresh[:newSuffix-1]
}

// factID is the id that a fact of the file gets.
func (l Life) factID(id string) string {
	if l.IDs != New || id == "" {
		return id
	}
	return l.derive("fact", id)
}

// summaryID is the id that a summary of the file gets.
func (l Life) summaryID(id string) string {
	if l.IDs == AsInFile || id == "" {
		return id
	}
	return l.derive("summary", id)
}

// session is the key that a session of the file gets. What is said of one that is gone gets a key that no session has.
func (l Life) session(r SessionRef) memory.SessionKey {
	mac := hmac.New(sha256.New, []byte(l.Seed))
	fmt.Fprintf(mac, "%t/%s", r.Gone, r.SessionID)
	return memory.SessionKey(hex.EncodeToString(mac.Sum(nil)[:16]))
}

// Decoder turns the lines of a file into records of a new life, in which jobs, evidence, summaries and revisions name each other
// as they did in the old one. It checks what a store relies on.
type Decoder struct {
	life     Life
	user     *store.UserRecord
	sessions map[string]*progress
	current  *progress // of the turns that come now
	place    place

	embedding *Embedding // of the vectors; nil for a file without
	vectors   RecordVectors
}

// RecordVectors are the vectors of one record.
type RecordVectors struct {
	Fact     []float32        // nil for none
	Messages map[int64][]int8 // by seq; those that have one
}

// progress is how much of a session has come.
type progress struct {
	id                string
	lastTurn, lastSeq int64 // as the head says
	turn, seq         int64 // that have come
}

// place orders lines: kinds in the order of Line, lines of a kind by what the format says.
type place struct {
	kind int
	text [3]string
	no   [4]int64
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.kind, o.kind), slices.Compare(p.text[:], o.text[:]), slices.Compare(p.no[:], o.no[:]))
}

// NewDecoder makes a Decoder of one file.
func NewDecoder(life Life) *Decoder { return &Decoder{life: life, sessions: map[string]*progress{}} }

// User is the user, once its line has come.
func (d *Decoder) User() *store.UserRecord { return d.user }

// Record returns the line's record: of a User line none, see Decoder.User. Its error is a memory.Error that names the field,
// without its content.
func (d *Decoder) Record(l Line) (store.Record, error) {
	c := &check{}
	if (d.user == nil) != (l.User != nil) {
		c.fault("user", "must be the second line and come once")
		return store.Record{}, c.err
	}
	d.vectors = RecordVectors{}
	r, at := d.record(c, l)
	if c.err == nil && at.compare(d.place) <= 0 {
		c.fault("line", "comes twice, or after a line that it must come before: leave the lines in the order in which they were exported")
	}
	d.place = at
	return r, c.err
}

func (d *Decoder) record(c *check, l Line) (store.Record, place) {
	switch {
	case l.User != nil:
		d.user = d.userRecord(c, *l.User)
		return store.Record{}, place{kind: 1}
	case l.Embedding != nil:
		c.id("embedding.model", l.Embedding.Model)
		c.between("embedding.dimension", int64(l.Embedding.Dimension), 1, MaxDimension)
		d.embedding = l.Embedding
		return store.Record{}, place{kind: 1, no: [4]int64{1}}
	case l.Session != nil:
		return store.Record{Session: d.session(c, *l.Session)}, place{kind: 2, text: [3]string{l.Session.SessionID}}
	case l.Turn != nil:
		return store.Record{Turn: d.turn(c, *l.Turn)}, place{kind: 3, text: [3]string{l.Turn.SessionID}, no: [4]int64{l.Turn.Turn}}
	case l.Edits != nil:
		h := d.edits(c, *l.Edits)
		kind := int64(summaryNames.by[l.Edits.Kind])
		return store.Record{Revised: h}, place{kind: 4 + int(kind), text: [3]string{l.Edits.SessionID, l.Edits.Period}}
	case l.Summary != nil:
		return store.Record{Node: d.summary(c, *l.Summary)}, place{kind: 10, text: [3]string{l.Summary.ID}}
	case l.Job != nil:
		j := d.job(c, *l.Job)
		at := place{kind: 11, text: [3]string{l.Job.SessionID}, no: [4]int64{int64(j.Kind), int64(j.Level), j.From, int64(j.Generation)}}
		return store.Record{Job: j}, at
	case l.Fact != nil:
		return store.Record{Fact: d.fact(c, *l.Fact)}, place{kind: 12, text: [3]string{l.Fact.ID}}
	case l.ForgottenFact != nil:
		f := *l.ForgottenFact
		at := place{kind: 13, text: [3]string{fmt.Sprintf("%016x", f.Change), f.FactID, string(f.KeyHash)}}
		c.hash("forgotten_fact.key_hash", f.KeyHash)
		c.id("forgotten_fact.fact_id", f.FactID)
		c.between("forgotten_fact.change", f.Change, 1, d.user.FactRevision)
		out := &store.Forgotten{FactID: d.life.factID(f.FactID), Change: f.Change, Time: stored(f.Time)}
		copy(out.Key[:], f.KeyHash)
		return store.Record{Forgotten: out}, at
	case l.RefusedOperation != nil:
		q := *l.RefusedOperation
		c.id("refused_operation.id", q.ID)
		c.time("refused_operation.time", q.Time)
		return store.Record{Refused: &memory.Quarantined{
			ID: q.ID, SessionID: d.life.sessionID(q.SessionID), JobID: d.causedBy(c, "refused_operation", q.CausedBy), Reason: q.Reason, Operation: q.Operation,
			Model: q.Model, Time: stored(q.Time),
		}}, place{kind: 14, text: [3]string{q.ID}, no: [4]int64{q.Time.UnixMicro()}}
	}
	return d.documentRecord(c, l)
}

func (d *Decoder) documentRecord(c *check, l Line) (store.Record, place) {
	switch {
	case l.Document != nil:
		document := d.document(c, *l.Document)
		return store.Record{Document: document}, place{kind: 15, text: [3]string{store.PlaceKey(memory.DocumentPlace{
			Namespace: l.Document.Namespace, Key: l.Document.Key,
		})}}
	case l.DeletedDocument != nil:
		g := *l.DeletedDocument
		c.hash("deleted_document.place_hash", g.PlaceHash)
		c.time("deleted_document.time", g.Time)
		out := &store.DeletedDocument{Time: stored(g.Time)}
		copy(out.Hash[:], g.PlaceHash)
		return store.Record{Deleted: out}, place{kind: 16, text: [3]string{string(g.PlaceHash)}}
	}
	c.fault("line", "is of no kind that belongs here")
	return store.Record{}, place{}
}

func (d *Decoder) document(c *check, in Document) *memory.Document {
	d.closeSession(c)
	d.current = nil
	c.id("document.key", in.Key)
	c.between("document.namespace", int64(len(in.Namespace)), 1, documentquery.MaxLabels)
	size := 0
	for _, label := range in.Namespace {
		c.id("document.namespace", label)
		size += len(label)
	}
	c.between("document.namespace", int64(size), 1, documentquery.MaxNamespaceBytes)
	c.object("document.value", in.Value)
	c.between("document.value", int64(len(in.Value)), 2, documentquery.MaxValueBytes)
	c.between("document.index_fields", int64(len(in.IndexFields)), 0, documentquery.MaxFields)
	for _, f := range in.IndexFields {
		c.id("document.index_fields", f)
	}
	if in.TTLSeconds < 0 || in.TTLSeconds > documentquery.MaxTTL.Seconds() {
		c.fault("document.ttl_seconds", "must be 0 to %.0f", documentquery.MaxTTL.Seconds())
	}
	if (in.TTLSeconds > 0) != !in.ExpireTime.IsZero() {
		c.fault("document.expire_time", "must stand beside ttl_seconds, and without it must not")
	}
	c.time("document.create_time", in.CreateTime)
	c.time("document.update_time", in.UpdateTime)
	return &memory.Document{
		DocumentPlace: memory.DocumentPlace{Namespace: in.Namespace, Key: d.life.documentKey(in.Namespace, in.Key)}, Value: in.Value,
		Fields: in.IndexFields, Unindexed: in.Unindexed, TTL: time.Duration(in.TTLSeconds * float64(time.Second)).Round(time.Microsecond),
		CreateTime: stored(in.CreateTime), UpdateTime: stored(in.UpdateTime), ExpireTime: stored(in.ExpireTime),
	}
}

// Finish checks that nothing is missing.
func (d *Decoder) Finish() error {
	c := &check{}
	if d.user == nil {
		c.fault("user", "is missing: the second line must be the user")
	}
	d.closeSession(c)
	for _, p := range d.sessions {
		if p.turn != p.lastTurn {
			c.fault("turn", "is missing: a session has fewer turns than its last_turn says")
			break
		}
	}
	return c.err
}

// closeSession checks that all turns of the current session have come.
func (d *Decoder) closeSession(c *check) {
	if p := d.current; p != nil && (p.turn != p.lastTurn || p.seq != p.lastSeq) {
		c.fault("turn", "is missing: the session before has fewer turns or messages than its head says")
	}
}

func (d *Decoder) userRecord(c *check, u User) *store.UserRecord {
	c.id("user.user_id", u.UserID)
	if d.life.User.UserID == "" {
		d.life.User.UserID = u.UserID
	}
	c.object("user.state", u.State)
	c.between("user.revision", u.Revision, 1, maxNo)
	c.between("user.fact_revision", u.FactRevision, 0, maxNo)
	c.between("user.state_revision", u.StateRevision, 0, maxNo)
	c.time("user.create_time", u.CreateTime)
	c.time("user.update_time", u.UpdateTime)
	if !store.MintedKey(u.HashKey) {
		c.fault("user.hash_key", "must be 1 to %d letters, digits, dashes and underscores", maxKey)
	}
	if _, err := time.LoadLocation(u.Timezone); err != nil || u.Timezone == "Local" {
		c.fault("user.timezone", "is no timezone of the IANA database, such as Asia/Seoul")
	}
	return &store.UserRecord{Revision: u.Revision, User: memory.User{
		Ref: d.life.User, Scope: d.life.Scope, HashKey: memory.HashKey(u.HashKey), Timezone: u.Timezone, Language: u.Language,
		Extract: named(c, "user.extract", extractNames, u.Extract), State: u.State, StateRevision: u.StateRevision,
		FactRevision: u.FactRevision, CreateTime: stored(u.CreateTime), UpdateTime: stored(u.UpdateTime),
	}}
}

func (d *Decoder) session(c *check, s Session) *store.SessionRecord {
	c.id("session.session_id", s.SessionID)
	c.object("session.metadata", s.Metadata)
	c.object("session.state", s.State)
	c.between("session.last_turn", s.LastTurn, 0, maxNo)
	c.between("session.last_seq", s.LastSeq, 0, maxNo)
	c.between("session.state_revision", s.StateRevision, 0, s.LastTurn)
	c.between("session.context_start", s.ContextStart, 0, maxNo)
	c.between("session.covered_seq", s.CoveredSeq, 0, s.LastSeq)
	c.between("session.steps_since_user", int64(s.StepsSinceUser), 0, s.LastSeq)
	c.between("session.revision", s.Revision, 1, maxNo)
	if s.HashKey != "" && !store.MintedKey(s.HashKey) {
		c.fault("session.hash_key", "must be 1 to %d letters, digits, dashes and underscores", maxKey)
	}
	c.time("session.create_time", s.CreateTime)
	c.time("session.update_time", s.UpdateTime)
	d.sessions[s.SessionID] = &progress{id: s.SessionID, lastTurn: s.LastTurn, lastSeq: s.LastSeq}
	return &store.SessionRecord{
		Revision: s.Revision, CoveredSeq: s.CoveredSeq, CoveredTime: stored(s.CoveredTime), HashKey: memory.HashKey(s.HashKey),
		Session: memory.Session{
			Ref: d.life.User.Session(d.life.sessionID(s.SessionID)), ScopeKey: d.life.Scope, Key: d.life.session(SessionRef{SessionID: s.SessionID}),
			Title: s.Title, Metadata: s.Metadata, Profile: s.Profile, Extract: named(c, "session.extract", extractNames, s.Extract),
			State: s.State, StateRevision: s.StateRevision, LastTurnNo: s.LastTurn, LastSeq: s.LastSeq, StepsSinceUser: s.StepsSinceUser,
			ContextStart: s.ContextStart, CreateTime: stored(s.CreateTime), UpdateTime: stored(s.UpdateTime),
			LastMessageTime: stored(s.LastMessageTime),
		},
	}
}

// sessionKey is the key of a session of the file.
func (d *Decoder) sessionKey(c *check, field string, r SessionRef) memory.SessionKey {
	if _, ok := d.sessions[r.SessionID]; !ok && !r.Gone {
		c.fault(field, "is no session of the file")
	}
	return d.life.session(r)
}

func (d *Decoder) turn(c *check, t Turn) *store.TurnRecord {
	if d.current == nil || d.current.id != t.SessionID {
		d.closeSession(c)
		d.current = d.sessions[t.SessionID]
	}
	key := d.sessionKey(c, "turn.session_id", SessionRef{SessionID: t.SessionID})
	if c.err != nil {
		return nil
	}
	p := d.current
	c.equal("turn.turn", t.Turn, p.turn+1)
	c.equal("turn.first_seq", t.FirstSeq, p.seq+1)
	c.object("turn.state_patch", t.StatePatch)
	c.time("turn.record_time", t.RecordTime)
	out := &store.TurnRecord{
		Session: key, TurnNo: t.Turn, FirstSeq: t.FirstSeq, RecordTime: stored(t.RecordTime), StatePatch: t.StatePatch,
	}
	d.request(c, t.Request, out)
	ids := make(map[string]bool, len(t.Messages))
	for i := range t.Messages {
		p.seq++
		if ids[t.Messages[i].ID] && !t.Messages[i].Deleted {
			c.fault(fmt.Sprintf("turn.messages[%d].id", i), "comes twice in the turn")
		}
		ids[t.Messages[i].ID] = true
		out.Messages = append(out.Messages, messageRecord(c, fmt.Sprintf("turn.messages[%d]", i), &t.Messages[i]))
		c.equal(fmt.Sprintf("turn.messages[%d].seq", i), t.Messages[i].Seq, p.seq)
		d.messageVector(c, fmt.Sprintf("turn.messages[%d].vector", i), &t.Messages[i])
		out.Messages[i].TurnNo = t.Turn
	}
	p.turn++
	if p.turn > p.lastTurn || p.seq > p.lastSeq {
		c.fault("turn", "is beyond the session's last_turn and last_seq")
	}
	return out
}

func (d *Decoder) request(c *check, r *Request, out *store.TurnRecord) {
	if r == nil {
		return
	}
	c.hash("turn.request.id_hash", r.IDHash)
	c.hash("turn.request.body_hash", r.BodyHash)
	if r.Result == nil {
		c.fault("turn.request.result", "is required")
		return
	}
	result := store.AppendResult{
		TurnNo: r.Result.Turn, MessageIDs: r.Result.MessageIDs, FirstSeq: r.Result.FirstSeq, LastSeq: r.Result.LastSeq,
		Deduplicated: r.Result.DeduplicatedIDs, StateRevision: r.Result.StateRevision, StepsSinceUser: r.Result.StepsSinceUser,
	}
	for i, f := range r.Result.Findings {
		field := fmt.Sprintf("turn.request.result.findings[%d]", i)
		result.Findings = append(result.Findings, memory.Finding{
			MessageID: f.MessageID, Kind: named(c, field+".kind", findingNames, f.Kind), CallID: f.CallID, Index: f.Index, Rule: f.Rule,
			Action: named(c, field+".action", actionNames, f.Action), Removed: f.Removed,
		})
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		c.fault("turn.request.result", "cannot be stored")
	}
	out.RequestHash, out.RequestDigest, out.Result = r.IDHash, r.BodyHash, encoded
}

func messageRecord(c *check, field string, m *Message) store.MessageRecord {
	if m.Deleted {
		return deletedRecord(c, field, m)
	}
	c.id(field+".id", m.ID)
	c.hash(field+".body_hash", m.BodyHash)
	c.object(field+".metadata", m.Metadata)
	c.time(field+".create_time", m.CreateTime)
	c.time(field+".record_time", m.RecordTime)
	out := store.MessageRecord{BodyHash: m.BodyHash, Message: memory.Message{
		ID: m.ID, Seq: m.Seq, Role: named(c, field+".role", roleNames, m.Role), Name: m.Name, Parts: partRecords(c, field, m.Parts, 0),
		Tags: m.Tags, Metadata: m.Metadata, CreateTime: stored(m.CreateTime), RecordTime: stored(m.RecordTime),
		Origin: named(c, field+".origin", originNames, m.Origin), Extract: named(c, field+".extract", extractNames, m.Extract),
		Pinned: m.Pinned, Hidden: m.Hidden, Tokens: memory.TokenCounts(m.Tokens),
	}}
	if m.Original != nil {
		out.Original = &memory.Original{Format: m.Original.Format, Data: m.Original.Data}
	}
	return out
}

// deletedRecord is what is left of a message that was erased. Whatever else stands in the line is not read.
func deletedRecord(c *check, field string, m *Message) store.MessageRecord {
	if m.IDHash != nil || m.BodyHash != nil {
		c.hash(field+".id_hash", m.IDHash)
		c.hash(field+".body_hash", m.BodyHash)
	}
	c.time(field+".create_time", m.CreateTime)
	c.time(field+".record_time", m.RecordTime)
	return store.MessageRecord{IDHash: m.IDHash, BodyHash: m.BodyHash, Message: memory.Message{
		Seq: m.Seq, Role: named(c, field+".role", roleNames, m.Role), Origin: named(c, field+".origin", originNames, m.Origin),
		CreateTime: stored(m.CreateTime), RecordTime: stored(m.RecordTime), Hidden: true, Deleted: true,
	}}
}

// maxPartDepth is how deep parts may stand in results of tools; Record takes less.
const maxPartDepth = 8

func partRecords(c *check, field string, lines []Part, depth int) []memory.Part {
	if depth > maxPartDepth {
		c.fault(field+".parts", "stand deeper in each other than %d", maxPartDepth)
		return nil
	}
	var parts []memory.Part
	for i, l := range lines {
		at := fmt.Sprintf("%s.parts[%d]", field, i)
		p := memory.Part{
			Kind: named(c, at+".kind", partNames, l.Kind), Text: l.Text, Signature: l.Signature, Data: l.Data, CallID: l.CallID, Name: l.Name,
			Arguments: l.Arguments, Parts: partRecords(c, at, l.Parts, depth+1), IsError: l.IsError, MIMEType: l.MIMEType, URI: l.URI,
			Type: l.Type, JSON: l.JSON,
		}
		if l.Image != nil {
			p.Image = &memory.Image{Width: l.Image.Width, Height: l.Image.Height, Detail: named(c, at+".image.detail", detailNames, l.Image.Detail)}
		}
		for _, s := range l.Echoes {
			p.Echoes = append(p.Echoes, memory.Span(s))
		}
		for _, s := range l.Secrets {
			p.Secrets = append(p.Secrets, memory.Secret{Span: memory.Span{Start: s.Start, End: s.End}, Kind: s.Kind, No: s.No})
		}
		c.spans(at, p)
		parts = append(parts, p)
	}
	return parts
}

func (d *Decoder) edits(c *check, e Edits) *store.SummaryHistory {
	d.closeSession(c)
	d.current = nil
	of := memory.SummaryRevision{Kind: named(c, "edits.kind", summaryNames, e.Kind), SessionID: d.life.sessionID(e.SessionID), Period: e.Period}
	if of.Kind == memory.SummarySession {
		of.Session = d.sessionKey(c, "edits.session_id", SessionRef{SessionID: e.SessionID})
	}
	h := &store.SummaryHistory{}
	for i, edit := range e.Revisions {
		field := fmt.Sprintf("edits.revisions[%d]", i)
		c.equal(field+".revision", edit.Revision, int64(i)+1)
		r := store.RevisedSummary{SummaryRevision: of}
		r.Revision, r.Cause, r.Text, r.Tokens = edit.Revision, named(c, field+".cause", editNames, edit.Cause), edit.Text, memory.TokenCounts(edit.Tokens)
		r.FromTime, r.ToTime, r.Rebuilds, r.CreateTime = stored(edit.FromTime), stored(edit.ToTime), edit.Rebuilds, stored(edit.CreateTime)
		r.Author = c.author(field+".author", edit.Author)
		for _, v := range edit.Covers {
			r.Covers = append(r.Covers, memory.Covered{
				Session: d.sessionKey(c, field+".covers", v.Session), Range: memory.SeqRange(v.Range), Passed: rangeRecords(v.Passed),
			})
		}
		slices.SortFunc(r.Covers, func(a, b memory.Covered) int { return cmp.Compare(a.Session, b.Session) })
		if edit.Request != nil {
			c.hash(field+".request.id_hash", edit.Request.IDHash)
			c.hash(field+".request.body_hash", edit.Request.BodyHash)
			r.RequestHash, r.RequestDigest = edit.Request.IDHash, edit.Request.BodyHash
		}
		h.Revisions = append(h.Revisions, r)
	}
	if len(h.Revisions) == 0 {
		c.fault("edits.revisions", "is required")
	}
	return h
}

func rangeRecords(in []Range) (out []memory.SeqRange) {
	for _, r := range in {
		out = append(out, memory.SeqRange(r))
	}
	return out
}

func (d *Decoder) summary(c *check, s Summary) *memory.SummaryNode {
	d.closeSession(c)
	d.current = nil
	c.id("summary.id", s.ID)
	c.between("summary.level", int64(s.Level), 0, maxNo)
	c.between("summary.generation", int64(s.Generation), 1, maxNo)
	c.time("summary.create_time", s.CreateTime)
	n := &memory.SummaryNode{
		ID: d.life.summaryID(s.ID), Kind: named(c, "summary.kind", summaryNames, s.Kind), SessionID: d.life.sessionID(s.SessionID),
		Level: s.Level, Range: memory.SeqRange(s.Range),
		Period:     memory.Period{Name: s.Period, Start: stored(s.PeriodStart), End: stored(s.PeriodEnd)},
		Generation: s.Generation, Cumulative: s.Cumulative, Passed: rangeRecords(s.Passed), Rebuild: s.Rebuild, Text: s.Text,
		Appended: s.Appended, Tokens: memory.TokenCounts(s.Tokens), Language: s.Language, Model: s.Model, FromTime: stored(s.FromTime),
		ToTime: stored(s.ToTime), CreateTime: stored(s.CreateTime),
	}
	if n.Kind == memory.SummarySession {
		n.Session = d.sessionKey(c, "summary.session_id", SessionRef{SessionID: s.SessionID})
		if p := d.sessions[s.SessionID]; p != nil {
			c.between("summary.range.from", s.Range.From, 0, s.Range.To)
			c.between("summary.range.to", s.Range.To, 0, p.lastSeq)
		}
	}
	if s.Previous != nil {
		n.Previous = d.source(c, "summary.previous", *s.Previous)
	}
	for _, child := range s.Children {
		n.Children = append(n.Children, d.source(c, "summary.children", child))
	}
	return n
}

// source is the id of what a summary was made of. That of a correction derives from the key of its session.
func (d *Decoder) source(c *check, field string, s Source) string {
	if s.Correction == nil {
		return d.life.summaryID(s.SummaryID)
	}
	r := memory.SummaryRevision{
		Kind: named(c, field+".correction.kind", summaryNames, s.Correction.Kind), Period: s.Correction.Period, Revision: s.Correction.Revision,
	}
	if r.Kind == memory.SummarySession {
		r.Session = d.sessionKey(c, field+".correction.session_id", SessionRef{SessionID: s.Correction.SessionID})
	}
	return r.Node().ID
}

// jobKey is the key of a job in the new life.
func (d *Decoder) jobKey(c *check, field string, r JobRef) memory.JobKey {
	k := memory.JobKey{
		Scope: d.life.Scope, Kind: named(c, field+".kind", jobNames, r.Kind), Level: r.Level, From: r.From, Generation: r.Generation,
	}
	c.between(field+".generation", int64(r.Generation), 1, maxNo)
	c.between(field+".level", int64(r.Level), 0, maxNo)
	if k.Kind != memory.JobWeek && k.Kind != memory.JobMonth {
		k.Session = d.sessionKey(c, field+".session_id", SessionRef{SessionID: r.SessionID})
	}
	return k
}

func (d *Decoder) job(c *check, j Job) *memory.Job {
	d.closeSession(c)
	d.current = nil
	key := d.jobKey(c, "job", j.JobRef)
	out := &memory.Job{
		JobKey: key, User: d.life.User, SessionID: d.life.sessionID(j.SessionID), To: j.To, State: named(c, "job.state", stateNames, j.State),
		Attempts: j.Attempts, NotBefore: stored(j.NotBefore), FailingSince: stored(j.FailingSince), Reason: j.Reason,
		Usage:      memory.ModelUsage{Calls: j.Calls, InputTokens: j.InputTokens, OutputTokens: j.OutputTokens},
		CreateTime: stored(j.CreateTime), UpdateTime: stored(j.UpdateTime),
	}
	if j.Answer != nil {
		out.Answer = append([]byte{}, *j.Answer...)
	}
	c.time("job.create_time", j.CreateTime)
	c.time("job.update_time", j.UpdateTime)
	if p := d.sessions[j.SessionID]; p != nil && key.Session != "" {
		c.between("job.to", j.To, j.From, p.lastSeq)
	}
	return out
}

func (d *Decoder) causedBy(c *check, field string, by CausedBy) string {
	if by.Job == nil {
		return by.UnknownJobID
	}
	return d.jobKey(c, field+".job", *by.Job).ID()
}

func (d *Decoder) fact(c *check, f Fact) *store.FactRecord {
	d.closeSession(c)
	d.current = nil
	c.id("fact.id", f.ID)
	out := &store.FactRecord{Fact: d.factState(c, "fact", f.ID, f.FactState)}
	last := int64(0)
	for i, r := range f.Revisions {
		field := fmt.Sprintf("fact.revisions[%d]", i)
		c.between(field+".revision", r.Revision, last+1, f.Revision)
		last = r.Revision
		out.Revisions = append(out.Revisions, memory.FactRevision{
			Fact: d.factState(c, field, f.ID, r.FactState), Cause: named(c, field+".cause", causeNames, r.Cause), JobID: d.causedBy(c, field, r.CausedBy),
			Author: c.author(field+".author", r.Author),
		})
	}
	d.factVector(c, "fact.vector", f.Vector)
	return out
}

// messageVector takes a message's vector. What stands in the line of a deleted one is not read.
func (d *Decoder) messageVector(c *check, field string, m *Message) {
	if len(m.Vector) == 0 {
		return
	}
	if m.Deleted {
		c.fault(field, "must not be there: the message is deleted")
	}
	if !d.fits(c, field, len(m.Vector), 1) {
		return
	}
	values := make([]int8, len(m.Vector))
	for i, b := range m.Vector {
		if values[i] = int8(b); values[i] == math.MinInt8 {
			c.fault(field, "must have bytes of -127 to 127")
		}
	}
	if d.vectors.Messages == nil {
		d.vectors.Messages = map[int64][]int8{}
	}
	d.vectors.Messages[m.Seq] = values
}

func (d *Decoder) factVector(c *check, field string, b []byte) {
	if len(b) == 0 || !d.fits(c, field, len(b), 4) {
		return
	}
	values := store.DecodeVector(b)
	for _, v := range values {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			c.fault(field, "must hold finite numbers")
		}
	}
	d.vectors.Fact = values
}

// fits reports whether a vector has so many bytes for each dimension.
func (d *Decoder) fits(c *check, field string, bytes, each int) bool {
	switch {
	case d.embedding == nil:
		c.fault(field, "must not be there: the header says that the file holds no vectors")
	case bytes != each*d.embedding.Dimension:
		c.fault(field, "must have %d bytes, %d for each dimension", each*d.embedding.Dimension, each)
	}
	return c.err == nil
}

func (d *Decoder) factState(c *check, field, id string, s FactState) memory.Fact {
	c.between(field+".significance", int64(s.Significance), 1, 10)
	c.between(field+".revision", s.Revision, 1, maxNo)
	c.between(field+".change", s.Change, 0, d.user.FactRevision)
	if s.Confidence < 0 || s.Confidence > 1 {
		c.fault(field+".confidence", "must be 0 to 1")
	}
	c.time(field+".create_time", s.CreateTime)
	c.time(field+".update_time", s.UpdateTime)
	f := memory.Fact{
		ID: d.life.factID(id), Text: s.Text, Category: named(c, field+".category", categoryNames, s.Category), Tags: s.Tags, Significance: s.Significance,
		Confidence: s.Confidence, Subject: s.Subject, Attribute: s.Attribute, ValidFrom: stored(s.ValidFrom), ValidTo: stored(s.ValidTo),
		SupersededBy: d.life.factID(s.SupersededBy), Pinned: s.Pinned, Origin: named(c, field+".origin", factOriginNames, s.Origin), Protected: s.Protected,
		Language: s.Language, Model: s.Model, CreateTime: stored(s.CreateTime), UpdateTime: stored(s.UpdateTime),
		LastUsedTime: stored(s.LastUsedTime), Revision: s.Revision, Change: s.Change,
	}
	for i, e := range s.Evidence {
		f.Evidence = append(f.Evidence, memory.Evidence{
			Session: d.sessionKey(c, fmt.Sprintf("%s.evidence[%d].session", field, i), e.Session), SessionID: d.life.sessionID(e.Session.SessionID), Seq: e.Seq,
			MessageID: e.MessageID, Quote: e.Quote, Time: stored(e.Time), Ends: e.Ends,
		})
	}
	return f
}

// check keeps the first fault of a line.
type check struct{ err error }

func (c *check) fault(field, format string, args ...any) {
	if c.err == nil {
		c.err = memory.InvalidField(field, format, args...)
	}
}

// author checks who made a change; "" where nobody is named.
func (c *check) author(field, s string) string {
	if s != "" {
		c.id(field, s)
	}
	return s
}

func (c *check) id(field, s string) {
	if s == "" || len(s) > MaxID || !utf8.ValidString(s) {
		c.fault(field, "must be 1 to %d bytes of printable UTF-8", MaxID)
		return
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			c.fault(field, "must be printable")
			return
		}
	}
}

func (c *check) hash(field string, b []byte) {
	if len(b) != len(memory.KeyedHash{}) {
		c.fault(field, "must be %d bytes in base64", len(memory.KeyedHash{}))
	}
}

func (c *check) between(field string, n, from, to int64) {
	if n < from || n > to {
		c.fault(field, "must be %d to %d", from, to)
	}
}

func (c *check) equal(field string, n, want int64) {
	if n != want {
		c.fault(field, "must be %d: a line or a message is missing", want)
	}
}

func (c *check) time(field string, t time.Time) {
	if t.IsZero() {
		c.fault(field, "is required")
	}
}

func (c *check) object(field string, raw json.RawMessage) {
	if raw != nil && !bytes.HasPrefix(raw, []byte("{")) {
		c.fault(field, "must be an object")
	}
}

// spans checks that what is noted of a part's content lies in it.
func (c *check) spans(field string, p memory.Part) {
	longest := max(len(p.Text), len(p.Arguments), len(p.JSON), len(p.URI))
	last := 0
	for _, s := range p.Echoes {
		if s.Start < last || s.End < s.Start || s.End > longest {
			c.fault(field+".echoes", "must lie in the content, ascending and apart")
		}
		last = s.End
	}
	last = 0
	for _, s := range p.Secrets {
		if s.Start < last || s.End < s.Start || s.End > longest {
			c.fault(field+".secrets", "must lie in the content, ascending and apart")
		}
		last = s.End
	}
}

// named is the value with the name.
func named[T comparable](c *check, field string, n names[T], name string) T {
	v, ok := n.by[name]
	if !ok {
		c.fault(field, "is not a value that version %d of the format knows", Version)
	}
	return v
}
