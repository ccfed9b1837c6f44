package storecopy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/storetest"
)

// filler writes what one store holds.
type filler struct {
	t *testing.T
	s store.PrimaryStore
	n int // calls so far: each has a minute of its own
}

var copyTime = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

func (f *filler) now() time.Time {
	f.n++
	return copyTime.Add(time.Duration(f.n) * time.Minute)
}

func done[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// hostile are users, sessions and messages whose ids are anything but plain.
var hostile = memory.UserRef{Tenant: "t$gt.'\"", UserID: "u/0\x00\\ {$ne:1} \U0001f600 말"}.Session("s/../%00'; DROP\n" + "\u2028")

// full is a user with something of everything.
var full = memory.UserRef{Tenant: "globex", UserID: "full"}

// fill stores something of everything: all that storetest does, and several tenants with what copying might lose.
func fill(t *testing.T, s store.PrimaryStore) *filler {
	t.Helper()
	storetest.Fill(t, s)
	f := &filler{t: t, s: s}
	f.session(full.Session("s"), 12)
	f.session(full.Session("empty state"), 2)
	f.session(hostile, 3)
	f.session(memory.UserRef{Tenant: "globex", UserID: "other"}.Session("s"), 2)
	done[memory.User](t)(s.UpdateUser(t.Context(), store.UserUpdate{Ref: memory.UserRef{Tenant: "silent", UserID: "nothing"}, Time: f.now()}))
	zone := "Asia/Seoul"
	done[memory.User](t)(s.UpdateUser(t.Context(), store.UserUpdate{Ref: full, Timezone: &zone, StatePatch: json.RawMessage(`{"plan":"pro","notes/tone":"formal"}`), Time: f.now()}))
	f.jobs(full.Session("s"))
	f.summaries(full.Session("s"))
	f.facts(full)
	return f
}

func (f *filler) session(ref memory.SessionRef, turns int) {
	f.t.Helper()
	for i := range turns {
		f.append(f.turn(ref, i))
	}
	title, metadata := "a title", json.RawMessage(`{"k":[]}`)
	done[memory.Session](f.t)(f.s.UpdateSession(f.t.Context(), store.SessionUpdate{Ref: ref, Title: &title, Metadata: &metadata, Time: f.now()}))
	done[memory.Message](f.t)(f.s.UpdateMessage(f.t.Context(), store.MessageUpdate{Ref: ref, MessageID: "m-0-0", Tags: &[]string{"x"}}))
}

func (f *filler) append(p store.AppendParams) store.AppendResult {
	f.t.Helper()
	return done[store.AppendResult](f.t)(f.s.Append(f.t.Context(), p))
}

// turn is the i-th turn of a session: each has a request, and some a patch, a tool call, an original or no message.
func (f *filler) turn(ref memory.SessionRef, i int) store.AppendParams {
	p := store.AppendParams{Ref: ref, Profile: "coding", RequestID: fmt.Sprintf("r-%d", i), Time: f.now()}
	p.RequestDigest = memory.IDDigest(p.RequestID)
	if i%3 == 1 {
		p.StatePatch = json.RawMessage(fmt.Sprintf(`{"n":%d,"last":{"k":"v"}}`, i))
	}
	if i == 4 {
		return p
	}
	user := memory.Message{ID: fmt.Sprintf("m-%d-0", i), Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("words <b>&\u2028</b> 말")}}
	assistant := memory.Message{
		ID: fmt.Sprintf("m-%d-1", i), Role: memory.RoleAssistant, Name: "Bot", Tags: []string{}, Metadata: json.RawMessage(`{"a":1}`),
		Parts: []memory.Part{
			memory.TextPart("a"),
			{Kind: memory.PartToolCall, CallID: fmt.Sprintf("call-%d", i), Name: "look", Arguments: `{"a" : 1.50}`},
			{Kind: memory.PartBlob, MIMEType: "image/png", Data: []byte("\x89PNG\x00")},
		},
	}
	if i%2 == 0 {
		user.Original = &memory.Original{Format: "openai", Data: []byte("{ \"role\":\"user\" }\xff")}
		assistant.Original = &memory.Original{Format: "none", Data: nil}
	}
	p.Messages = []store.NewMessage{f.message(user, p.Time), f.message(assistant, p.Time)}
	p.Findings = []memory.Finding{{MessageID: assistant.ID, Kind: memory.FindingDuplicateToolCall, CallID: "x"}}
	return p
}

