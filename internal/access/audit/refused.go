package audit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/stratamem/strata/internal/store"
)

// How many refused calls in a tenant have an entry: at once, and then one each refusedEvery. Whoever has no credential that is good, or
// may not do what he asks for, fills no disk with that: 8,640 entries a day and tenant at most.
const (
	refusedAtOnce = 200
	refusedEvery  = 10 * time.Second
)

// refusals lets some entries of refused calls through and counts the others.
type refusals struct {
	mu      sync.Mutex
	tenants map[string]*refused
}

type refused struct {
	bucket  *rate.Limiter
	leftOut int64
}

// admit reports whether the entry of a refused call is kept, and writes into it how many before it were not.
func (r *refusals) admit(e *store.AuditEntry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tenants == nil {
		r.tenants = map[string]*refused{}
	}
	t, ok := r.tenants[e.Tenant] // verified, or the server's own: nobody makes tenants up here
	if !ok {
		t = &refused{bucket: rate.NewLimiter(rate.Every(refusedEvery), refusedAtOnce)}
		r.tenants[e.Tenant] = t
	}
	if !t.bucket.AllowN(e.Time, 1) {
		t.leftOut++
		return false
	}
	e.LeftOut, t.leftOut = t.leftOut, 0
	return true
}
