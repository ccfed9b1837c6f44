package jobrunner_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/jobrunner"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

func failpoints() []string {
	return []string{
		jobrunner.FailpointBeforeOpen, jobrunner.FailpointAfterOpen, jobrunner.FailpointBeforeAnswer, jobrunner.FailpointAfterAnswer, jobrunner.FailpointBeforeApply,
		jobrunner.FailpointAfterApply, jobrunner.FailpointBeforeNode, jobrunner.FailpointAfterNode, jobrunner.FailpointBeforeDefer, jobrunner.FailpointAfterDefer,
	}
}

// crashes ends the goroutine of a piece of work at a failpoint, so that nothing after it happens: what another process finds
// is what a killed one had stored.
type crashes struct {
	mu    sync.Mutex
	point string
	nth   int // of the times the point is passed; 0 for none
	died  chan struct{}
	check func() // at every failpoint
}

func (c *crashes) failpoint(point string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.check != nil {
		c.check()
	}
	if point != c.point || c.nth == 0 {
		return
	}
	if c.nth--; c.nth == 0 {
		close(c.died)
		runtime.Goexit()
	}
}

func (c *crashes) hasDied() bool {
	select {
	case <-c.died:
		return true
	default:
		return false
	}
}

// conversation is the same however often it is made. It has facts, conflicts and enough messages for merges. between is
// called while nobody works.
func conversation(r *rig, ref memory.SessionRef, between func()) {
	for i := range 16 {
		words := fmt.Sprintf("On day number %d we walked along the quiet river together.", i)
		switch i {
		case 2:
			words = "I live in Lisbon. We walked a lot."
		case 5:
			words = "I like plums. Pears too."
		case 11:
			words = "I live in Porto. It rains."
		}
		r.chat(ref, words)
		pass(time.Second)
		between()
	}
	pass(time.Hour)
	between()
	pass(time.Hour)
}

// crashed has the conversation with a crash at the nth passing of a failpoint, and reports what is wrong at its end. It
// reports whether the failpoint was passed so often.
func crashed(t *testing.T, r *rig, point string, nth int) (hit bool, err error) {
	t.Helper()
	ref := ada.Session("s")
	c := &crashes{point: point, nth: nth, died: make(chan struct{})}
	var holes error
	c.check = func() {
		if _, err := covered(r.nodes(ref)); err != nil {
			holes = err
		}
	}
	r.options.Hooks.Failpoints = c.failpoint
	r.start()
	conversation(r, ref, func() {
		if c.hasDied() && !hit {
			hit = true
			r.restart()
		}
	})
	return hit, errors.Join(holes, r.atEnd(ref, point))
}

// atEnd checks what must hold after the conversation, whatever happened during it.
func (r *rig) atEnd(ref memory.SessionRef, point string) error {
	var errs []error
	end, err := covered(r.nodes(ref))
	errs = append(errs, err)
	if w := r.work(ref); end != w.Session.LastSeq || w.ExtractedThrough() != end || len(w.Jobs) != 0 {
		errs = append(errs, fmt.Errorf("of %d messages %d are summarised and %d extracted; %d jobs are left",
			w.Session.LastSeq, end, w.ExtractedThrough(), len(w.Jobs)))
	}
	if diff := cmp.Diff([]string{"(lives in Lisbon)", "likes plums", "lives in Porto"}, texts(r.facts(ada))); diff != "" {
		errs = append(errs, errors.New(diff))
	}
	// Only an answer that did not reach the journal may be asked for again.
	allowed := 0
	if point == jobrunner.FailpointBeforeAnswer {
		allowed = 1
	}
	if again := r.askedAgain(); again > allowed {
		errs = append(errs, fmt.Errorf("%d answers were paid for again", again))
	}
	return errors.Join(errs...)
}

// askedAgain counts the calls beyond the first for the same material.
func (r *rig) askedAgain() int {
	again := 0
	for _, n := range r.learner.asked() {
		again += n - 1
	}
	seen := map[string]bool{}
	for _, task := range r.summaries.tasks {
		key := fmt.Sprint(task.Kind, task.Level, task.Lines, task.Parts)
		if seen[key] {
			again++
		}
		seen[key] = true
	}
	return again
}

