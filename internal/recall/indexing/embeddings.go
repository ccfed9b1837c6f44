package indexing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/workloop"
)

// Embeddings keeps the vectors of facts and messages: it embeds what has none yet, and makes a new version of all of them
// when the model changes. The old version of the facts' vectors serves meanwhile; those of messages are made anew after
// the change, and until then messages are found by their words.
type Embeddings struct {
	store   EmbeddingStore
	open    OpenEmbedder
	model   string
	dim     int
	builtin func(model string) bool
	now     func() time.Time
	log     *slog.Logger
	loop    *workloop.Loop
	sweep   time.Duration // how often it looks unasked

	shared  bool // other processes share the store
	parking parking
	lease   *workloop.Lease // belongs to Run alone
	batch   batch           // how many texts the endpoint manages; belongs to Run alone

	beginning sync.Mutex // held by the one call of Reembed that may begin a version, and while versions are read again

	mu              sync.RWMutex
	active          version         // its embedder is nil until its dimension is known
	building        version         // a zero version where none is being made
	failed          string          // why the last batch of building failed; "" when it did not
	renewing        bool            // the model changed, and messages still lack vectors of the new one
	skippedFacts    map[string]bool // facts that the endpoint refuses, with their revision
	skippedSegments map[int64]bool  // segments that cannot be read, or that the endpoint refuses
}

// version is a version of the vectors with what makes them.
type version struct {
	memory.Embedding
	embedder embed.Embedder
}

// OpenEmbedder returns the embedder of a model, whose Info must name its dimension. An endpoint that must be asked for it
// and does not answer is an *llm.Error.
type OpenEmbedder func(ctx context.Context, m EmbeddingModel) (embed.Embedder, error)

// EmbeddingModel is a model to open.
type EmbeddingModel struct {
	Name  string
	Ask   int // the dimension to ask the endpoint for; 0 for the model's own
	Known int // the dimension that vectors of the model have; 0 when it is not known yet
}

// EmbeddingsOptions are what Embeddings need. All but Dimension, Builtin, Leases and Owner are required.
type EmbeddingsOptions struct {
	Store     EmbeddingStore
	Open      OpenEmbedder
	Model     string // that is configured
	Dimension int    // that is configured; 0 for the model's own
	// Builtin reports whether a model is part of the program: vectors of it cost no call, so that they are made anew
	// unasked. nil where no model is.
	Builtin func(model string) bool
	Now     func() time.Time
	Log     *slog.Logger
	// Leases keep processes that share the store from paying for the same vectors: the one that has the lease embeds for
	// all, and Owner names this process in it. nil for a store that no other process uses.
	Leases store.Leases
	Owner  string
}

// OpenEmbeddings compares what is configured with what is stored, and refuses to start on vectors of another model:
// near and far would mean nothing. Where both models are built in, the stored vectors serve, by their own model, until
// Run has made those of the configured one.
func OpenEmbeddings(ctx context.Context, o EmbeddingsOptions) (*Embeddings, error) {
	e := &Embeddings{
		store: o.Store, open: o.Open, model: o.Model, dim: o.Dimension, now: o.Now, log: o.Log, builtin: o.Builtin,
		skippedFacts: map[string]bool{}, skippedSegments: map[int64]bool{}, batch: newBatch(), sweep: embedSweep, shared: o.Leases != nil,
	}
	if e.shared {
		e.sweep = sharedSweep
	}
	e.parking = parking{o.Store, o.Owner, o.Now}
	e.lease = workloop.NewLease(workloop.LeaseOptions{Store: o.Leases, Name: "embed", Owner: o.Owner, Length: embedLease, Now: o.Now, Log: o.Log})
	e.loop = workloop.NewLoop(workloop.LoopOptions{
		Work: e.work, Backoff: retry.Exponential{First: firstEmbedPause, Last: lastEmbedPause},
		Failed: func(ctx context.Context, f workloop.Failure) {
			e.log.WarnContext(ctx, "embed facts", "error", f.Err, "again_in", f.Again)
		},
	})
	if e.builtin == nil {
		e.builtin = func(string) bool { return false }
	}
	stored, err := o.Store.Embeddings(ctx)
	if err != nil {
		return nil, fmt.Errorf("read embedding versions: %w", err)
	}
	if len(stored) == 0 {
		return e, e.begin(ctx)
	}
	for _, v := range stored {
		if err := e.adopt(ctx, v, stored); err != nil {
			return nil, err
		}
	}
	return e, e.beginConfigured(ctx)
}

