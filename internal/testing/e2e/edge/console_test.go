package edge_test

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// visitor is a browser without scripts.
type visitor struct {
	*http.Client
	base string
}

func visit(t *testing.T, h *e2e.Server) visitor {
	t.Helper()
	jar := e2e.Must(cookiejar.New(nil))(t)
	return visitor{&http.Client{Jar: jar, Timeout: time.Minute}, "http://" + h.Conn.Target() + "/console"}
}

// seen is a page as it came.
type seen struct {
	*http.Response
	page string
}

func (v visitor) do(t *testing.T, r *http.Request) seen {
	t.Helper()
	res := e2e.Must(v.Do(r))(t) //nolint:bodyclose // it is, below
	defer res.Body.Close()
	return seen{res, string(e2e.Must(io.ReadAll(res.Body))(t))}
}

func (v visitor) get(t *testing.T, path string, arguments ...string) seen {
	t.Helper()
	with := url.Values{}
	for i := 0; i < len(arguments); i += 2 {
		with.Set(arguments[i], arguments[i+1])
	}
	return v.do(t, e2e.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, v.base+path+"?"+with.Encode(), nil))(t))
}

// post sends a form as the page that was seen would, with its token.
func (v visitor) post(t *testing.T, from seen, path string, fields ...string) seen {
	t.Helper()
	form := url.Values{"form": {field(t, from, "form")}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return v.do(t, v.form(t, path, form))
}

func (v visitor) form(t *testing.T, path string, form url.Values) *http.Request {
	t.Helper()
	r := e2e.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, v.base+path, strings.NewReader(form.Encode())))(t)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// field is the value of the last hidden field of that name on a page.
func field(t *testing.T, from seen, name string) string {
	t.Helper()
	found := regexp.MustCompile(`name="`+name+`" value="([^"]*)"`).FindAllStringSubmatch(from.page, -1)
	if len(found) == 0 {
		t.Fatalf("the page has no field %s: HTTP %d %s", name, from.StatusCode, from.page)
	}
	return html.UnescapeString(found[len(found)-1][1])
}

// login exchanges a key for a session.
func (v visitor) login(t *testing.T, token string) seen {
	t.Helper()
	return v.post(t, v.get(t, "/login"), "/login", "key", token, "next", "/console/")
}

func (s seen) has(t *testing.T, code int, texts ...string) seen {
	t.Helper()
	if s.StatusCode != code {
		t.Fatalf("%s: HTTP %d, want %d: %s", s.Request.URL, s.StatusCode, code, s.page)
	}
	for _, text := range texts {
		if !strings.Contains(html.UnescapeString(s.page), text) {
			t.Errorf("%s lacks %q: %s", s.Request.URL, text, s.page)
		}
	}
	return s
}

func (s seen) hasNot(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(s.page, text) {
			t.Errorf("%s has %q: %s", s.Request.URL, text, s.page)
		}
	}
}

// teach records two messages and waits until what they teach is known.
func teach(t *testing.T, h *e2e.Server, user, session, words string) {
	t.Helper()
	e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: user, SessionId: session, Messages: []*memoryv1.Message{
		{Id: "m1", Role: memoryv1.Role_ROLE_USER, Text: words}, {Id: "m2", Role: memoryv1.Role_ROLE_ASSISTANT, Text: "Noted."},
	}}))(t)
	e2e.Must(memoryv1.NewWorkServiceClient(h.Conn).WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{
		UserId: user, SessionId: session, Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED}, Timeout: e2e.LongWait,
	}))(t)
}

const scriptCanary = `<script>canary()</script><img src=x onerror=canary()>`

