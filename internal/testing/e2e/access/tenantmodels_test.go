package access_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory/secret"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// listener is a model that keeps all that it is told.
type listener struct {
	*llmtest.Server
	down atomic.Bool // it replies 503

	mu   sync.Mutex
	told strings.Builder
}

func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{}
	l.Server = llmtest.New(llmtest.Options{Chat: func(r llmtest.Request) llmtest.Reply {
		l.mu.Lock()
		l.told.WriteString(r.System + r.User + "\n")
		l.mu.Unlock()
		if l.down.Load() {
			return llmtest.Fails(http.StatusServiceUnavailable, llmtest.Failure{})
		}
		return e2e.Indiscreet(r)
	}})
	t.Cleanup(l.Close)
	return l
}

// heard reports whether the model was told the word.
func (l *listener) heard(word string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.told.String(), word)
}

// lastKey is the key of the last call.
func (l *listener) lastKey() string {
	calls := l.Calls()
	if len(calls) == 0 {
		return ""
	}
	return calls[len(calls)-1].Key
}

// asks gives a tenant models, or the server's where they are nil.
func (d *desk) asks(tenant string, models *memoryv1.TenantModels) {
	d.t.Helper()
	d.ask("TenantService/UpdateTenant", &memoryv1.UpdateTenantRequest{
		Tenant: &memoryv1.Tenant{Tenant: tenant, Models: models}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"models"}},
	}, &memoryv1.UpdateTenantResponse{})
}

// says has somebody of a tenant say something in a session that is summarised and learnt from.
func (d *desk) says(token, session, word string) {
	d.t.Helper()
	req := &memoryv1.RecordRequest{UserId: "ada", SessionId: session}
	for range 6 {
		req.Messages = append(req.Messages, e2e.User("", "I like "+word+" more than anything else."), e2e.Assistant("", "That is good to know."))
	}
	d.as(token, "MemoryService/Record", req, &memoryv1.RecordResponse{})
}

// as calls with a token.
func (d *desk) as(token, method string, req, into proto.Message) {
	d.t.Helper()
	replies, err := d.Call(d.t.Context(), method, token, req)
	if err != nil {
		d.t.Fatalf("%s: %v", method, err)
	}
	proto.Merge(into, replies[0])
}

// worked waits until the session's messages are summarised and learnt from.
func (d *desk) worked(token, session string) {
	d.t.Helper()
	d.as(token, "SummaryService/Summarize", &memoryv1.SummarizeRequest{UserId: "ada", SessionId: session}, &memoryv1.SummarizeResponse{})
	for _, of := range []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_SUMMARISED, memoryv1.Watermark_WATERMARK_EXTRACTED} {
		out := &memoryv1.WaitForWatermarkResponse{}
		d.as(token, "WorkService/WaitForWatermark", &memoryv1.WaitForWatermarkRequest{
			UserId: "ada", SessionId: session, Of: []memoryv1.Watermark{of}, Timeout: e2e.LongWait,
		}, out)
		if !out.GetReached() {
			d.t.Fatalf("%s: %v was not reached: %v", session, of, out)
		}
	}
}

