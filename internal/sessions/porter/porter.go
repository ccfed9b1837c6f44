// Package porter exports a user as a file, and imports one.
package porter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/stratamem/strata/internal/access/quota"
	"github.com/stratamem/strata/internal/erasure/eraser"
	"github.com/stratamem/strata/internal/learning/facts"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/sessions/portable"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/workloop"
)

// Porter exports and imports users. Its methods may be called concurrently.
type Porter struct {
	store   Store
	tenancy quota.Tenancy
	now     store.Now
	newKey  func() string
	version string
	log     *slog.Logger
	// embedding is what the server's vectors are of; the zero one while nothing is known of it.
	embedding func() memory.Embedding
	merging
	// One of each at a time: they take long, and read or write all that there is of a user. Others are to come again
	// rather than kept waiting with a stream open.
	exports, imports *semaphore.Weighted
}

// Store is what a Porter reads and writes of the primary store.
type Store interface {
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
	store.Exporter
	store.Imports
	vectorStore
	mergeStore
}

// Options are what a Porter needs.
type Options struct {
	Store   Store
	Facts   *recall.FactCache
	Vectors Vectors
	Sweeper eraser.Sweeper
	Runner  work.Runner
	Tenancy quota.Tenancy
	Now     func() time.Time
	NewKey  func() string // mints keys: 128 random bits in lower-case hex
	Version string        // of the program, noted in what it exports
	Log     *slog.Logger
}

// Vectors is what a Porter needs for the vectors of users.
type Vectors struct {
	Embedding func() memory.Embedding // of the server's vectors; returns the zero one while nothing is known of it
	Indexer   VectorIndexer           // takes over the vectors of messages that are imported
	Facts     facts.VectorWaker       // is woken when facts were imported
}

// NewPorter makes a Porter.
func NewPorter(o Options) *Porter {
	return &Porter{
		store: o.Store, tenancy: o.Tenancy, now: o.Now, newKey: o.NewKey, version: o.Version, log: o.Log,
		embedding: o.Vectors.Embedding,
		merging: merging{
			facts: o.Facts, sweeper: o.Sweeper, runner: o.Runner, vectors: o.Vectors.Facts, indexer: o.Vectors.Indexer,
		},
		exports: semaphore.NewWeighted(1), imports: semaphore.NewWeighted(1),
	}
}

// The sizes of what one write of an import holds. Others' writes wait while it runs, so it is small: about 20 ms on a data
// file.
const (
	importedRecords = 200
	importedBytes   = 1 << 20 // of lines
)

const (
	// importPause is how long an import may go without a write before it writes what it has, so that it does not look
	// abandoned.
	importPause = time.Minute
	// staleAfter is how long an import may go without a write before any server takes it for abandoned.
	staleAfter = 10 * time.Minute
	// sweepEvery is how often abandoned imports are looked for.
	sweepEvery = time.Minute
	// abandonedRows is how many rows are deleted in one write.
	abandonedRows = 2000
	// abandonTimeout bounds removing what came of an import that failed. What is left then is removed once it is stale.
	abandonTimeout = 30 * time.Second
)

// Exporting says what is exported.
type Exporting struct {
	User    memory.UserRef
	Vectors bool // of facts and messages too
}

// Export writes the user's file to out, a line a write.
func (s *Porter) Export(ctx context.Context, what Exporting, out io.Writer) error {
	user := what.User
	if !s.exports.TryAcquire(1) {
		return busy("export")
	}
	defer s.exports.Release(1)
	if _, err := s.store.User(ctx, user); err != nil {
		return fmt.Errorf("read user: %w", err)
	}
	held := portable.Vectors{}
	if what.Vectors {
		held.Embedding = s.embedding()
	}
	if what.Vectors && held.Embedding.Version == 0 {
		return noEmbedding()
	}
	vectors := newExportedVectors(s.store, user, held.Embedding)
	if what.Vectors {
		held.OfMessage = func(p memory.Place) ([]int8, error) { return vectors.find(ctx, p) }
	}
	w, err := portable.NewWriter(out, s.version, held)
	if err != nil {
		return fmt.Errorf("write the header: %w", err)
	}
	now := s.now.Stored()
	err = s.store.Export(ctx, user, func(r store.Record) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case r.Session != nil:
			vectors.add(r.Session.Session)
		case r.Document != nil && r.Document.HasExpired(now):
			return nil
		case r.User == nil && r.Turn == nil: // all turns are written
			vectors.release()
		}
		return w.Write(r)
	})
	if err != nil {
		return fmt.Errorf("export user: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write the trailer: %w", err)
	}
	return nil
}