func TestTheConsoleWithoutAuthentication(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	const ada, session = `아다/1 "<i>`, `desk/../1`
	teach(t, h, ada, session, "I am vegan, and I live in Porto. "+scriptCanary)
	v := visit(t, h)
	t.Run("pages show what is stored, to whom it needs no key", func(t *testing.T) {
		v.get(t, "/").has(t, http.StatusOK, ada)
		v.get(t, "/sessions", "user", ada).has(t, http.StatusOK, session)
		v.get(t, "/transcript", "user", ada, "session", session).has(t, http.StatusOK, "I am vegan", "Noted.")
		v.get(t, "/facts", "user", ada).has(t, http.StatusOK, "vegan", "Porto")
		v.get(t, "/summaries", "user", ada).has(t, http.StatusOK)
		v.get(t, "/jobs", "user", ada, "state", "JOB_STATE_APPLIED").has(t, http.StatusOK, "Extract facts")
		v.get(t, "/").hasNot(t, "Log out")
	})
	t.Run("what is not there is not found", func(t *testing.T) {
		for _, path := range []string{"/sessions", "/summaries"} {
			v.get(t, path, "user", "nobody").has(t, http.StatusNotFound)
		}
		v.get(t, "/transcript", "user", ada, "session", "none").has(t, http.StatusNotFound)
		v.get(t, "/nothing").has(t, http.StatusNotFound)
	})
	t.Run("no page runs what is stored", func(t *testing.T) {
		transcript := v.get(t, "/transcript", "user", ada, "session", session).has(t, http.StatusOK, scriptCanary)
		found := v.post(t, transcript, "/search", "user", ada, "query", "vegan").has(t, http.StatusOK, "Porto")
		built := v.post(t, transcript, "/context", "user", ada, "session", session, "query", scriptCanary).has(t, http.StatusOK, scriptCanary)
		for _, page := range []seen{transcript, found, built, v.get(t, "/users"), v.get(t, "/facts", "user", ada), v.get(t, "/sessions", "user", ada)} {
			page.hasNot(t, "<script>canary", "<img", "<i>")
			policy := page.Header.Get("Content-Security-Policy")
			if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || page.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s has the policy %q", page.Request.URL, policy)
			}
			if page.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s may be kept", page.Request.URL)
			}
		}
		if regexp.MustCompile(`(?i)<script|style=|\son[a-z]+=`).MatchString(v.get(t, "/login").page) {
			t.Error("a page has scripts or styles of its own")
		}
	})
	t.Run("a link to a message shows it among its neighbours, in either order", func(t *testing.T) {
		var all []*memoryv1.Message
		for i := range 80 {
			all = append(all, &memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: fmt.Sprintf("Row %d of the vineyard.", i+1)})
		}
		e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: ada, SessionId: "long", Extract: memoryv1.ExtractMode_EXTRACT_MODE_NONE, Messages: all}))(t)
		newest := v.get(t, "/transcript", "user", ada, "session", "long", "at", "20").has(t, http.StatusOK, `id="m25"`, `id="m20"`, `id="m1"`)
		newest.hasNot(t, `id="m26"`)
		oldest := v.get(t, "/transcript", "user", ada, "session", "long", "at", "20", "order", "oldest").has(t, http.StatusOK, `id="m15"`, `id="m64"`)
		oldest.hasNot(t, `id="m14"`, `id="m65"`)
		more := regexp.MustCompile(`class="more"><a href="/console([^?]*)\?([^"]*)"`).FindStringSubmatch(html.UnescapeString(oldest.page))
		if more == nil {
			t.Fatal("there is no next page")
		}
		r := e2e.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, v.base+more[1]+"?"+more[2], nil))(t)
		v.do(t, r).has(t, http.StatusOK, `id="m65"`, `id="m80"`).hasNot(t, `id="m64"`)
		for _, at := range []string{"", "x", "-3", "0", "99999999999999999999"} {
			v.get(t, "/transcript", "user", ada, "session", "long", "at", at).has(t, http.StatusOK, `id="m80"`).hasNot(t, `id="m30"`)
		}
		found := v.post(t, newest, "/search", "user", ada, "session", "long", "query", "vineyard 20")
		found.has(t, http.StatusOK, `at=20&`, `#m20"`)
	})
	t.Run("the context explorer shows sections, reasons and what would be sent, beside a second profile", func(t *testing.T) {
		from := v.get(t, "/context", "user", ada, "session", session)
		v.post(t, from, "/context", "user", ada, "session", session, "query", "What may I eat?", "profile", "default", "beside", "chat", "budget", "900").
			has(t, http.StatusOK, "/ 900 tokens", "Recent messages", "Facts of this session", "As it would be sent", "<strata-context-", `id="p1"`)
		v.post(t, from, "/context", "user", ada, "session", session, "profile", "nowhere").has(t, http.StatusOK, `role="alert"`, "nowhere")
		v.post(t, from, "/context", "user", ada, "session", session, "budget", "many").has(t, http.StatusOK, "must be a whole number")
	})
	t.Run("the language is the browser's, or the chosen one", func(t *testing.T) {
		r := e2e.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, v.base+"/users", nil))(t)
		r.Header.Set("Accept-Language", "ko-KR,ko;q=0.9")
		v.do(t, r).has(t, http.StatusOK, `lang="ko"`, "사용자")
		another := visit(t, h)
		another.post(t, another.get(t, "/users"), "/language", "language", "ko", "next", "/console/jobs").has(t, http.StatusOK, `lang="ko"`, "작업")
		another.post(t, another.get(t, "/users"), "/language", "language", "en", "next", "//evil.example/").has(t, http.StatusOK, "Users")
	})
	t.Run("other sites cannot load pages or send forms, and may link to them", func(t *testing.T) {
		form := url.Values{"form": {field(t, v.get(t, "/users"), "form")}, "user": {ada}, "session": {session}, "message": {"m1"}, "do": {"delete"}}
		for what, change := range map[string]func(r *http.Request){
			"a form of another origin": func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
			"a form of another site":   func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
			"a form of a sandbox":      func(r *http.Request) { r.Header.Set("Origin", "null") },
			"a name that was pointed to this machine": func(r *http.Request) {
				r.Host = "evil.example"
				r.Header.Set("Origin", "http://evil.example")
				r.Header.Set("Sec-Fetch-Site", "same-origin")
			},
		} {
			r := v.form(t, "/message", form)
			change(r)
			if got := v.do(t, r); got.StatusCode != http.StatusForbidden {
				t.Errorf("%s: HTTP %d", what, got.StatusCode)
			}
		}
		image := e2e.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, v.base+"/users", nil))(t)
		image.Header.Set("Sec-Fetch-Site", "cross-site")
		image.Header.Set("Sec-Fetch-Dest", "image")
		v.do(t, image).has(t, http.StatusForbidden)
		image.Header.Set("Sec-Fetch-Dest", "document")
		v.do(t, image).has(t, http.StatusOK)
		rebound := e2e.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, v.base+"/users", nil))(t)
		rebound.Host = "evil.example"
		v.do(t, rebound).has(t, http.StatusForbidden)
	})
	t.Run("a form without its token changes nothing", func(t *testing.T) {
		for _, token := range []string{"", "x", field(t, visit(t, h).get(t, "/users"), "form")} {
			form := url.Values{"form": {token}, "user": {ada}, "session": {session}, "message": {"m1"}, "do": {"delete"}}
			v.do(t, v.form(t, "/message", form)).has(t, http.StatusForbidden)
		}
		v.get(t, "/transcript", "user", ada, "session", session).has(t, http.StatusOK, "I am vegan")
	})
	t.Run("no log has what was asked or said", func(t *testing.T) {
		for _, words := range []string{"vegan", "canary", "What may I eat"} {
			if strings.Contains(h.Log.String(), words) {
				t.Errorf("the log has %q", words)
			}
		}
	})
}

