package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc" // verifies by discovery or a key set; kept by its authors since 2014
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/stratamem/strata/internal/memory/safegroup"
)

const (
	// keysFreshFor is how long the issuer's keys are used before it is asked again: one that it withdrew verifies nothing new then.
	keysFreshFor = 5 * time.Minute
	// keysBelievedFor is how long they are used where the issuer cannot be asked.
	keysBelievedFor = time.Hour
	// keysRetry is how long the issuer is let alone after it could not be asked, while the keys of before count.
	keysRetry = 30 * time.Second
	// fetchTimeout bounds one request to the issuer.
	fetchTimeout = 5 * time.Second
	// maxFetched bounds what the issuer replies.
	maxFetched = 1 << 20
)

// fetches bound how often tokens have the issuer asked: for its keys at all, and for the one that they name.
const fetches, fetchBurst = rate.Limit(0.2), 5

// issuerKeys are the keys that an issuer publishes. It is asked when the first token comes, when one names a key that is not known, and
// when the keys are no longer fresh. It implements oidc.KeySet.
type issuerKeys struct {
	issuer   Issuer
	now      func() time.Time
	attempts *rate.Limiter
	asking   singleflight.Group

	mu     sync.Mutex
	set    oidc.KeySet // nil until the issuer said
	asked  time.Time   // before it said
	failed time.Time   // when it was last asked in vain
}

func newIssuerKeys(i Issuer, now func() time.Time) *issuerKeys {
	return &issuerKeys{issuer: i, now: now, attempts: rate.NewLimiter(fetches, fetchBurst)}
}

// unreachableKey is where a caller of VerifySignature finds out that the issuer could not be asked: the verifier of tokens above it keeps
// the words of errors alone.
type unreachableKey struct{}

// VerifySignature implements oidc.KeySet.
func (k *issuerKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	set, err := k.current(ctx, token)
	var payload []byte
	if err == nil {
		if payload, err = set.VerifySignature(ctx, token); !isUnfetched(err) || errors.Is(err, errTooOften) {
			return payload, err
		}
	}
	if note, ok := ctx.Value(unreachableKey{}).(*error); ok {
		*note = err
	}
	return nil, err
}

// isUnfetched reports whether a set did not verify because its keys could not be had.
func isUnfetched(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "fetching keys")
}

// current are the keys to verify by: fresh ones, or those of before where the issuer cannot be asked.
func (k *issuerKeys) current(ctx context.Context, token string) (oidc.KeySet, error) {
	now := k.now()
	set, fresh := k.known(now)
	if fresh {
		return set, nil
	}
	asked := k.asking.DoChan("", func() (any, error) {
		var found oidc.KeySet
		err := safegroup.Contain(func() (err error) { found, err = k.ask(context.WithoutCancel(ctx), token); return err })
		return found, err
	})
	select {
	case r := <-asked:
		if r.Err == nil {
			return r.Val.(oidc.KeySet), nil
		}
		if set != nil {
			return set, nil
		}
		return nil, r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// known are the keys that may be used, nil for none, and whether the issuer need not be asked now.
func (k *issuerKeys) known(now time.Time) (set oidc.KeySet, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.set == nil || !within(now, k.asked, keysBelievedFor) {
		return nil, false
	}
	return k.set, within(now, k.asked, keysFreshFor) || within(now, k.failed, keysRetry)
}

// ask asks the issuer, unless somebody just did.
func (k *issuerKeys) ask(ctx context.Context, token string) (oidc.KeySet, error) {
	now := k.now()
	if set, fresh := k.known(now); fresh {
		return set, nil
	}
	set, err := k.published(ctx, token)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.failed = now
		return nil, err
	}
	k.set, k.asked = set, now
	return set, nil
}

// published is a new set, with the keys that the issuer publishes now. Such a set reads them when it verifies the first token, whichever.
func (k *issuerKeys) published(ctx context.Context, token string) (oidc.KeySet, error) {
	if !k.attempts.Allow() {
		return nil, errTooOften
	}
	url := k.issuer.KeySet
	from := &seldom{limit: rate.NewLimiter(fetches, fetchBurst), secure: strings.HasPrefix(k.issuer.URL, "https://")}
	if url != "" {
		from.secure = strings.HasPrefix(url, "https://")
	}
	asking := oidc.ClientContext(context.Background(), &http.Client{Timeout: fetchTimeout, Transport: from})
	if url == "" {
		provider, err := oidc.NewProvider(asking, k.issuer.URL)
		if err != nil {
			return nil, err
		}
		var found struct {
			URL string `json:"jwks_uri"`
		}
		if err := provider.Claims(&found); err != nil {
			return nil, fmt.Errorf("read what the issuer of tokens says of its keys: %w", err)
		}
		url = found.URL
	}
	set := oidc.NewRemoteKeySet(asking, url)
	if _, err := set.VerifySignature(ctx, token); isUnfetched(err) {
		return nil, err
	}
	return set, nil
}

// errTooOften says that the issuer is not asked again now.
var errTooOften = errors.New("the issuer was asked for its keys just now")

// seldom keeps tokens with made-up key ids from having the issuer asked each time.
type seldom struct {
	limit  *rate.Limiter
	secure bool // whether a reply may come over https alone: where the issuer sends on to plain text, anybody could put keys into it
}

// RoundTrip implements http.RoundTripper.
func (s *seldom) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.secure && r.URL.Scheme != "https" {
		return nil, errors.New("the issuer has its keys at an address that is not https: they cannot be trusted")
	}
	if !s.limit.Allow() {
		return nil, errTooOften
	}
	reply, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		reply.Body = http.MaxBytesReader(nil, reply.Body, maxFetched)
	}
	return reply, err
}
