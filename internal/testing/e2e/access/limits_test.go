package access_test

import (
	"cmp"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// limited checks that a limit refused a call, which is told its name and when to come again.
func limited(t *testing.T, err error, limit string) {
	t.Helper()
	e2e.Refused(t, err, codes.ResourceExhausted, "LIMIT_EXCEEDED", "")
	named, again := "", false
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			named = d.GetMetadata()["limit"]
		case *errdetails.RetryInfo:
			again = d.GetRetryDelay().AsDuration() > 0
		}
	}
	if named != limit || !again {
		t.Errorf("it names the limit %q and a time to retry %t, want %s: %v", named, again, limit, err)
	}
}

// set gives a tenant limits.
func (d *desk) set(tenant string, l *memoryv1.TenantLimits) {
	d.t.Helper()
	d.ask("TenantService/UpdateTenant", &memoryv1.UpdateTenantRequest{Tenant: &memoryv1.Tenant{Tenant: tenant, Limits: l}},
		&memoryv1.UpdateTenantResponse{})
}

func (d *desk) tenant(id string) *memoryv1.GetTenantResponse {
	d.t.Helper()
	out := &memoryv1.GetTenantResponse{}
	d.ask("TenantService/GetTenant", &memoryv1.GetTenantRequest{Tenant: id}, out)
	return out
}

func TestLimitsOfCalls(t *testing.T) {
	d, h := openDesk(t, appOptions{})
	agent := func(tenant string) string {
		_, token := d.key(&memoryv1.CreateKeyRequest{Tenant: tenant, Role: keyRole("agent")})
		return token
	}
	for i, e := range h.Entrances() {
		t.Run("what comes faster than the limits of key, user and tenant is refused by "+e.Name+", and nothing of another tenant", func(t *testing.T) {
			door := accessDoor(e2e.GRPCDoor{Conn: h.Conn})
			if i > 0 {
				door = httpDoor{e2e.GRPCDoor{Conn: h.Conn}, e}
			}
			call := func(token, user string) error {
				_, err := door.Call(t.Context(), "UserService/GetUser", token, &memoryv1.GetUserRequest{UserId: user})
				if status.Code(err) == codes.NotFound {
					return nil
				}
				return err
			}
			acme, other := "acme by "+e.Name, "other by "+e.Name
			first, second := agent(acme), agent(acme)
			beside := agent(other)
			twice := func(limit, token, user string) {
				t.Helper()
				if err := call(token, user); err != nil {
					t.Fatal(err)
				}
				limited(t, call(token, user), limit)
			}
			slow := 1e-6 // one, and then none for days
			d.set(acme, &memoryv1.TenantLimits{KeyRequestsPerSecond: &slow})
			twice("key-requests-per-second", first, "ada")
			if err := call(second, "ada"); err != nil {
				t.Errorf("with another key: %v", err)
			}
			none := 0.0
			d.set(acme, &memoryv1.TenantLimits{KeyRequestsPerSecond: &none, UserRequestsPerSecond: &slow})
			twice("user-requests-per-second", first, "ada")
			if err := call(first, "bob"); err != nil {
				t.Errorf("about another user: %v", err)
			}
			d.set(acme, &memoryv1.TenantLimits{UserRequestsPerSecond: &none, TenantRequestsPerSecond: &slow})
			twice("tenant-requests-per-second", first, "carol")
			limited(t, call(second, "dave"), "tenant-requests-per-second")
			if err := call(beside, "ada"); err != nil {
				t.Errorf("the other tenant: %v", err)
			}
		})
	}
	t.Run("bytes are counted, and one request of any size is let through", func(t *testing.T) {
		token, few := agent("bytes"), 1.0
		d.set("bytes", &memoryv1.TenantLimits{TenantBytesPerSecond: &few})
		count := func() error {
			_, err := d.Call(t.Context(), "HistoryService/CountTokens", token, &memoryv1.CountTokensRequest{
				Texts: []string{strings.Repeat("word ", 100_000)},
			})
			return err
		}
		for i := range 20 {
			if err := count(); err != nil {
				limited(t, err, "tenant-bytes-per-second")
				if i < 16 {
					t.Errorf("refused after %d times half a megabyte, want 8 MiB", i)
				}
				return
			}
		}
		t.Error("ten megabytes were let through at once")
	})
	t.Run("REST says 429 and Retry-After in seconds", func(t *testing.T) {
		token, slow := agent("rest"), 1e-3
		d.set("rest", &memoryv1.TenantLimits{TenantRequestsPerSecond: &slow})
		for _, want := range []struct {
			status          int
			soonest, latest int // seconds; less than 1,000 by what the calls took
		}{{http.StatusOK, 0, 0}, {http.StatusTooManyRequests, 400, 1000}} {
			req := e2e.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.Conn.Target()+"/v1/users", nil))(t)
			req.Header.Set("Authorization", "Bearer "+token)
			resp := e2e.Must(http.DefaultTransport.RoundTrip(req))(t) //nolint:bodyclose // it is, below
			resp.Body.Close()
			after, err := strconv.Atoi(cmp.Or(resp.Header.Get("Retry-After"), "0"))
			if resp.StatusCode != want.status || err != nil || after < want.soonest || after > want.latest {
				t.Errorf("status %d, Retry-After %q, want %d, %d to %d", resp.StatusCode, resp.Header.Get("Retry-After"), want.status, want.soonest, want.latest)
			}
		}
	})
}

