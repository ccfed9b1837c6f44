package access_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/access/audit"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// auditedCells say whose calls have entries, by method, as the page says it: yes, by admins, no.
func auditedCells(t *testing.T) map[string]string {
	t.Helper()
	page := e2e.Must(os.ReadFile("../../../../docs/operate/audit.md"))(t)
	cells := map[string]string{}
	for _, line := range strings.Split(string(page), "\n") {
		if row := strings.Split(line, "|"); len(row) == 4 && strings.Contains(row[1], "Service/") {
			cells[strings.TrimSpace(row[1])] = strings.TrimSpace(row[2])
		}
	}
	return cells
}

// audited is a server with an audit, its lines, and a look at its entries.
type audited struct {
	*desk
	h       *e2e.Server
	lines   string          // the path of its lines
	watcher string          // the token of an admin of a tenant in which nothing else happens
	latest  time.Time       // the time of the latest entry that news returned
	seen    map[string]bool // the ids of those that it returned
}

// openAudited starts a server that wants keys. Between it and its store stands wrap, nil for nothing.
func openAudited(t *testing.T, wrap func(store.PrimaryStore) store.PrimaryStore, change func(*config.Config)) *audited {
	t.Helper()
	dir := t.TempDir()
	lines := filepath.Join(dir, "audit.jsonl")
	h := e2e.StartWith(t, filepath.Join(dir, "strata.db"), app.Options{Hooks: app.Hooks{Wrap: wrap}}, func(c *config.Config) {
		c.Auth, c.BootstrapKey, c.AuditLog, c.MetricsListen = config.AuthRequired, true, lines, "127.0.0.1:0"
		change(c)
	})
	a := &audited{desk: &desk{e2e.GRPCDoor{Conn: h.Conn}, t, h.App.FirstKey()}, h: h, lines: lines, seen: map[string]bool{}}
	_, a.watcher = a.key(&memoryv1.CreateKeyRequest{Tenant: "watcher", Role: keyRole("admin")})
	return a
}

// entries are all that the store has, the oldest first, once nothing waits any more.
func (a *audited) entries() []store.AuditEntry {
	a.t.Helper()
	e2e.Must(a.Call(a.t.Context(), "AuditService/ListAuditEntries", a.watcher, &memoryv1.ListAuditEntriesRequest{}))(a.t) // stores what waits
	return e2e.Must(a.h.Store.ExportAuditEntries(a.t.Context(), store.AuditCursor{}, 100_000))(a.t)
}

// news returns the entries that were added since it was called before, once nothing waits any more. Of one moment there may be several,
// so those of the latest one are read again.
func (a *audited) news() []store.AuditEntry {
	a.t.Helper()
	e2e.Must(a.Call(a.t.Context(), "AuditService/ListAuditEntries", a.watcher, &memoryv1.ListAuditEntriesRequest{}))(a.t) // stores what waits
	all := e2e.Must(a.h.Store.ExportAuditEntries(a.t.Context(), store.AuditCursor{Time: a.latest}, 100_000))(a.t)
	all = slices.DeleteFunc(all, func(e store.AuditEntry) bool { return a.seen[e.ID] })
	for _, e := range all {
		a.latest, a.seen[e.ID] = e.Time, true
	}
	return all
}

func (a *audited) list(req *memoryv1.ListAuditEntriesRequest) []*memoryv1.AuditEntry {
	a.t.Helper()
	out := &memoryv1.ListAuditEntriesResponse{}
	a.ask("AuditService/ListAuditEntries", req, out)
	return out.GetEntries()
}

// caller is someone whose calls are watched.
type caller struct {
	name    string
	token   string
	tenant  string // whose entries his calls are
	role    string // "" for nobody
	refused bool   // whether no credential of his is good
}

func canonical(err error) string { return code.Code(status.Code(err)).String() }

