package access_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// accessDoor is a way into the server. What holds at one must hold at all.
type accessDoor interface {
	// call calls a method, such as MemoryService/Record, with a token, "" for none. It returns the replies, of a stream all.
	Call(ctx context.Context, method, token string, req proto.Message) ([]proto.Message, error)
}

// walk calls every method of the API once, in an order in which each finds what it is about: JSON with $user for the user's id, $word for a
// word that is nobody else's, and $fact for the fact of a CreateFact before.
var walk = []struct{ method, request string }{
	{"UserService/UpdateUser", `{"user": {"user_id": "$user", "timezone": "Asia/Seoul"}, "state_patch": {"note": "$word"}}`},
	{"MemoryService/Record", `{"user_id": "$user", "session_id": "s", "state_patch": {"task": "$word"}, "messages": [
		{"id": "m1", "role": "ROLE_USER", "text": "I keep a parrot named $word"},
		{"id": "m2", "role": "ROLE_ASSISTANT", "text": "A fine name, $word"},
		{"id": "m3", "role": "ROLE_USER", "text": "$word sings at noon"}]}`},
	{"FactService/CreateFact", `{"fact": {"user_id": "$user", "text": "The parrot is named $word"}}`},
	{"MemoryService/UpdateSession", `{"session": {"user_id": "$user", "session_id": "s", "title": "about $word"}}`},
	{"MemoryService/UpdateMessage", `{"user_id": "$user", "session_id": "s", "message": {"id": "m1", "tags": ["$word"]}, "update_mask": "tags"}`},
	{"WorkService/WaitForWatermark", `{"user_id": "$user", "session_id": "s", "of": ["WATERMARK_INDEXED"], "timeout": "1s"}`},
	{"MemoryService/BuildContext", `{"user_id": "$user", "session_id": "s2", "query": "what is the parrot named?", "explain": true}`},
	{"MemoryService/GetSession", `{"user_id": "$user", "session_id": "s"}`},
	{"MemoryService/ListSessions", `{"user_id": "$user"}`},
	{"MemoryService/ListMessages", `{"user_id": "$user", "session_id": "s"}`},
	{"MemoryService/SearchMessages", `{"user_id": "$user", "query": "parrot noon sings named"}`},
	{"HistoryService/CountTokens", `{"texts": ["words"]}`},
	{"HistoryService/Compact", `{"messages": [{"role": "ROLE_USER", "text": "hello"}]}`},
	{"HistoryService/CheckMessages", `{"messages": [{"role": "ROLE_USER", "text": "hello"}]}`},
	{"FactService/GetFact", `{"user_id": "$user", "fact_id": "$fact"}`},
	{"FactService/ListFacts", `{"user_id": "$user"}`},
	{"FactService/SearchFacts", `{"user_id": "$user", "query": "parrot"}`},
	{"FactService/UpdateFact", `{"fact": {"user_id": "$user", "fact_id": "$fact", "text": "The old parrot is named $word"}, "update_mask": "text"}`},
	{"FactService/ListFactRevisions", `{"user_id": "$user", "fact_id": "$fact"}`},
	{"FactService/RestoreFact", `{"user_id": "$user", "fact_id": "$fact", "revision": "1"}`},
	{"FactService/ListQuarantined", `{"user_id": "$user"}`},
	{"DocumentService/PutDocument", `{"document": {"user_id": "$user", "namespace": ["notes"], "key": "parrot", "value": {"note": "named $word"}}}`},
	{"DocumentService/GetDocument", `{"user_id": "$user", "namespace": ["notes"], "key": "parrot"}`},
	{"DocumentService/ListDocuments", `{"user_id": "$user"}`},
	{"DocumentService/SearchDocuments", `{"user_id": "$user", "query": "named"}`},
	{"DocumentService/ListNamespaces", `{"user_id": "$user"}`},
	{"SummaryService/Summarize", `{"user_id": "$user", "session_id": "s"}`},
	{"SummaryService/UpdateSummary", `{"summary": {"user_id": "$user", "kind": "SUMMARY_KIND_SESSION", "session_id": "s", "text": "A parrot, $word"}}`},
	{"SummaryService/GetSummary", `{"user_id": "$user", "kind": "SUMMARY_KIND_SESSION", "session_id": "s"}`},
	{"SummaryService/ListSummaries", `{"user_id": "$user"}`},
	{"SummaryService/RebuildSummary", `{"user_id": "$user", "kind": "SUMMARY_KIND_SESSION", "session_id": "s"}`},
	{"SummaryService/ListSummaryRevisions", `{"user_id": "$user", "kind": "SUMMARY_KIND_SESSION", "session_id": "s"}`},
	{"SummaryService/RestoreSummary", `{"user_id": "$user", "kind": "SUMMARY_KIND_SESSION", "session_id": "s", "revision": "1"}`},
	{"SummaryService/DeleteSummary", `{"user_id": "$user", "kind": "SUMMARY_KIND_SESSION", "session_id": "s"}`},
	{"UserService/GetUser", `{"user_id": "$user"}`},
	{"UserService/ListUsers", `{}`},
	{"UserService/ExportUser", `{"user_id": "$user"}`},
	{"UserService/ImportUser", `{"user_id": "$user-imported", "chunk": "bm90IGEgZmlsZQ=="}`},
	{"WorkService/GetJob", `{"user_id": "$user", "job_id": "no-such-job"}`},
	{"WorkService/ListJobs", `{"states": ["JOB_STATE_OPEN", "JOB_STATE_APPLIED", "JOB_STATE_REPLACED", "JOB_STATE_PARKED"]}`},
	{"WorkService/RetryJob", `{"user_id": "$user", "job_id": "no-such-job"}`},
	{"WorkService/RetryJobs", `{}`},
	{"WorkService/SkipJob", `{"user_id": "$user", "job_id": "no-such-job"}`},
	{"WorkService/RevertJob", `{"user_id": "$user", "job_id": "no-such-job"}`},
	{"MaintenanceService/Reembed", `{"model": "builtin:static-256"}`},
	{"MaintenanceService/Reindex", `{}`},
	{"MaintenanceService/Verify", `{}`},
	{"MaintenanceService/ListExpiring", `{}`},
	{"KeyService/CreateKey", `{"role": "KEY_ROLE_AGENT", "name": "$word"}`},
	{"KeyService/ListKeys", `{}`},
	{"KeyService/RotateKey", `{"key_id": "no-such-key"}`},
	{"KeyService/RevokeKey", `{"key_id": "no-such-key"}`},
	{"TenantService/GetTenant", `{}`},
	{"TenantService/UpdateTenant", `{"tenant": {"tenant": "nobody", "limits": {"tenant_messages": 5}}}`},
	{"TenantService/EraseTenant", `{"tenant": "nobody", "validate_only": true}`},
	{"TenantService/ListTenants", `{}`},
	{"TenantService/SuspendTenant", `{"tenant": "nobody"}`},
	{"TenantService/ResumeTenant", `{"tenant": "nobody"}`},
	{"AuditService/ListAuditEntries", `{"page_size": 1000}`},
	{"MemoryService/ReplaceMessages", `{"user_id": "$user", "session_id": "replaced", "messages": [{"role": "ROLE_USER", "text": "hi"}]}`},
	{"MemoryService/PopMessages", `{"user_id": "$user", "session_id": "s", "count": 1}`},
	{"MemoryService/DeleteMessages", `{"user_id": "$user", "session_id": "s", "message_ids": ["m1"]}`},
	{"DocumentService/DeleteDocument", `{"user_id": "$user", "namespace": ["notes"], "key": "parrot"}`},
	{"FactService/DeleteFact", `{"user_id": "$user", "fact_id": "$fact"}`},
	{"MemoryService/DeleteSession", `{"user_id": "$user", "session_id": "s"}`},
	{"UserService/EraseUser", `{"user_id": "$user"}`},
}

