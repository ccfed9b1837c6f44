package portable_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/sessions/portable"
	"github.com/stratamem/strata/internal/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// A user with any mesh of sessions, summaries, corrections, jobs and facts, moved to a new life.
func TestARekeyedUserIsTheSameUser(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := anyUser(t)
		file := write(t, old)
		moved := read(t, file, portable.Life{User: memory.UserRef{Tenant: "t2", UserID: "u"}, Scope: "newscope", Seed: "seed"})
		if again := write(t, moved); again != file {
			t.Fatalf("a second export differs:\n%s", gocmp.Diff(strings.Split(file, "\n"), strings.Split(again, "\n")))
		}
		wantNoOldKeys(t, old, moved)
		wantConsistent(t, moved)
	})
}

// wantNoOldKeys: of the old life's keys, and of what derives from them but is not known to callers, nothing may be left.
func wantNoOldKeys(t *rapid.T, old, moved []store.Record) {
	encoded, err := json.Marshal(moved)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range old {
		if r.Session != nil && bytes.Contains(encoded, []byte(r.Session.Key)) {
			t.Fatalf("the key of session %s is left", r.Session.Ref.SessionID)
		}
		if r.Job != nil && bytes.Contains(encoded, []byte(r.Job.ID())) {
			t.Fatalf("the id of a job is left")
		}
	}
	if bytes.Contains(encoded, []byte("oldscope")) {
		t.Fatal("the scope key is left")
	}
}

// wantConsistent: whatever names a session, a job or a correction names one of the new life, and the same as the record beside.
func wantConsistent(t *rapid.T, records []store.Record) {
	keys, jobs, made := map[string]memory.SessionKey{"": ""}, map[string]bool{}, map[string]bool{}
	for _, r := range records {
		switch {
		case r.Session != nil:
			keys[r.Session.Ref.SessionID] = r.Session.Key
		case r.Job != nil:
			jobs[r.Job.ID()] = true
		case r.Revised != nil:
			for _, v := range r.Revised.Revisions {
				made[v.Node().ID] = true
			}
		}
	}
	same := func(what string, id string, key memory.SessionKey) {
		if keys[id] != key {
			t.Fatalf("%s of session %q has the key %s, want %s", what, id, key, keys[id])
		}
	}
	for _, r := range records {
		switch {
		case r.Revised != nil:
			same("a correction", r.Revised.Revisions[0].SessionID, r.Revised.Revisions[0].Session)
		case r.Node != nil:
			same("a summary", r.Node.SessionID, r.Node.Session)
			for _, child := range r.Node.Children {
				if !made[child] && !strings.HasPrefix(child, "node") {
					t.Fatalf("a summary was made of %s, which is none", child)
				}
			}
		case r.Job != nil:
			same("a job", r.Job.SessionID, r.Job.Session)
			if r.Job.Scope != "newscope" || r.Job.User.Tenant != "t2" {
				t.Fatalf("a job is of %v in %s", r.Job.User, r.Job.Scope)
			}
		case r.Fact != nil:
			for _, v := range r.Fact.Revisions {
				if v.JobID != "" && v.JobID != "unknown" && !jobs[v.JobID] {
					t.Fatalf("a revision is of job %s, which is none", v.JobID)
				}
				for _, e := range v.Evidence {
					if e.MessageID != "gone" {
						same("evidence", e.SessionID, e.Session)
					} else if slices.Contains(slices.Collect(mapValues(keys)), e.Session) {
						t.Fatal("evidence of a session that is gone names one that is there")
					}
				}
			}
		case r.Refused != nil:
			if r.Refused.JobID != "" && !jobs[r.Refused.JobID] {
				t.Fatalf("a refused operation is of job %s, which is none", r.Refused.JobID)
			}
		}
	}
}