func TestTenantSettings(t *testing.T) {
	d, _ := openDesk(t, appOptions{})
	_, own := d.key(&memoryv1.CreateKeyRequest{Tenant: "acme", Role: keyRole("admin")})
	t.Run("an admin of a tenant reads its limits and usage, and no other's", func(t *testing.T) {
		if _, err := d.Call(t.Context(), "TenantService/GetTenant", own, &memoryv1.GetTenantRequest{}); err != nil {
			t.Error(err)
		}
		_, err := d.Call(t.Context(), "TenantService/GetTenant", own, &memoryv1.GetTenantRequest{Tenant: "default"})
		e2e.Refused(t, err, codes.PermissionDenied, "ROLE_DENIED", "")
		_, err = d.Call(t.Context(), "TenantService/UpdateTenant", own, &memoryv1.UpdateTenantRequest{Tenant: &memoryv1.Tenant{Tenant: "acme"}})
		e2e.Refused(t, err, codes.PermissionDenied, "ROLE_DENIED", "")
	})
	t.Run("what a limit cannot be is refused by its field", func(t *testing.T) {
		for field, value := range map[string]float64{"tenant_messages": .5, "tenant_cost_per_day": -1, "user_requests_per_second": 2e12} {
			l := &memoryv1.TenantLimits{}
			f := l.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(field))
			l.ProtoReflect().Set(f, protoreflect.ValueOfFloat64(value))
			_, err := d.Call(t.Context(), "TenantService/UpdateTenant", d.admin, &memoryv1.UpdateTenantRequest{
				Tenant: &memoryv1.Tenant{Tenant: "acme", Limits: l},
			})
			e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "tenant.limits."+field)
		}
		_, err := d.Call(t.Context(), "TenantService/UpdateTenant", d.admin, &memoryv1.UpdateTenantRequest{
			Tenant: &memoryv1.Tenant{Tenant: "acme", DefaultProfile: "nope"},
		})
		e2e.Refused(t, err, codes.InvalidArgument, "PROFILE_UNKNOWN", "")
	})
	t.Run("sessions that name no profile begin with the tenant's", func(t *testing.T) {
		d.ask("TenantService/UpdateTenant", &memoryv1.UpdateTenantRequest{
			Tenant: &memoryv1.Tenant{Tenant: "acme", DefaultProfile: config.AgentProfile},
		}, &memoryv1.UpdateTenantResponse{})
		for session, profile := range map[string]string{"named": config.ChatProfile, "unnamed": ""} {
			record := &memoryv1.RecordRequest{
				UserId: "ada", SessionId: session, Profile: profile, RequestId: "r",
				Messages: []*memoryv1.Message{{Role: memoryv1.Role_ROLE_USER, Text: "hello"}},
			}
			for range 2 { // a repeat is one, whatever the tenant's profile was
				if _, err := d.Call(t.Context(), "MemoryService/Record", own, record); err != nil {
					t.Fatal(err)
				}
			}
			replies, err := d.Call(t.Context(), "MemoryService/GetSession", own, &memoryv1.GetSessionRequest{UserId: "ada", SessionId: session})
			want := config.AgentProfile
			if profile != "" {
				want = profile
			}
			if err != nil || replies[0].(*memoryv1.GetSessionResponse).GetSession().GetProfile() != want {
				t.Errorf("%s: %v, error %v, want the profile %s", session, replies, err, want)
			}
		}
	})
}