// busy refuses a call while another of its kind runs.
func busy(what string) error {
	return &memory.Error{
		Kind: memory.KindExhausted, Reason: memory.ReasonOverloaded, Retry: 10 * time.Second,
		Message: "another " + what + " is under way, and a server runs one at a time; nothing was done: retry later",
	}
}

// Imported is what an import brought.
type Imported struct {
	User                      memory.User
	Sessions, Messages, Facts int64
	Documents                 int64
	// SessionsLeft, FactsLeft and DocumentsLeft are those of the file that were left out.
	SessionsLeft, FactsLeft, DocumentsLeft int64
	// Vectors are those of the file that serve here; VectorsLeft those that were left out, to be made again.
	Vectors, VectorsLeft int64
}

// Import stores the user of a file; without a UserID the one of the file. Nobody is served any of it until all of it has come
// and was checked. What came of an import that failed is removed. The rule says what becomes of a user who is there.
func (s *Porter) Import(ctx context.Context, user memory.UserRef, rule memory.OnConflict, in io.Reader) (Imported, error) {
	if !s.imports.TryAcquire(1) {
		return Imported{}, busy("import")
	}
	defer s.imports.Release(1)
	life := portable.Life{User: user, Scope: memory.ScopeKey(s.newKey()), Seed: s.newKey()}
	r, err := portable.NewReader(in, life)
	if err != nil {
		return Imported{}, err
	}
	if err := r.Begin(); err != nil {
		return Imported{}, err
	}
	user = r.User().Ref
	there, err := s.store.User(ctx, user)
	isNew := memory.ReasonOf(err) == memory.ReasonUserNotFound
	if err == nil && rule == 0 {
		err = store.UserExists(user)
	}
	if err != nil && !isNew {
		return Imported{}, err
	}
	room, stored, err := s.tenancy.Reserve(ctx, user, 0)
	if err != nil {
		return Imported{}, err
	}
	if !isNew {
		out, err := s.merge(ctx, r, room, store.Merge{User: user, Scope: there.Scope, OnConflict: rule})
		out.VectorsLeft = r.Counts().Vectors - out.Vectors
		stored(out.Messages)
		return out, err
	}
	out, err := s.create(ctx, r, room, life.Scope)
	if rule != 0 && memory.ReasonOf(err) == memory.ReasonUserExists { // the rule is for a user who was there when it began: come again
		err = store.Contention("the user was recorded for the first time while the import was under way, and nothing of it is kept")
	}
	if err != nil {
		return Imported{}, fmt.Errorf("import user: %w", err)
	}
	stored(out.Messages)
	if out.User, err = s.store.User(ctx, user); err != nil {
		return Imported{}, fmt.Errorf("read user: %w", err)
	}
	return out, nil
}

// create stores all of a file as a user who was not there, in a scope of the user's own. What came is removed where not all of it does.
func (s *Porter) create(ctx context.Context, r *portable.Reader, room *store.Room, scope memory.ScopeKey) (Imported, error) {
	start := store.ImportStart{Scope: scope, HashKey: r.User().HashKey, Time: s.now.Stored()}
	if err := s.store.BeginImport(ctx, start); err != nil {
		return Imported{}, fmt.Errorf("begin import: %w", err)
	}
	vectors := s.vectorsOf(r, scope)
	err := s.fill(ctx, filling{r: r, room: room, scope: scope, vectors: vectors, takes: func(*store.Record) bool { return true }})
	if err == nil {
		err = s.store.PublishImport(ctx, store.ImportEnd{User: *r.User(), Time: s.now.Stored()})
	}
	if err != nil {
		s.abandon(ctx, scope)
		return Imported{}, err
	}
	n := r.Counts()
	out := Imported{Sessions: n.Sessions, Messages: n.Messages, Facts: n.Facts, Documents: n.Documents, VectorsLeft: n.Vectors}
	if vectors != nil {
		out.Vectors, out.VectorsLeft = vectors.taken, n.Vectors-vectors.taken
	}
	return out, nil
}