// steps are the walk of one caller.
type steps struct {
	door   accessDoor
	token  string
	user   string
	canary string
	fact   string // once it is created
}

func (s *steps) request(t *testing.T, i int) proto.Message {
	t.Helper()
	fact := s.fact
	if fact == "" {
		fact = "no-such-fact"
	}
	text := strings.NewReplacer("$user", s.user, "$word", s.canary, "$fact", fact).Replace(walk[i].request)
	req := e2e.NewMessage(e2e.MethodOf(walk[i].method).Input())
	if err := protojson.Unmarshal([]byte(text), req); err != nil {
		t.Fatalf("%s: %v", walk[i].method, err)
	}
	return req
}

// take makes the step and returns all that it was told.
func (s *steps) take(t *testing.T, i int) (string, error) {
	t.Helper()
	replies, err := s.door.Call(t.Context(), walk[i].method, s.token, s.request(t, i))
	var told strings.Builder
	for _, r := range replies {
		if f, ok := r.(*memoryv1.CreateFactResponse); ok {
			s.fact = f.GetFact().GetFactId()
		}
		told.WriteString(prototext.Format(r))
		if chunk, ok := r.(*memoryv1.ExportUserResponse); ok {
			told.Write(chunk.GetChunk())
		}
	}
	if err != nil {
		told.WriteString(prototext.Format(status.Convert(err).Proto()))
	}
	return told.String(), err
}