func reasonOf(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// faults walks all methods as the caller, and says what is wrong with the entries that this leaves: each call that is to have one must have
// one, with the outcome that the caller was told.
func (a *audited) faults(door accessDoor, c caller, everything bool) (faults []string) {
	cells, may := auditedCells(a.t), permissions(a.t)
	walker := &steps{door: door, token: c.token, user: "ada", canary: "canaryword"}
	a.news()
	for i, step := range walk {
		_, err := walker.take(a.t, i)
		var got []store.AuditEntry
		for _, e := range a.news() {
			if e.Call == step.method && e.Tenant == c.tenant && (e.Role == c.role) {
				got = append(got, e)
			}
		}
		outcome := status.Code(err)
		isRefused := outcome == codes.Unauthenticated || outcome == codes.PermissionDenied
		due := isRefused || cells[step.method] == "yes" || cells[step.method] == "by admins" && (c.role == "admin" || everything)
		if !c.refused && may[step.method][c.role] == "" {
			a.t.Fatalf("%s is not in the table", step.method)
		}
		switch {
		case due && len(got) != 1:
			faults = append(faults, fmt.Sprintf("%s by %s, %v, has %d entries", step.method, c.name, outcome, len(got)))
		case !due && len(got) != 0:
			faults = append(faults, fmt.Sprintf("%s by %s has an entry", step.method, c.name))
		case due && (got[0].Outcome != canonical(err) || got[0].Address != "127.0.0.1" || got[0].UserAgent == ""):
			faults = append(faults, fmt.Sprintf("%s by %s, %v, has the entry %+v", step.method, c.name, err, got[0]))
		case due && outcome != codes.Unauthenticated && got[0].Reason != reasonOf(err):
			faults = append(faults, fmt.Sprintf("%s by %s, %v, has the reason %s", step.method, c.name, err, got[0].Reason))
		}
	}
	return faults
}

// callers are one of each role in the tenant acme, an admin of the server and some who are nobody.
func (a *audited) callers() []caller {
	all := []caller{
		{name: "an admin of the server", token: a.admin, tenant: auth.DefaultTenant, role: "admin"},
		{name: "nobody", tenant: auth.DefaultTenant, refused: true},
	}
	for _, role := range []string{"admin", "agent", "operator", "user"} {
		bound := ""
		if role == "user" {
			bound = "ada"
		}
		_, token := a.key(&memoryv1.CreateKeyRequest{Tenant: "acme", Role: keyRole(role), UserId: bound})
		all = append(all, caller{name: role, token: token, tenant: "acme", role: role})
	}
	id, token := a.key(&memoryv1.CreateKeyRequest{Tenant: "acme", Role: keyRole("admin")})
	a.ask("KeyService/RevokeKey", &memoryv1.RevokeKeyRequest{Tenant: "acme", KeyId: id}, &memoryv1.RevokeKeyResponse{})
	return append(all, caller{name: "a revoked key", token: token, tenant: auth.DefaultTenant, refused: true})
}

func TestAudit(t *testing.T) {
	for n, e := range e2e.Walked(openAudited(t, nil, func(*config.Config) {}).h) {
		t.Run(e.Name+": each call that is to have an entry has one, with what came of it, and no other call has", func(t *testing.T) {
			t.Parallel()
			a := openAudited(t, nil, func(*config.Config) {})
			door := accessDoor(e2e.GRPCDoor{Conn: a.h.Conn})
			if n > 0 {
				door = httpDoor{e2e.GRPCDoor{Conn: a.h.Conn}, a.h.Entrances()[n]}
			}
			for _, c := range a.callers() {
				for _, fault := range a.faults(door, c, false) {
					t.Error(fault)
				}
			}
		})
	}
	t.Run("with audit agents what agents record and read has entries too", func(t *testing.T) {
		a := openAudited(t, nil, func(c *config.Config) { c.Audit = config.AuditAgents })
		for _, c := range a.callers() {
			for _, fault := range a.faults(a.accessDoor, c, true) {
				t.Error(fault)
			}
		}
	})
	t.Run("one whose entry is left out is found", func(t *testing.T) {
		for _, method := range []string{"UserService/EraseUser", "MemoryService/ListMessages"} {
			a := openAudited(t, func(s store.PrimaryStore) store.PrimaryStore { return &sieve{PrimaryStore: s, without: method} },
				func(*config.Config) {})
			if faults := a.faults(a.accessDoor, a.callers()[0], false); len(faults) != 1 || !strings.Contains(faults[0], method) {
				t.Errorf("without the entries of %s it says %q", method, faults)
			}
		}
	})
	t.Run("with audit off nothing is kept, and it says so", func(t *testing.T) {
		h := e2e.Start(t)
		h.Stop()
		h = e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.Audit = config.AuditOff })
		if _, err := memoryv1.NewUserServiceClient(h.Conn).EraseUser(h.Ctx, &memoryv1.EraseUserRequest{UserId: "ada"}); status.Code(err) != codes.NotFound {
			t.Fatal(err)
		}
		_, err := memoryv1.NewAuditServiceClient(h.Conn).ListAuditEntries(h.Ctx, &memoryv1.ListAuditEntriesRequest{})
		if reasonOf(err) != "AUDIT_OFF" {
			t.Error(err)
		}
		if left := e2e.Must(h.Store.ExportAuditEntries(h.Ctx, store.AuditCursor{}, 9))(t); len(left) != 0 {
			t.Errorf("%v was kept", left)
		}
	})
}