func TestChangesInTheConsole(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	teach(t, h, "ada", "s1", "I am vegan, and I live in Porto.")
	facts := memoryv1.NewFactServiceClient(h.Conn)
	listed := func() []*memoryv1.Fact {
		return e2e.Must(facts.ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "ada"}))(t).GetFacts()
	}
	at := slices.IndexFunc(listed(), func(f *memoryv1.Fact) bool { return strings.Contains(f.GetText(), "Porto") })
	if at < 0 {
		t.Fatalf("nothing was learnt of Porto: %v", listed())
	}
	learnt := listed()[at]
	v := visit(t, h)
	fact := func() seen {
		return v.get(t, "/fact", "user", "ada", "fact", learnt.GetFactId()).has(t, http.StatusOK, "I live in Porto")
	}
	change := func(from seen, do string, more ...string) seen {
		return v.post(t, from, "/fact", append([]string{"user", "ada", "fact", learnt.GetFactId(), "etag", field(t, from, "etag"), "do", do}, more...)...)
	}
	now := func() *memoryv1.Fact {
		return e2e.Must(facts.GetFact(h.Ctx, &memoryv1.GetFactRequest{UserId: "ada", FactId: learnt.GetFactId()}))(t).GetFact()
	}
	edit := []string{"text", "Lives in Lisbon.", "category", "CATEGORY_PERSONAL_INFO", "significance", "9", "tags", "home, city", "subject", ""}
	t.Run("a fact is pinned and unpinned", func(t *testing.T) {
		change(fact(), "pin").has(t, http.StatusOK, "The fact is pinned.")
		if !now().GetPinned() {
			t.Error("it is not pinned")
		}
		change(fact(), "unpin").has(t, http.StatusOK, "not pinned any more")
	})
	t.Run("a fact is edited, unless it was changed since the page was made", func(t *testing.T) {
		old := fact()
		change(old, "edit", edit...).has(t, http.StatusOK, "The fact is saved.", "Lives in Lisbon.")
		if got := now(); got.GetText() != "Lives in Lisbon." || got.GetSignificance() != 9 || !slices.Equal(got.GetTags(), []string{"home", "city"}) {
			t.Errorf("it is %v", got)
		}
		if again := change(old, "edit", edit...); again.StatusCode < 400 {
			t.Errorf("an edit of what was changed: HTTP %d", again.StatusCode)
		}
		change(fact(), "edit", append(slices.Clone(edit), "significance", "eleven")...).has(t, http.StatusBadRequest, "significance")
		change(fact(), "edit", append(slices.Clone(edit), "significance", "11")...).has(t, http.StatusBadRequest, "significance")
	})
	t.Run("an earlier revision is restored", func(t *testing.T) {
		change(fact(), "restore", "revision", "1").has(t, http.StatusOK, "The fact is restored.")
		if got := now().GetText(); got != learnt.GetText() {
			t.Errorf("it says %q", got)
		}
	})
	t.Run("a fact is deleted", func(t *testing.T) {
		change(fact(), "delete").has(t, http.StatusOK, "The fact is deleted.").hasNot(t, "Porto")
		v.get(t, "/fact", "user", "ada", "fact", learnt.GetFactId()).has(t, http.StatusNotFound)
	})
	transcript := func() seen { return v.get(t, "/transcript", "user", "ada", "session", "s1").has(t, http.StatusOK) }
	message := func(do string) seen {
		from := transcript()
		return v.post(t, from, "/message", "user", "ada", "session", "s1", "message", "m1", "do", do, "next", field(t, from, "next"))
	}
	t.Run("a message is hidden and shown", func(t *testing.T) {
		message("hide").has(t, http.StatusOK, "The message is hidden.", `class="mark">hidden`)
		if !h.Transcript(t, "s1")[0].GetHidden() {
			t.Error("it is not hidden")
		}
		message("show").has(t, http.StatusOK, "shown again").hasNot(t, `class="mark">hidden`)
	})
	t.Run("a message is deleted", func(t *testing.T) {
		message("delete").has(t, http.StatusOK, "The message is deleted.").hasNot(t, "I live in Porto")
		if got := h.Transcript(t, "s1"); len(got) != 1 {
			t.Errorf("%d messages are left", len(got))
		}
	})
	t.Run("what is no action changes nothing", func(t *testing.T) {
		message("burn").has(t, http.StatusBadRequest)
		v.post(t, transcript(), "/jobs", "do", "burn").has(t, http.StatusBadRequest)
		v.post(t, transcript(), "/fact", "do", "burn").has(t, http.StatusBadRequest)
	})
	t.Run("jobs are retried and skipped", func(t *testing.T) {
		jobs := v.get(t, "/jobs", "user", "ada")
		v.post(t, jobs, "/jobs", "do", "retryall", "next", "/console/jobs").has(t, http.StatusOK, "All parked jobs are tried again.")
		for _, do := range []string{"retry", "skip"} { // of a job that there is not: the API's own error
			v.post(t, jobs, "/jobs", "do", do, "user", "ada", "job", "00000000-0000-0000-0000-000000000000").has(t, http.StatusNotFound)
		}
	})
}