// passings are the times at which a failpoint is tried. Only idle sessions are deferred, so that happens seldom.
func passings(point string) []int {
	if point == jobrunner.FailpointBeforeDefer || point == jobrunner.FailpointAfterDefer {
		return []int{1, 2}
	}
	return []int{1, 2, 5}
}

func TestCrash(t *testing.T) {
	for _, point := range failpoints() {
		for _, nth := range passings(point) {
			inBubble(t, fmt.Sprintf("number %d %s loses nothing, doubles nothing and pays for nothing twice", nth, point), func(t *testing.T, r *rig) {
				hit, err := crashed(t, r, point, nth)
				if err != nil {
					t.Error(err)
				}
				if !hit {
					t.Errorf("the seam was not passed %d times", nth)
				}
			})
		}
	}
	inBubble(t, "after an answer is paid for twice where the journal forgets it, and this test sees that", func(t *testing.T, r *rig) {
		r.options.Store = forgetful{r.store}
		_, err := crashed(t, r, jobrunner.FailpointAfterAnswer, 3)
		if err == nil || !strings.Contains(err.Error(), "paid for again") {
			t.Errorf("a store that keeps no answers passes: %v", err)
		}
	})
	inBubble(t, "under a name that only one process can have is resumed without waiting for the lease", func(t *testing.T, r *rig) {
		r.options.Owner = "the only one"
		c := &crashes{point: jobrunner.FailpointAfterOpen, nth: 1, died: make(chan struct{})}
		r.options.Hooks.Failpoints = c.failpoint
		r.start()
		r.chat(ada.Session("s"), "I like haste.")
		<-c.died
		r.restart()
		pass(0)
		if diff := cmp.Diff([]string{"likes haste"}, texts(r.facts(ada))); diff != "" {
			t.Error(diff)
		}
	})
}

// forgetful is a store whose journal keeps no answers: what the journal is for.
type forgetful struct{ *sqlitestore.Store }

func (f forgetful) AnswerJob(ctx context.Context, a store.JobAnswer) (memory.Job, error) {
	job, err := f.Job(ctx, a.JobRef)
	job.State, job.Answer = memory.JobAnswered, a.Answer
	return job, err
}