func (f *filler) message(m memory.Message, at time.Time) store.NewMessage {
	m.Origin, m.Extract, m.CreateTime = memory.DefaultOrigin(m.Role), memory.ExtractAllow, at.Add(-time.Microsecond)
	m.Tokens = memory.TokenCounts{O200K: 10, CL100K: 11}
	return store.NewMessage{Message: m, BodyDigest: done[memory.Digest](f.t)(memory.BodyDigest(m))}
}

func (f *filler) open(ref memory.SessionRef, kind memory.JobKind, level int, from, to int64) memory.Job {
	f.t.Helper()
	head := done[memory.Session](f.t)(f.s.Session(f.t.Context(), ref))
	p := store.JobOpening{User: ref.UserRef, To: to, Owner: "w", Time: f.now(), JobKey: memory.JobKey{
		Scope: head.ScopeKey, Session: head.Key, Kind: kind, Level: level, From: from, Generation: 1,
	}}
	if kind == memory.JobWeek || kind == memory.JobMonth {
		p.Session = ""
	}
	p.Until = p.Time.Add(time.Hour)
	return done[memory.Job](f.t)(f.s.OpenJob(f.t.Context(), p))
}

// jobs leaves one of each kind of end: applied without effect, split, answered, parked with an answer, open.
func (f *filler) jobs(ref memory.SessionRef) {
	f.t.Helper()
	ctx, of := f.t.Context(), func(s memory.Job) store.JobRef { return store.JobRef{User: s.User, ID: s.ID()} }
	done[memory.Job](f.t)(f.s.FinishJob(ctx, store.JobFinish{
		JobRef: of(f.open(ref, memory.JobExtract, 0, 1, 4)), State: memory.JobSkipped, Reason: "asked for", Time: f.now(),
	}))
	done[[2]memory.Job](f.t)(f.s.SplitJob(ctx, store.JobSplit{JobRef: of(f.open(ref, memory.JobExtract, 0, 5, 8)), At: 6, Time: f.now()}))
	usage := memory.ModelUsage{Calls: 1, InputTokens: 100, OutputTokens: 10}
	for i, answer := range [][]byte{[]byte("{}\x00"), {}} {
		job := f.open(ref, memory.JobExtract, 0, int64(9+2*i), int64(10+2*i))
		done[memory.Job](f.t)(f.s.AnswerJob(ctx, store.JobAnswer{JobRef: of(job), Answer: answer, Usage: usage, Time: f.now()}))
	}
	parked := f.open(ref, memory.JobExtract, 0, 13, 14)
	done[memory.Job](f.t)(f.s.AnswerJob(ctx, store.JobAnswer{JobRef: of(parked), Answer: []byte("x"), Usage: usage, Time: f.now()}))
	at := f.now()
	done[memory.Job](f.t)(f.s.FailJob(ctx, store.JobFailure{
		JobRef: of(parked), Attempts: 3, NotBefore: at.Add(time.Hour), Reason: "rate limited", Park: true, Usage: usage, Time: at,
	}))
	f.open(ref, memory.JobExtract, 0, 15, 16)
}

