package quota

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Caller is whose requests and bytes count.
type Caller struct {
	Tenant string
	Key    string // the id of its API key; "" where it came without
	User   string // whom the call is about; "" where that is not known yet, or nobody
}

// LargestRequest is what a limit of bytes lets through at once, however few it lets through in a second: the largest request.
const LargestRequest = 8 << 20

// Rates refuses what comes faster than the tenant's limits let it, by token buckets (golang.org/x/time/rate): of requests a
// bucket holds one second's, of bytes one second's or LargestRequest. They are this process's alone. It is safe for concurrent use.
type Rates struct {
	book  *Book
	meter Meter
	now   func() time.Time

	mu      sync.Mutex
	buckets map[bucketKey]*rate.Limiter
}

type bucketKey struct {
	limit      Limit
	tenant, id string
}

// maxBuckets is how many buckets are kept before the full ones, which are as good as new ones, are let go.
const maxBuckets = 20_000

// NewRates makes Rates.
func NewRates(book *Book, meter Meter, now func() time.Time) *Rates {
	return &Rates{book: book, meter: meter, now: now, buckets: map[bucketKey]*rate.Limiter{}}
}

// Call takes one request of the tenant and of the key. It is asked before the request is decoded.
func (r *Rates) Call(ctx context.Context, c Caller) error {
	r.meter.TenantCalled(c.Tenant)
	l := r.book.Of(ctx, c.Tenant)
	return r.take(c.Tenant, l, taking{TenantRequests, c.Tenant, 1}, taking{KeyRequests, c.Key, 1})
}

// Request takes the request of a call whose Call was let through: one of the user, and its bytes.
func (r *Rates) Request(ctx context.Context, c Caller, bytes int64) error {
	l := r.book.Of(ctx, c.Tenant)
	return r.take(c.Tenant, l, taking{UserRequests, c.User, 1},
		taking{TenantBytes, c.Tenant, bytes}, taking{KeyBytes, c.Key, bytes}, taking{UserBytes, c.User, bytes})
}

// Stream waits until a further message of a streaming call may come.
func (r *Rates) Stream(ctx context.Context, c Caller, bytes int64) error {
	l := r.book.Of(ctx, c.Tenant)
	for _, t := range []taking{{TenantBytes, c.Tenant, bytes}, {KeyBytes, c.Key, bytes}, {UserBytes, c.User, bytes}} {
		b := r.bucket(t, c.Tenant, l[t.limit])
		if b == nil {
			continue
		}
		if err := b.WaitN(ctx, min(int(t.n), b.Burst())); err != nil {
			r.meter.LimitRefused(c.Tenant, t.limit)
			return exceeded(t.limit, l[t.limit], time.Second)
		}
	}
	return nil
}

// taking is what one limit is to let through.
type taking struct {
	limit Limit
	id    string // "" for nobody
	n     int64
}

// take takes all of it, or nothing and says what refuses it.
func (r *Rates) take(tenant string, l Limits, all ...taking) error {
	now := r.now()
	var held []*rate.Reservation
	for _, t := range all {
		b := r.bucket(t, tenant, l[t.limit])
		if b == nil {
			continue
		}
		got := b.ReserveN(now, min(int(t.n), b.Burst()))
		if delay := got.DelayFrom(now); delay > 0 {
			got.CancelAt(now)
			for _, h := range held {
				h.CancelAt(now)
			}
			r.meter.LimitRefused(tenant, t.limit)
			return exceeded(t.limit, l[t.limit], wait(delay))
		}
		held = append(held, got)
	}
	return nil
}

// bucket returns the bucket that fills at the rate, nil where there is no limit.
func (r *Rates) bucket(t taking, tenant string, perSecond float64) *rate.Limiter {
	if perSecond <= 0 || t.id == "" {
		return nil
	}
	burst := ceil(perSecond)
	if t.limit.IsWhole() {
		burst = max(burst, LargestRequest)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := bucketKey{t.limit, tenant, t.id}
	b, ok := r.buckets[key]
	if !ok {
		if len(r.buckets) >= maxBuckets {
			r.letGo()
		}
		b = rate.NewLimiter(rate.Limit(perSecond), burst)
		r.buckets[key] = b
	}
	if b.Limit() != rate.Limit(perSecond) {
		b.SetLimitAt(r.now(), rate.Limit(perSecond))
		b.SetBurstAt(r.now(), burst)
	}
	return b
}

// letGo drops the buckets that are full, and where none is, some others: who has one of these may take a second's more.
func (r *Rates) letGo() {
	now, before := r.now(), len(r.buckets)
	for key, b := range r.buckets {
		if b.TokensAt(now) >= float64(b.Burst()) {
			delete(r.buckets, key)
		}
	}
	for key := range r.buckets {
		if len(r.buckets) <= before*9/10 {
			return
		}
		delete(r.buckets, key)
	}
}