// isReplaced reports whether a later version took this one's place: the process ended before it was dropped. To make it
// anew would change back to its model.
func isReplaced(v memory.Embedding, all []memory.Embedding) bool {
	return !v.Active && slices.ContainsFunc(all, func(o memory.Embedding) bool { return o.Active && o.Version > v.Version })
}

// adopt takes up one of the stored versions.
func (e *Embeddings) adopt(ctx context.Context, v memory.Embedding, all []memory.Embedding) error {
	if isReplaced(v, all) {
		return e.store.DropEmbedding(ctx, v.Version)
	}
	if v.Active && !e.isConfigured(v) {
		if replaced, err := e.replaceEmpty(ctx, v); replaced || err != nil {
			return err
		}
		if !e.builtin(v.Model) || !e.builtin(e.model) {
			return fmt.Errorf("the facts are embedded with %s (%d dimensions), the configuration says %s: set embedding-model to %s and start; "+
				"then run \"strata reembed --model %s\", and change the setting when it is done",
				v.Model, v.Dimension, e.model, v.Model, e.model)
		}
	}
	opened, err := e.opened(ctx, v)
	if err != nil {
		return err
	}
	if v.Active {
		e.active = opened
		return nil
	}
	e.building = opened
	return nil
}

// isConfigured reports whether a version is of the configured model.
func (e *Embeddings) isConfigured(v memory.Embedding) bool {
	return v.Model == e.model && (e.dim == 0 || e.dim == v.Dimension)
}

// replaceEmpty changes to the configured model at once where there is no fact to embed.
func (e *Embeddings) replaceEmpty(ctx context.Context, old memory.Embedding) (replaced bool, err error) {
	facts, err := e.store.CountFacts(ctx)
	if err != nil {
		return false, fmt.Errorf("count facts: %w", err)
	}
	if facts > 0 {
		return false, nil
	}
	if err := e.begin(ctx); err != nil {
		return false, err
	}
	return true, e.store.DropEmbedding(ctx, old.Version)
}

// beginConfigured begins the version of the configured model where adopt let that of another one serve. A version that is
// being made already goes on: the one that was configured comes after it, at the next start.
func (e *Embeddings) beginConfigured(ctx context.Context) error {
	if e.active.embedder == nil || e.isConfigured(e.active.Embedding) {
		return nil
	}
	serving := e.active.Model
	job, err := e.Reembed(ctx, e.model, e.dim)
	if memory.ReasonOf(err) == memory.ReasonReembedRunning {
		e.log.WarnContext(ctx, "the facts are not embedded with the configured model yet", "model", e.model, "serving", serving, "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("change the embedding model from %s to %s: %w", serving, e.model, err)
	}
	e.log.InfoContext(ctx, "the built-in embedding model changed: facts are embedded anew, and found by their old vectors meanwhile",
		"model", e.model, "serving", serving, "facts", job.Total)
	return nil
}

// begin makes the first version. An endpoint that does not answer yet does not keep the server from starting: Run asks
// again.
func (e *Embeddings) begin(ctx context.Context) error {
	embedder, err := e.open(ctx, EmbeddingModel{Name: e.model, Ask: e.dim, Known: e.dim})
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		e.log.WarnContext(ctx, "the embedding endpoint returned no dimension; facts are embedded when it does", "error", failed)
		return nil
	}
	if err != nil {
		return err
	}
	v, err := e.store.AddEmbedding(ctx, memory.Embedding{
		Model: e.model, Dimension: embedder.Info().Dimension, Metric: "cosine", CreateTime: e.now().UTC().Truncate(time.Microsecond),
	})
	if err != nil {
		return fmt.Errorf("store embedding version: %w", err)
	}
	if !v.Active {
		if err := e.store.ActivateEmbedding(ctx, v.Version, e.now()); err != nil {
			return fmt.Errorf("activate embedding version: %w", err)
		}
		v.Active = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.active = version{v, embedder}
	return nil
}

// Active returns the version in use; a nil embedder while there is none.
func (e *Embeddings) Active() (memory.Embedding, embed.Embedder) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.active.Embedding, e.active.embedder
}