// sieve is a store that loses the entries of a method, and says that they are stored.
type sieve struct {
	store.PrimaryStore
	without string
}

func (s *sieve) AddAuditEntries(ctx context.Context, entries []store.AuditEntry) error {
	entries = slices.DeleteFunc(slices.Clone(entries), func(e store.AuditEntry) bool { return e.Call == s.without })
	return s.PrimaryStore.AddAuditEntries(ctx, entries)
}

// TestAuditHoldsNoContent: what callers write is in no entry and no line, in whatever field it stands.
func TestAuditHoldsNoContent(t *testing.T) {
	a := openAudited(t, nil, func(c *config.Config) { c.Audit = config.AuditAgents })
	const canary = "canaryword"
	for _, c := range a.callers() {
		walker := &steps{door: a.accessDoor, token: c.token, user: "user-" + canary, canary: canary}
		for i, step := range walk {
			walker.user = "user-" + canary
			_, _ = walker.take(t, i)
			m := e2e.MethodOf(step.method)
			req := e2e.NewMessage(m.Input())
			plantCanary(req.ProtoReflect(), canary, 6)
			if c.tenant == auth.DefaultTenant && strings.HasPrefix(step.method, "TenantService") || strings.HasPrefix(step.method, "KeyService") {
				clearTenant(req.ProtoReflect()) // the name of a tenant that was changed is kept, and is no content
			}
			_, _ = a.Call(t.Context(), step.method, c.token, req)
		}
	}
	entries := a.entries()
	if len(entries) < 300 {
		t.Errorf("%d entries", len(entries))
	}
	for _, e := range entries {
		if line := e2e.Must(audit.Line(e))(t); bytes.Contains(line, []byte(canary)) {
			t.Errorf("an entry holds what its caller wrote: %s", line)
		}
	}
	lines := e2e.Must(os.ReadFile(a.lines))(t)
	if bytes.Contains(lines, []byte(canary)) || bytes.Count(lines, []byte("\n")) < len(entries) {
		t.Errorf("of %d entries there are %d lines, or they hold what callers wrote", len(entries), bytes.Count(lines, []byte("\n")))
	}
	if strings.Contains(a.h.Scrape(t), canary) {
		t.Error("the metrics hold it")
	}
	for line := range bytes.Lines(lines) {
		if err := json.Unmarshal(line, new(map[string]any)); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

// plantCanary writes the canary into every text and blob of a message, however deep.
func plantCanary(m protoreflect.Message, canary string, depth int) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		switch {
		case f.IsMap():
			if v := m.Mutable(f).Map(); f.MapValue().Kind() == protoreflect.StringKind {
				v.Set(protoreflect.ValueOfString(canary).MapKey(), protoreflect.ValueOfString(canary))
			}
		case f.Kind() == protoreflect.StringKind && f.IsList():
			m.Mutable(f).List().Append(protoreflect.ValueOfString(canary))
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(canary))
		case f.Kind() == protoreflect.BytesKind && !f.IsList():
			m.Set(f, protoreflect.ValueOfBytes([]byte(canary)))
		case f.Kind() != protoreflect.MessageKind || depth == 0:
		case f.IsList():
			plantCanary(m.Mutable(f).List().AppendMutable().Message(), canary, depth-1)
		default:
			plantCanary(m.Mutable(f).Message(), canary, depth-1)
		}
	}
}

func clearTenant(m protoreflect.Message) {
	if f := m.Descriptor().Fields().ByName("tenant"); f != nil {
		m.Clear(f)
	}
}

