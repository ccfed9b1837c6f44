package console

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// page is what every page's template is given.
type page struct {
	Title     string
	Tab       string // of the navigation, "" for none
	User      string // whose memory it is; "" for nobody's
	Session   string
	Here      string // the address to come back to
	Form      string // what each form carries
	Again     int    // after how many seconds the page is loaded again, because the reader asked for it; 0 for not
	Done      string // what the form before did; "" for nothing
	LoggedIn  bool
	Places    []string // of the navigation that the reader may go to
	Languages []string
	Data      any
	words     words
}

// T is a text in the reader's language.
func (p page) T(name string, args ...any) string { return p.words.of(name, args...) }

// Name is the word for a value of the API.
func (p page) Name(value fmt.Stringer) string { return p.words.of(value.String()) }

// Lang is the reader's language.
func (p page) Lang() string { return p.words.Language }

// With is the data of a part of a page, with the page's words.
func (p page) With(data any) page {
	p.Data = data
	return p
}

// show writes a page.
func (v *visit) show(name string, p page) error { return v.showAs(http.StatusOK, name, p) }

func (v *visit) showAs(code int, name string, p page) error {
	p.words, p.Form = v.words, v.sessions.formToken(v.session)
	if p.Here == "" {
		p.Here = v.here()
	}
	p.LoggedIn, p.Languages = v.session.Token != "", v.Console.words.languages
	if name != "login.html" {
		p.Places = v.places()
	}
	if done := "done." + v.r.URL.Query().Get("done"); v.words.of(done) != done {
		p.Done = v.words.of(done)
	}
	var out bytes.Buffer
	if err := v.pages[name].ExecuteTemplate(&out, "layout.html", p); err != nil {
		return fmt.Errorf("make the page %s: %w", name, err)
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(code)
	_, _ = v.w.Write(out.Bytes())
	return nil
}

// languageOfAPI is the language of the API's messages, which are for developers.
const languageOfAPI = "en"

// errorData is what went wrong, and the language of its text.
type errorData struct {
	Text, Lang string
}

// may reports whether the reader's role allows a method of the API.
func (v *visit) may(method string) bool {
	return v.MayCall(v.requestWith(v.session.Token), method) == nil
}

// places are the pages of the main navigation that the reader may see.
func (v *visit) places() (names []string) {
	for _, place := range []struct{ name, method string }{
		{"users", memoryv1.UserService_ListUsers_FullMethodName},
		{"jobs", memoryv1.WorkService_ListJobs_FullMethodName},
		{"metrics", memoryv1.MaintenanceService_Verify_FullMethodName},
	} {
		if v.may(place.method) {
			names = append(names, place.name)
		}
	}
	return names
}

// showError shows what went wrong.
func (v *visit) showError(code int, data errorData) {
	err := v.showAs(code, "error.html", page{Title: v.words.of(fmt.Sprintf("error.%d", code)), Data: data})
	if err != nil {
		http.Error(v.w, "the page cannot be made", http.StatusInternalServerError)
	}
}

// fail shows an error of the API. Who is not known is asked for a key.
func (v *visit) fail(err error) {
	st := status.Convert(err)
	switch code := httpStatus(st.Code()); code {
	case http.StatusUnauthorized:
		v.redirect("login", url.Values{"next": {v.here()}})
	case http.StatusInternalServerError:
		v.showError(code, errorData{Text: v.words.of("error.internal"), Lang: v.words.Language})
	default:
		v.showError(code, errorData{Text: st.Message(), Lang: languageOfAPI})
	}
}

// httpStatus is the status of the page that shows an error of the API.
func httpStatus(code codes.Code) int {
	switch code {
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.NotFound:
		return http.StatusNotFound
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.Aborted, codes.AlreadyExists:
		return http.StatusConflict
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Unavailable, codes.DeadlineExceeded:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

func (v *visit) notFound() error {
	v.showError(http.StatusNotFound, errorData{Text: v.words.of("error.page"), Lang: v.words.Language})
	return nil
}