func TestLimitsOfMessages(t *testing.T) {
	d, _ := openDesk(t, appOptions{})
	_, token := d.key(&memoryv1.CreateKeyRequest{Tenant: "acme", Role: keyRole("admin")})
	five, eight := 5.0, 8.0
	d.set("acme", &memoryv1.TenantLimits{UserMessages: &five, TenantMessages: &eight})
	record := func(user, request string, n int) error {
		req := &memoryv1.RecordRequest{UserId: user, SessionId: "s", RequestId: request}
		for i := range n {
			req.Messages = append(req.Messages, &memoryv1.Message{
				Id: fmt.Sprintf("%s-%d", request, i), Role: memoryv1.Role_ROLE_USER, Text: "words",
			})
		}
		_, err := d.Call(t.Context(), "MemoryService/Record", token, req)
		return err
	}
	good := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	good(record("ada", "a", 3))
	limited(t, record("ada", "b", 3), "user-messages")
	good(record("ada", "c", 2))
	good(record("ada", "a", 3)) // a repeat is told what the first one was
	good(record("bob", "a", 3))
	limited(t, record("bob", "b", 1), "tenant-messages")
	if n := d.tenant("acme").GetUsage().GetMessages(); n != 8 {
		t.Errorf("%d messages are counted, want 8: what was refused stored nothing", n)
	}
	_, err := d.Call(t.Context(), "UserService/EraseUser", token, &memoryv1.EraseUserRequest{UserId: "ada"})
	good(err)
	e2e.Eventually(t, "room after an erasure", func() bool { return record("bob", "d", 1) == nil })
}

