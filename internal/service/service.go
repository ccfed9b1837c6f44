// Package service holds the use cases: each gathers what it needs from the store, lets a pure package decide, and
// stores or renders the outcome. It knows neither gRPC nor a driver.
package service

import (
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/store"
)

// Service is the memory service. Its methods may be called concurrently.
type Service struct {
	store    Store
	lexicon  *Lexicon
	policies policy.Policies
	indexer  Nudger
	now      func() time.Time
	newID    func() string
}

// Store is the part of the truth that requests read and write.
type Store interface {
	store.Sessions
	store.Transcript
}

// Nudger is told that a user has new turns to index. It must not block.
type Nudger interface {
	Nudge(user memory.UserRef)
}

// Options are what a Service needs. All are required.
type Options struct {
	Store    Store
	Lexicon  *Lexicon
	Policies policy.Policies
	Indexer  Nudger
	Now      func() time.Time
	NewID    func() string // mints message ids
}

// New makes a Service.
func New(o Options) *Service {
	return &Service{
		store: o.Store, lexicon: o.Lexicon, policies: o.Policies, indexer: o.Indexer,
		now: o.Now, newID: o.NewID,
	}
}