func TestTheWalkHasEveryMethod(t *testing.T) {
	var walked, all []string
	for _, s := range walk {
		walked = append(walked, s.method)
	}
	for method := range permissions(t) {
		all = append(all, method)
	}
	slices.Sort(walked)
	slices.Sort(all)
	if !slices.Equal(walked, all) {
		t.Errorf("the walk has %v, the table %v", walked, all)
	}
}

// permissions are the cells of the page, by method and role.
func permissions(t *testing.T) map[string]map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/operate/access.md")
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]map[string]string{}
	for _, line := range strings.Split(string(page), "\n") {
		row := strings.Split(line, "|")
		if len(row) != 8 || !strings.Contains(row[1], "Service/") {
			continue
		}
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		cells[row[1]] = map[string]string{"agent": row[2], "user": row[3], "operator": row[4], "admin": row[5], "about": row[6]}
	}
	return cells
}

// desk makes keys, as an admin of the server.
type desk struct {
	accessDoor
	t     *testing.T
	admin string
}

// tokensOf are tokens of the issuer, by kind and role, of the tenant of the right keys.
func tokensOf(t *testing.T, i *issuer, roles []string) map[string]string {
	t.Helper()
	all, own := map[string]string{}, map[string]any{"org": map[string]any{"id": auth.DefaultTenant}}
	for _, role := range roles {
		all["right token "+role] = i.token(t, i.claims("ada", role, own))
		own["exp"] = time.Now().Add(-time.Minute).Unix()
		all["expired token "+role] = i.token(t, i.claims("ada", role, own))
		delete(own, "exp")
	}
	return all
}

// openDesk starts a server that wants keys, with its first one. Its stores are those that change names.
func openDesk(t *testing.T, o appOptions) (*desk, *e2e.Server) {
	t.Helper()
	var h *e2e.Server
	change := func(c *config.Config) {
		c.Auth, c.BootstrapKey = config.AuthRequired, true
		if o.issuer != nil {
			o.issuer.use(c)
		}
		if o.change != nil {
			o.change(c)
		}
	}
	if o.backends {
		h = e2e.OnBackends(t, change).Server
	} else {
		h = e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), change)
	}
	return &desk{e2e.GRPCDoor{Conn: h.Conn}, t, h.App.FirstKey()}, h
}

type appOptions struct {
	backends bool
	issuer   *issuer // whose tokens count too; nil for none
	change   func(*config.Config)
}

func (d *desk) ask(method string, req, into proto.Message) {
	d.t.Helper()
	replies, err := d.Call(d.t.Context(), method, d.admin, req)
	if err != nil {
		d.t.Fatalf("%s: %v", method, err)
	}
	proto.Merge(into, replies[0])
}