// summaries stores leaves, one that merges them, a cumulative one and periods.
func (f *filler) summaries(ref memory.SessionRef) {
	f.t.Helper()
	for i := range int64(4) {
		f.node(ref, memory.JobLeaf, 0, 1+4*i, 4+4*i, func(*memory.SummaryNode) {})
	}
	f.node(ref, memory.JobMerge, 1, 1, 8, func(n *memory.SummaryNode) { n.Children = []string{"x", "y"} })
	f.node(ref, memory.JobMerge, 1, 9, 16, func(n *memory.SummaryNode) { n.Cumulative, n.Previous = true, "x" })
	monday := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for i, kind := range []memory.JobKind{memory.JobWeek, memory.JobMonth} {
		day := monday.Unix() / 86400
		f.node(ref, kind, 0, day, day+6, func(n *memory.SummaryNode) {
			n.Kind, n.Session, n.SessionID = memory.SummaryKind(2+i), "", ""
			n.Period = memory.Period{Name: []string{"2026-W10", "2026-03"}[i], Start: monday, End: monday.AddDate(0, 0, 7)}
			n.Children = []string{}
		})
	}
}

func (f *filler) node(ref memory.SessionRef, kind memory.JobKind, level int, from, to int64, change func(*memory.SummaryNode)) {
	f.t.Helper()
	job := f.open(ref, kind, level, from, to)
	w := store.NodeWrite{User: ref.UserRef, Scope: job.Scope, JobID: job.ID(), Time: f.now(), Node: memory.SummaryNode{
		ID: memory.EffectID(job.ID(), 0), Kind: memory.SummarySession, Session: job.Session, SessionID: ref.SessionID, Level: level,
		Range: job.Range(), Generation: 1, Text: fmt.Sprint("words of ", from), Appended: 1, Tokens: memory.TokenCounts{O200K: 3, CL100K: 4},
		Language: "ko", Model: "m", FromTime: copyTime, ToTime: copyTime.Add(time.Duration(to)), CreateTime: f.now(),
	}}
	w.Node.ToTime = copyTime.Add(time.Duration(to) * time.Minute)
	if kind == memory.JobLeaf {
		w.LookAt = copyTime.AddDate(0, 0, 7)
	}
	change(&w.Node)
	done[any](f.t)(nil, f.s.PutNode(f.t.Context(), w))
}

// facts leaves facts with a history, one that was forgotten, refused operations, and vectors of two versions, of which the
// second is not complete.
func (f *filler) facts(user memory.UserRef) {
	f.t.Helper()
	for i := range 5 {
		f.write(user, func(w *store.FactWrite) {
			w.Changes = []store.FactChange{{Fact: f.fact(fmt.Sprintf("f%d", i)), Cause: memory.CauseExtracted}}
			w.Quarantined = []memory.Quarantined{{
				ID: fmt.Sprintf("q%d", 9-i), SessionID: "s", JobID: "job", Reason: "malformed", Operation: `{"op":1}`, Model: "m", Time: w.Time,
			}}
		})
	}
	all := done[[]memory.Embedding](f.t)(f.s.Embeddings(f.t.Context()))
	first := all[len(all)-1]
	f.vectors(user, first.Version, "f0", "f1", "f2", "f3", "f4")
	next := done[memory.Embedding](f.t)(f.s.AddEmbedding(f.t.Context(), memory.Embedding{Model: "next", Dimension: 2, Metric: "cosine", CreateTime: f.now()}))
	f.vectors(user, next.Version, "f1", "f2")
	f.change(user, "f1", func(v *memory.Fact) { v.Text = "another text" })
	f.change(user, "f2", func(v *memory.Fact) { v.Pinned, v.ValidTo, v.SupersededBy = true, copyTime, "f3" })
	f.write(user, func(w *store.FactWrite) {
		w.Forget = []store.ForgetFact{{FactID: "f0", Keys: []memory.Digest{memory.IDDigest("a"), memory.IDDigest("b"), memory.IDDigest("c")}}}
	})
	f.vectors(user, first.Version, "f2")
	done[any](f.t)(nil, f.s.TouchFacts(f.t.Context(), user, []string{"f3"}, f.now()))
}

