// Package httpapi serves the API over HTTP to who does not speak gRPC: REST with JSON by the paths of the proto files, Connect,
// gRPC-Web, the Model Context Protocol and the pages of the console, all translated to calls of the gRPC server, so that its
// interceptors and limits hold for every one of them.
package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/vanguard"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/stratamem/strata/api"
	"github.com/stratamem/strata/internal/edge/console"
)

// Limits of a request's body. The first holds for all but the import of a user, whose file has no limit; JSON of a message that the
// gRPC server still takes may be longer than the message.
const (
	maxBodyBytes    = 16 << 20
	maxMessageBytes = 8 << 20
	smallBytes      = 64 << 10 // bodies up to here need no admission
	heldPerByte     = 4        // of a body while it is translated: read, decoded, encoded, decoded
)

// restPrefix is what the paths of REST begin with; those of Connect and gRPC-Web begin with the name of a service.
const restPrefix = "/v1/"

// Options are what a Handler needs.
type Options struct {
	GRPC     http.Handler // serves gRPC
	Services []string     // the full names of its services that HTTP serves too
	// Admit waits for the memory of a large request and returns what gives it back, or an error that says when to come again.
	Admit    func(ctx context.Context, bytes int64) (release func(), err error)
	Ready    func(ctx context.Context) error // nil while calls can be served
	Guard    Guard
	Version  string        // of the program, which clients of MCP get
	Patience time.Duration // how long a client may send nothing of a body, or take nothing of a reply
	Console  *Console      // nil for no console
}

// Console is what the console needs beside the API: see console.Options.
type Console struct {
	Secret   []byte
	Now      func() time.Time
	Profiles []string
	MayCall  func(r *http.Request, method string) error
	Measured func() ([]console.Measure, error)
	Trend    *console.Trend
}

// New makes the handler of all HTTP requests.
func New(o Options) (http.Handler, error) {
	o.GRPC = blameless(o.GRPC)
	services := make([]*vanguard.Service, len(o.Services))
	for i, name := range o.Services {
		services[i] = vanguard.NewService(name, o.GRPC)
	}
	transcoder, err := vanguard.NewTranscoder(services,
		vanguard.WithDefaultServiceOptions(
			vanguard.WithTargetProtocols(vanguard.ProtocolGRPC), vanguard.WithTargetCodecs(vanguard.CodecProto),
			vanguard.WithNoTargetCompression(), vanguard.WithMaxMessageBufferBytes(maxBodyBytes),
			vanguard.WithTypeResolver(replyTypes{protoregistry.GlobalTypes}),
		),
		vanguard.WithCodec(func(vanguard.TypeResolver) vanguard.Codec { return newCodec() }),
		vanguard.WithCodec(func(vanguard.TypeResolver) vanguard.Codec {
			return protoCodec{vanguard.NewProtoCodec(protoregistry.GlobalTypes)}
		}),
		vanguard.WithCompression(vanguard.CompressionGzip, newGzip, newGunzip),
		vanguard.WithUnknownHandler(http.HandlerFunc(unknown)),
	)
	if err != nil {
		return nil, fmt.Errorf("translate HTTP to gRPC: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", ready(o.Ready))
	mux.HandleFunc("GET /openapi.yaml", document)
	calls, tools := bounded(o, files(o, transcoder)), bounded(o, memoryTools(o))
	served := o.Guard.around(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path { // the mux cleans paths, and would redirect those whose ids hold dots and slashes
		case "/healthz", "/readyz", "/openapi.yaml":
			mux.ServeHTTP(w, r)
		case mcpPath:
			tools.ServeHTTP(w, r)
		default:
			calls.ServeHTTP(w, r)
		}
	}))
	if o.Console != nil {
		if served, err = withConsole(o, served); err != nil {
			return nil, err
		}
	}
	return inTime(o.Patience, served), nil
}

// inTime bounds how long a body is waited for that no handler reads: net/http reads it to its end before it sends a refusal.
func inTime(patience time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody { // else net/http reads on while the call runs, and would end it
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience)) // who reads sets it anew
		}
		next.ServeHTTP(w, r)
	})
}

// withConsole serves the console's paths, and has next serve all others.
func withConsole(o Options, next http.Handler) (http.Handler, error) {
	pages, err := console.New(console.Options{
		API:    func(r *http.Request) grpc.ClientConnInterface { return caller{grpc: o.GRPC, from: r} },
		Secret: o.Console.Secret, Now: o.Console.Now, Profiles: o.Console.Profiles,
		MayCall: o.Console.MayCall, Measured: o.Console.Measured, Trend: o.Console.Trend,
	})
	if err != nil {
		return nil, err
	}
	guarded := o.Guard.aroundPages(bounded(o, pages))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == console.Path || strings.HasPrefix(r.URL.Path, console.Path+"/") {
			guarded.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	}), nil
}

func ready(check func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := check(r.Context()); err != nil { // the log has the cause
			writeText(w, http.StatusServiceUnavailable, "not ready")
			return
		}
		writeText(w, http.StatusOK, "ready")
	}
}

func writeText(w http.ResponseWriter, code int, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = fmt.Fprintln(w, line)
}

func document(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(api.OpenAPI())
}