func (d *desk) key(req *memoryv1.CreateKeyRequest) (id, token string) {
	d.t.Helper()
	out := &memoryv1.CreateKeyResponse{}
	d.ask("KeyService/CreateKey", req, out)
	return out.GetKey().GetKeyId(), out.GetToken()
}

func keyRole(role string) memoryv1.KeyRole {
	return memoryv1.KeyRole(memoryv1.KeyRole_value["KEY_ROLE_"+strings.ToUpper(role)])
}

// httpDoor is an entrance over HTTP; streams are called over gRPC.
type httpDoor struct {
	e2e.GRPCDoor
	e2e.Entrance
}

func (d httpDoor) Call(ctx context.Context, method, token string, req proto.Message) ([]proto.Message, error) {
	m := e2e.MethodOf(method)
	if m.IsStreamingClient() || m.IsStreamingServer() {
		return d.GRPCDoor.Call(ctx, method, token, req)
	}
	ctx, cancel := context.WithTimeout(ctx, e2e.EventuallyWithin)
	defer cancel()
	reply := e2e.NewMessage(m.Output())
	if err := d.Entrance.Call(e2e.WithToken(ctx, token), m, req, reply); err != nil {
		return nil, err
	}
	return []proto.Message{reply}, nil
}

// TestAccess tries every method with every role and every kind of credential at a door. What a cell must be says the page.
func TestAccess(t *testing.T) {
	i := newIssuer(t)
	d, h := openDesk(t, appOptions{issuer: i})
	t.Run("gRPC", func(t *testing.T) { testAccess(t, &desk{e2e.GRPCDoor{Conn: h.Conn}, t, d.admin}, h, i) })
	for n, e := range e2e.Walked(h)[1:] {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			d, h := openDesk(t, appOptions{issuer: i})
			testAccess(t, &desk{httpDoor{e2e.GRPCDoor{Conn: h.Conn}, h.Entrances()[1+n]}, t, d.admin}, h, i)
		})
	}
	t.Run("neither a token nor its secret nor its hash is in the log", func(t *testing.T) {
		if strings.Contains(h.Log.String(), "strata_") {
			t.Error("there is a token in the log")
		}
		if !strings.Contains(h.Log.String(), "refused: revoked, key ") {
			t.Error("the log does not say which key was refused, and why")
		}
	})
}

