package erasure_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// forget names what a sabotaged server of TestDeletionMatrix forgets; "" for a sound one.
const forget = "STRATA_TEST_FORGET"

// TestTheDeletionMatrixSeesWhatIsForgotten runs the matrix on servers that forget one store or leave one door open: it must fail, and
// say what is wrong.
func TestTheDeletionMatrixSeesWhatIsForgotten(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes with the race detector; make test tries it without")
	}
	t.Parallel()
	for _, c := range []struct{ forgets, run, says string }{
		{"primary store", "over_SQLite,_a_restart", "is in strata.db"},
		{"search index", "over_SQLite,_a_restart", "is in strata.db"},
		{"facts", "over_SQLite,_extraction", "ListFacts right after shows it"},
		{"journal", "over_SQLite,_answers", "in the end shows it"},
		{"ledger", "over_SQLite,_a_backup_of_before", "right after the restore shows it"},
		{"summary", "over_SQLite,_a_restart", "Summary right after shows it"},
		{"erased sessions", "over_SQLite,_a_file_of_before,_imported_beside", "right after the import shows it"},
		{"erased sessions", "over_SQLite,_an_import_that_was_under_way", "right after the import shows it"},
		{"erased messages", "over_SQLite,_a_file_of_before,_imported_over", "right after the import shows it"},
		{"expiry", "over_SQLite,_a_file_of_before,_imported_beside", "right after the import shows it"},
		{"message ids", "over_SQLite,_the_same_messages", "in the end shows it"},
		{"request ids", "over_SQLite,_the_same_request", "in the end shows it"},
		{"views of vectors", "over_MongoDB,_Milvus.*a_restart", "views hold"},
		{"views of texts", "over_MongoDB,_Milvus.*a_restart", "views hold"},
	} {
		t.Run(c.forgets, func(t *testing.T) {
			t.Parallel() // a process of its own, which waits most of its time
			if strings.Contains(c.run, "Milvus") {
				if os.Getenv("STRATA_TEST_FULL") == "" {
					t.Skip("takes half a minute: STRATA_TEST_FULL=1 runs it")
				}
				backend.Milvus(t)
				backend.Elasticsearch(t)
			}
			cmd := exec.CommandContext(t.Context(), e2e.Must(os.Executable())(t), "-test.run=TestDeletionMatrix/"+c.run, "-test.timeout=100s")
			cmd.Env = append(os.Environ(), forget+"="+c.forgets, "STRATA_TEST_FULL=")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.says) {
				t.Errorf("it ended with %v and does not say %q:\n%.4000s", err, c.says, out)
			}
		})
	}
}

// forgetful is a primary store that forgets something of each erasure.
type forgetful struct {
	store.PrimaryStore
	what string

	mu   sync.Mutex
	seen map[string]bool // the ids of recorded messages
}

func newForgetful(s store.PrimaryStore) store.PrimaryStore {
	if os.Getenv(forget) == "" {
		return s
	}
	return &forgetful{PrimaryStore: s, what: os.Getenv(forget), seen: map[string]bool{}}
}

func (f *forgetful) BeginErasure(ctx context.Context, p store.ErasureStart) (memory.Erasure, error) {
	if f.what == "summary" && p.Kind == memory.EraseSummary {
		p.Kind, p.Seqs = memory.EraseMessages, nil
	}
	return f.PrimaryStore.BeginErasure(ctx, p)
}

// AdoptSession takes what comes for something that was begun after every erasure.
func (f *forgetful) AdoptSession(ctx context.Context, p store.Adoption) (store.Adopted, error) {
	if f.what == "erased sessions" {
		p.Session.CreateTime = p.Session.CreateTime.AddDate(100, 0, 0)
	}
	return f.PrimaryStore.AdoptSession(ctx, p)
}

// ListErasures is what an import asks before it overwrites a session.
func (f *forgetful) ListErasures(ctx context.Context, q store.ErasureQuery) ([]memory.Erasure, error) {
	all, err := f.PrimaryStore.ListErasures(ctx, q)
	if f.what == "erased messages" && q.Session != "" {
		all = all[:min(len(all), q.Limit-1)]
	}
	return all, err
}

