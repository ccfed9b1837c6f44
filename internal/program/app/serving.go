package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/stats"

	"github.com/stratamem/strata/internal/access/admin"
	"github.com/stratamem/strata/internal/access/audit"
	"github.com/stratamem/strata/internal/edge/admission"
	"github.com/stratamem/strata/internal/edge/console"
	"github.com/stratamem/strata/internal/edge/grpcapi"
	"github.com/stratamem/strata/internal/edge/grpcserver"
	"github.com/stratamem/strata/internal/edge/httpapi"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/program/telemetry"
	"github.com/stratamem/strata/internal/store/workloop"
)

// gates decide which calls run now.
type gates struct {
	gate       *admission.Gate
	turns      *admission.Turns
	storeLimit *admission.StoreLimit
}

func (b base) newGates() gates {
	processors := cmp.Or(b.options.Processors, runtime.GOMAXPROCS(0))
	g := gates{
		gate: admission.New(admission.Options{
			Heavy: cmp.Or(b.cfg.HeavyCalls, admission.HeavyByDefault(processors)), Memory: int64(b.cfg.CallMemory), Wait: longestWait,
			Meter: b.recorder,
		}),
		turns: admission.NewTurns(admission.TurnsOptions{
			Places: processors, Waiting: maxWaiting, Wait: longestWait, Meter: b.recorder,
		}),
		storeLimit: admission.NewStoreLimit(b.recorder),
	}
	b.recorder.WatchCalls(g.gate.Stats, g.turns.Waiting)
	b.recorder.WatchStoreLimit(g.storeLimit.AtMost)
	return g
}

// longestWait is how long a call waits to be admitted: callers learn soon that they should come later.
const longestWait = 2 * time.Second

// maxWaiting is how many calls of a tenant wait for their turn: about what is served within longestWait.
const maxWaiting = 200

// serverParts are what a server serves with.
type serverParts struct {
	cases       useCases
	access      *admin.Access
	limits      limits
	gates       gates
	credentials credentials
	trail       *audit.Trail  // nil while the audit is off
	calls       *atomic.Int64 // counts those that are being answered
	traces      stats.Handler // nil for none
	secret      []byte        // the primary store's, for what only its servers may make
	trend       *console.Trend
}

func (b base) newServer(p serverParts) (*grpcserver.Server, error) {
	o := grpcserver.Options{
		API: b.newAPI(p), RequestTimeout: b.cfg.RequestTimeout, DrainTimeout: b.cfg.DrainTimeout, Log: b.log,
		Access:    grpcserver.Access{Refusals: b.recorder, Limits: p.limits.rates},
		Admission: grpcserver.Admission{Gate: p.gates.gate, Turns: p.gates.turns, StoreLimit: p.gates.storeLimit},
		Port: grpcserver.Port{
			Reflection: b.cfg.Reflection, MaxConnections: b.cfg.MaxConnections, ReplyTimeout: b.cfg.ReplyTimeout,
		},
		Observed: grpcserver.Observed{Meter: b.recorder, Calls: p.calls, Traces: p.traces},
		HTTP:     func(api grpcserver.Entrance) (http.Handler, error) { return b.newHTTP(api, p) },
	}
	if b.cfg.Auth == config.AuthRequired {
		o.Access.Verifier = p.limits.tenants
	}
	if p.credentials.tls != nil {
		o.Port.TLS = p.credentials.tls.Config()
	}
	if p.trail != nil {
		o.Audit = grpcserver.Audit{To: p.trail, Agents: b.cfg.Audit == config.AuditAgents}
	}
	return grpcserver.New(o)
}

// newAPI makes the services of the API over the use cases.
func (b base) newAPI(p serverParts) grpcserver.API {
	c := p.cases
	var entries grpcapi.AuditEntries
	if p.trail != nil {
		entries = p.trail
	}
	return grpcapi.NewAPI(
		&grpcapi.MemoryService{
			Recorder: c.Recorder, Contexts: c.Contexts, Search: c.Search, Sessions: c.Sessions, Eraser: c.Eraser, Replacer: c.Replacer,
		},
		&grpcapi.HistoryService{Histories: c.Histories},
		&grpcapi.FactService{Facts: c.Facts, Search: c.Search},
		&grpcapi.SummaryService{Summaries: c.Summaries, Editor: c.SummaryEditor, Eraser: c.Eraser},
		&grpcapi.UserService{Users: c.Users, Eraser: c.Eraser, Porter: c.Porter, Patience: b.cfg.ReplyTimeout},
		&grpcapi.WorkService{Work: c.Work, Facts: c.Facts, Erasures: c.Eraser},
		&grpcapi.MaintenanceService{Maintenance: c.Maintenance},
		&grpcapi.DocumentService{Documents: c.Documents},
		&grpcapi.KeyService{Keys: p.access},
		&grpcapi.TenantService{Tenants: p.access},
		&grpcapi.AuditService{Entries: entries},
	)
}