func testAccess(t *testing.T, d *desk, h *e2e.Server, of *issuer) {
	cells := permissions(t)
	now := time.Now()
	roles := []string{"agent", "user", "operator", "admin"}
	refusedBytes := map[string][]byte{} // by method: what the first refused credential was told
	tokens := tokensOf(t, of, roles)
	for _, role := range roles {
		bound := ""
		if role == "user" {
			bound = "ada"
		}
		_, tokens["right "+role] = d.key(&memoryv1.CreateKeyRequest{Role: keyRole(role), UserId: bound})
		_, tokens["other tenant "+role] = d.key(&memoryv1.CreateKeyRequest{Tenant: "other", Role: keyRole(role), UserId: bound})
		_, tokens["suspended "+role] = d.key(&memoryv1.CreateKeyRequest{Tenant: "closed", Role: keyRole(role), UserId: bound})
		id, token := d.key(&memoryv1.CreateKeyRequest{Role: keyRole(role), UserId: bound})
		d.ask("KeyService/RevokeKey", &memoryv1.RevokeKeyRequest{KeyId: id}, &memoryv1.RevokeKeyResponse{})
		tokens["revoked "+role] = token
		tokens["expired "+role] = expiredKey(t, h, role, bound, now)
	}
	_, tokens["other user agent"] = d.key(&memoryv1.CreateKeyRequest{Role: keyRole("agent"), UserId: "bob"})
	_, tokens["other user user"] = d.key(&memoryv1.CreateKeyRequest{Role: keyRole("user"), UserId: "bob"})
	d.ask("TenantService/SuspendTenant", &memoryv1.SuspendTenantRequest{Tenant: "closed"}, &memoryv1.SuspendTenantResponse{})
	tokens["none "] = ""
	tokens["forged "] = tokens["right admin"][:len(tokens["right admin"])-1] + "!"
	other, _ := auth.MintToken(auth.MintKeyID())
	tokens["unknown "] = other

	// What must not change: ada's, in the tenant of the right keys.
	witness := &steps{door: d.accessDoor, token: tokens["right admin"], user: "witness", canary: "canaryofadas"}
	witness.user = "ada"
	for i := range 3 {
		if _, err := witness.take(t, i); err != nil {
			t.Fatalf("%s: %v", walk[i].method, err)
		}
	}
	learnt := &memoryv1.WaitForWatermarkRequest{
		UserId: "ada", SessionId: "s", Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED}, Timeout: e2e.LongWait,
	}
	d.ask("WorkService/WaitForWatermark", learnt, &memoryv1.WaitForWatermarkResponse{}) // leaves a job that is ada's
	tried := 0
	for i, step := range walk {
		cell := cells[step.method]
		aboutUser := cell["about"] == "a user" && step.method != "UserService/ImportUser" && strings.Contains(step.request, "$user")
		for _, kind := range []string{"none ", "forged ", "unknown "} {
			s := &steps{door: d.accessDoor, token: tokens[kind], user: "ada"}
			_, err := s.take(t, i)
			wantRefused(t, step.method, kind, err, refusedBytes)
			tried++
		}
		for _, role := range roles {
			for _, kind := range []string{"expired ", "revoked ", "suspended ", "expired token "} {
				s := &steps{door: d.accessDoor, token: tokens[kind+role], user: "ada"}
				_, err := s.take(t, i)
				wantRefused(t, step.method, kind+role, err, refusedBytes)
				tried++
			}
			if token, ok := tokens["other user "+role]; ok && cell[role] != "–" && aboutUser {
				s := &steps{door: d.accessDoor, token: token, user: "ada", fact: witness.fact}
				told, err := s.take(t, i)
				s = &steps{door: d.accessDoor, token: token, user: "nobody", fact: witness.fact}
				missing, _ := s.take(t, i)
				if status.Code(err) != codes.NotFound || told != strings.ReplaceAll(missing, "nobody", "ada") {
					t.Errorf("%s as the %s of bob: ada is\n%s and nobody\n%s", step.method, role, told, missing)
				}
				tried++
			}
			s := &steps{door: d.accessDoor, token: tokens["other tenant "+role], user: "ada", fact: witness.fact, canary: "canaryofothers"}
			told, err := s.take(t, i)
			wantAllowed(t, step.method, "other tenant "+role, cell[role] != "–" && cell["about"] != "all tenants", role, aboutUser, err)
			if strings.Contains(told, "canaryofadas") {
				t.Errorf("%s by the %s of another tenant returned what is not its own:\n%s", step.method, role, told)
			}
			if step.method != "UserService/EraseUser" && step.method != "MemoryService/DeleteSession" {
				for _, kind := range []string{"right ", "right token "} {
					s = &steps{door: d.accessDoor, token: tokens[kind+role], user: "ada", fact: witness.fact, canary: "canaryofadas"}
					if strings.Contains(step.method, "Delete") || strings.Contains(step.method, "Pop") { // of a fact, or messages, there are few
						s.fact, s.canary = "no-such-fact", "x"
					}
					told, err := s.take(t, i)
					wantAllowed(t, step.method, kind+role, cell[role] != "–", role, aboutUser, err)
					if role == "operator" && (strings.Contains(told, "canaryofadas") || strings.Contains(told, `"ada"`)) {
						t.Errorf("%s told an operator of ada:\n%s", step.method, told)
					}
					tried++
				}
			}
			tried++
		}
	}
	list := slices.IndexFunc(walk, func(s struct{ method, request string }) bool { return s.method == "WorkService/ListJobs" })
	for role, sees := range map[string]bool{"admin": true, "agent": true, "user": true, "operator": false} {
		told, err := (&steps{door: d.accessDoor, token: tokens["right "+role], user: "ada"}).take(t, list)
		if err != nil || !strings.Contains(told, "job_id") || strings.Contains(told, `"ada"`) != sees || strings.Contains(told, `"s"`) != sees {
			t.Errorf("whether the %s sees whose jobs there are is not %v: %v\n%s", role, sees, err, told)
		}
	}
	if told := strings.Join(witness.replayAll(t), "\n"); strings.Count(told, "canaryofadas") < 3 {
		t.Errorf("ada's memory was changed by others: what is left is\n%s", told)
	}
	for _, last := range []string{"MemoryService/DeleteSession", "UserService/EraseUser"} { // each role's own ada, so that there is something
		i := slices.IndexFunc(walk, func(s struct{ method, request string }) bool { return s.method == last })
		for _, role := range roles {
			s := &steps{door: d.accessDoor, token: tokens["right "+role], user: "ada"}
			_, err := s.take(t, i)
			wantAllowed(t, last, "right "+role, cells[last][role] != "–", role, true, err)
			tried++
		}
	}
	t.Logf("%d cells", tried)
}