// vectorsOf takes the vectors of a file where the server's are of the same model and dimension; nil where they are not.
func (s *Porter) vectorsOf(r *portable.Reader, scope memory.ScopeKey) *importedVectors {
	theirs := r.Embedding()
	if theirs.Dimension == 0 {
		return nil
	}
	ours := s.embedding()
	if ours.Version == 0 || ours.Model != theirs.Model || ours.Dimension != theirs.Dimension {
		return nil
	}
	return &importedVectors{store: s.store, scope: scope, version: ours.Version, now: s.now}
}

// filling is a file that is stored.
type filling struct {
	r     *portable.Reader
	room  *store.Room
	scope memory.ScopeKey // of the import
	takes func(*store.Record) bool

	vectors *importedVectors // nil to leave those of the file out
}

// fill stores what comes of the file, as far as there is room.
func (s *Porter) fill(ctx context.Context, f filling) error {
	r := f.r
	batch := store.ImportedRecords{User: r.User().Ref, Scope: f.scope, Time: s.now.Stored()}
	size := 0
	flush := func() error {
		if len(batch.Records) == 0 {
			return nil
		}
		batch.Time = s.now.Stored()
		if err := s.store.AddImported(ctx, batch); err != nil {
			return fmt.Errorf("store %d records: %w", len(batch.Records), err)
		}
		batch.Records, size = batch.Records[:0], 0
		if f.vectors == nil {
			return nil
		}
		return f.vectors.put(ctx)
	}
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := f.room.Check(r.Counts().Messages); err != nil {
			return err
		}
		if !f.takes(&record) {
			continue
		}
		full := len(batch.Records) == importedRecords || size+r.LastBytes() > importedBytes
		if full || s.now.Stored().Sub(batch.Time) > importPause {
			if err := flush(); err != nil {
				return err
			}
		}
		batch.Records, size = append(batch.Records, record), size+r.LastBytes()
		if f.vectors != nil {
			f.vectors.add(&record, r.Vectors(), r.LastBytes())
		}
	}
	if err := flush(); err != nil || f.vectors == nil {
		return err
	}
	return f.vectors.end(ctx)
}

// abandon removes what came of an import that failed, also when its caller has gone.
func (s *Porter) abandon(ctx context.Context, scope memory.ScopeKey) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	for ctx.Err() == nil {
		done, err := s.store.AbandonImport(ctx, scope, abandonedRows)
		if err != nil {
			s.log.WarnContext(ctx, "what came of a failed import is removed later", "error", err)
			return
		}
		if done {
			return
		}
	}
}

// Run removes imports that their servers did not come to end, or ends them where all had come, until ctx ends; it returns nil then.
func (s *Porter) Run(ctx context.Context) error {
	return workloop.NewPeriodic(sweepEvery, s.sweep, func(ctx context.Context, f workloop.Failure) {
		s.log.WarnContext(ctx, "remove abandoned imports", "error", f.Err)
	}).Run(ctx)
}

func (s *Porter) sweep(ctx context.Context) error {
	stale, err := s.store.StaleImports(ctx, s.now.Stored().Add(-staleAfter), 100)
	if err != nil {
		return fmt.Errorf("find abandoned imports: %w", err)
	}
	for _, one := range stale {
		if one.Into == nil {
			s.abandon(ctx, one.Scope)
			continue
		}
		if _, err := s.adoptAll(ctx, one.Scope, *one.Into); err != nil {
			return fmt.Errorf("go on with an import: %w", err)
		}
	}
	if len(stale) > 0 {
		s.log.InfoContext(ctx, "imports that their servers did not end were removed, or ended", "imports", len(stale))
	}
	return nil
}