func TestAuditAfterAnErasure(t *testing.T) {
	const erased = "ada-who-is-forgotten"
	a := openAudited(t, nil, func(*config.Config) {})
	walker := &steps{door: a.accessDoor, token: a.admin, user: erased, canary: "word"}
	for i := range walk { // ends with EraseUser
		_, _ = walker.take(t, i)
	}
	reply := &memoryv1.EraseUserResponse{}
	a.ask("UserService/UpdateUser", &memoryv1.UpdateUserRequest{User: &memoryv1.User{UserId: erased, Timezone: "Asia/Seoul"}}, &memoryv1.UpdateUserResponse{})
	a.ask("UserService/EraseUser", &memoryv1.EraseUserRequest{UserId: erased, RequestId: "req-7", Wait: durationpb.New(30 * time.Second)}, reply)
	if reply.GetJob().GetState() != memoryv1.JobState_JOB_STATE_APPLIED {
		t.Fatalf("the erasure is %v", reply.GetJob().GetState())
	}
	all := a.list(&memoryv1.ListAuditEntriesRequest{UserId: erased, PageSize: 1000})
	t.Run("who knows the id finds who did what to the user's memory", func(t *testing.T) {
		if len(all) < 30 || all[0].GetCall() != "UserService/EraseUser" || all[0].GetThing() != "job:"+reply.GetJob().GetJobId() {
			t.Errorf("%d entries, of which the latest is %v", len(all), all[0])
		}
		erasures := a.list(&memoryv1.ListAuditEntriesRequest{UserId: erased, Call: "EraseUser", Outcome: "OK", RequestId: "req-7"})
		if len(erasures) != 1 || !proto.Equal(erasures[0], all[0]) {
			t.Errorf("%v", erasures)
		}
	})
	t.Run("an export holds none of it", func(t *testing.T) {
		a.ask("UserService/UpdateUser", &memoryv1.UpdateUserRequest{User: &memoryv1.User{UserId: "bob", Timezone: "Asia/Seoul"}}, &memoryv1.UpdateUserResponse{})
		hash := a.list(&memoryv1.ListAuditEntriesRequest{UserId: "bob"})[0].GetUserHash()
		replies := e2e.Must(a.Call(t.Context(), "UserService/ExportUser", a.admin, &memoryv1.ExportUserRequest{UserId: "bob"}))(t)
		var file bytes.Buffer
		for _, r := range replies {
			file.Write(r.(*memoryv1.ExportUserResponse).GetChunk())
		}
		if hash == "" || strings.Contains(file.String(), hash) || strings.Contains(file.String(), "audit") {
			t.Errorf("the export is\n%s", file.String())
		}
	})
	t.Run("the user's id is in no byte of the data file, nor of the lines", func(t *testing.T) {
		a.h.Stop()
		for _, path := range []string{a.h.Data, a.h.Data + "-wal", a.lines} {
			b, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if bytes.Contains(b, []byte(erased)) {
				t.Errorf("it is in %s", filepath.Base(path))
			}
		}
	})
}