// TestLimitsOfMoney is about a tenant whose models cost more than they may.
func TestLimitsOfMoney(t *testing.T) {
	m := &e2e.Moody{}
	server := llmtest.New(llmtest.Options{Chat: m.Answer})
	t.Cleanup(server.Close)
	data := filepath.Join(t.TempDir(), "strata.db")
	open := func() (*desk, *e2e.Server) {
		h := e2e.StartOn(t, data, func(c *config.Config) {
			c.ChatBaseURL, c.SummaryModel, c.ExtractionModel = server.URL(), "scripted", "scripted"
			c.Prices = map[string]config.Price{"scripted": {Input: 1000, Output: 1000}}
			c.MetricsListen = "127.0.0.1:0"
		})
		return &desk{e2e.GRPCDoor{Conn: h.Conn}, t, ""}, h
	}
	d, h := open()
	h.Learn(t, "s", "I like parrots")
	cost := d.tenant("default").GetUsage().GetCostThisMonth()
	if cost == 0 || d.tenant("default").GetUsage().GetModelTokensToday() == 0 {
		t.Fatalf("what the model cost is not counted: %v", d.tenant("default"))
	}
	d.set("default", &memoryv1.TenantLimits{TenantCostPerMonth: &cost})
	h.Stop()
	d, h = open()
	if got := d.tenant("default").GetUsage().GetCostThisMonth(); got != cost {
		t.Errorf("after a restart the cost is %v, was %v", got, cost)
	}
	t.Run("its calls that need a model are refused, others are answered", func(t *testing.T) {
		var messages []*memoryv1.Message
		for i := range 60 {
			messages = append(messages, &memoryv1.Message{Role: memoryv1.Role(2 + i%2), Text: strings.Repeat(fmt.Sprintf("word %d ", i), 40)})
		}
		_, err := h.History.Compact(h.Ctx, &memoryv1.CompactRequest{Messages: messages, Profile: config.ChatProfile})
		limited(t, err, "tenant-cost-per-month")
		record := &memoryv1.RecordRequest{UserId: "ada", SessionId: "poor", Messages: []*memoryv1.Message{
			{Role: memoryv1.Role_ROLE_USER, Text: "I like storms"}, {Role: memoryv1.Role_ROLE_ASSISTANT, Text: "Good."},
		}}
		e2e.Must(h.Record(h.Ctx, record))(t)
		e2e.Must(h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "poor", Query: "storms"}))(t)
		_, err = memoryv1.NewSummaryServiceClient(h.Conn).Summarize(h.Ctx, &memoryv1.SummarizeRequest{UserId: "ada", SessionId: "poor"})
		limited(t, err, "tenant-cost-per-month")
	})
	jobs := func() []*memoryv1.Job {
		return e2e.Must(memoryv1.NewWorkServiceClient(h.Conn).ListJobs(h.Ctx, &memoryv1.ListJobsRequest{
			UserId: "ada", States: []memoryv1.JobState{memoryv1.JobState_JOB_STATE_OPEN},
		}))(t).GetJobs()
	}
	t.Run("its background work waits, and says for what", func(t *testing.T) {
		e2e.Eventually(t, "a job that says what it waits for", func() bool {
			for _, j := range jobs() {
				if strings.Contains(j.GetReason(), "over_budget (tenant-cost-per-month)") {
					return true
				}
			}
			return false
		})
		e2e.Eventually(t, "the metric counts what was refused", func() bool {
			return h.Sample(t, `strata_limits_refused_total{limit="tenant-cost-per-month",tenant="default"}`) > 0
		})
	})
}

// erasableTenant makes a tenant with two users, keys and settings, and returns a key of an admin.
func (d *desk) erasableTenant(tenant string) (token string) {
	d.t.Helper()
	_, token = d.key(&memoryv1.CreateKeyRequest{Tenant: tenant, Role: keyRole("admin")})
	for _, name := range []string{"ada", "bob"} {
		req := &memoryv1.RecordRequest{UserId: name, SessionId: "s", Messages: []*memoryv1.Message{e2e.User("", "I keep a parrot"), e2e.Assistant("", "Good.")}}
		if _, err := d.Call(d.t.Context(), "MemoryService/Record", token, req); err != nil {
			d.t.Fatal(err)
		}
	}
	many := 1e6
	d.set(tenant, &memoryv1.TenantLimits{TenantMessages: &many})
	return token
}

func TestEraseTenant(t *testing.T) {
	t.Parallel() // it waits for a RequestTimeout
	// An erasure begins when no call that was let in before it can still write: after a RequestTimeout, which is minutes in other tests.
	h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
		c.Auth, c.BootstrapKey, c.RequestTimeout = config.AuthRequired, true, 10*time.Second
	})
	d := &desk{e2e.GRPCDoor{Conn: h.Conn}, t, h.App.FirstKey()}
	testEraseTenant(t, d)
	t.Run("the server's own tenant cannot be erased", func(t *testing.T) {
		_, err := d.Call(t.Context(), "TenantService/EraseTenant", d.admin, &memoryv1.EraseTenantRequest{Tenant: "default"})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "tenant")
	})
}