func TestParkedJobsInTheConsole(t *testing.T) {
	t.Parallel()
	// parked is a visit to a server whose model refused its key once, with the page of ada's jobs.
	parked := func(t *testing.T) (h *e2e.Server, v visitor, jobs seen) {
		t.Helper()
		var asked atomic.Int32
		h = e2e.Scripted(t, func(llmtest.Request) llmtest.Reply {
			if asked.Add(1) == 1 {
				return llmtest.Fails(http.StatusUnauthorized, llmtest.Failure{Message: "no such key"})
			}
			return e2e.LivesIn("Rome", "I live in Rome")
		})
		h.RecordTurn(t, "s", e2e.User("", "I live in Rome."), e2e.Assistant("", "I see."))
		e2e.Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Timeout: e2e.LongWait}))(t)
		v = visit(t, h)
		return h, v, v.get(t, "/jobs", "user", "ada").has(t, http.StatusOK, "401", "Retry", "Skip")
	}
	extracted := func(t *testing.T, h *e2e.Server) {
		t.Helper()
		req := &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Timeout: e2e.LongWait, Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED}}
		if r := e2e.Must(h.Work().WaitForWatermark(h.Ctx, req))(t); !r.GetReached() {
			t.Fatalf("waited %v", r)
		}
	}
	t.Run("one is tried again, and learns what it could not", func(t *testing.T) {
		h, v, jobs := parked(t)
		v.post(t, jobs, "/jobs", "do", "retry", "user", "ada", "job", field(t, jobs, "job"), "next", "/console/jobs?user=ada").has(t, http.StatusOK)
		extracted(t, h)
		v.get(t, "/facts", "user", "ada").has(t, http.StatusOK, "Lives in Rome")
	})
	t.Run("one is skipped, and the session goes on without it", func(t *testing.T) {
		h, v, jobs := parked(t)
		v.post(t, jobs, "/jobs", "do", "skip", "user", "ada", "job", field(t, jobs, "job"), "next", "/console/jobs?user=ada").
			has(t, http.StatusOK).hasNot(t, "no such key")
		extracted(t, h)
		v.get(t, "/facts", "user", "ada").has(t, http.StatusOK).hasNot(t, "Lives in Rome")
		v.get(t, "/jobs", "user", "ada", "state", "JOB_STATE_SKIPPED").has(t, http.StatusOK, "Extract facts")
	})
	t.Run("only whose role allows it sees the buttons", func(t *testing.T) {
		model := llmtest.New(llmtest.Options{Chat: func(llmtest.Request) llmtest.Reply {
			return llmtest.Fails(http.StatusUnauthorized, llmtest.Failure{Message: "no such key"})
		}})
		t.Cleanup(model.Close)
		h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
			c.Auth, c.BootstrapKey, c.ChatBaseURL, c.ExtractionModel = config.AuthRequired, true, model.URL(), "scripted"
		})
		door, admin := e2e.GRPCDoor{Conn: h.Conn}, h.App.FirstKey()
		e2e.Must(door.Call(h.Ctx, "MemoryService/Record", admin, &memoryv1.RecordRequest{
			UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User("", "I live in Rome."), e2e.Assistant("", "I see.")},
		}))(t)
		e2e.Must(door.Call(h.Ctx, "WorkService/WaitForWatermark", admin, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: "s", Timeout: e2e.LongWait}))(t)
		for _, c := range []struct {
			role    memoryv1.KeyRole
			user    string
			buttons []string
		}{
			{memoryv1.KeyRole_KEY_ROLE_ADMIN, "", []string{"retryall", "retry", "skip"}},
			{memoryv1.KeyRole_KEY_ROLE_OPERATOR, "", []string{"retryall"}},
			{memoryv1.KeyRole_KEY_ROLE_AGENT, "", nil},
			{memoryv1.KeyRole_KEY_ROLE_USER, "ada", nil},
		} {
			created := e2e.Must(door.Call(h.Ctx, "KeyService/CreateKey", admin, &memoryv1.CreateKeyRequest{Role: c.role, UserId: c.user}))(t)
			v := visit(t, h)
			v.login(t, created[0].(*memoryv1.CreateKeyResponse).GetToken())
			page := v.get(t, "/jobs").has(t, http.StatusOK, "HTTP 401")
			for _, button := range []string{"retryall", "retry", "skip"} {
				if shown := strings.Contains(page.page, `value="`+button+`"`); shown != slices.Contains(c.buttons, button) {
					t.Errorf("%s, %s: %t", c.role, button, shown)
				}
			}
		}
	})
	t.Run("a form without its token leaves it parked", func(t *testing.T) {
		h, v, jobs := parked(t)
		form := url.Values{"do": {"skip"}, "user": {"ada"}, "job": {field(t, jobs, "job")}}
		v.do(t, v.form(t, "/jobs", form)).has(t, http.StatusForbidden)
		if left := h.Jobs(t, memoryv1.JobState_JOB_STATE_PARKED); len(left) != 1 {
			t.Errorf("jobs %v", left)
		}
	})
}