// replayAll reads back what is stored of the user.
func (s *steps) replayAll(t *testing.T) (told []string) {
	for i, step := range walk {
		if _, name, _ := strings.Cut(step.method, "/"); strings.HasPrefix(name, "Get") || strings.HasPrefix(name, "List") || strings.HasPrefix(name, "Search") {
			answer, _ := s.take(t, i)
			told = append(told, answer)
		}
	}
	return told
}

// wantRefused: all who are refused are told the same, byte for byte.
func wantRefused(t *testing.T, method, kind string, err error, told map[string][]byte) {
	t.Helper()
	if status.Code(err) != codes.Unauthenticated {
		t.Errorf("%s with the credential %q: %v, want UNAUTHENTICATED", method, kind, err)
		return
	}
	got, _ := proto.MarshalOptions{Deterministic: true}.Marshal(status.Convert(err).Proto())
	if told[""] == nil {
		told[""] = got
	} else if !bytes.Equal(told[""], got) {
		t.Errorf("%s with the credential %q is told %q, others %q", method, kind, got, told[""])
	}
}

// wantAllowed: who may not is denied, and who may is neither denied nor met by a fault of the server.
func wantAllowed(t *testing.T, method, kind string, allowed bool, role string, aboutUser bool, err error) {
	t.Helper()
	code := status.Code(err)
	if role == "operator" && aboutUser {
		allowed = false
	}
	switch {
	case !allowed && code != codes.PermissionDenied:
		t.Errorf("%s with the credential %q: %v, want PERMISSION_DENIED", method, kind, err)
	case allowed && slices.Contains([]codes.Code{codes.PermissionDenied, codes.Unauthenticated, codes.Internal, codes.Unimplemented, codes.Unknown}, code):
		t.Errorf("%s with the credential %q: %v, want it allowed", method, kind, err)
	}
}

// expiredKey stores a key whose time is over.
func expiredKey(t *testing.T, h *e2e.Server, role, user string, now time.Time) string {
	t.Helper()
	return h.StoreKey(t, store.Key{Role: role, UserID: user, CreateTime: now.Add(-time.Hour), ExpireTime: now.Add(-time.Minute)})
}

// TestTenantsAreApart walks all methods as one of two tenants that have the same ids of users, sessions, messages and facts.
func TestTenantsAreApart(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { testTenants(t, appOptions{}) })
	t.Run("MongoDB, Milvus and Elasticsearch", func(t *testing.T) { testTenants(t, appOptions{backends: true}) })
}