func TestAuditOfTenants(t *testing.T) {
	a := openAudited(t, nil, func(*config.Config) {})
	tokens := map[string]string{}
	for _, tenant := range []string{"one", "two"} {
		_, tokens[tenant] = a.key(&memoryv1.CreateKeyRequest{Tenant: tenant, Role: keyRole("admin")})
		s := &steps{door: a.accessDoor, token: tokens[tenant], user: "ada", canary: "word"}
		for i := range 9 {
			if _, err := s.take(t, i); err != nil {
				t.Fatal(err)
			}
		}
	}
	list := func(tenant string, req *memoryv1.ListAuditEntriesRequest) ([]*memoryv1.AuditEntry, error) {
		replies, err := a.Call(t.Context(), "AuditService/ListAuditEntries", tokens[tenant], req)
		if err != nil {
			return nil, err
		}
		return replies[0].(*memoryv1.ListAuditEntriesResponse).GetEntries(), nil
	}
	t.Run("an admin sees the entries of that tenant alone", func(t *testing.T) {
		hashes := map[string]string{}
		for _, tenant := range []string{"one", "two"} {
			entries := e2e.Must(list(tenant, &memoryv1.ListAuditEntriesRequest{UserId: "ada"}))(t)
			if len(entries) != 8 { // nine steps, of which waiting has none
				t.Errorf("%s has %d entries", tenant, len(entries))
			}
			for _, e := range entries {
				if e.GetTenant() != tenant {
					t.Errorf("%s sees %v", tenant, e)
				}
			}
			hashes[entries[0].GetUserHash()] = tenant
		}
		if len(hashes) != 2 {
			t.Error("users of the same id have the same hash in two tenants")
		}
	})
	t.Run("nor may name another one, which only admins of the server may", func(t *testing.T) {
		if _, err := list("one", &memoryv1.ListAuditEntriesRequest{Tenant: "two"}); status.Code(err) != codes.PermissionDenied {
			t.Error(err)
		}
		if got := a.list(&memoryv1.ListAuditEntriesRequest{Tenant: "two", UserId: "ada"}); len(got) != 9 { // that two looked is one of them
			t.Errorf("%d entries", len(got))
		}
		own := a.list(&memoryv1.ListAuditEntriesRequest{Call: "ListAuditEntries"})
		if len(own) == 0 || own[0].GetTargetTenant() != "two" {
			t.Errorf("that they did is not noted: %v", own)
		}
	})
	t.Run("a page has what was asked for, and names the next", func(t *testing.T) {
		var got []string
		req := &memoryv1.ListAuditEntriesRequest{Tenant: "two", UserId: "ada", PageSize: 3}
		for pages := 1; ; pages++ {
			out := &memoryv1.ListAuditEntriesResponse{}
			a.ask("AuditService/ListAuditEntries", req, out)
			for _, e := range out.GetEntries() {
				got = append(got, e.GetAuditEntryId())
			}
			if req.PageToken = out.GetNextPageToken(); req.PageToken == "" {
				if pages != 3 {
					t.Errorf("%d pages", pages)
				}
				break
			}
		}
		if want := len(slices.Compact(slices.Sorted(slices.Values(got)))); want != 9 || len(got) != 9 {
			t.Errorf("%d entries, %d of them different", len(got), want)
		}
	})
	t.Run("what cannot be asked is refused with the field", func(t *testing.T) {
		for field, req := range map[string]*memoryv1.ListAuditEntriesRequest{
			"call": {Call: "Nothing"}, "outcome": {Outcome: "fine"}, "user_id": {SessionId: "s"}, "since": {Since: &timestamppb.Timestamp{Nanos: -1}},
			"principal": {Principal: strings.Repeat("x", 301)}, "page_token": {PageToken: "x"},
		} {
			if _, err := list("one", req); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), field) {
				t.Errorf("%s: %v", field, err)
			}
		}
	})
	t.Run("who is refused is noted with what is known: the cause, the key, the user whom a bound one named", func(t *testing.T) {
		id, bound := a.key(&memoryv1.CreateKeyRequest{Tenant: "one", Role: keyRole("user"), UserId: "ada"})
		if _, err := a.Call(t.Context(), "MemoryService/ListMessages", bound, &memoryv1.ListMessagesRequest{UserId: "bob", SessionId: "s"}); status.Code(err) != codes.NotFound {
			t.Fatal(err)
		}
		got := e2e.Must(list("one", &memoryv1.ListAuditEntriesRequest{UserId: "bob", Principal: "key:" + id}))(t)
		if len(got) != 1 || got[0].GetReason() != "USER_NOT_FOUND" || got[0].GetRole() != memoryv1.KeyRole_KEY_ROLE_USER {
			t.Errorf("%v", got)
		}
		a.ask("KeyService/RevokeKey", &memoryv1.RevokeKeyRequest{Tenant: "one", KeyId: id}, &memoryv1.RevokeKeyResponse{})
		if _, err := a.Call(t.Context(), "MemoryService/Record", bound, &memoryv1.RecordRequest{}); status.Code(err) != codes.Unauthenticated {
			t.Fatal(err)
		}
		refused := a.list(&memoryv1.ListAuditEntriesRequest{Principal: "key:" + id, Outcome: "UNAUTHENTICATED"})
		if len(refused) != 1 || refused[0].GetReason() != "CREDENTIAL_REVOKED" {
			t.Errorf("%v", refused)
		}
	})
	t.Run("of many who are refused some are left out, and the next entry says how many", func(t *testing.T) {
		const calls = 500
		for range calls {
			_, _ = a.Call(t.Context(), "UserService/ListUsers", "", &memoryv1.ListUsersRequest{})
		}
		kept := a.list(&memoryv1.ListAuditEntriesRequest{Call: "ListUsers", Outcome: "UNAUTHENTICATED", PageSize: 1000})
		left := a.h.Sample(t, `strata_audit_entries_total{fate="left_out",sink="store"}`)
		if len(kept) > 250 || len(kept)+int(left) != calls {
			t.Errorf("%d are kept and %v left out", len(kept), left)
		}
	})
}

