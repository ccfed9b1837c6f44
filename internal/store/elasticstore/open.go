// Package elasticstore is a full-text view of messages and facts in Elasticsearch 7.14 or newer (store.TextView).
//
// Every space has an index of its own, named prefix-view-build, such as strata-transcript-000002; messages lie in further ones, one
// for each month of their record times, such as strata-transcript-000002-2026.11. An index of a month that is over is deleted when
// its last row is. Who reads the server without Strata uses the aliases strata-transcript and strata-facts, which have each row
// once. Rows are routed by their scope, and every request that reads or deletes filters by the scope too: a shard holds many
// scopes, so routing is only for speed. Terms arrive analysed; the built-in whitespace analyzer splits them and nothing more, so
// that ranking needs no plugin. Requests are built from Go values by encoding/json alone.
//
// Scores are Elasticsearch's own BM25, whose statistics are those of a shard, other users' rows included: hits are
// candidates in a rough order, and the caller looks each one up and ranks it by the user's own statistics.
package elasticstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	elasticsearch "github.com/elastic/go-elasticsearch/v7"
	"github.com/elastic/go-elasticsearch/v7/esapi"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/retry"
	"github.com/stratamem/strata/internal/store"
)

const (
	openTimeout = 10 * time.Second // of Open's first request, so that a dead address does not hang the start
	callTimeout = 60 * time.Second // of any request whose context ends later
	retries     = 3                // of a request with the status 429, 502, 503 or 504
)

// Options name the server and how to use it.
type Options struct {
	URL      string // such as https://search.example:9200
	Prefix   string // of the names of indices; "" for strata
	Username string // of basic authentication; "" for none
	Password string
	APIKey   string // the base64 form; it goes before Username
	// Shards is how many parts an index that Prepare makes has; 0 for 1. A search asks one shard, the one of the scope, so
	// more shards hold more and cost a search nothing. An index keeps the number that it was made with.
	Shards int
	// Content has documents hold what people look for and see: tenant, user, session, role, times and text. It counts for spaces that
	// are made from then on; a space that was made without has none, and one that was made with it gets no more when it is off.
	Content bool
	// Analyzers take the text of documents apart for people's queries: the first one in the field text, each further one in a field of
	// its own below it. They count for indices that are made from then on. nil for standard.
	Analyzers []string
	TLS       *tls.Config      // of an https URL; nil for what the system trusts
	Now       func() time.Time // time.Now when nil
}

// View is a text view in Elasticsearch. It may be used by many goroutines at once.
type View struct {
	client    *elasticsearch.Client
	transport *http.Transport
	names     names
	schemas   map[memory.View]schema
	content   bool
	analyzers []string
	now       func() time.Time
	pause     func(ctx context.Context, attempt int) error // before rows that were refused as too busy are put again

	mu      sync.Mutex
	layouts map[store.TextSpace]layout // of spaces that were put to lately
}

// Open connects to the server. It fails when the server does not respond, is older than 7.14, lacks an analyzer
// (store.ErrViewSettings), or has an index of a newer schema than this program knows.
func Open(ctx context.Context, o Options) (*View, error) {
	v, err := newView(o)
	if err != nil {
		return nil, fmt.Errorf("elasticstore: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := errors.Join(v.checkServer(ctx), v.checkSchemas(ctx), v.checkAnalyzers(ctx)); err != nil {
		v.transport.CloseIdleConnections()
		return nil, fmt.Errorf("elasticstore: open: %w", err)
	}
	return v, nil
}

func newView(o Options) (*View, error) {
	if o.Prefix == "" {
		o.Prefix = "strata"
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	schemas, err := readSchemas(o)
	if err != nil {
		return nil, err
	}
	transport := newTransport(o.TLS)
	client, err := elasticsearch.NewClient(elasticsearch.Config{
		Addresses: []string{o.URL}, Username: o.Username, Password: o.Password, APIKey: o.APIKey,
		Transport:  transport,
		MaxRetries: retries,
		// A request that timed out is not sent again: it may have been done. A row's version makes a later call harmless.
		RetryOnStatus: []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout},
		RetryBackoff:  func(attempt int) time.Duration { return jitter(resend.After(attempt + 1)) },
	})
	if err != nil {
		return nil, errors.New("the client cannot be made of these options") // the cause may quote the address with its password
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &View{
		client: client, transport: transport, names: names(o.Prefix), schemas: schemas, content: o.Content,
		analyzers: o.analyzers(), now: o.Now, pause: pause,
		layouts: map[store.TextSpace]layout{},
	}, nil
}

// check refuses options that would fail later; it repeats none, for an address may hold a password.
func (o Options) check() error {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the address must be http://host:port or https://host:port")
	}
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`).MatchString(o.Prefix) {
		return errors.New("the prefix must be 1 to 64 lower-case letters, digits, dashes and underscores, a letter or digit first")
	}
	if o.Shards < 0 || o.Shards > 1024 {
		return fmt.Errorf("an index of %d shards: 1 to 1024 are possible", o.Shards)
	}
	return nil
}

// newTransport replaces the client's, which waits for ever.
func newTransport(c *tls.Config) *http.Transport {
	return &http.Transport{
		TLSClientConfig:       c.Clone(), // of nil it is nil
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: callTimeout,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   32,
		ForceAttemptHTTP2:     true,
	}
}

// How long to wait before a request is sent again, and before rows are put again.
var (
	resend   = retry.Exponential{First: 10 * time.Millisecond, Last: 320 * time.Millisecond}
	putAgain = retry.Exponential{First: 100 * time.Millisecond, Last: 3200 * time.Millisecond}
)

// jitter is a random part of d, at least half.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// pause waits longer at each attempt: .1 to .2 s before the second, up to 3.2 s.
func pause(ctx context.Context, attempt int) error {
	if !retry.Pause(ctx, jitter(putAgain.After(attempt+1))) {
		return ctx.Err()
	}
	return nil
}

// checkServer asks who is there; the client's own check that it is a genuine Elasticsearch runs before.
func (v *View) checkServer(ctx context.Context) error {
	var info struct {
		Version struct {
			Number string `json:"number"`
		} `json:"version"`
	}
	if err := v.call(ctx, esapi.InfoRequest{}, &info); err != nil {
		return fmt.Errorf("ask the server for its version: %w", err)
	}
	if !recent(info.Version.Number) {
		return errors.New("the server is older than 7.14: upgrade Elasticsearch to 7.14 or newer")
	}
	return nil
}

// recent reports whether a version such as 7.14.2 is 7.14 or newer.
func recent(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	return errA == nil && errB == nil && (a > 7 || a == 7 && b >= 14)
}

// Check fails when the server does not respond, or a shard of this view's indices is lost.
func (v *View) Check(ctx context.Context) error {
	var health struct {
		Status string `json:"status"`
	}
	if err := v.call(ctx, esapi.ClusterHealthRequest{Index: v.names.patterns()}, &health); err != nil {
		return fmt.Errorf("elasticstore: ask for the health: %w", err)
	}
	if health.Status == "red" {
		return errors.New("elasticstore: a shard of an index is not available")
	}
	return nil
}

// Close drops connections that wait for use.
func (v *View) Close() error {
	v.transport.CloseIdleConnections()
	return nil
}

// Lag is the refresh interval of an index, one second, and the time that a refresh takes on a busy machine.
func (v *View) Lag() time.Duration { return 2 * time.Second }