func (e *Embeddings) serving() version {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.active
}

// Wake says that facts changed, or messages were indexed. It never blocks.
func (e *Embeddings) Wake() { e.loop.Wake() }

// How long Run waits after a failure, doubling from the first to the last; and how often it looks unasked.
const (
	firstEmbedPause = time.Second
	lastEmbedPause  = 5 * time.Minute
	embedSweep      = 30 * time.Second
	// sharedSweep is how often it looks where other processes share the store: their changes wake nobody here, and another
	// version may be in use.
	sharedSweep = 5 * time.Second
	// embedLease is how long another process waits before it takes over from one that was killed. It should be longer than
	// a call of the endpoint: when it ends early both pay for the same vectors.
	embedLease = 2 * time.Minute
)

// Run embeds until ctx ends, and returns nil then.
func (e *Embeddings) Run(ctx context.Context) error {
	defer e.lease.Release(ctx)
	return e.loop.Run(ctx)
}

func (e *Embeddings) work(ctx context.Context) (rest time.Duration, err error) {
	return e.sweep, e.embedAll(ctx)
}

// reloadVersions takes up what other processes did to the versions: begun one, or made another one active.
func (e *Embeddings) reloadVersions(ctx context.Context) error {
	if !e.shared {
		return nil
	}
	e.beginning.Lock()
	defer e.beginning.Unlock()
	stored, err := e.store.Embeddings(ctx)
	if err != nil {
		return fmt.Errorf("read embedding versions: %w", err)
	}
	e.mu.RLock()
	active, building := e.active, e.building
	e.mu.RUnlock()
	next := version{}
	for _, v := range stored {
		switch {
		case v.Active:
			active, err = e.opened(ctx, v, active, building)
		case !isReplaced(v, stored):
			next, err = e.opened(ctx, v, active, building)
		}
		if err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.active, e.building = active, next
	return nil
}

// opened returns a version with its embedder, one of those that are open where it is among them.
func (e *Embeddings) opened(ctx context.Context, v memory.Embedding, open ...version) (version, error) {
	for _, o := range open {
		if o.embedder != nil && o.Version == v.Version {
			return version{v, o.embedder}, nil
		}
	}
	m := EmbeddingModel{Name: v.Model, Known: v.Dimension}
	if e.dim == v.Dimension {
		m.Ask = e.dim
	}
	embedder, err := e.open(ctx, m)
	if err != nil {
		return version{}, fmt.Errorf("open embedding model %s: %w", v.Model, err)
	}
	return version{v, embedder}, nil
}

// embedAll embeds what lacks a vector of the version in use, then of the one being made, which then takes over.
func (e *Embeddings) embedAll(ctx context.Context) error {
	if err := e.reloadVersions(ctx); err != nil {
		return err
	}
	if held, err := e.lease.Hold(ctx); err != nil || !held {
		return err
	}
	if e.serving().embedder == nil {
		if err := e.begin(ctx); err != nil {
			return err
		}
	}
	e.mu.RLock()
	active, building := e.active, e.building
	e.mu.RUnlock()
	if building.embedder != nil {
		return e.replace(ctx, active, building)
	}
	return e.embedServing(ctx)
}

// replace makes a new version of the facts' vectors and changes to it. New facts get one of the old version meanwhile; that
// its endpoint fails may be why it is replaced.
func (e *Embeddings) replace(ctx context.Context, active, building version) error {
	var meanwhile error
	if active.embedder != nil {
		meanwhile = e.embedFactsOf(ctx, active)
	}
	err := e.embedFactsOf(ctx, building)
	e.note(err)
	if err != nil {
		return errors.Join(meanwhile, err)
	}
	if err := e.switchTo(ctx, building, active); err != nil {
		return err
	}
	return e.embedServing(ctx)
}

// embedServing embeds for the version in use.
func (e *Embeddings) embedServing(ctx context.Context) error {
	v := e.serving()
	if v.embedder == nil {
		return nil
	}
	if err := e.embedFactsOf(ctx, v); err != nil {
		return err
	}
	err := e.embedSegments(ctx, v)
	e.note(err)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.renewing = e.renewing && err != nil
	return err
}

// keepLease fails when the lease is not held any more.
func (e *Embeddings) keepLease(ctx context.Context) error {
	held, err := e.lease.Hold(ctx)
	if err == nil && !held {
		return errors.New("another process took over embedding: a call of the endpoint took longer than the lease")
	}
	return err
}

func (e *Embeddings) note(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed = ""
	if err != nil {
		e.failed = err.Error()
	}
}

func (e *Embeddings) embedFactsOf(ctx context.Context, v version) error {
	for {
		if err := e.keepLease(ctx); err != nil {
			return err
		}
		facts, err := e.store.FactsToEmbed(ctx, store.EmbedQuery{Version: v.Version, Limit: e.batch.size + len(e.skippedFacts)})
		if err != nil {
			return fmt.Errorf("find facts to embed: %w", err)
		}
		facts = e.unskipped(v, facts)
		if len(facts) == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		facts = facts[:min(len(facts), e.batch.size)]
		if err := e.noteBatch(ctx, len(facts), e.embedFacts(ctx, v, facts)); err != nil {
			return err
		}
	}
}

func skipKey(v version, f store.FactText) string {
	return fmt.Sprintf("%d/%s/%d", v.Version, f.FactID, f.Revision)
}

func (e *Embeddings) unskipped(v version, facts []store.FactText) []store.FactText {
	out := facts[:0]
	for _, f := range facts {
		if !e.skippedFacts[skipKey(v, f)] {
			out = append(out, f)
		}
	}
	return out
}

// embedFacts embeds a batch. A fact that the endpoint refuses for good is left without a vector until the server starts
// again.
func (e *Embeddings) embedFacts(ctx context.Context, v version, facts []store.FactText) error {
	var vectors [][]float32
	panicked := map[int]error{}
	for rest := facts; len(rest) > 0; { // those of a tenant together, which pays for them
		tenant, texts := rest[0].User.Tenant, []string(nil)
		for len(rest) > 0 && rest[0].User.Tenant == tenant {
			texts, rest = append(texts, rest[0].Text), rest[1:]
		}
		some, err := embedEach(llm.ChargedTo(ctx, tenant), v.embedder, texts)
		if err != nil {
			return fmt.Errorf("embed %d facts with %s: %w", len(facts), v.Model, err)
		}
		for i, p := range some.panicked {
			panicked[len(vectors)+i] = p
		}
		vectors = append(vectors, some.vectors...)
	}
	w := store.VectorWrite{Version: v.Version, Time: e.now()}
	for i, f := range facts {
		if vectors[i] == nil {
			e.skippedFacts[skipKey(v, f)] = true
			e.warnOfFact(ctx, f, panicked[i])
			continue
		}
		w.Vectors = append(w.Vectors, store.NewVector{User: f.User, FactID: f.FactID, Revision: f.Revision, Vector: vectors[i]})
	}
	if err := e.store.PutFactVectors(ctx, w); err != nil {
		return fmt.Errorf("store fact vectors: %w", err)
	}
	return nil
}

// warnOfFact says that a fact has no vector, for a panic or, where there was none, because the endpoint refuses it.
func (e *Embeddings) warnOfFact(ctx context.Context, f store.FactText, panicked error) {
	if panicked != nil {
		e.log.ErrorContext(ctx, "a fact cannot be embedded; it is found by its words only", "fact", f.FactID, "error", panicked)
		return
	}
	e.log.WarnContext(ctx, "the embedding endpoint refuses a fact; it is found by its words only", "fact", f.FactID)
}

// embedded is what texts came to. A text that has no vector was refused by the endpoint, or makes code panic.
type embedded struct {
	vectors  [][]float32
	panicked map[int]error // by the text's position
}

// embedEach embeds texts together and, where the endpoint refuses them for good, each by itself: one that is refused then
// has no vector. Where all are refused, it is the endpoint, not a text; where all panic, one of which nobody says anything is tried.
func embedEach(ctx context.Context, embedder embed.Embedder, texts []string) (embedded, error) {
	if len(texts) == 0 {
		return embedded{}, nil
	}
	vectors, err := embed.Contained(ctx, embedder, texts)
	if !refused(err) {
		return embedded{vectors: vectors}, err
	}
	out, some := embedded{vectors: make([][]float32, len(texts)), panicked: map[int]error{}}, false
	for i, t := range texts {
		one, failed := [][]float32(nil), err
		if len(texts) > 1 {
			one, failed = embed.Contained(ctx, embedder, []string{t})
		}
		switch {
		case failed == nil:
			out.vectors[i], some = one[0], true
		case safegroup.IsPanic(failed):
			out.panicked[i] = failed
		case !refused(failed):
			return embedded{}, failed
		}
	}
	if !some && (len(out.panicked) == 0 || !embeds(ctx, embedder)) {
		return embedded{}, err
	}
	return out, nil
}

// embeds reports whether an embedder makes a vector of a word that no model refuses.
func embeds(ctx context.Context, embedder embed.Embedder) bool {
	vectors, err := embed.Contained(ctx, embedder, []string{"hello"})
	return err == nil && len(vectors) == 1
}

// refused reports whether what is to be embedded is at fault: the endpoint refuses it for good, or it makes code panic.
func refused(err error) bool {
	if safegroup.IsPanic(err) {
		return true
	}
	failed, ok := errors.AsType[*llm.Error](err)
	return ok && (failed.Class == llm.ClassPermanent || failed.Class == llm.ClassTooLong)
}

// switchTo makes the new version the one in use. The old vectors go when nothing reads them any more.
func (e *Embeddings) switchTo(ctx context.Context, next, old version) error {
	if err := e.store.ActivateEmbedding(ctx, next.Version, e.now()); err != nil {
		return fmt.Errorf("activate embedding version %d: %w", next.Version, err)
	}
	next.Active = true
	e.mu.Lock()
	e.active, e.building, e.renewing = next, version{}, true
	e.mu.Unlock()
	message := "facts are embedded with another model now: set embedding-model to it before the next start"
	if e.isConfigured(next.Embedding) {
		message = "facts are embedded with the configured model now"
	}
	e.log.InfoContext(ctx, message, "model", next.Model)
	if err := e.store.DropEmbedding(ctx, old.Version); err != nil {
		return fmt.Errorf("drop embedding version %d: %w", old.Version, err)
	}
	return nil
}

// ReembedJob is a new version of all vectors that is being made, or was.
type ReembedJob struct {
	ID         string
	Model      string
	State      memory.JobState // JobOpen while it runs; JobApplied when its version is in use, and nothing lacks a vector
	Done       int64           // facts and messages
	Total      int64
	Reason     string // of the last failure; "" without one
	CreateTime time.Time
	UpdateTime time.Time
}

// Reembed begins a new version of all vectors, or returns the job that makes it already.
func (e *Embeddings) Reembed(ctx context.Context, model string, dimension int) (ReembedJob, error) {
	e.beginning.Lock()
	defer e.beginning.Unlock()
	e.mu.RLock()
	active, building := e.active, e.building
	e.mu.RUnlock()
	switch {
	case building.embedder != nil && building.Model == model:
		return e.job(ctx, building)
	case building.embedder != nil:
		return ReembedJob{}, &memory.Error{
			Kind: memory.KindPrecondition, Reason: memory.ReasonReembedRunning,
			Message:  "facts are being embedded with " + building.Model + ": wait until that is done",
			Metadata: map[string]string{"model": building.Model},
		}
	case active.Model == model && (dimension == 0 || dimension == active.Dimension):
		return e.job(ctx, active)
	}
	return e.beginBuilding(ctx, model, dimension)
}

func (e *Embeddings) beginBuilding(ctx context.Context, model string, dimension int) (ReembedJob, error) {
	embedder, err := e.open(ctx, EmbeddingModel{Name: model, Ask: dimension, Known: dimension})
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		return ReembedJob{}, &memory.Error{
			Kind: memory.KindUnavailable, Reason: memory.ReasonModelUnavailable, Retry: max(failed.RetryAfter, time.Second),
			Message:  "the embedding endpoint does not embed with " + model + ": " + string(failed.Class),
			Metadata: map[string]string{"model": model, "class": string(failed.Class)}, Err: err,
		}
	}
	if err != nil {
		return ReembedJob{}, memory.InvalidField("model", "%v", err)
	}
	v, err := e.store.AddEmbedding(ctx, memory.Embedding{
		Model: model, Dimension: embedder.Info().Dimension, Metric: "cosine", CreateTime: e.now().UTC().Truncate(time.Microsecond),
	})
	if err != nil {
		return ReembedJob{}, fmt.Errorf("store embedding version: %w", err)
	}
	e.mu.Lock()
	e.building, e.failed = version{v, embedder}, ""
	e.mu.Unlock()
	e.Wake()
	return e.job(ctx, version{v, embedder})
}