func writeKey(t *testing.T, path, key string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func hostOf(l *listener) string {
	return strings.TrimSuffix(strings.TrimPrefix(l.URL(), "http://"), "/v1")
}

// TestTenantsHaveModelsOfTheirOwn: what a tenant's users say gets to the tenant's endpoint alone.
func TestTenantsHaveModelsOfTheirOwn(t *testing.T) {
	t.Parallel()
	server, acmes, betas := listen(t), listen(t), listen(t)
	keys := t.TempDir()
	writeKey(t, filepath.Join(keys, "acme"), "key-of-acme")
	d, h := openDesk(t, appOptions{change: func(c *config.Config) {
		c.ChatBaseURL, c.SummaryModel, c.ExtractionModel, c.ChatAPIKey = server.URL(), "scripted", "scripted", secret.New("key-of-the-server")
		c.TenantHosts, c.TenantKeys = config.Names(hostOf(acmes)+","+hostOf(betas)), keys
	}})
	own := func(l *listener, key string) *memoryv1.TenantModels {
		return &memoryv1.TenantModels{ChatBaseUrl: l.URL(), ChatKey: key, SummaryModel: "small", ExtractionModel: "small"}
	}
	d.asks("acme", own(acmes, "acme"))
	d.asks("beta", own(betas, ""))
	agent := map[string]string{}
	for _, tenant := range []string{"acme", "beta", "plain"} {
		_, agent[tenant] = d.key(&memoryv1.CreateKeyRequest{Tenant: tenant, Role: keyRole("agent")})
	}
	all := map[string]*listener{"acme": acmes, "beta": betas, "plain": server}
	alone := func(t *testing.T, tenant, word string) {
		t.Helper()
		for of, l := range all {
			if l.heard(word) != (of == tenant) {
				t.Errorf("what a user of %s said was heard by the model of %s: %t", tenant, of, l.heard(word))
			}
		}
	}
	t.Run("background work asks the tenant's models alone, with the tenant's key, and is paid by the tenant", func(t *testing.T) {
		for tenant, token := range agent {
			d.says(token, "background", "canary"+tenant)
		}
		for tenant, token := range agent {
			d.worked(token, "background")
			alone(t, tenant, "canary"+tenant)
			if used := d.tenant(tenant).GetUsage().GetModelTokensToday(); used == 0 {
				t.Errorf("%s used no tokens", tenant)
			}
		}
		for tenant, want := range map[string]string{"acme": "Bearer key-of-acme", "beta": "", "plain": "Bearer key-of-the-server"} {
			if got := all[tenant].lastKey(); got != want {
				t.Errorf("the model of %s was given the key %q, want %q", tenant, got, want)
			}
		}
		for tenant, token := range agent {
			out := &memoryv1.ListFactsResponse{}
			d.as(token, "FactService/ListFacts", &memoryv1.ListFactsRequest{UserId: "ada"}, out)
			if len(out.GetFacts()) == 0 {
				t.Errorf("%s learnt nothing", tenant)
			}
		}
	})
	t.Run("a context policy asks the tenant's model", func(t *testing.T) {
		for tenant, token := range agent {
			req := &memoryv1.CompactRequest{Policy: e2e.Whole(11, 4)}
			for range 20 {
				req.Messages = append(req.Messages, e2e.User("", "I like compact"+tenant+" a lot, "+strings.Repeat("and more so, ", 40)), e2e.Assistant("", "Good."))
			}
			d.as(token, "HistoryService/Compact", req, &memoryv1.CompactResponse{})
			alone(t, tenant, "compact"+tenant)
		}
	})
	t.Run("a key that changed is sent at once", func(t *testing.T) {
		writeKey(t, filepath.Join(keys, "acme"), "another-key")
		d.says(agent["acme"], "rotated", "canaryrotated")
		d.worked(agent["acme"], "rotated")
		alone(t, "acme", "canaryrotated")
		if got := acmes.lastKey(); got != "Bearer another-key" {
			t.Errorf("the key is %q", got)
		}
	})
	t.Run("models that changed are asked without a restart", func(t *testing.T) {
		d.asks("acme", nil)
		d.says(agent["acme"], "moved", "canarymoved")
		d.worked(agent["acme"], "moved")
		alone(t, "plain", "canarymoved")
		d.asks("acme", own(acmes, "acme"))
		d.says(agent["acme"], "back", "canaryback")
		d.worked(agent["acme"], "back")
		alone(t, "acme", "canaryback")
	})
	t.Run("an endpoint that fails holds up its own tenant alone, and nothing of it is lost", func(t *testing.T) {
		acmes.down.Store(true)
		d.says(agent["acme"], "down", "canarydown")
		e2e.Eventually(t, "the endpoint is asked", func() bool { return acmes.heard("canarydown") })
		for _, tenant := range []string{"beta", "plain"} {
			d.says(agent[tenant], "beside", "beside"+tenant)
			d.worked(agent[tenant], "beside")
			alone(t, tenant, "beside"+tenant)
		}
		acmes.down.Store(false)
		d.worked(agent["acme"], "down")
		alone(t, "acme", "canarydown")
	})
	t.Run("a key that is gone keeps the tenant's words here", func(t *testing.T) {
		if err := os.Remove(filepath.Join(keys, "acme")); err != nil {
			t.Fatal(err)
		}
		d.says(agent["acme"], "keyless", "canarykeyless")
		admin := adminOf(d, "acme")
		e2e.Eventually(t, "the work is parked", func() bool {
			out := &memoryv1.ListJobsResponse{}
			d.as(admin, "WorkService/ListJobs", &memoryv1.ListJobsRequest{States: []memoryv1.JobState{memoryv1.JobState_JOB_STATE_PARKED}}, out)
			return len(out.GetJobs()) > 0
		})
		for of, l := range all {
			if l.heard("canarykeyless") {
				t.Errorf("the model of %s heard it", of)
			}
		}
	})
	log := h.Log.String()
	for _, secret := range []string{"key-of-acme", "another-key", "key-of-the-server", "canary"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
}

func adminOf(d *desk, tenant string) string {
	d.t.Helper()
	_, token := d.key(&memoryv1.CreateKeyRequest{Tenant: tenant, Role: keyRole("admin")})
	return token
}

func TestModelsOfTenantsAreCheckedWhenTheyAreSet(t *testing.T) {
	t.Parallel()
	server, acmes := listen(t), listen(t)
	keys := t.TempDir()
	writeKey(t, filepath.Join(keys, "acme"), "key-of-acme")
	writeKey(t, filepath.Join(keys, "empty"), "")
	writeKey(t, filepath.Join(filepath.Dir(keys), "outside"), "key-outside")
	if err := os.Symlink("../outside", filepath.Join(keys, "link")); err != nil {
		t.Fatal(err)
	}
	d, _ := openDesk(t, appOptions{change: func(c *config.Config) {
		c.ChatBaseURL, c.SummaryModel, c.ExtractionModel = server.URL(), "scripted", "scripted"
		c.TenantHosts, c.TenantKeys = config.Names(hostOf(acmes)), keys
		c.Prices = map[string]config.Price{"scripted": {Input: 1}}
	}})
	good := &memoryv1.TenantModels{ChatBaseUrl: acmes.URL(), ChatKey: "acme", SummaryModel: "small", ExtractionModel: "builtin"}
	update := func(token string, m *memoryv1.TenantModels, l *memoryv1.TenantLimits) error {
		_, err := d.Call(t.Context(), "TenantService/UpdateTenant", token, &memoryv1.UpdateTenantRequest{
			Tenant: &memoryv1.Tenant{Tenant: "acme", Models: m, Limits: l},
		})
		return err
	}
	for name, c := range map[string]struct {
		field  string
		change func(*memoryv1.TenantModels)
	}{
		"a host that is not allowed":            {"chat_base_url", func(m *memoryv1.TenantModels) { m.ChatBaseUrl = "http://169.254.169.254/latest" }},
		"another port of a host that is":        {"chat_base_url", func(m *memoryv1.TenantModels) { m.ChatBaseUrl = "http://127.0.0.1:1/v1" }},
		"a host that hides behind a user":       {"chat_base_url", func(m *memoryv1.TenantModels) { m.ChatBaseUrl = "http://" + hostOf(acmes) + "@10.0.0.1/" }},
		"no URL":                                {"chat_base_url", func(m *memoryv1.TenantModels) { m.ChatBaseUrl = "file:///etc/passwd" }},
		"a URL that is too long":                {"chat_base_url", func(m *memoryv1.TenantModels) { m.ChatBaseUrl += strings.Repeat("/", 1024) }},
		"a key outside of the folder":           {"chat_key", func(m *memoryv1.TenantModels) { m.ChatKey = "../outside" }},
		"a key by a link out of it":             {"chat_key", func(m *memoryv1.TenantModels) { m.ChatKey = "link" }},
		"the folder itself":                     {"chat_key", func(m *memoryv1.TenantModels) { m.ChatKey = "." }},
		"a key that is not there":               {"chat_key", func(m *memoryv1.TenantModels) { m.ChatKey = "other" }},
		"a file without a key":                  {"chat_key", func(m *memoryv1.TenantModels) { m.ChatKey = "empty" }},
		"no model for summaries":                {"summary_model", func(m *memoryv1.TenantModels) { m.SummaryModel = "" }},
		"no model for facts":                    {"extraction_model", func(m *memoryv1.TenantModels) { m.ExtractionModel = "" }},
		"a model whose name is not printable":   {"summary_model", func(m *memoryv1.TenantModels) { m.SummaryModel = "a\x00b" }},
		"a key whose name is a path on Windows": {"chat_key", func(m *memoryv1.TenantModels) { m.ChatKey = `..\outside` }},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			m := proto.CloneOf(good)
			c.change(m)
			err := update(d.admin, m, nil)
			e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "tenant.models."+c.field)
			if strings.Contains(err.Error(), "key-outside") || strings.Contains(err.Error(), keys) {
				t.Errorf("the error says too much: %v", err)
			}
			if set := d.tenant("acme").GetTenant().GetModels(); set != nil {
				t.Errorf("the tenant has %v", set)
			}
		})
	}
	t.Run("a tenant's admins may not set them, and see their names without the key", func(t *testing.T) {
		admin := adminOf(d, "acme")
		e2e.Refused(t, update(admin, good, nil), codes.PermissionDenied, "ROLE_DENIED", "")
		if err := update(d.admin, good, nil); err != nil {
			t.Fatal(err)
		}
		out := &memoryv1.GetTenantResponse{}
		d.as(admin, "TenantService/GetTenant", &memoryv1.GetTenantRequest{}, out)
		if !proto.Equal(out.GetTenant().GetModels(), good) || strings.Contains(e2e.Encode(t, out), "key-of-acme") {
			t.Errorf("the tenant is %v", out)
		}
	})
	t.Run("a limit on costs and a model without a price refuse each other", func(t *testing.T) {
		ten := 10.0
		e2e.Refused(t, update(d.admin, nil, &memoryv1.TenantLimits{TenantCostPerDay: &ten}), codes.InvalidArgument, "FIELD_INVALID",
			"tenant.limits.tenant_cost_per_day")
		d.asks("acme", nil)
		if err := update(d.admin, nil, &memoryv1.TenantLimits{TenantCostPerDay: &ten}); err != nil {
			t.Fatal(err)
		}
		e2e.Refused(t, update(d.admin, good, nil), codes.InvalidArgument, "FIELD_INVALID", "tenant.models")
	})
}