func testTenants(t *testing.T, o appOptions) {
	d, _ := openDesk(t, o)
	walker := func(tenant string) *steps {
		_, token := d.key(&memoryv1.CreateKeyRequest{Tenant: tenant, Role: memoryv1.KeyRole_KEY_ROLE_ADMIN})
		return &steps{door: d.accessDoor, token: token, user: "ada", canary: "canary" + tenant}
	}
	one, two := walker("one"), walker("two")
	for i := range 6 { // both have something before one of them looks
		for _, s := range []*steps{one, two} {
			if told, err := s.take(t, i); err != nil {
				t.Fatalf("%s: %s", walk[i].method, told)
			}
		}
	}
	own := 0
	for i := 6; i < len(walk); i++ {
		told, err := one.take(t, i)
		if strings.Contains(told, two.canary) || strings.Contains(told, "tenant: \"two\"") {
			t.Errorf("%s told one tenant of the other:\n%s", walk[i].method, told)
		}
		own += strings.Count(told, one.canary)
		switch status.Code(err) {
		case codes.Internal, codes.Unknown, codes.Unauthenticated:
			t.Errorf("%s: %v", walk[i].method, err)
		}
	}
	if own < 20 {
		t.Errorf("the walk found %d of its own words only", own)
	}
	told := strings.Join(two.replayAll(t), "\n")
	if n := strings.Count(told, two.canary); n < 10 || strings.Contains(told, one.canary) {
		t.Errorf("after one tenant erased all of its own the other finds %d of its words:\n%s", n, told)
	}
	t.Run("a fact's, a job's and a key's id of another tenant are as those that nobody has", func(t *testing.T) {
		fresh := walker("three")
		if _, err := fresh.take(t, 0); err != nil {
			t.Fatal(err)
		}
		for i, step := range walk {
			if !strings.Contains(step.request, "$fact") {
				continue
			}
			fresh.fact = two.fact
			theirs, _ := fresh.take(t, i)
			fresh.fact = "no-such-fact"
			nobodys, _ := fresh.take(t, i)
			if theirs != strings.ReplaceAll(nobodys, "no-such-fact", two.fact) {
				t.Errorf("%s: theirs\n%s, nobody's\n%s", step.method, theirs, nobodys)
			}
		}
		id, _ := d.key(&memoryv1.CreateKeyRequest{Tenant: "two", Role: memoryv1.KeyRole_KEY_ROLE_ADMIN})
		for _, method := range []string{"KeyService/RotateKey", "KeyService/RevokeKey"} {
			ask := func(id string) string {
				req := e2e.NewMessage(e2e.MethodOf(method).Input())
				if err := protojson.Unmarshal(fmt.Appendf(nil, `{"key_id": %q}`, id), req); err != nil {
					t.Fatal(err)
				}
				_, err := d.Call(t.Context(), method, fresh.token, req)
				return prototext.Format(status.Convert(err).Proto())
			}
			if theirs, nobodys := ask(id), ask("no-such-key"); theirs != strings.ReplaceAll(nobodys, "no-such-key", id) {
				t.Errorf("%s: theirs\n%s, nobody's\n%s", method, theirs, nobodys)
			}
		}
	})
}