// Jobs returns the version that is being made, if there is one.
func (e *Embeddings) Jobs(ctx context.Context) ([]ReembedJob, error) {
	e.mu.RLock()
	making := e.building
	if making.embedder == nil && e.renewing {
		making = e.active
	}
	e.mu.RUnlock()
	if making.embedder == nil {
		return nil, nil
	}
	j, err := e.job(ctx, making)
	if err != nil || j.State == memory.JobApplied { // done, and Run is about to note it
		return nil, err
	}
	return []ReembedJob{j}, nil
}

func (e *Embeddings) job(ctx context.Context, v version) (ReembedJob, error) {
	left, all, err := e.count(ctx, v)
	if err != nil {
		return ReembedJob{}, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	j := ReembedJob{
		ID: fmt.Sprintf("reembed-%d", v.Version), Model: v.Model, State: memory.JobOpen, Done: all - left, Total: all,
		Reason: e.failed, CreateTime: v.CreateTime, UpdateTime: e.now().UTC().Truncate(time.Microsecond),
	}
	if e.active.Version == v.Version && left == 0 {
		j.State, j.Reason = memory.JobApplied, ""
	}
	return j, nil
}

// count counts what lacks a vector of the version, and all that should have one.
func (e *Embeddings) count(ctx context.Context, v version) (left, all int64, err error) {
	facts, messages, err := e.lacking(ctx, v)
	if err != nil {
		return 0, 0, err
	}
	if all, err = e.store.CountFacts(ctx); err != nil {
		return 0, 0, fmt.Errorf("count facts: %w", err)
	}
	if !v.embedsMessages() {
		return facts, all, nil
	}
	indexed, err := e.store.CountIndexedMessages(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("count indexed messages: %w", err)
	}
	return facts + messages, all + indexed, nil
}

// embedsMessages reports whether messages have vectors of the version too.
func (v version) embedsMessages() bool { return v.embedder != nil && v.embedder.Info().Semantic }

// lacking counts the facts and the messages that lack a vector of the version. What has one is not counted: that grows with all that was
// ever said, and the server counts what waits every few seconds for its metrics.
func (e *Embeddings) lacking(ctx context.Context, v version) (facts, messages int64, err error) {
	if facts, err = e.store.CountFactsToEmbed(ctx, v.Version); err != nil {
		return 0, 0, fmt.Errorf("count facts to embed: %w", err)
	}
	if !v.embedsMessages() {
		return facts, 0, nil
	}
	if messages, err = e.store.CountMessagesToEmbed(ctx, v.Version); err != nil {
		return 0, 0, fmt.Errorf("count messages to embed: %w", err)
	}
	return facts, messages, nil
}

// Waiting counts the facts and messages that have no vector of the model in use yet. Messages are counted by what is
// embedded together: all of it waits until the last of it has its vector.
func (e *Embeddings) Waiting(ctx context.Context) (facts, messages int64, err error) {
	return e.lacking(ctx, e.serving())
}