// failing is a store that takes no entry while it is told not to.
type failing struct {
	store.PrimaryStore
	refuses *atomic.Bool
}

func (f failing) AddAuditEntries(ctx context.Context, entries []store.AuditEntry) error {
	if f.refuses.Load() {
		return errors.New("the store takes no entry")
	}
	return f.PrimaryStore.AddAuditEntries(ctx, entries)
}

func TestAnAuditThatCannotBeWritten(t *testing.T) {
	refuses := &atomic.Bool{}
	a := openAudited(t, func(s store.PrimaryStore) store.PrimaryStore { return failing{s, refuses} },
		func(c *config.Config) { c.Audit = config.AuditAgents })
	_, agent := a.key(&memoryv1.CreateKeyRequest{Role: keyRole("agent")})
	record := &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User("m1", "hello")}}
	refuses.Store(true)
	t.Run("loses no Record", func(t *testing.T) {
		e2e.Must(a.Call(t.Context(), "MemoryService/Record", agent, record))(t)
	})
	t.Run("withholds the reply of what admins read and of erasures", func(t *testing.T) {
		for method, req := range map[string]proto.Message{
			"MemoryService/ListMessages": &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s"},
			"UserService/ExportUser":     &memoryv1.ExportUserRequest{UserId: "ada"},
			"KeyService/CreateKey":       &memoryv1.CreateKeyRequest{Role: keyRole("agent")},
		} {
			if _, err := a.Call(t.Context(), method, a.admin, req); status.Code(err) != codes.Unavailable || reasonOf(err) != "AUDIT_UNAVAILABLE" {
				t.Errorf("%s: %v", method, err)
			}
		}
		_, err := a.Call(t.Context(), "UserService/EraseUser", a.admin, &memoryv1.EraseUserRequest{UserId: "nobody"})
		if reasonOf(err) != "USER_NOT_FOUND" {
			t.Errorf("an error is another one: %v", err)
		}
		if got := a.h.Sample(t, `strata_audit_entries_total{fate="failed",sink="store"}`); got != 4 {
			t.Errorf("%v are counted as failed", got)
		}
	})
	t.Run("stores what waited once the store takes entries again", func(t *testing.T) {
		refuses.Store(false)
		if got := a.list(&memoryv1.ListAuditEntriesRequest{Call: "Record", UserId: "ada"}); len(got) != 1 {
			t.Errorf("%v", got)
		}
	})
}

func TestAuditRetention(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	h := e2e.StartOn(t, path, func(c *config.Config) { c.AuditRetention = 0 })
	var entries []store.AuditEntry
	for n, days := range []int{500, 401, 399, 1} {
		entries = append(entries, store.AuditEntry{
			ID: fmt.Sprint(n), Time: time.Now().AddDate(0, 0, -days), Tenant: "default", Call: "UserService/EraseUser", Outcome: "OK",
		})
	}
	if err := h.Store.AddAuditEntries(h.Ctx, entries); err != nil {
		t.Fatal(err)
	}
	h.Stop()
	h = e2e.StartOn(t, path, func(c *config.Config) { c.Retention, c.MetricsListen = config.RetentionReport, "127.0.0.1:0" })
	e2e.Eventually(t, "the expiry of old entries", func() bool { return h.Sample(t, `strata_expired_total{rule="audit_age"}`) == 2 })
	left := e2e.Must(h.Store.ExportAuditEntries(h.Ctx, store.AuditCursor{}, 9))(t)
	if len(left) != 2 || left[0].ID != "2" || left[1].ID != "3" {
		t.Errorf("%v is left", left)
	}
}

func TestAuditOfReplicas(t *testing.T) {
	t.Parallel()
	all := e2e.Replicas(t, 2)
	all[0].RecordTurn(t, "s", e2e.User("m1", "hello"))
	e2e.Must(memoryv1.NewUserServiceClient(all[1].Conn).EraseUser(t.Context(), &memoryv1.EraseUserRequest{UserId: "ada"}))(t)
	for _, h := range all {
		reply := e2e.Must(memoryv1.NewAuditServiceClient(h.Conn).ListAuditEntries(t.Context(), &memoryv1.ListAuditEntriesRequest{UserId: "ada", Call: "EraseUser"}))(t)
		if e := reply.GetEntries(); len(e) != 1 || e[0].GetPrincipal() != "anonymous" || e[0].GetOutcome() != "OK" {
			t.Errorf("a server has %s", protojson.Format(reply))
		}
	}
}