func TestTheConsoleBehindKeys(t *testing.T) {
	t.Parallel()
	h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.Auth, c.BootstrapKey = config.AuthRequired, true })
	admin := h.App.FirstKey()
	door := e2e.GRPCDoor{Conn: h.Conn}
	for _, name := range []string{"ada", "bob"} {
		e2e.Must(door.Call(h.Ctx, "MemoryService/Record", admin, &memoryv1.RecordRequest{
			UserId: name, SessionId: "s1", Messages: []*memoryv1.Message{{Id: "m1", Role: memoryv1.Role_ROLE_USER, Text: "canary of " + name}},
		}))(t)
	}
	key := func(role memoryv1.KeyRole, bound string) *memoryv1.CreateKeyResponse {
		replies := e2e.Must(door.Call(h.Ctx, "KeyService/CreateKey", admin, &memoryv1.CreateKeyRequest{Role: role, UserId: bound}))(t)
		return replies[0].(*memoryv1.CreateKeyResponse)
	}
	ofAda := key(memoryv1.KeyRole_KEY_ROLE_USER, "ada")
	t.Run("who has no key is asked for one, and comes back to the page", func(t *testing.T) {
		v := visit(t, h)
		asked := v.get(t, "/transcript", "user", "ada", "session", "s1").has(t, http.StatusOK, `type="password"`)
		asked.hasNot(t, "canary of")
		v.post(t, asked, "/login", "key", ofAda.GetToken(), "next", field(t, asked, "next")).has(t, http.StatusOK, "canary of ada")
	})
	t.Run("a key that is not good opens nothing", func(t *testing.T) {
		for _, token := range []string{"", "strata_nonsense", ofAda.GetToken() + "x", "two words", strings.Repeat("x", 5000)} {
			visit(t, h).login(t, token).has(t, http.StatusUnauthorized, `role="alert"`)
		}
	})
	t.Run("the cookie is out of reach of scripts and other sites, and is no key", func(t *testing.T) {
		v := visit(t, h)
		v.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		set := v.login(t, ofAda.GetToken()).Cookies()
		if len(set) != 1 || !set[0].HttpOnly || set[0].SameSite != http.SameSiteStrictMode || set[0].Secure || set[0].Path != "/console" {
			t.Errorf("%+v", set)
		}
		if strings.Contains(fmt.Sprint(set), ofAda.GetToken()) {
			t.Error("the cookie has the token")
		}
		r := e2e.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(v.base, "/console")+"/v1/users", nil))(t)
		r.AddCookie(set[0])
		if res := v.do(t, r); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("the API takes the cookie: HTTP %d", res.StatusCode)
		}
		proxied := e2e.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, v.base+"/login", nil))(t)
		proxied.Header.Set("X-Forwarded-Proto", "https")
		another := visit(t, h)
		if got := another.do(t, proxied).Cookies(); len(got) != 1 || !got[0].Secure {
			t.Errorf("behind TLS: %+v", got)
		}
	})
	t.Run("a user's key shows that user alone", func(t *testing.T) {
		v := visit(t, h)
		v.login(t, ofAda.GetToken()).has(t, http.StatusOK, "ada").hasNot(t, ">bob<", "/console/metrics")
		v.get(t, "/transcript", "user", "ada", "session", "s1").has(t, http.StatusOK, "canary of ada")
		for _, path := range []string{"/sessions", "/transcript", "/facts", "/summaries", "/context", "/jobs"} {
			v.get(t, path, "user", "bob", "session", "s1").has(t, http.StatusNotFound).hasNot(t, "canary of bob")
		}
		from := v.get(t, "/users")
		for _, path := range []string{"/search", "/context"} {
			v.post(t, from, path, "user", "bob", "session", "s1", "query", "canary").hasNot(t, "canary of bob")
		}
		v.post(t, from, "/message", "user", "bob", "session", "s1", "message", "m1", "do", "delete").has(t, http.StatusNotFound)
		v.post(t, from, "/jobs", "do", "retryall").has(t, http.StatusForbidden)
	})
	t.Run("an operator's key shows the work without ids, and no memory", func(t *testing.T) {
		v := visit(t, h)
		v.login(t, key(memoryv1.KeyRole_KEY_ROLE_OPERATOR, "").GetToken()).has(t, http.StatusOK, "Jobs", "Metrics").hasNot(t, ">ada<", "/console/users")
		for _, path := range []string{"/users", "/sessions", "/transcript", "/facts", "/summaries", "/context"} {
			v.get(t, path, "user", "ada", "session", "s1").has(t, http.StatusForbidden).hasNot(t, "canary")
		}
		v.post(t, v.get(t, "/jobs"), "/jobs", "do", "retryall", "next", "/console/jobs").has(t, http.StatusOK, "tried again")
	})
	t.Run("an admin's key shows every user, and the audit has what was looked at", func(t *testing.T) {
		v := visit(t, h)
		v.login(t, admin).has(t, http.StatusOK, "ada", "bob", "Log out")
		v.get(t, "/transcript", "user", "bob", "session", "s1").has(t, http.StatusOK, "canary of bob")
		e2e.Eventually(t, "the audit has the call", func() bool {
			replies := e2e.Must(door.Call(h.Ctx, "AuditService/ListAuditEntries", admin, &memoryv1.ListAuditEntriesRequest{UserId: "bob"}))(t)
			return slices.ContainsFunc(replies[0].(*memoryv1.ListAuditEntriesResponse).GetEntries(), func(e *memoryv1.AuditEntry) bool {
				return strings.HasSuffix(e.GetCall(), "ListMessages")
			})
		})
	})
	t.Run("what the server counted is shown to who sees to all of it", func(t *testing.T) {
		elsewhere := e2e.Must(door.Call(h.Ctx, "KeyService/CreateKey", admin, &memoryv1.CreateKeyRequest{Role: memoryv1.KeyRole_KEY_ROLE_ADMIN, Tenant: "acme"}))(t)
		for what, c := range map[string]struct {
			token string
			code  int
		}{
			"an admin": {admin, http.StatusOK}, "an operator": {key(memoryv1.KeyRole_KEY_ROLE_OPERATOR, "").GetToken(), http.StatusOK},
			"an agent": {key(memoryv1.KeyRole_KEY_ROLE_AGENT, "").GetToken(), http.StatusForbidden}, "a user": {ofAda.GetToken(), http.StatusForbidden},
			"an admin of another tenant": {elsewhere[0].(*memoryv1.CreateKeyResponse).GetToken(), http.StatusForbidden},
		} {
			v := visit(t, h)
			v.login(t, c.token)
			got := v.get(t, "/metrics", "live", "yes")
			if shown := strings.Contains(got.page, "KeyService/CreateKey"); got.StatusCode != c.code || shown != (c.code == http.StatusOK) {
				t.Errorf("%s: HTTP %d, %t", what, got.StatusCode, shown)
			}
		}
		visit(t, h).get(t, "/metrics").has(t, http.StatusOK, `type="password"`)
	})
	t.Run("after a logout the cookie of before opens nothing", func(t *testing.T) {
		v, thief := visit(t, h), visit(t, h)
		v.login(t, ofAda.GetToken())
		thief.Jar.SetCookies(e2e.Must(url.Parse(v.base+"/"))(t), v.Jar.Cookies(e2e.Must(url.Parse(v.base))(t)))
		thief.get(t, "/transcript", "user", "ada", "session", "s1").has(t, http.StatusOK, "canary of ada")
		v.post(t, v.get(t, "/users"), "/logout").has(t, http.StatusOK, `type="password"`)
		thief.get(t, "/transcript", "user", "ada", "session", "s1").has(t, http.StatusOK, `type="password"`).hasNot(t, "canary of ada")
	})
	t.Run("a session ends with its key", func(t *testing.T) {
		v := visit(t, h)
		v.login(t, ofAda.GetToken()).has(t, http.StatusOK, "ada")
		e2e.Must(door.Call(h.Ctx, "KeyService/RevokeKey", admin, &memoryv1.RevokeKeyRequest{KeyId: ofAda.GetKey().GetKeyId()}))(t)
		v.get(t, "/users").has(t, http.StatusOK, `type="password"`).hasNot(t, ">ada<")
	})
}

func TestTheConsoleCanBeOff(t *testing.T) {
	t.Parallel()
	h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.Console = false })
	visit(t, h).get(t, "/users").has(t, http.StatusNotFound)
}
