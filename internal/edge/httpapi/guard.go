package httpapi

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	connectcors "connectrpc.com/cors"
	"github.com/rs/cors"
	"google.golang.org/grpc/codes"
)

// Guard keeps web pages out that nobody invited. A browser sends what a page asks it to, with the reach of the machine that it runs
// on: a server that trusts its machine must not trust the pages that are open on it.
type Guard struct {
	// Origins are those whose pages may call, as browsers send them: https://app.example.org. One * is for all of them.
	Origins []string
	// Hosts are the names, without ports, by which a request may call the server; none for every name. A page whose own name was
	// made to point here (DNS rebinding) is refused for that name.
	Hosts []string
}

// LoopbackHosts are the names of a server that only its own machine reaches; addresses of the loopback network are taken too.
func LoopbackHosts() []string { return []string{"localhost"} }

// exposed are the headers of replies that a page may read.
func exposed() []string {
	return append(connectcors.ExposedHeaders(), "Retry-After", "Strata-Handler-Us", "Strata-Waiting-Us")
}

// maxPreflightSeconds is how long browsers remember what they may send.
const maxPreflightSeconds = 7200

func (g Guard) around(next http.Handler) http.Handler {
	shared := cors.New(cors.Options{
		AllowedOrigins: g.Origins,
		AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: append(connectcors.AllowedHeaders(), "Authorization", timeoutHeader),
		ExposedHeaders: exposed(),
		MaxAge:         maxPreflightSeconds,
	})
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if message, ok := g.refuses(r, shared); ok {
			refuse(w, codes.PermissionDenied, message)
			return
		}
		if !isTyped(r) {
			writeStatus(w, http.StatusUnsupportedMediaType, codes.InvalidArgument,
				"content-type must be application/json, "+importType+" for a user's file, or one of Connect's or gRPC-Web's: "+
					"others can be sent by any web page unasked")
			return
		}
		next.ServeHTTP(w, r)
	})
	if len(g.Origins) == 0 {
		return guarded
	}
	return shared.Handler(guarded)
}

// aroundPages guards pages that people look at. Their forms say where they come from, and only those of the pages themselves are
// taken; other sites may link to a page, which browsers then load without its session.
func (g Guard) aroundPages(next http.Handler) http.Handler {
	own := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.isHost(r.Host) {
			refuse(w, codes.PermissionDenied, foreignHost)
			return
		}
		if err := own.Check(r); err != nil {
			refuse(w, codes.PermissionDenied, "a form of another site may not be sent here")
			return
		}
		site, isPage := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Dest") == "document"
		if (site == "cross-site" || site == "same-site") && !isPage {
			refuse(w, codes.PermissionDenied, "a page of another site may not load this")
			return
		}
		if r.Method == http.MethodPost && !isForm(r) {
			writeStatus(w, http.StatusUnsupportedMediaType, codes.InvalidArgument, "content-type must be "+formType)
			return
		}
		next.ServeHTTP(w, r)
	})
}

const (
	formType    = "application/x-www-form-urlencoded"
	foreignHost = "the host is none by which this server is called: set http-hosts, or call it by its address"
)

func isForm(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == formType
}

// refuses says why a request is not served.
func (g Guard) refuses(r *http.Request, shared *cors.Cors) (message string, ok bool) {
	if !g.isHost(r.Host) {
		return foreignHost, true
	}
	invited := len(g.Origins) > 0 && shared.OriginAllowed(r)
	if r.Header.Get("Origin") != "" && !invited {
		return "the origin is not allowed: set cors-origins to let its pages call", true
	}
	// a page can also send requests without an origin, whose replies it cannot read: links, images, forms
	site := r.Header.Get("Sec-Fetch-Site")
	if (site == "cross-site" || site == "same-site") && r.Header.Get("Origin") == "" {
		return "a page of another site may not call: set cors-origins to let its pages call", true
	}
	return "", false
}

// isHost reports whether a Host header is one of the names.
func (g Guard) isHost(host string) bool {
	if len(g.Hosts) == 0 {
		return true
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.IsLoopback() || slices.Contains(g.Hosts, name)
	}
	return slices.Contains(g.Hosts, name)
}

// isTyped reports whether a request with a body has a type that a page cannot send without asking first.
func isTyped(r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
		return true
	}
	given := r.Header.Get("Content-Type")
	if given == "" {
		return r.ContentLength == 0 && r.Method != http.MethodPost
	}
	kind, _, err := mime.ParseMediaType(given)
	if err != nil {
		return false
	}
	return kind == "application/json" || kind == "application/proto" || kind == importType ||
		strings.HasPrefix(kind, "application/grpc") || strings.HasPrefix(kind, "application/connect+")
}
