// Package llmtest is an OpenAI-compatible server that replies by a script. It is for tests and measuring tools
// only: the product never imports it.
package llmtest

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/llm"
)

// Options set how a server replies. The zero value replies "ok" to every prompt and Vector to every text.
type Options struct {
	Chat      func(Request) Reply           // runs once for each chat request, several at once
	Embed     func(EmbedRequest) EmbedReply // runs once for each embedding request, several at once
	Dimension int                           // of vectors; DefaultDimension when 0
	Key       string                        // when set, requests without it are answered by 401
	Formats   []Format                      // the response formats it takes, others are answered by 400; nil for all
	Now       func() time.Time              // stamps calls; time.Now when nil
	After     func(time.Duration) <-chan time.Time
}

// OpEmbed is the operation of embedding requests in Calls and Count.
const OpEmbed llm.Operation = "embed"

// Call is a request that came in.
type Call struct {
	Operation llm.Operation
	N         int // from 1, over all requests
	Model     string
	Format    Format
	Key       string // of the Authorization header
	Tokens    int64  // of the prompt or the texts, by o200k
	Texts     int    // of an embedding request
	Time      time.Time
}

// Server is a running server. Its methods may be used concurrently.
type Server struct {
	options Options
	http    *httptest.Server
	closing chan struct{}
	once    sync.Once
	mu      sync.Mutex
	calls   []Call
}

// New starts a server on a free port of this machine.
func New(o Options) *Server {
	if o.Dimension == 0 {
		o.Dimension = DefaultDimension
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	s := &Server{options: o, closing: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("POST /v1/embeddings", s.embeddings)
	s.http = httptest.NewServer(mux)
	return s
}

// URL is the base URL for clients, with the version.
func (s *Server) URL() string { return s.http.URL + "/v1" }

// Close ends what is held or hangs and stops the server. It may be called again.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.closing)
		s.http.Close()
	})
}

// Calls are the requests that came in so far, in order.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Count is how many requests of an operation came in so far.
func (s *Server) Count(op llm.Operation) int {
	n := 0
	for _, c := range s.Calls() {
		if c.Operation == op {
			n++
		}
	}
	return n
}

// record keeps a request and returns its number.
func (s *Server) record(r *http.Request, c Call) int {
	c.Time, c.Key = s.options.Now(), r.Header.Get("Authorization")
	s.mu.Lock()
	defer s.mu.Unlock()
	c.N = len(s.calls) + 1
	s.calls = append(s.calls, c)
	return c.N
}

// isBarred refuses a request without the right key, and reports whether it did.
func (s *Server) isBarred(w http.ResponseWriter, r *http.Request) bool {
	if s.options.Key == "" || r.Header.Get("Authorization") == "Bearer "+s.options.Key {
		return false
	}
	writeError(
		w,
		http.StatusUnauthorized,
		Failure{Type: "invalid_request_error", Code: "invalid_api_key", Message: "Incorrect API key provided."},
	)
	return true
}

// wait holds a reply back. It reports whether the reply shall be given: false when the client or the server is gone.
func (s *Server) wait(r *http.Request, d Delays) bool {
	if d.Hold != nil {
		select {
		case <-d.Hold:
		case <-r.Context().Done():
			return false
		case <-s.closing:
			return false
		}
	}
	if d.Delay <= 0 {
		return true
	}
	select {
	case <-s.options.After(d.Delay):
		return true
	case <-r.Context().Done():
	case <-s.closing:
	}
	return false
}

// Delays hold a reply back.
type Delays struct {
	Hold  <-chan struct{} // until it is closed or a value comes; nil for no hold
	Delay time.Duration   // after that, by Options.After
}

// Failure is the error object of the API.
type Failure struct {
	Message string `json:"message"`
	Type    string `json:"type,omitempty"`
	Code    string `json:"code,omitempty"`
	Param   string `json:"param,omitempty"`
}

func writeError(w http.ResponseWriter, status int, f Failure) {
	writeJSON(w, status, map[string]Failure{"error": f})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// Fault is a way in which a reply is no reply.
type Fault string

// The faults.
const (
	FaultHang      Fault = "hang"       // nothing, until the client goes away
	FaultReset     Fault = "reset"      // the connection is cut before an answer
	FaultHTML      Fault = "html"       // a page, as proxies answer, with status 200
	FaultCutJSON   Fault = "cut_json"   // half of the JSON
	FaultOtherJSON Fault = "other_json" // JSON of another API
	FaultNothing   Fault = "nothing"    // the right JSON without choices or vectors
	FaultEmpty     Fault = "empty"      // status 200 without a body
	FaultEndless   Fault = "endless"    // a body that does not end, until the client goes away
)

// isFault replies with a fault, if there is one, and reports whether it did.
func (s *Server) isFault(w http.ResponseWriter, r *http.Request, f Fault) bool {
	switch f {
	case "":
		return false
	case FaultHang:
		s.hang(r)
	case FaultReset:
		reset(w)
	case FaultHTML:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html><body><h1>It works!</h1></body></html>")
	case FaultCutJSON:
		_, _ = io.WriteString(w, `{"object":"list","choices":[{"message":{"role":"assistant","content":"half of`)
	case FaultOtherJSON:
		_, _ = io.WriteString(w, `{"choices":"none","data":{"a":1}}`)
	case FaultNothing:
		_, _ = io.WriteString(w, `{"object":"list","choices":[],"data":[]}`)
	case FaultEmpty:
	case FaultEndless:
		s.endless(w, r)
	}
	return true
}

// reset closes the connection without the usual farewell.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // closes it too
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func (s *Server) hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.closing:
	}
}

func (s *Server) endless(w http.ResponseWriter, r *http.Request) {
	blank := make([]byte, 64<<10)
	for i := range blank {
		blank[i] = ' '
	}
	for r.Context().Err() == nil {
		if _, err := w.Write(blank); err != nil {
			return
		}
	}
}

// count is what texts take by o200k.
func count(texts ...string) int64 {
	c, err := tokens.ByName(tokens.O200K)
	if err != nil {
		return 0
	}
	var n int64
	for _, t := range texts {
		n += tokens.Tokens(c, c.Cost(t))
	}
	return n
}
