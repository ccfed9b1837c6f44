package jobrunner

import (
	"context"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Store is the part of the primary store that background work reads and writes.
type Store interface {
	store.Transcript
	store.SearchIndex
	store.Users
	store.Work
	store.Journal
	store.Facts
	store.Summaries
}

// Summarizer writes summaries. What goes wrong is an *llm.Error.
type Summarizer interface {
	Summarize(ctx context.Context, t summary.Task) (llm.Answer, error)
}

// Extractor proposes facts: its answer is read by extract.Parse. What goes wrong is an *llm.Error.
type Extractor interface {
	Extract(ctx context.Context, t extract.Task) (llm.Answer, error)
}

// Facts returns a user's facts from memory, as of the store's last write.
type Facts interface {
	// State must return all facts with the revision they are of.
	State(ctx context.Context, user memory.UserRef) (extract.State, int64, error)
	// Related must return current facts, those nearest to the text first.
	Related(ctx context.Context, user memory.UserRef, text string, limit int) ([]memory.Fact, error)
}

// Tenants says what holds for the work of a tenant.
type Tenants interface {
	// Models must name the models that the tenant's work asks: those of one name fail, and are spared, together.
	Models(ctx context.Context, tenant string) string
	// Rests must report whether no model is to be asked for the tenant now.
	Rests(ctx context.Context, tenant string) bool
}

// WorkOf returns the policy of background work for sessions of a profile; contextprofile.Set.WorkOf.
type WorkOf func(profile string) contextprofile.Work

// Meter counts what became of work. It must not block.
type Meter interface {
	JobDone(kind memory.JobKind, outcome string) // one of the outcomes in failure.go
	Quarantined(reason extract.RejectReason)
	Refused(reason summary.RefusalReason)
	Appended(anchors int)
}