func TestASuspendedTenantsWorkRests(t *testing.T) {
	t.Parallel()
	model := listen(t)
	d, _ := openDesk(t, appOptions{change: func(c *config.Config) {
		c.ChatBaseURL, c.SummaryModel, c.ExtractionModel = model.URL(), "scripted", "scripted"
	}})
	_, acme := d.key(&memoryv1.CreateKeyRequest{Tenant: "acme", Role: keyRole("agent")})
	_, beta := d.key(&memoryv1.CreateKeyRequest{Tenant: "beta", Role: keyRole("agent")})
	d.says(acme, "s", "canaryacme")
	d.worked(acme, "s")
	model.down.Store(true) // so that work is left
	d.says(acme, "left", "canaryleft")
	e2e.Eventually(t, "the work is tried", func() bool { return model.heard("canaryleft") })
	d.ask("TenantService/SuspendTenant", &memoryv1.SuspendTenantRequest{Tenant: "acme"}, &memoryv1.SuspendTenantResponse{})
	model.down.Store(false)
	d.says(beta, "s", "canarybeta")
	d.worked(beta, "s") // the endpoint answers others
	before := model.Count(llm.OpExtract)
	d.says(beta, "t", "canarymore")
	d.worked(beta, "t")
	if after := model.Count(llm.OpExtract); after == before {
		t.Error("nothing was asked for the other tenant")
	}
	d.ask("TenantService/ResumeTenant", &memoryv1.ResumeTenantRequest{Tenant: "acme"}, &memoryv1.ResumeTenantResponse{})
	d.worked(acme, "left")
}