func (f *filler) fact(id string) memory.Fact {
	at := f.now()
	return memory.Fact{
		ID: id, Text: "text of " + id, Category: memory.CategoryGoal, Tags: []string{"t"}, Significance: 5, Confidence: 0.1 + 0.2, Subject: "Ann & Bob",
		Attribute: "home_city", Origin: memory.FactExtracted, Language: "ko", Model: "m", ValidFrom: at, CreateTime: at, UpdateTime: at, Revision: 1,
		Evidence: []memory.Evidence{
			{Session: "key", SessionID: "s", Seq: 1, MessageID: "m-0-0", Quote: "words"},
			{Session: "key", SessionID: "t", Seq: 2, MessageID: `m\`, Quote: "<b>\u2028", Time: at},
		},
	}
}

func (f *filler) write(user memory.UserRef, change func(*store.FactWrite)) {
	f.t.Helper()
	state := done[store.FactState](f.t)(f.s.FactsSince(f.t.Context(), user, 0))
	w := store.FactWrite{User: user, Scope: state.Scope, Base: state.Revision, Time: f.now()}
	change(&w)
	done[int64](f.t)(f.s.ApplyFacts(f.t.Context(), w))
}

func (f *filler) change(user memory.UserRef, id string, change func(*memory.Fact)) {
	f.t.Helper()
	v := done[memory.Fact](f.t)(f.s.Fact(f.t.Context(), user, id))
	v.Revision++
	change(&v)
	f.write(user, func(w *store.FactWrite) { w.Changes = []store.FactChange{{Fact: v, Cause: memory.CauseEdited}} })
}

func (f *filler) vectors(user memory.UserRef, version int, ids ...string) {
	f.t.Helper()
	w := store.VectorWrite{Version: version, Time: f.now()}
	for i, id := range ids {
		v := done[memory.Fact](f.t)(f.s.Fact(f.t.Context(), user, id))
		w.Vectors = append(w.Vectors, store.NewVector{User: user, FactID: id, Revision: v.Revision, Vector: []float32{float32(i) + .1, -1e-30}})
	}
	done[any](f.t)(nil, f.s.PutFactVectors(f.t.Context(), w))
}

// fillPlainly stores turns of two messages in ten sessions, and facts with a vector of 256 dimensions each.
func fillPlainly(ctx context.Context, s store.PrimaryStore, turns, facts int) error {
	user := memory.UserRef{Tenant: "t", UserID: "u"}
	words := strings.Repeat("words of a message ", 20)
	for i := range turns {
		p := store.AppendParams{Ref: user.Session(fmt.Sprint("s", i%10)), RequestID: fmt.Sprint(i), Time: copyTime}
		for n, role := range []memory.Role{memory.RoleUser, memory.RoleAssistant} {
			p.Messages = append(p.Messages, store.NewMessage{Message: memory.Message{
				ID: fmt.Sprint(i, "-", n), Role: role, Parts: []memory.Part{memory.TextPart(words)}, Origin: memory.DefaultOrigin(role),
				Extract: memory.ExtractAllow, CreateTime: copyTime,
			}})
		}
		if _, err := s.Append(ctx, p); err != nil {
			return err
		}
	}
	if _, err := s.AddEmbedding(ctx, memory.Embedding{Model: "m", Dimension: 256, Metric: "cosine", CreateTime: copyTime}); err != nil {
		return err
	}
	u, err := s.User(ctx, user)
	if err != nil {
		return err
	}
	w, v := store.FactWrite{User: user, Scope: u.Scope, Time: copyTime}, store.VectorWrite{Version: 1, Time: copyTime}
	for i := range facts {
		w.Changes = append(w.Changes, store.FactChange{Cause: memory.CauseExtracted, Fact: memory.Fact{
			ID: fmt.Sprint("f", i), Text: words, Category: memory.CategoryGoal, Significance: 5, Origin: memory.FactExtracted,
			ValidFrom: copyTime, CreateTime: copyTime, UpdateTime: copyTime, Revision: 1,
		}})
		vector := make([]float32, 256)
		for n := range vector {
			vector[n] = float32(i*n) / 1e6
		}
		v.Vectors = append(v.Vectors, store.NewVector{User: user, FactID: fmt.Sprint("f", i), Revision: 1, Vector: vector})
	}
	if _, err := s.ApplyFacts(ctx, w); err != nil {
		return err
	}
	return s.PutFactVectors(ctx, v)
}