func mapValues[K comparable, V any](m map[K]V) func(func(V) bool) {
	return func(yield func(V) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

func anyUser(t *rapid.T) (all []store.Record) {
	g := generator{t: t, ref: memory.UserRef{Tenant: "t1", UserID: "u"}}
	all = append(all, store.Record{User: &store.UserRecord{Revision: 1, User: memory.User{
		Ref: g.ref, Scope: "oldscope", HashKey: "oldhash", Extract: memory.ExtractAllow, State: json.RawMessage(`{"a":[1.50,"<b>"]}`),
		StateRevision: 1, FactRevision: 100, CreateTime: noon, UpdateTime: noon,
	}}})
	g.sessions = rapid.IntRange(1, 4).Draw(t, "sessions")
	for _, of := range []func() []store.Record{g.heads, g.turns, g.edits, g.nodes, g.jobRecords, g.facts, g.refused} {
		all = append(all, of()...)
	}
	return all
}

type generator struct {
	t           *rapid.T
	ref         memory.UserRef
	sessions    int
	corrections []string
	jobs        []memory.Job
}

const ofSession = 6 // messages of each session

func (g *generator) session(i int) (memory.SessionKey, string) {
	return memory.SessionKey(fmt.Sprintf("oldkey%d", 9-i)), fmt.Sprintf("s/%d", i) // keys are in another order than ids
}

func (g *generator) any(what string) (memory.SessionKey, string) {
	return g.session(rapid.IntRange(0, g.sessions-1).Draw(g.t, what))
}

func (g *generator) heads() (all []store.Record) {
	for i := range g.sessions {
		key, id := g.session(i)
		all = append(all, store.Record{Session: &store.SessionRecord{Revision: 1, Session: memory.Session{
			Ref: g.ref.Session(id), ScopeKey: "oldscope", Key: key, Extract: memory.ExtractAllow, LastTurnNo: 2, LastSeq: ofSession,
			CreateTime: noon, UpdateTime: noon,
		}}})
	}
	return all
}

func (g *generator) turns() (all []store.Record) {
	for i := range g.sessions {
		key, _ := g.session(i)
		for turn := range int64(2) {
			r := &store.TurnRecord{Session: key, TurnNo: turn + 1, FirstSeq: 3*turn + 1, RecordTime: noon}
			if rapid.Bool().Draw(g.t, "request") {
				r.RequestHash, r.RequestDigest = make([]byte, 16), make([]byte, 16)
				r.Result, _ = json.Marshal(store.AppendResult{TurnNo: turn, MessageIDs: []string{"m"}, Findings: []memory.Finding{{
					MessageID: "m", Kind: memory.FindingCheck, Action: memory.CheckStrip, Rule: "r", Removed: true,
				}}})
			}
			for n := range int64(3) {
				r.Messages = append(r.Messages, store.MessageRecord{BodyHash: make([]byte, 16), Message: memory.Message{
					ID: fmt.Sprint("m", n), Seq: 3*turn + 1 + n, TurnNo: turn + 1, Role: memory.RoleUser, Origin: memory.OriginUser,
					Extract: memory.ExtractAllow, CreateTime: noon, RecordTime: noon, Parts: []memory.Part{
						memory.TextPart(rapid.String().Draw(g.t, "text")),
						{Kind: memory.PartBlob, Data: []byte{0, 255}, Image: &memory.Image{Width: 3, Detail: memory.ImageHigh}},
					},
				}})
			}
			all = append(all, store.Record{Turn: r})
		}
	}
	return all
}

func (g *generator) edits() (all []store.Record) {
	for i := range g.sessions {
		if !rapid.Bool().Draw(g.t, "corrected") {
			continue
		}
		key, id := g.session(i)
		h := &store.SummaryHistory{}
		for n := range int64(rapid.IntRange(1, 3).Draw(g.t, "revisions")) {
			r := store.RevisedSummary{SummaryRevision: memory.SummaryRevision{
				Kind: memory.SummarySession, Session: key, SessionID: id, Revision: n + 1, Cause: memory.SummaryCorrected, Text: "words",
				CreateTime: noon,
			}}
			for s := range g.sessions {
				covered, _ := g.session(s)
				r.Covers = append(r.Covers, memory.Covered{Session: covered, Range: memory.SeqRange{From: 1, To: 3}, Passed: []memory.SeqRange{{From: 2, To: 2}}})
			}
			slices.SortFunc(r.Covers, func(a, b memory.Covered) int { return cmp.Compare(a.Session, b.Session) })
			g.corrections = append(g.corrections, r.Node().ID)
			h.Revisions = append(h.Revisions, r)
		}
		all = append(all, store.Record{Revised: h})
	}
	return all
}

func (g *generator) nodes() (all []store.Record) {
	for n := range rapid.IntRange(0, 4).Draw(g.t, "summaries") {
		key, id := g.any("of")
		node := &memory.SummaryNode{
			ID: fmt.Sprint("node", n), Kind: memory.SummarySession, Session: key, SessionID: id, Range: memory.SeqRange{From: 1, To: 4},
			Generation: 1, Text: "words", CreateTime: noon,
		}
		if rapid.Bool().Draw(g.t, "week") {
			node.Kind, node.Session, node.SessionID, node.Period = memory.SummaryWeek, "", "", memory.Period{Name: "2026-W10", Start: noon, End: noon}
			node.Children = []string{"node0"}
			if len(g.corrections) > 0 {
				node.Children = append(node.Children, rapid.SampledFrom(g.corrections).Draw(g.t, "child"))
			}
		}
		all = append(all, store.Record{Node: node})
	}
	return all
}

func (g *generator) jobRecords() (all []store.Record) {
	for i := range g.sessions {
		key, id := g.session(i)
		for from := range int64(rapid.IntRange(0, 3).Draw(g.t, "jobs")) {
			job := memory.Job{
				JobKey: memory.JobKey{Scope: "oldscope", Session: key, Kind: memory.JobExtract, From: from + 1, Generation: 1}, User: g.ref,
				SessionID: id, To: from + 1, State: memory.JobAnswered, Answer: []byte(`{}`), CreateTime: noon, UpdateTime: noon,
			}
			g.jobs = append(g.jobs, job)
			all = append(all, store.Record{Job: &job})
		}
	}
	return all
}

func (g *generator) jobID() string {
	ids := []string{"", "unknown"}
	for _, j := range g.jobs {
		ids = append(ids, j.ID())
	}
	return rapid.SampledFrom(ids).Draw(g.t, "job")
}

func (g *generator) facts() (all []store.Record) {
	for n := range rapid.IntRange(0, 3).Draw(g.t, "facts") {
		key, id := g.any("said in")
		e := memory.Evidence{Session: key, SessionID: id, Seq: 1, MessageID: "m0", Quote: "q", Time: noon}
		if rapid.Bool().Draw(g.t, "gone") {
			e.Session, e.MessageID = "oldkey of before", "gone"
		}
		f := memory.Fact{
			ID: fmt.Sprint("fact", n), Text: "words", Category: memory.CategoryGoal, Significance: 5, Confidence: .1 + .2, Origin: memory.FactExtracted,
			CreateTime: noon, UpdateTime: noon, Revision: 1, Change: 3, Evidence: []memory.Evidence{e},
		}
		all = append(all, store.Record{Fact: &store.FactRecord{
			Fact: f, Revisions: []memory.FactRevision{{Fact: f, Cause: memory.CauseExtracted, JobID: g.jobID(), Author: "Grace"}},
		}})
	}
	return all
}

func (g *generator) refused() (all []store.Record) {
	for n, j := range g.jobs {
		all = append(all, store.Record{Refused: &memory.Quarantined{
			ID: fmt.Sprintf("q%03d", n), SessionID: j.SessionID, JobID: j.ID(), Reason: "malformed", Operation: "{}", Time: noon,
		}})
	}
	return all
}

type failer interface{ Fatal(args ...any) }

func write(t failer, records []store.Record) string {
	var out bytes.Buffer
	w, err := portable.NewWriter(&out, "test", portable.Vectors{})
	for _, r := range records {
		if err == nil {
			err = w.Write(store.Canonical(r))
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func read(t failer, file string, life portable.Life) []store.Record {
	records, err := tryRead(file, life)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func tryRead(file string, life portable.Life) ([]store.Record, error) {
	r, err := portable.NewReader(strings.NewReader(file), life)
	if err != nil {
		return nil, err
	}
	if err := r.Begin(); err != nil {
		return nil, err
	}
	records := []store.Record{{User: r.User()}}
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
}

// Every field of every record must be in the file or be left out on purpose: a field that is added later must be one of both.
func TestEveryFieldIsInTheFileOrLeftOutOnPurpose(t *testing.T) {
	leftOut := map[string]string{
		"UserRecord.LastVectorNo": "vectors are made anew", "UserRecord.PeriodsAt": "set when the import ends", "User.ETag": "derived",
		"SessionRecord.LookAt": "set when the import ends", "Session.ETag": "derived", "Session.ScopeKey": "of the new life",
		"User.Scope": "of the new life", "UserRef.Tenant": "from the credential", "FactRecord.Vectors": "made anew",
		"Job.Owner": "nobody holds the new life's jobs", "Job.LeaseUntil": "nobody holds the new life's jobs", "JobKey.Scope": "of the new life",
		"Message.TurnNo": "its turn's", "Document.ETag": "another one with each put, and with an import",
	}
	life := portable.Life{User: memory.UserRef{Tenant: "t", UserID: "u"}, Scope: "new", Seed: "seed"}
	records := fullUser()
	moved := read(t, write(t, records), life)
	for i := range records {
		before, after := flat(reflect.ValueOf(records[i])), flat(reflect.ValueOf(moved[i]))
		for field := range before {
			if _, out := leftOut[field]; out {
				continue
			}
			if before[field] && !after[field] {
				t.Errorf("%s is lost", field)
			}
		}
		for field, set := range before {
			if _, out := leftOut[field]; !set && !out {
				t.Errorf("%s is not set in the test: set it in fullUser", field)
			}
		}
	}
}

// flat tells for each field of each type in v whether it is set anywhere.
func flat(v reflect.Value) map[string]bool {
	set := map[string]bool{}
	walk(v, set)
	return set
}

func walk(v reflect.Value, set map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), set)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), set)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[store.Record]() && v.NumField() == 0 {
			return
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if v.Type() != reflect.TypeFor[store.Record]() && !f.Anonymous {
				name := v.Type().Name() + "." + f.Name
				set[name] = set[name] || !v.Field(i).IsZero()
			}
			walk(v.Field(i), set)
		}
	default:
	}
}

// fullUser has every field of every record set: texts to x, numbers to 1, so that they fit each other; a document lives a second.
func fullUser() []store.Record {
	var records []store.Record
	kinds := reflect.TypeFor[store.Record]()
	for i := range kinds.NumField() {
		r := reflect.New(kinds).Elem()
		fill(r.Field(i), 0)
		records = append(records, r.Interface().(store.Record))
	}
	records[0].User.Timezone = "Europe/Lisbon"
	result, _ := json.Marshal(store.AppendResult{
		TurnNo: 1, MessageIDs: []string{"x"}, FirstSeq: 1, LastSeq: 1, Deduplicated: []string{"x"}, StateRevision: 1, StepsSinceUser: 1,
	})
	for i := range records {
		if s := records[i].Session; s != nil {
			s.LastSeq, s.HashKey = 2, "other"
		}
		if t := records[i].Turn; t != nil {
			t.Result = result
			live, deleted := t.Messages[0], t.Messages[0]
			live.Deleted, live.IDHash = false, nil
			deleted.Message = memory.Message{
				Seq: 2, TurnNo: 1, Role: live.Role, Origin: live.Origin, CreateTime: noon, RecordTime: noon, Hidden: true, Deleted: true,
			}
			t.Messages = []store.MessageRecord{live, deleted}
		}
		if f := records[i].Fact; f != nil {
			f.Vectors = nil
		}
		if d := records[i].Document; d != nil {
			d.TTL = time.Second
		}
	}
	return records
}

// maxDepth bounds parts in parts.
const maxDepth = 14

func fill(v reflect.Value, depth int) {
	switch {
	case v.Type() == reflect.TypeFor[[]memory.Part]() && depth > maxDepth:
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(noon))
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"a":1}`))
	case v.Type() == reflect.TypeFor[[]byte]():
		v.SetBytes([]byte("0123456789abcdef"))
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	case v.CanFloat():
		v.SetFloat(1)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+2)
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	}
}

func TestAFileThatAStoreCannotRelyOnIsRefused(t *testing.T) {
	file := write(t, fullUser())
	life := portable.Life{User: memory.UserRef{Tenant: "t", UserID: "u"}, Scope: "new", Seed: "seed"}
	cases := map[string]struct{ from, to, field string }{
		"a role that is none":                   {`"role":"system"`, `"role":"king"`, "lines[4].turn.messages[0].role"},
		"a seq with a gap":                      {`"messages":[{"id":"x","seq":1`, `"messages":[{"id":"x","seq":2`, "lines[4].turn.messages[0].seq"},
		"a turn beyond the session":             {`"last_turn":1`, `"last_turn":0`, "lines[3].session.state_revision"},
		"a job of no session":                   {`"job":{"session_id":"x"`, `"job":{"session_id":"y"`, "lines[7].job.session_id"},
		"a fact of a later revision":            {`"change":1,"text":"x","category"`, `"change":2,"text":"x","category"`, "lines[8].fact.change"},
		"a hash of another length":              {`"key_hash":"AQEBAQEBAQEBAQEBAQEBAQ=="`, `"key_hash":"AQ=="`, "lines[9].forgotten_fact.key_hash"},
		"an id with a control character":        {`"session_id":"x","title"`, `"session_id":"x\u0000","title"`, "lines[3].session.session_id"},
		"a hash key that is no key":             {`"hash_key":"x"`, `"hash_key":"x y"`, "lines[2].user.hash_key"},
		"a secret beyond the words":             {`"secrets":[{"start":1,"end":1`, `"secrets":[{"start":1,"end":99`, "lines[4].turn.messages[0].parts[0].parts[0].parts[0].secrets"},
		"a field of another type":               {`"revision":1,"fact_revision"`, `"revision":"a canary","fact_revision"`, "lines[2]"},
		"a number that is too large":            {`"level":1`, `"level":99999999999`, "lines[6].summary.level"},
		"an object in the place of another":     {`{"session":{`, `{"trailer":{},"session":{`, "lines[3]"},
		"a summary of messages that never were": {`"range":{"from":1,"to":1},"period"`, `"range":{"from":1,"to":9},"period"`, "lines[6].summary.range.to"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(file, c.from) {
				t.Fatalf("the file does not hold %s", c.from)
			}
			_, err := tryRead(strings.Replace(file, c.from, c.to, 1), life)
			e, ok := errors.AsType[*memory.Error](err)
			if !ok || e.Kind != memory.KindInvalid {
				t.Fatalf("error %v", err)
			}
			if got := e.Fields[0].Field; got != c.field {
				t.Errorf("field %s, want %s: %v", got, c.field, err)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error holds content: %v", err)
			}
		})
	}
}

// withVectors writes the file of a full user with a vector of two numbers for each fact and message.
func withVectors(t failer) string {
	var out bytes.Buffer
	w, err := portable.NewWriter(&out, "test", portable.Vectors{
		Embedding: memory.Embedding{Version: 7, Model: "m", Dimension: 2},
		OfMessage: func(p memory.Place) ([]int8, error) { return []int8{127, int8(-p.Seq)}, nil },
	})
	for _, r := range fullUser() {
		if r.Fact != nil {
			f := *r.Fact
			f.Vectors = []store.VersionedVector{{Version: 6, Vector: []float32{9}}, {Version: 7, Vector: []float32{.5, -.25}}}
			r.Fact = &f
		}
		if err == nil {
			err = w.Write(store.Canonical(r))
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAFileWithVectors(t *testing.T) {
	life := portable.Life{User: memory.UserRef{Tenant: "t", UserID: "u"}, Scope: "new", Seed: "seed"}
	file := withVectors(t)
	t.Run("is of version 2, and one without of version 1 as before", func(t *testing.T) {
		if !strings.HasPrefix(file, `{"header":{"format":"strata-user","version":2,"program":"test","vectors":true}}`) {
			t.Errorf("header %.100s", file)
		}
		if plain := write(t, fullUser()); !strings.HasPrefix(plain, `{"header":{"format":"strata-user","version":1,"program":"test","vectors":false}}`) ||
			strings.Contains(plain, `"vector":`) {
			t.Errorf("header %.100s", plain)
		}
	})
	t.Run("gives every vector back", func(t *testing.T) {
		r, err := portable.NewReader(strings.NewReader(file), life)
		if err == nil {
			err = r.Begin()
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Embedding(); got != (memory.Embedding{Model: "m", Dimension: 2}) {
			t.Errorf("embedding %v", got)
		}
		var facts, messages int64
		for {
			record, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case record.Fact != nil:
				facts++
				if got := r.Vectors().Fact; !slices.Equal(got, []float32{.5, -.25}) {
					t.Errorf("a fact's vector %v", got)
				}
			case record.Turn != nil:
				for _, m := range record.Turn.Messages {
					if got := r.Vectors().Messages[m.Seq]; m.Deleted != (got == nil) || got != nil && !slices.Equal(got, []int8{127, int8(-m.Seq)}) {
						t.Errorf("a message's vector %v, deleted %t", got, m.Deleted)
					}
					if !m.Deleted {
						messages++
					}
				}
			case r.Vectors().Fact != nil || len(r.Vectors().Messages) > 0:
				t.Error("a vector of something else")
			}
		}
		if n := r.Counts().Vectors; n != facts+messages || facts == 0 || messages == 0 {
			t.Errorf("%d vectors of %d facts and %d messages", n, facts, messages)
		}
	})
	for name, c := range map[string]struct{ from, to, field string }{
		"a version that is not known":             {`"version":2`, `"version":3`, "lines[1].header.version"},
		"a version that has no vectors":           {`"version":2`, `"version":1`, "lines[1].header.vectors"},
		"no word of what made the vectors":        {`{"embedding":{"model":"m","dimension":2}}` + "\n", "", "lines[3]"},
		"a model without a name":                  {`"model":"m","dimension"`, `"model":"","dimension"`, "lines[3].embedding.model"},
		"a dimension that no model has":           {`"dimension":2`, `"dimension":99999`, "lines[3].embedding.dimension"},
		"a vector of another dimension":           {`"vector":"f/8="`, `"vector":"f/8B"`, "lines[5].turn.messages[0].vector"},
		"a byte beyond -127":                      {`"vector":"f/8="`, `"vector":"gIA="`, "lines[5].turn.messages[0].vector"},
		"a number that is none":                   {`"vector":"AAAAPwAAgL4="`, `"vector":"AADAfwAAgL4="`, "lines[9].fact.vector"},
		"vectors in a file that says it has none": {`"version":2,"program":"test","vectors":true`, `"version":1,"program":"test","vectors":false`, "lines[3].embedding"},
	} {
		t.Run("is refused with "+name, func(t *testing.T) {
			if !strings.Contains(file, c.from) {
				t.Fatalf("the file does not hold %s: %s", c.from, file)
			}
			_, err := tryRead(strings.Replace(file, c.from, c.to, 1), life)
			e, ok := errors.AsType[*memory.Error](err)
			if !ok || e.Kind != memory.KindInvalid || e.Fields[0].Field != c.field {
				t.Errorf("error %v, want one of %s", err, c.field)
			}
		})
	}
}