// Hidden is what an import asks too.
func (f *forgetful) Hidden(ctx context.Context, user memory.UserRef) (memory.Hidden, error) {
	if f.what == "erased messages" {
		return memory.Hidden{}, nil
	}
	return f.PrimaryStore.Hidden(ctx, user)
}

// UserOfScope is what replaying the ledger begins with.
func (f *forgetful) UserOfScope(ctx context.Context, scope memory.ScopeKey) (memory.UserRef, error) {
	if f.what == "ledger" {
		return memory.UserRef{}, store.LifeNotFound(memory.ReasonUserNotFound)
	}
	return f.PrimaryStore.UserOfScope(ctx, scope)
}

// AddImported has documents of a file live on.
func (f *forgetful) AddImported(ctx context.Context, p store.ImportedRecords) error {
	for _, r := range p.Records {
		if f.what == "expiry" && r.Document != nil && r.Document.TTL > 0 {
			r.Document.ExpireTime = r.Document.ExpireTime.Add(time.Hour)
		}
	}
	return f.PrimaryStore.AddImported(ctx, p)
}

func (f *forgetful) SweepErasure(ctx context.Context, id string, limit int) (int64, bool, error) {
	if f.what == "primary store" {
		return 0, true, nil
	}
	return f.PrimaryStore.SweepErasure(ctx, id, limit)
}

// SearchIndex has no segments for those who ask for nothing else, as sweepers do.
func (f *forgetful) SearchIndex(ctx context.Context, q store.SearchIndexQuery) (store.SearchIndexState, error) {
	state, err := f.PrimaryStore.SearchIndex(ctx, q)
	if f.what == "search index" && q.MaxUnindexed == 0 {
		state.Segments = nil
	}
	return state, err
}

func (f *forgetful) ApplyFacts(ctx context.Context, w store.FactWrite) (int64, error) {
	switch {
	case f.what == "facts" && w.JobID == "":
		w.Forget, w.DropEarlier = nil, nil
	case f.what == "journal" && w.JobID != "":
		job, err := f.Job(ctx, store.JobRef{User: w.User, ID: w.JobID})
		if err == nil && job.State.IsFinal() {
			w.JobID = ""
		}
	}
	return f.PrimaryStore.ApplyFacts(ctx, w)
}

func (f *forgetful) Append(ctx context.Context, p store.AppendParams) (store.AppendResult, error) {
	if f.what == "request ids" {
		p.RequestID = ""
	}
	if strings.HasSuffix(f.what, " ids") {
		f.mu.Lock()
		for i := range p.Messages {
			id := p.Ref.UserID + p.Messages[i].ID
			if f.seen[id] {
				p.Messages[i].ID += "'"
			}
			f.seen[id] = true
		}
		f.mu.Unlock()
	}
	return f.PrimaryStore.Append(ctx, p)
}

// forgetfulView is a view that deletes nothing and owns up to nothing.
type forgetfulView[Space, Row, Search, Hit any] struct {
	store.View[Space, Row, Search, Hit]
}

// forgetfulViewOf is the view itself unless views of the name are to be forgotten.
func forgetfulViewOf[Space, Row, Search, Hit any](name string, v store.View[Space, Row, Search, Hit]) store.View[Space, Row, Search, Hit] {
	if os.Getenv(forget) != name {
		return v
	}
	return forgetfulView[Space, Row, Search, Hit]{v}
}

func (forgetfulView[Space, Row, Search, Hit]) Remove(context.Context, Space, memory.ScopeKey, []store.RowState) error {
	return nil
}

func (forgetfulView[Space, Row, Search, Hit]) EraseScope(context.Context, memory.ScopeKey) (int64, error) {
	return 0, nil
}

func (forgetfulView[Space, Row, Search, Hit]) Rows(context.Context, store.RowQuery[Space]) ([]store.RowState, error) {
	return nil, nil
}
