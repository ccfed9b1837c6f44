package viewfeed

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Reindexer rebuilds views from the primary store, without a model call, while the server serves: what it begins, the Feeders do.
type Reindexer struct {
	o ReindexerOptions

	mu    sync.Mutex
	begun map[memory.View]int64 // the build that this process began
	done  map[memory.View]int64 // the build that was seen complete
}

// ReindexerOptions are what a Reindexer needs.
type ReindexerOptions struct {
	Store   store.ChangeFeed
	Feeders []*Feeder        // of the views that are configured
	Now     func() time.Time // time.Now when nil
}

// NewReindexer makes a Reindexer.
func NewReindexer(o ReindexerOptions) *Reindexer {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Reindexer{o: o, begun: map[memory.View]int64{}, done: map[memory.View]int64{}}
}

// ReindexJob is the rebuilding of a view. It follows from what is stored, so a restart or another process goes on with it.
type ReindexJob struct {
	ID         string
	View       memory.View
	State      memory.JobState // JobOpen while it runs, JobApplied when the view has caught up
	Done       int64           // feeds of which the view has everything: sessions of the transcript, else users
	Total      int64
	Reason     string // why the view cannot be fed; "" when it can
	UpdateTime time.Time
}

// Reindex begins to rebuild the views, all that are configured when none is named. A view that this process is rebuilding
// already is left to it.
func (r *Reindexer) Reindex(ctx context.Context, views []memory.View) ([]ReindexJob, error) {
	feeders, err := r.feeders(views)
	if err != nil {
		return nil, err
	}
	jobs := make([]ReindexJob, len(feeders))
	for i, f := range feeders {
		if jobs[i], err = r.begin(ctx, f); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

func (r *Reindexer) begin(ctx context.Context, f *Feeder) (ReindexJob, error) {
	view := f.o.Target.view
	job, err := r.job(ctx, f)
	if err != nil {
		return ReindexJob{}, err
	}
	r.mu.Lock()
	begun := r.begun[view]
	r.mu.Unlock()
	if job.State == memory.JobOpen && job.ID == reindexID(view, begun) {
		return job, nil
	}
	build, err := r.o.Store.RebuildView(ctx, view, r.o.Now().UTC().Truncate(time.Microsecond))
	if err != nil {
		return ReindexJob{}, fmt.Errorf("rebuild the %s: %w", view, err)
	}
	r.mu.Lock()
	r.begun[view] = build
	r.mu.Unlock()
	f.Wake()
	return r.job(ctx, f)
}

func reindexID(view memory.View, build int64) string {
	return fmt.Sprintf("reindex-%s-%d", view, build)
}

// Jobs returns the last rebuilding of each view that was ever rebuilt.
func (r *Reindexer) Jobs(ctx context.Context) ([]ReindexJob, error) {
	var out []ReindexJob
	for _, f := range r.o.Feeders {
		job, err := r.job(ctx, f)
		if err != nil {
			return nil, err
		}
		if job.ID != reindexID(job.View, 1) {
			out = append(out, job)
		}
	}
	return out, nil
}

func (r *Reindexer) job(ctx context.Context, f *Feeder) (ReindexJob, error) {
	view := f.o.Target.view
	build, err := r.o.Store.ViewBuild(ctx, view)
	if err != nil {
		return ReindexJob{}, fmt.Errorf("read the view's build: %w", err)
	}
	pending, all, err := r.o.Store.CountFeeds(ctx, view)
	if err != nil {
		return ReindexJob{}, fmt.Errorf("count the view's feeds: %w", err)
	}
	job := ReindexJob{
		ID: reindexID(view, build), View: view, State: memory.JobApplied, Done: all - pending, Total: all,
		UpdateTime: r.o.Now().UTC().Truncate(time.Microsecond),
	}
	complete, err := r.isComplete(ctx, view, build)
	if err != nil {
		return ReindexJob{}, err
	}
	if !complete {
		job.State, job.Reason = memory.JobOpen, f.Trouble()
	}
	return job, nil
}

// lookedAt is how many feeds that wait are looked at. More than that many long sessions are never begun and not done.
const lookedAt = 2 * roundFeeds

// isComplete reports whether the view has caught up since the build was begun. Nobody noted when that was: of the feeds
// that wait longest, one without a checkpoint waits since then. It may also be of a session that began just
// now, so a build that was once complete stays so.
func (r *Reindexer) isComplete(ctx context.Context, view memory.View, build int64) (bool, error) {
	r.mu.Lock()
	done := r.done[view] == build
	r.mu.Unlock()
	if done {
		return true, nil
	}
	feeds, err := r.o.Store.PendingFeeds(ctx, view, lookedAt)
	if err != nil {
		return false, fmt.Errorf("look for feeds of the view: %w", err)
	}
	if slices.ContainsFunc(feeds, func(f store.Feed) bool { return f.Checkpoint == (store.Checkpoint{}) }) {
		return false, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[view] = build
	return true, nil
}

func (r *Reindexer) feeders(views []memory.View) ([]*Feeder, error) {
	configured := make([]memory.View, len(r.o.Feeders))
	for i, f := range r.o.Feeders {
		configured[i] = f.o.Target.view
	}
	views, err := chooseViews(views, configured)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(r.o.Feeders), func(f *Feeder) bool { return !slices.Contains(views, f.o.Target.view) }), nil
}

// chooseViews returns the views that are asked for, all when none is, and refuses those that are not configured.
func chooseViews(asked, configured []memory.View) ([]memory.View, error) {
	for i, v := range asked {
		if !slices.Contains(configured, v) {
			return nil, memory.InvalidField(fmt.Sprintf("views[%d]", i),
				"the view %s is not configured: set %s and start the server again", v, settingOf(v))
		}
	}
	if len(configured) == 0 {
		return nil, memory.InvalidField("views", "no view is configured, searches use the primary store alone: set %s or %s to have one",
			settingOf(memory.ViewVectors), settingOf(memory.ViewTranscript))
	}
	if len(asked) == 0 {
		return configured, nil
	}
	return asked, nil
}

// settingOf returns the setting that a view needs.
func settingOf(v memory.View) string {
	if v == memory.ViewVectors || v == memory.ViewMessageVectors {
		return "milvus-address"
	}
	return "elasticsearch-url"
}