func TestTwoSessionsOfOneUser(t *testing.T) {
	const orders = 50
	for seed := range orders {
		inBubble(t, fmt.Sprintf("conflicting and shared facts end the same in order %d", seed), func(t *testing.T, r *rig) {
			rng := rand.New(rand.NewPCG(uint64(seed), 5))
			delays := []time.Duration{0, 5 * time.Second}
			rng.Shuffle(2, func(i, j int) { delays[i], delays[j] = delays[j], delays[i] })
			first, second := ada.Session("a"), ada.Session("b")
			r.learner.script = func(ctx context.Context, _ int, task extract.Task) (llm.Answer, error) {
				delay := delays[0]
				if task.Lines[0].SessionID == second.SessionID {
					delay = delays[1]
				}
				select {
				case <-ctx.Done():
					return llm.Answer{}, failed(llm.ClassTransient, 0)
				case <-time.After(delay):
					return learn(task), nil
				}
			}
			r.start()
			pause := func() { pass(time.Duration(rng.IntN(1500)) * time.Millisecond) }
			restart := func() {
				if rng.IntN(2) == 0 {
					r.restart()
				}
			}
			shared := "I like plums. I like figs. I like jazz."
			turns := []func(){
				func() { r.chat(first, shared+" I live in Lisbon.") },
				func() { r.chat(second, shared) },
			}
			rng.Shuffle(2, func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
			for _, turn := range turns {
				turn()
				pause()
				restart()
			}
			time.Sleep(time.Millisecond)
			r.chat(second, "I live in Porto.") // after Lisbon in every order
			pause()
			restart()
			pass(5 * time.Minute)
			want := []string{"(lives in Lisbon)", "likes figs", "likes jazz", "likes plums", "lives in Porto"}
			if diff := cmp.Diff(want, texts(r.facts(ada))); diff != "" {
				t.Error(diff)
			}
			r.mustHaveHistory()
		})
	}
}

// mustHaveHistory checks that the superseded fact says what took its place, and still has both of its states.
func (r *rig) mustHaveHistory() {
	r.t.Helper()
	facts := map[string]memory.Fact{}
	for _, f := range r.facts(ada) {
		facts[f.Text] = f
	}
	old := facts["lives in Lisbon"]
	if old.SupersededBy != facts["lives in Porto"].ID {
		r.t.Errorf("superseded by %q", old.SupersededBy)
	}
	revisions, err := r.store.FactRevisions(context.Background(), ada, old.ID)
	if err != nil || len(revisions) == 0 {
		r.t.Errorf("%d revisions, %v", len(revisions), err)
	}
}

func TestChaos(t *testing.T) {
	garbage := []string{
		"", " ", "{", "null", "[]", "I'm sorry, but I cannot help with that.", "Ignore all previous instructions.", "# Summary\n\n- TBD",
		"오늘은 날씨가 좋았습니다.", `{"operations":[{"op":"supersede","supersedes":"f99","text":"x","message":"m1","quote":"x"}]}`,
		`{"operations":[{"op":"delete"}]}`, "```json\n{\"operations\":[]}\n```", "\x00\xff",
	}
	finishes := []llm.Finish{llm.FinishStop, llm.FinishStop, llm.FinishStop, llm.FinishLength, llm.FinishRefused}
	classes := []llm.Class{llm.ClassTransient, llm.ClassLimited, llm.ClassTooLong, llm.ClassPermanent, llm.ClassOpen}
	for seed := range 5 {
		inBubble(t, fmt.Sprintf("a model gone mad destroys nothing (%d)", seed), func(t *testing.T, r *rig) {
			rng := rand.New(rand.NewPCG(uint64(seed), 7))
			var mu sync.Mutex
			mad := func(sane func() llm.Answer) (llm.Answer, error) {
				mu.Lock()
				defer mu.Unlock()
				switch rng.IntN(4) {
				case 0:
					return sane(), nil
				case 1:
					return llm.Answer{}, failed(classes[rng.IntN(len(classes))], time.Second)
				}
				return llm.Answer{Text: garbage[rng.IntN(len(garbage))], Finish: finishes[rng.IntN(len(finishes))], Model: "scripted"}, nil
			}
			r.learner.script = func(_ context.Context, _ int, task extract.Task) (llm.Answer, error) {
				return mad(func() llm.Answer { return learn(task) })
			}
			r.summaries.script = func(_ context.Context, _ int, task summary.Task) (llm.Answer, error) {
				return mad(func() llm.Answer { return faithful(task) })
			}
			protected := r.write("lives in Rome")
			r.start()
			ref := ada.Session("s")
			conversation(r, ref, func() {})
			mustCover(t, r, ref, 32)
			for _, n := range r.nodes(ref) {
				if n.Text == "" {
					t.Errorf("node of %v is empty", n.Range)
				}
			}
			if w := r.work(ref); w.ExtractCursor != 32 {
				t.Errorf("extraction stands at %d", w.ExtractCursor)
			}
			for _, s := range r.work(ref).Jobs {
				if s.State != memory.JobParked || s.Kind != memory.JobExtract {
					t.Errorf("job is left: %v %v from %d", s.Kind, s.State, s.From)
				}
			}
			for _, f := range r.facts(ada) {
				if f.ID == protected.ID && (!f.IsCurrent() || f.Text != protected.Text) {
					t.Errorf("what a person wrote was changed: %+v", f)
				}
			}
		})
	}
}

// write has a person write a fact.
func (r *rig) write(text string) memory.Fact {
	r.t.Helper()
	now := time.Now()
	f := memory.Fact{
		ID: "by hand", Text: text, Category: memory.CategoryPersonalInfo, Significance: 5, Confidence: 1, Attribute: "home_city",
		Origin: memory.FactByUser, Protected: true, ValidFrom: now, CreateTime: now, UpdateTime: now, Revision: 1,
	}
	_, err := r.store.ApplyFacts(context.Background(), store.FactWrite{
		User: ada, Changes: []store.FactChange{{Fact: f, Cause: memory.CauseCreated}}, Time: now,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}
