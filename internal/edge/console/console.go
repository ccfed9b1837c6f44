// Package console shows people what is remembered: pages at /console, made by the server. It is a client of the API in the name of
// whoever looks, so that what they may see and do, limits, isolation and the audit hold as for every other call. It stores nothing.
package console

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"google.golang.org/grpc"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// Path is what all paths of the console begin with.
const Path = "/console"

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed static/*
var staticFiles embed.FS

// Options are what a Console needs.
type Options struct {
	// API is the API as the sender of a request may use it: with the credential and from the address of the request.
	API func(*http.Request) grpc.ClientConnInterface
	// Secret seals what browsers keep, at least 16 bytes; the same on all servers of a store.
	Secret   []byte
	Now      func() time.Time
	Profiles []string // the names of the server's profiles, to choose from
	// MayCall returns nil where the sender of a request may call a method of the API, else the call's error.
	MayCall  func(r *http.Request, method string) error
	Measured func() ([]Measure, error) // what the server has counted since it started
	Trend    *Trend                    // of the same over the last minutes
}

// Console serves the pages. Its methods may be called concurrently.
type Console struct {
	Options
	sessions *sessions
	words    catalogue
	pages    map[string]*template.Template
	assets   map[string]string // address of each static file
	routes   *http.ServeMux
}

// New makes a Console.
func New(o Options) (*Console, error) {
	c := &Console{Options: o, routes: http.NewServeMux()}
	var err error
	if c.sessions, err = newSessions(o.Secret, o.Now); err != nil {
		return nil, err
	}
	if c.words, err = openCatalogue(); err != nil {
		return nil, err
	}
	if c.assets, err = nameAssets(); err != nil {
		return nil, err
	}
	if c.pages, err = c.parsePages(); err != nil {
		return nil, err
	}
	c.route()
	return c, nil
}

// route says what serves each path. Ids are arguments and not parts of a path, since they may hold what divides one.
func (c *Console) route() {
	c.routes.Handle("GET "+Path+"/static/", http.HandlerFunc(c.serveAsset))
	for pattern, show := range map[string]func(*visit) error{
		"GET " + Path:                  (*visit).home,
		"GET " + Path + "/{$}":         (*visit).home,
		"GET " + Path + "/login":       (*visit).showLogin,
		"GET " + Path + "/users":       (*visit).showUsers,
		"GET " + Path + "/sessions":    (*visit).showSessions,
		"GET " + Path + "/transcript":  (*visit).showTranscript,
		"GET " + Path + "/facts":       (*visit).showFacts,
		"GET " + Path + "/fact":        (*visit).showFact,
		"GET " + Path + "/summaries":   (*visit).showSummaries,
		"GET " + Path + "/context":     (*visit).showContext,
		"GET " + Path + "/metrics":     (*visit).showMetrics,
		"GET " + Path + "/jobs":        (*visit).showJobs,
		"POST " + Path + "/login":      (*visit).login,
		"POST " + Path + "/logout":     (*visit).logout,
		"POST " + Path + "/language":   (*visit).chooseLanguage,
		"POST " + Path + "/context":    (*visit).buildContext,
		"POST " + Path + "/search":     (*visit).searchMessages,
		"POST " + Path + "/message":    (*visit).changeMessage,
		"POST " + Path + "/fact":       (*visit).changeFact,
		"POST " + Path + "/jobs":       (*visit).changeJob,
		"POST " + Path + "/factsearch": (*visit).searchFacts,
	} {
		c.routes.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, show) })
	}
	c.routes.HandleFunc(Path+"/", func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, (*visit).notFound) })
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with none browsers do not say where a form comes from
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	c.routes.ServeHTTP(w, r)
}

// visit is one request.
type visit struct {
	*Console
	w       http.ResponseWriter
	r       *http.Request
	session session
	words   words
	api     clients
}

// clients are the services of the API that pages use.
type clients struct {
	memory    memoryv1.MemoryServiceClient
	facts     memoryv1.FactServiceClient
	summaries memoryv1.SummaryServiceClient
	users     memoryv1.UserServiceClient
	work      memoryv1.WorkServiceClient
}

// serve shows a page, or why it cannot be shown.
func (c *Console) serve(w http.ResponseWriter, r *http.Request, show func(*visit) error) {
	v := &visit{Console: c, w: w, r: r, words: c.words.forRequest(r)}
	var ok bool
	if v.session, ok = c.sessions.of(r); !ok {
		v.session = c.sessions.begin("")
		if err := c.sessions.set(w, r, v.session); err != nil {
			v.fail(err)
			return
		}
	}
	v.api = v.clientsWith(v.session.Token)
	if r.Method == http.MethodPost && !c.sessions.isForm(v.session, r.PostFormValue("form")) {
		v.showError(http.StatusForbidden, errorData{Text: v.words.of("error.form"), Lang: v.words.Language})
		return
	}
	if err := show(v); err != nil {
		v.fail(err)
	}
}

// clientsWith are the services with a token in place of the credential that the request has; with "" they have that one.
func (v *visit) clientsWith(token string) clients {
	conn := v.API(v.requestWith(token))
	return clients{
		memory: memoryv1.NewMemoryServiceClient(conn), facts: memoryv1.NewFactServiceClient(conn),
		summaries: memoryv1.NewSummaryServiceClient(conn), users: memoryv1.NewUserServiceClient(conn),
		work: memoryv1.NewWorkServiceClient(conn),
	}
}

// requestWith is the request with a token in place of its own credential; with "" it has that one.
func (v *visit) requestWith(token string) *http.Request {
	r := v.r.Clone(v.r.Context())
	r.Header.Del("Cookie")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func (v *visit) ctx() context.Context { return v.r.Context() }

// here is the address to come back to after a login: of a form it is unknown, and what it changes is not done unasked.
func (v *visit) here() string {
	if v.r.Method != http.MethodGet {
		return Path
	}
	here := *v.r.URL
	with := here.Query()
	with.Del("done")
	here.RawQuery = with.Encode()
	return here.RequestURI()
}

// safeNext is an address of the console, which no login page of another site can be made of.
func safeNext(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || u.Path != Path && !strings.HasPrefix(u.Path, Path+"/") || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") {
		return Path
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

// redirect leads to a page of the console.
func (v *visit) redirect(to string, with url.Values) {
	v.redirectTo(address(to, with))
}

func (v *visit) redirectTo(address string) {
	http.Redirect(v.w, v.r, address, http.StatusSeeOther)
}

// address of a page.
func address(page string, with url.Values) string {
	return (&url.URL{Path: Path + "/" + page, RawQuery: with.Encode()}).String()
}

// parsePages reads the templates: each page with the layout and the parts.
func (c *Console) parsePages() (map[string]*template.Template, error) {
	common, err := template.New("layout.html").Funcs(c.templateFuncs()).ParseFS(pageFiles, "pages/layout.html", "pages/parts.html")
	if err != nil {
		return nil, fmt.Errorf("read the console's layout: %w", err)
	}
	names, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		return nil, fmt.Errorf("list the console's pages: %w", err)
	}
	all := map[string]*template.Template{}
	for _, name := range names {
		one, err := common.Clone()
		if err == nil {
			one, err = one.ParseFS(pageFiles, name)
		}
		if err != nil {
			return nil, fmt.Errorf("read the console's page %s: %w", name, err)
		}
		all[path.Base(name)] = one
	}
	return all, nil
}

// nameAssets gives each static file an address that changes with what it holds, so that browsers may keep it.
func nameAssets() (map[string]string, error) {
	entries, err := staticFiles.ReadDir("static")
	if err != nil {
		return nil, fmt.Errorf("list the console's files: %w", err)
	}
	named := map[string]string{}
	for _, e := range entries {
		content, err := staticFiles.ReadFile("static/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("read the console's file %s: %w", e.Name(), err)
		}
		sum := sha256.Sum256(content)
		named[e.Name()] = Path + "/static/" + e.Name() + "?v=" + hex.EncodeToString(sum[:8])
	}
	return named, nil
}

func (c *Console) serveAsset(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	content, err := staticFiles.ReadFile("static/" + name)
	kind, known := map[string]string{".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}[path.Ext(name)]
	if err != nil || !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(content)
}
