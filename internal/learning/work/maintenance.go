package work

import (
	"context"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Maintenance begins and lists the jobs of no user. Its methods may be called concurrently.
type Maintenance struct {
	reembed Reembedder
	reindex Reindexer
	verify  Verifier
	expiry  Expiry
}

// Expiry finds what is kept no longer.
type Expiry interface {
	// Expiring must return what is due of a page of users, by user, and the last user that was looked at; more says whether others
	// follow.
	Expiring(ctx context.Context, q store.UserQuery) (due []Expiring, last string, more bool, err error)
}

// RetentionRule is why something is kept no longer.
type RetentionRule int

// The rules.
const (
	RetentionSessionAge RetentionRule = iota + 1
	RetentionMessageAge
	RetentionMaxMessages
	RetentionFactAge
	RetentionUnused
	RetentionMaxFacts
)

// Expiring is a session, some messages of one, or a fact that is kept no longer.
type Expiring struct {
	Rule      RetentionRule
	User      memory.UserRef
	SessionID string // "" for a fact
	Messages  int64  // how many of the session's; 0 for a whole session or a fact
	FactID    string // "" for a session or messages
}

// Expiring returns what is kept no longer: see Expiry.
func (s *Maintenance) Expiring(ctx context.Context, q store.UserQuery) (due []Expiring, last string, more bool, err error) {
	return s.expiry.Expiring(ctx, q)
}

// Reembedder makes new vectors of all facts and messages with another model.
type Reembedder interface {
	// Reembed must begin to make them, or return the job that does.
	Reembed(ctx context.Context, model string, dimension int) (MaintenanceJob, error)
	Jobs(ctx context.Context) ([]MaintenanceJob, error)
}

// Reindexer makes views again from the primary store. It must refuse a view that is not configured.
type Reindexer interface {
	// Reindex must begin to make the views again, all that are configured when none is named.
	Reindex(ctx context.Context, views []memory.View) ([]MaintenanceJob, error)
	Jobs(ctx context.Context) ([]MaintenanceJob, error)
}

// Verifier compares views with the primary store. It must refuse a view that is not configured.
type Verifier interface {
	// Verify must begin to compare the views, all that are configured when none is named.
	Verify(ctx context.Context, views []memory.View, mode VerifyMode) (MaintenanceJob, error)
	Jobs() []MaintenanceJob
}

// MaintenanceOptions are what Maintenance needs.
type MaintenanceOptions struct {
	Reembed Reembedder
	Reindex Reindexer
	Verify  Verifier
	Expiry  Expiry
}

// NewMaintenance makes Maintenance.
func NewMaintenance(o MaintenanceOptions) *Maintenance {
	return &Maintenance{reembed: o.Reembed, reindex: o.Reindex, verify: o.Verify, expiry: o.Expiry}
}

// MaintenanceKind says what a job of no user is for.
type MaintenanceKind int

// The kinds of jobs of no user.
const (
	MaintenanceReembed MaintenanceKind = iota + 1
	MaintenanceReindex
	MaintenanceVerify
)

// VerifyMode says what becomes of rows that are wrong.
type VerifyMode int

// The modes of Verify.
const (
	VerifyRepair VerifyMode = iota + 1 // they are put or removed
	VerifyDryRun                       // they are counted
)

// ViewCheck is how a view compares with the primary store, in rows.
type ViewCheck struct {
	View     memory.View
	Checked  int64 // that the view has been fed and must hold
	Missing  int64 // of them, that it does not hold
	Stale    int64 // of them, that it holds in another revision
	Orphan   int64 // that it holds and nothing in the primary store stands for, those of foreign scopes too
	Repaired int64 // of the missing, stale and orphan ones
	Pending  int64 // that it has not been fed yet, which is no fault: facts, or messages
}

// Wrong is how many rows were wrong before they were repaired.
func (c ViewCheck) Wrong() int64 { return c.Missing + c.Stale + c.Orphan }

// MaintenanceJob is a job of no user.
type MaintenanceJob struct {
	Kind       MaintenanceKind
	ID         string
	State      memory.JobState
	Done       int64 // facts, feeds or users: see the kind
	Total      int64 // 0 where it is not known
	Checks     []ViewCheck
	Reason     string    // of the last failure; "" without one
	CreateTime time.Time // zero where it is not kept
	UpdateTime time.Time
}

// Reembed begins to make new vectors of all facts and messages, or returns the job that does.
func (s *Maintenance) Reembed(ctx context.Context, model string, dimension int) (MaintenanceJob, error) {
	return s.reembed.Reembed(ctx, model, dimension)
}

// Reindex begins to make the views again from the primary store, all that are configured when none is named.
func (s *Maintenance) Reindex(ctx context.Context, views []memory.View) ([]MaintenanceJob, error) {
	return s.reindex.Reindex(ctx, views)
}

// Verify begins to compare the views with the primary store, all that are configured when none is named.
func (s *Maintenance) Verify(ctx context.Context, views []memory.View, mode VerifyMode) (MaintenanceJob, error) {
	return s.verify.Verify(ctx, views, mode)
}

// jobs returns the jobs of these kinds that are in one of the states.
func (s *Maintenance) jobs(ctx context.Context, kinds []MaintenanceKind, states []memory.JobState) ([]MaintenanceJob, error) {
	var all []MaintenanceJob
	for _, kind := range kinds {
		some, err := s.jobsOfKind(ctx, kind)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return slices.DeleteFunc(all, func(j MaintenanceJob) bool { return !slices.Contains(states, j.State) }), nil
}

func (s *Maintenance) jobsOfKind(ctx context.Context, kind MaintenanceKind) ([]MaintenanceJob, error) {
	switch kind {
	case MaintenanceReembed:
		return s.reembed.Jobs(ctx)
	case MaintenanceReindex:
		return s.reindex.Jobs(ctx)
	default:
		return s.verify.Jobs(), nil
	}
}