func TestEraseTenantOnBackends(t *testing.T) {
	soon := app.Options{Sweep: 200 * time.Millisecond, LateWrites: 3 * time.Second} // nothing is late for longer, and the erasure is waited for
	r := e2e.OnCorner(t, e2e.NewCorner(t), soon, func(c *config.Config) {
		c.Auth, c.BootstrapKey, c.RequestTimeout = config.AuthRequired, true, 10*time.Second
	})
	testEraseTenant(t, &desk{e2e.GRPCDoor{Conn: r.Conn}, t, r.App.FirstKey()})
}

func testEraseTenant(t *testing.T, d *desk) {
	acme, other := d.erasableTenant("acme"), d.erasableTenant("other")
	erase := func(req *memoryv1.EraseTenantRequest) *memoryv1.EraseTenantResponse {
		t.Helper()
		out := &memoryv1.EraseTenantResponse{}
		d.ask("TenantService/EraseTenant", req, out)
		return out
	}
	would := erase(&memoryv1.EraseTenantRequest{Tenant: "acme", ValidateOnly: true})
	if x := would.GetExtent(); x.GetUsers() != 2 || x.GetMessages() != 4 || x.GetKeys() != 1 || would.GetTenant() != nil {
		t.Errorf("it would erase %v, want two users, four messages and a key", would)
	}
	users := func(token string) (int, error) {
		replies, err := d.Call(t.Context(), "UserService/ListUsers", token, &memoryv1.ListUsersRequest{})
		if err != nil {
			return 0, err
		}
		return len(replies[0].(*memoryv1.ListUsersResponse).GetUsers()), nil
	}
	if n, err := users(acme); n != 2 || err != nil {
		t.Fatalf("after looking it has %d users, error %v", n, err)
	}
	erase(&memoryv1.EraseTenantRequest{Tenant: "acme"})
	_, err := users(acme)
	e2e.Refused(t, err, codes.Unauthenticated, "UNAUTHENTICATED", "")
	for _, call := range []struct {
		method string
		req    proto.Message
	}{
		{"TenantService/ResumeTenant", &memoryv1.ResumeTenantRequest{Tenant: "acme"}},
		{"KeyService/CreateKey", &memoryv1.CreateKeyRequest{Tenant: "acme", Role: keyRole("agent")}},
	} {
		_, err := d.Call(t.Context(), call.method, d.admin, call.req)
		e2e.Refused(t, err, codes.FailedPrecondition, "TENANT_ERASED", "")
	}
	var receipt *memoryv1.TenantErasure
	e2e.Eventually(t, "the end of the erasure", func() bool {
		receipt = erase(&memoryv1.EraseTenantRequest{Tenant: "acme", Wait: durationpb.New(2 * time.Second)}).GetTenant().GetErasure()
		return receipt.GetDoneTime() != nil
	})
	deleted := int64(0)
	for _, s := range receipt.GetStores() {
		deleted += s.GetDeleted()
		if s.GetRemaining() != 0 {
			t.Errorf("%v is left", s)
		}
	}
	if receipt.GetUsers() != 2 || deleted == 0 {
		t.Errorf("the receipt is %v, want two users and what was deleted of them", receipt)
	}
	got := d.tenant("acme")
	if got.GetTenant().GetLimits() != nil || got.GetUsage().GetMessages() != 0 || got.GetTenant().GetSuspendTime() == nil {
		t.Errorf("the tenant is %v, want it suspended, without settings and messages", got)
	}
	keys := &memoryv1.ListKeysResponse{}
	d.ask("KeyService/ListKeys", &memoryv1.ListKeysRequest{Tenant: "acme"}, keys)
	if len(keys.GetKeys()) != 0 {
		t.Errorf("it has keys: %v", keys)
	}
	if n, err := users(other); n != 2 || err != nil {
		t.Errorf("the other tenant has %d users, error %v", n, err)
	}
}