// newHTTP makes the handler of callers who do not speak gRPC.
func (b base) newHTTP(api grpcserver.Entrance, p serverParts) (http.Handler, error) {
	hosts := b.cfg.HTTPHosts.List()
	if len(hosts) == 0 && !b.cfg.Insecure && b.cfg.Auth != config.AuthRequired { // only this machine reaches the port: see config.Validate
		hosts = httpapi.LoopbackHosts()
	}
	var pages *httpapi.Console
	if p.trend != nil {
		pages = &httpapi.Console{
			Secret: p.secret, Now: time.Now, Profiles: slices.Sorted(maps.Keys(b.cfg.Profiles)), MayCall: api.MayCall,
			Measured: measured(b.recorder), Trend: p.trend,
		}
	}
	return httpapi.New(httpapi.Options{
		Console: pages,
		GRPC:    api.GRPC, Services: api.Services, Admit: p.gates.gate.Request, Ready: b.store.Check, Patience: b.cfg.ReplyTimeout,
		Version: b.options.Version,
		Guard:   httpapi.Guard{Origins: b.cfg.CORSOrigins.List(), Hosts: hosts},
	})
}

// newTrend makes what the console's curves are drawn from; nil without a console.
func (b base) newTrend() *console.Trend {
	if !b.cfg.Console {
		return nil
	}
	return console.NewTrend(measured(b.recorder), time.Now)
}

// noteTrend is the loop that notes what the curves show.
func (b base) noteTrend(trend *console.Trend) func(context.Context) error {
	return workloop.NewLoop(workloop.LoopOptions{Work: trend.Note, Failed: func(ctx context.Context, f workloop.Failure) {
		b.log.WarnContext(ctx, "the console's curves miss a note: it is tried again", "error", f.Err, "again", f.Again)
	}}).Run
}

// measured returns what the console plots: what /metrics shows, also where that is off.
func measured(recorder *telemetry.Recorder) func() ([]console.Measure, error) {
	return func() ([]console.Measure, error) {
		samples, err := recorder.Samples()
		if err != nil {
			return nil, err
		}
		all := make([]console.Measure, len(samples))
		for i, s := range samples {
			all[i] = console.Measure{Name: s.Name, Labels: s.Labels, Value: s.Value}
			for _, b := range s.Buckets {
				all[i].Buckets = append(all[i].Buckets, console.Bucket{UpTo: b.UpTo, Count: b.Count})
			}
		}
		return all, nil
	}
}

// ports are what the program listens on.
type ports struct {
	api     net.Listener
	metrics *telemetry.Server // nil when off
}

// metricsAddr is the address of /metrics and /healthz, "" when they are off.
func (p ports) metricsAddr() string {
	if p.metrics == nil {
		return ""
	}
	return p.metrics.Addr()
}

// listen opens the ports, and adds them to what has to be closed.
func (b base) listen(ctx context.Context, opened *closers) (ports, error) {
	api, err := (&net.ListenConfig{}).Listen(ctx, "tcp", b.cfg.Listen)
	if err != nil {
		return ports{}, fmt.Errorf("listen: %w; stop what listens there, or set listen to another address", err)
	}
	opened.add(func() error { return unlessClosed(api.Close()) })
	if b.cfg.MetricsListen == "" {
		return ports{api: api}, nil
	}
	metrics, err := telemetry.Listen(ctx, telemetry.ServerOptions{
		Address: b.cfg.MetricsListen, Recorder: b.recorder, Check: b.store.Check, Log: b.log,
	})
	if err != nil {
		return ports{}, err
	}
	opened.add(func() error { return unlessClosed(metrics.Close()) })
	return ports{api: api, metrics: metrics}, nil
}

// unlessClosed drops the error of closing what the one who served it has closed already.
func unlessClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