func TestKeysOverASocket(t *testing.T) {
	d, h := openDesk(t, appOptions{})
	allowed := func(token string) codes.Code {
		_, err := d.Call(t.Context(), "UserService/ListUsers", token, &memoryv1.ListUsersRequest{})
		return status.Code(err)
	}
	t.Run("a token of before the rotation is good until its time of grace is over, one that is revoked at once no more", func(t *testing.T) {
		id, old := d.key(&memoryv1.CreateKeyRequest{Role: memoryv1.KeyRole_KEY_ROLE_AGENT})
		rotate := func(grace time.Duration) string {
			out := &memoryv1.RotateKeyResponse{}
			d.ask("KeyService/RotateKey", &memoryv1.RotateKeyRequest{KeyId: id, Grace: durationpb.New(grace)}, out)
			return out.GetToken()
		}
		second := rotate(time.Hour)
		if a, b := allowed(old), allowed(second); a != codes.OK || b != codes.OK {
			t.Errorf("within the grace: %v, %v", a, b)
		}
		third := rotate(0)
		if a, b, c := allowed(old), allowed(second), allowed(third); a != codes.Unauthenticated || b != codes.Unauthenticated || c != codes.OK {
			t.Errorf("after it: %v, %v, %v", a, b, c)
		}
		d.ask("KeyService/RevokeKey", &memoryv1.RevokeKeyRequest{KeyId: id}, &memoryv1.RevokeKeyResponse{})
		if got := allowed(third); got != codes.Unauthenticated {
			t.Errorf("revoked: %v", got)
		}
	})
	t.Run("a key may not be made that could act for nobody, or for more than its role", func(t *testing.T) {
		for _, bad := range []*memoryv1.CreateKeyRequest{
			{},
			{Role: memoryv1.KeyRole_KEY_ROLE_USER},
			{Role: memoryv1.KeyRole_KEY_ROLE_ADMIN, UserId: "ada"},
			{Role: memoryv1.KeyRole_KEY_ROLE_OPERATOR, UserId: "ada"},
			{Role: 9},
			{Role: memoryv1.KeyRole_KEY_ROLE_AGENT, Ttl: durationpb.New(-1)},
			{Role: memoryv1.KeyRole_KEY_ROLE_AGENT, Tenant: "a\nb"},
		} {
			if _, err := d.Call(t.Context(), "KeyService/CreateKey", d.admin, bad); status.Code(err) != codes.InvalidArgument {
				t.Errorf("%v: %v", bad, err)
			}
		}
	})
	t.Run("an admin of a tenant makes and sees keys of that one alone", func(t *testing.T) {
		_, acme := d.key(&memoryv1.CreateKeyRequest{Tenant: "acme", Role: memoryv1.KeyRole_KEY_ROLE_ADMIN})
		for method, req := range map[string]proto.Message{
			"KeyService/CreateKey": &memoryv1.CreateKeyRequest{Tenant: auth.DefaultTenant, Role: memoryv1.KeyRole_KEY_ROLE_ADMIN},
			"KeyService/ListKeys":  &memoryv1.ListKeysRequest{Tenant: auth.DefaultTenant},
		} {
			if _, err := d.Call(t.Context(), method, acme, req); status.Code(err) != codes.PermissionDenied {
				t.Errorf("%s: %v", method, err)
			}
		}
		replies, err := d.Call(t.Context(), "KeyService/ListKeys", acme, &memoryv1.ListKeysRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if keys := replies[0].(*memoryv1.ListKeysResponse).GetKeys(); len(keys) != 1 || keys[0].GetTenant() != "acme" {
			t.Errorf("it sees %v", keys)
		}
	})
	t.Run("the first key is made once", func(t *testing.T) {
		h.Stop()
		again := e2e.StartOn(t, h.Data, func(c *config.Config) { c.Auth, c.BootstrapKey = config.AuthRequired, true })
		if again.App.FirstKey() != "" {
			t.Error("a second start made another key of an admin")
		}
		d.accessDoor = e2e.GRPCDoor{Conn: again.Conn}
		if got := allowed(d.admin); got != codes.OK {
			t.Errorf("the first key is %v after the restart", got)
		}
	})
}

// TestNobodyIsReadWithoutACredential: what nobody let in sends is not decoded, however large, and each refusal is counted by its cause.
func TestNobodyIsReadWithoutACredential(t *testing.T) {
	h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
		c.Auth, c.MetricsListen = config.AuthRequired, "127.0.0.1:0"
	})
	for name, sent := range map[string][]byte{"no message at all": {0xff, 0xff, 0xff}, "one of very many messages": bytes.Repeat([]byte{0x22, 0x00}, 1<<21)} {
		if err := h.Raw(t, sent); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s is answered %v", name, err)
		}
	}
	if _, err := grpc_health_v1.NewHealthClient(h.Conn).Check(h.Ctx, &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Errorf("a health check: %v", err)
	}
	reply, err := http.Get("http://" + h.Metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	page, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`strata_credentials_refused_total{cause="none"} `, `strata_credentials_refused_total{cause="revoked"} 0`} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}
