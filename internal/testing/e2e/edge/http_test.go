package edge_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// methods are those of the API that are no streams.
func methods() []protoreflect.MethodDescriptor {
	var all []protoreflect.MethodDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage("memory.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				if m := file.Services().Get(i).Methods().Get(j); !m.IsStreamingClient() && !m.IsStreamingServer() {
					all = append(all, m)
				}
			}
		}
		return true
	})
	return all
}

// nameless names what every call names, so that REST has a path: the user, the session and other ids are x.
func nameless(m protoreflect.MethodDescriptor) proto.Message {
	of, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
	if err != nil {
		panic(err)
	}
	req := of.New()
	fillIDs(req, 0)
	return req.Interface()
}

func fillIDs(m protoreflect.Message, depth int) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		name := string(f.Name())
		isID := name == "user_id" || name == "session_id" || name == "fact_id" || name == "job_id" || depth == 1 && name == "id"
		switch {
		case f.IsList() || f.IsMap():
		case f.Kind() == protoreflect.StringKind && isID:
			m.Set(f, protoreflect.ValueOfString("x"))
		case f.Kind() == protoreflect.MessageKind && depth == 0 && strings.HasPrefix(string(f.Message().FullName()), "memory.v1.") &&
			(name == "fact" || name == "session" || name == "message" || name == "user" || name == "summary"):
			fillIDs(m.Mutable(f).Message(), depth+1)
		}
	}
}

func TestEveryCallAtEveryEntrance(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	h.RecordTurn(t, "s1", e2e.User("m1", "I am vegan and live in Lisbon."), e2e.Assistant("a1", "Noted."))
	all := h.Entrances()
	t.Run("what is refused is refused at every entrance with the same code, words and details", func(t *testing.T) {
		for _, m := range methods() {
			if m.Name() == "Reindex" || m.Name() == "Verify" || m.Name() == "Reembed" || m.Name() == "RetryJobs" {
				continue // an empty one begins work
			}
			req := nameless(m)
			var want *status.Status
			for _, d := range all {
				reply, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
				if err != nil {
					t.Fatal(err)
				}
				got := status.Convert(d.Call(h.Ctx, m, req, reply.New().Interface()))
				if want == nil {
					want = got
				}
				if diff := cmp.Diff(want.Proto(), got.Proto(), protocmp.Transform()); diff != "" {
					t.Errorf("%s by %s (-gRPC +it):\n%s", m.FullName(), d.Name, diff)
				}
			}
		}
	})
	t.Run("a reply is the same at every entrance", func(t *testing.T) {
		for _, c := range []struct {
			method     string
			req, reply proto.Message
		}{
			{"MemoryService.GetSession", &memoryv1.GetSessionRequest{UserId: "ada", SessionId: "s1"}, &memoryv1.GetSessionResponse{}},
			{"MemoryService.ListMessages", &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s1", PageSize: 1}, &memoryv1.ListMessagesResponse{}},
			{"MemoryService.SearchMessages", &memoryv1.SearchMessagesRequest{UserId: "ada", Query: "vegan"}, &memoryv1.SearchMessagesResponse{}},
			{"UserService.GetUser", &memoryv1.GetUserRequest{UserId: "ada"}, &memoryv1.GetUserResponse{}},
			{"HistoryService.CountTokens", &memoryv1.CountTokensRequest{Texts: []string{"one two three"}}, &memoryv1.CountTokensResponse{}},
		} {
			m := methodNamed(t, c.method)
			var want proto.Message
			for _, d := range all {
				reply := c.reply.ProtoReflect().New().Interface()
				if err := d.Call(h.Ctx, m, c.req, reply); err != nil {
					t.Fatalf("%s by %s: %v", c.method, d.Name, err)
				}
				if want == nil {
					want = reply
				}
				if diff := cmp.Diff(want, reply, protocmp.Transform()); diff != "" {
					t.Errorf("%s by %s (-gRPC +it):\n%s", c.method, d.Name, diff)
				}
			}
		}
	})
	t.Run("a page token of one entrance is one of every other", func(t *testing.T) {
		m := methodNamed(t, "MemoryService.ListMessages")
		for i, d := range all {
			first, second := &memoryv1.ListMessagesResponse{}, &memoryv1.ListMessagesResponse{}
			req := &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s1", PageSize: 1}
			e2e.Must(first, d.Call(h.Ctx, m, req, first))(t)
			req.PageToken = first.GetNextPageToken()
			e2e.Must(second, all[(i+1)%len(all)].Call(h.Ctx, m, req, second))(t)
			if len(second.GetMessages()) != 1 || second.GetMessages()[0].GetId() != "a1" {
				t.Errorf("the second page after one by %s: %v", d.Name, second)
			}
		}
	})
	t.Run("a stale etag is refused at every entrance", func(t *testing.T) {
		m := methodNamed(t, "MemoryService.UpdateSession")
		for _, d := range all {
			err := d.Call(h.Ctx, m, &memoryv1.UpdateSessionRequest{
				Session: &memoryv1.Session{UserId: "ada", SessionId: "s1", Title: "t", Etag: "stale"}, UpdateMask: e2e.MaskOf("title"),
			}, &memoryv1.UpdateSessionResponse{})
			e2e.Refused(t, err, codes.Aborted, "ETAG_MISMATCH", "")
		}
	})
	t.Run("a deadline holds at every entrance", func(t *testing.T) {
		m := methodNamed(t, "WorkService.WaitForWatermark")
		for _, d := range all {
			ctx, cancel := context.WithTimeout(h.Ctx, 300*time.Millisecond)
			began, reply := time.Now(), &memoryv1.WaitForWatermarkResponse{}
			err := d.Call(ctx, m, &memoryv1.WaitForWatermarkRequest{
				UserId: "ada", SessionId: "s1", Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_SUMMARISED}, MinSeq: 2,
				Timeout: durationpb.New(50 * time.Second),
			}, reply)
			cancel()
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("by %s: %v, %v after %v", d.Name, reply, err, took)
			}
		}
	})
	t.Run("ids of any printable characters are the same at every entrance", func(t *testing.T) {
		record, get := methodNamed(t, "MemoryService.Record"), methodNamed(t, "MemoryService.GetSession")
		for i, id := range []string{
			"a/b", "a:record", "a%2Fb", "..", ".", "a b", "a?b=c", "a#b", "日本語", "a+b", "a&b", "a;b", "{user_id}", "*", "**", "a//b", "%", "é🙂", `a\b`, "a=b",
		} {
			writer := all[i%len(all)]
			err := writer.Call(h.Ctx, record, &memoryv1.RecordRequest{
				UserId: id, SessionId: id, Messages: []*memoryv1.Message{{Id: "m", Role: memoryv1.Role_ROLE_USER, Text: "Hello."}},
			}, &memoryv1.RecordResponse{})
			if err != nil {
				t.Errorf("%q by %s: %v", id, writer.Name, err)
				continue
			}
			for _, d := range all {
				reply := &memoryv1.GetSessionResponse{}
				err := d.Call(h.Ctx, get, &memoryv1.GetSessionRequest{UserId: id, SessionId: id}, reply)
				if err != nil || reply.GetSession().GetSessionId() != id || reply.GetSession().GetUserId() != id {
					t.Errorf("%q by %s: %v, %v", id, d.Name, reply, err)
				}
			}
		}
	})
}

func methodNamed(t *testing.T, name string) protoreflect.MethodDescriptor {
	t.Helper()
	return descriptorOf(t, name)
}

func descriptorOf(t testing.TB, name string) protoreflect.MethodDescriptor {
	t.Helper()
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("memory.v1." + name))
	if err != nil {
		t.Fatal(err)
	}
	return d.(protoreflect.MethodDescriptor)
}

func TestWebPagesAreKeptOut(t *testing.T) {
	t.Parallel()
	const record, hello = "/v1/users/ada/sessions/s1:record", `{"messages":[{"role":"ROLE_USER","text":"Hello."}]}`
	asJSON := map[string]string{"Content-Type": "application/json"}
	with := func(more ...string) map[string]string {
		out := map[string]string{"Content-Type": "application/json"}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	t.Run("a loopback server is not reachable by a web page", func(t *testing.T) {
		h := e2e.Start(t)
		for name, c := range map[string]struct {
			header map[string]string
			code   int
		}{
			"a page of another site":                        {with("Origin", "https://evil.example"), http.StatusForbidden},
			"a page of another port of this machine":        {with("Origin", "http://localhost:3000"), http.StatusForbidden},
			"a page without a site":                         {with("Origin", "null"), http.StatusForbidden},
			"a page whose name points here":                 {with("Host", "rebound.evil.example"), http.StatusForbidden},
			"a page whose name points here, with a port":    {with("Host", "rebound.evil.example:8081"), http.StatusForbidden},
			"an image or a link of another site":            {with("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
			"a form, whose types need no leave: plain text": {map[string]string{"Content-Type": "text/plain"}, http.StatusUnsupportedMediaType},
			"a form's own type":                             {map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, http.StatusUnsupportedMediaType},
			"a form with files":                             {map[string]string{"Content-Type": "multipart/form-data; boundary=x"}, http.StatusUnsupportedMediaType},
			"a request without a type":                      {map[string]string{}, http.StatusUnsupportedMediaType},
			"a program":                                     {asJSON, http.StatusOK},
			"a program that calls localhost":                {with("Host", "localhost:8081"), http.StatusOK},
			"a program that calls another loopback address": {with("Host", "127.1.2.3:8081"), http.StatusOK},
			"a program that calls by IPv6":                  {with("Host", "[::1]:8081"), http.StatusOK},
		} {
			code, header, body := h.OverHTTP(t, http.MethodPost, record, hello, c.header)
			if code != c.code {
				t.Errorf("%s: %d %s, want %d", name, code, body, c.code)
			}
			if header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s: may read the reply", name)
			}
		}
		if n := len(h.Transcript(t, "s1")); n != 4 {
			t.Errorf("%d messages were stored, want those of the 4 programs", n)
		}
	})
	t.Run("pages of the origins that are set may call, others may not", func(t *testing.T) {
		h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.CORSOrigins = "https://app.example.org" })
		preflight := map[string]string{
			"Origin": "https://app.example.org", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type",
		}
		code, header, _ := h.OverHTTP(t, http.MethodOptions, record, "", preflight)
		if code != http.StatusNoContent || header.Get("Access-Control-Allow-Origin") != "https://app.example.org" {
			t.Errorf("preflight: %d %v", code, header)
		}
		code, header, body := h.OverHTTP(t, http.MethodPost, record, hello, with("Origin", "https://app.example.org", "Sec-Fetch-Site", "cross-site"))
		if code != http.StatusOK || header.Get("Access-Control-Allow-Origin") != "https://app.example.org" {
			t.Errorf("call: %d %v %s", code, header, body)
		}
		code, header, _ = h.OverHTTP(t, http.MethodPost, record, hello, with("Origin", "https://evil.example"))
		if code != http.StatusForbidden || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("another origin: %d %v", code, header)
		}
	})
	t.Run("http-hosts are the names by which it may be called", func(t *testing.T) {
		h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.HTTPHosts = "memory.example.org" })
		for host, want := range map[string]int{"memory.example.org": 200, "Memory.Example.Org:8081": 200, "other.example.org": 403, "127.0.0.1": 200} {
			if code, _, body := h.OverHTTP(t, http.MethodPost, record, hello, with("Host", host)); code != want {
				t.Errorf("%s: %d %s, want %d", host, code, body, want)
			}
		}
	})
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	asJSON := map[string]string{"Content-Type": "application/json"}
	t.Run("health, readiness and the document are served", func(t *testing.T) {
		for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
			if code, _, body := h.OverHTTP(t, http.MethodGet, path, "", nil); code != http.StatusOK || body != want {
				t.Errorf("%s: %d %q", path, code, body)
			}
		}
		if _, _, body := h.OverHTTP(t, http.MethodGet, "/openapi.yaml", "", nil); !strings.HasPrefix(body, "openapi: 3.1.0\n") {
			t.Errorf("the document begins with %.40q", body)
		}
	})
	t.Run("an unknown path is told where the paths are", func(t *testing.T) {
		code, _, body := h.OverHTTP(t, http.MethodGet, "/v1/nothing", "", nil)
		if code != http.StatusNotFound || !strings.Contains(body, "/openapi.yaml") {
			t.Errorf("%d %s", code, body)
		}
	})
	t.Run("a path that does not take the method says so as JSON", func(t *testing.T) {
		code, header, body := h.OverHTTP(t, http.MethodDelete, "/v1/users", "", nil)
		if code != http.StatusMethodNotAllowed || header.Get("Allow") != http.MethodGet || header.Get("Content-Type") != "application/json" ||
			!json.Valid([]byte(body)) {
			t.Errorf("%d %v %s", code, header, body)
		}
	})
	t.Run("who speaks gRPC over HTTP/1.1 is told in one line what to do", func(t *testing.T) {
		code, _, body := h.OverHTTP(t, http.MethodPost, "/memory.v1.MemoryService/Record", "", map[string]string{"Content-Type": "application/grpc"})
		if code != http.StatusHTTPVersionNotSupported || !strings.Contains(body, "gRPC needs HTTP/2") {
			t.Errorf("%d %s", code, body)
		}
	})
	t.Run("bad JSON is refused with its place, and without its words", func(t *testing.T) {
		for _, bad := range []string{
			`{"messags":[]}`, `{"messages":[{"role":"canary"}]}`, `{"messages":"canary"}`, `{`, `canary`, `{"messages":[{"pinned":"canary"}]}`, `[]`,
			`{"expected_last_seq":"canary"}`, `{"state_patch":["canary"]}`, `{"messages":[{"create_time":"canary"}]}`,
		} {
			code, _, body := h.OverHTTP(t, http.MethodPost, "/v1/users/ada/sessions/s1:record", bad, asJSON)
			if code != http.StatusBadRequest || strings.Contains(body, "canary") || !strings.Contains(body, "the body is no JSON of this request") ||
				!strings.Contains(body, "FIELD_INVALID") {
				t.Errorf("%s: %d %s", bad, code, body)
			}
		}
	})
	t.Run("a field in the wrong place is refused with its own", func(t *testing.T) {
		for field, want := range map[string]string{
			`"budget_tokens":100`: `unknown field \"budget_tokens\"; the request has it as overrides.budget_tokens`,
			`"content":"hi"`:      `unknown field \"content\": /openapi.yaml has the fields of each request`,
		} {
			code, _, body := h.OverHTTP(t, http.MethodPost, "/v1/users/ada/sessions/s1:buildContext", "{"+field+"}", asJSON)
			if code != http.StatusBadRequest || !strings.Contains(body, want) {
				t.Errorf("%s: %d %s", field, code, body)
			}
		}
	})
	t.Run("a value that an enum has not is refused with those it has", func(t *testing.T) {
		for body, want := range map[string]string{
			`{"messages":[{"role":"user","text":"hi"}]}`: `role takes ROLE_SYSTEM, ROLE_DEVELOPER, ROLE_USER, ROLE_ASSISTANT or ROLE_TOOL`,
			`{"messages":[{"extract":"no"}]}`:            `extract takes EXTRACT_MODE_`,
		} {
			if _, _, reply := h.OverHTTP(t, http.MethodPost, "/v1/users/ada/sessions/s1:record", body, asJSON); !strings.Contains(reply, want) {
				t.Errorf("%s: %s, want %s", body, reply, want)
			}
		}
	})
	t.Run("a post without a body is one of an empty request", func(t *testing.T) {
		if code, _, body := h.OverHTTP(t, http.MethodPost, "/v1/history:countTokens", "", asJSON); code != http.StatusOK {
			t.Errorf("%d %s", code, body)
		}
	})
	t.Run("a compressed body is read, unless it is not compressed or far larger than it seems", func(t *testing.T) {
		gzipped := map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"}
		for body, want := range map[string]int{
			zipped(t, `{"texts":["one"]}`):          http.StatusOK,
			zipped(t, strings.Repeat(" ", 100<<20)): http.StatusRequestEntityTooLarge,
			`{"texts":["one"]}`:                     http.StatusBadRequest,
		} {
			if code, _, reply := h.OverHTTP(t, http.MethodPost, "/v1/history:countTokens", body, gzipped); code != want {
				t.Errorf("%d bytes: %d %s, want %d", len(body), code, reply, want)
			}
		}
	})
	t.Run("a header that cannot be read is the client's fault", func(t *testing.T) {
		for name, value := range map[string]string{"A-Bin": "not base64!", "Grpc-Timeout": "soon"} {
			if code, _, body := h.OverHTTP(t, http.MethodGet, "/v1/users", "", map[string]string{name: value}); code != http.StatusBadRequest {
				t.Errorf("%s: %d %s", name, code, body)
			}
		}
	})
	t.Run("a bad parameter or deadline is refused by its name, without its value", func(t *testing.T) {
		for _, bad := range []struct{ query, timeout, field string }{
			{"?page_siz=1234567", "", "page_siz"},
			{"?page_size=canary", "", "page_size"},
			{"?page_size=99999999999999", "", "page_size"},
			{"", "canary", "X-Server-Timeout"},
			{"/ada/export", "canary", "X-Server-Timeout"},
			{":import", "canary", "X-Server-Timeout"},
			{":import", "NaN", "X-Server-Timeout"},
		} {
			headers := map[string]string{}
			if bad.timeout != "" {
				headers["X-Server-Timeout"] = bad.timeout
			}
			method := http.MethodGet
			if bad.query == ":import" {
				method, headers["Content-Type"] = http.MethodPost, "application/x-ndjson"
			}
			code, header, body := h.OverHTTP(t, method, "/v1/users"+bad.query, "", headers)
			named := strings.Contains(body, `"message":"`+bad.field+": ") && strings.Contains(body, `"metadata":{"field":"`+bad.field+`"}`)
			if code != http.StatusBadRequest || header.Get("Content-Type") != "application/json" || !named || !strings.Contains(body, "FIELD_INVALID") ||
				strings.Contains(body, "canary") || strings.Contains(body, "999") || strings.Contains(body, "1234567") {
				t.Errorf("%+v: %d %v %s", bad, code, header, body)
			}
		}
	})
	t.Run("a body that is too large is refused with its limit and the way out, and not to come again", func(t *testing.T) {
		for limit, large := range map[string]string{
			"16 MiB": strings.Repeat(" ", 17<<20),
			"8 MiB":  `{"texts":["` + strings.Repeat("a", 9<<20) + `"]}`,
		} {
			code, header, body := h.OverHTTP(t, http.MethodPost, "/v1/history:countTokens", large, asJSON)
			st := &spb.Status{}
			if err := protojson.Unmarshal([]byte(body), st); err != nil || code != http.StatusRequestEntityTooLarge || header.Get("Retry-After") != "" ||
				!strings.Contains(body, "larger than "+limit) || !strings.Contains(body, "split it into several calls") {
				t.Errorf("%d %s", code, body)
			}
			e2e.Refused(t, status.ErrorProto(st), codes.InvalidArgument, "FIELD_INVALID", "body")
		}
	})
	t.Run("a passed deadline is said to be the caller's", func(t *testing.T) {
		code, _, body := h.OverHTTP(t, http.MethodPost, "/v1/users/ada/sessions/s1:record", `{"messages":[{"role":"ROLE_USER","text":"hi"}]}`,
			map[string]string{"Content-Type": "application/json", "X-Server-Timeout": "0.000001"})
		if code != http.StatusGatewayTimeout || !strings.Contains(body, "X-Server-Timeout") || !strings.Contains(body, "allow the call more time") {
			t.Errorf("%d %s", code, body)
		}
	})
	t.Run("an import ends at the caller's deadline, also while its file does not come", func(t *testing.T) {
		c := e2e.Must(net.Dial("tcp", h.Conn.Target()))(t) // a file of which one byte comes
		defer c.Close()
		fmt.Fprintf(c, "POST /v1/users:import HTTP/1.1\r\nHost: localhost\r\nX-Server-Timeout: 0.05\r\nContent-Length: 1000\r\n"+
			"Content-Type: application/x-ndjson\r\n\r\n{")
		if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if body := e2e.Must(io.ReadAll(res.Body))(t); res.StatusCode != http.StatusGatewayTimeout || !strings.Contains(string(body), "X-Server-Timeout") {
			t.Errorf("%d %s", res.StatusCode, body)
		}
	})
	t.Run("a user is exported as a file and imported from it", func(t *testing.T) {
		h, other := e2e.StartSweeping(t), e2e.StartSweeping(t)
		h.FillPortable(t)
		file := h.Settled(t, "ada")
		code, header, got := h.OverHTTP(t, http.MethodGet, "/v1/users/ada/export", "", nil)
		if code != http.StatusOK || header.Get("Content-Type") != "application/x-ndjson" || got != file {
			t.Errorf("%d %v, %d bytes of %d", code, header, len(got), len(file))
		}
		code, _, body := other.OverHTTP(t, http.MethodPost, "/v1/users:import?user_id=gr%2Face", file, map[string]string{"Content-Type": "application/x-ndjson"})
		if code != http.StatusOK || !strings.Contains(body, `gr/ace`) {
			t.Errorf("%d %s", code, body)
		}
		code, _, body = other.OverHTTP(t, http.MethodPost, "/v1/users:import?user_id=gr%2Face", file, map[string]string{"Content-Type": "application/x-ndjson"})
		if code != http.StatusConflict || !strings.Contains(body, "USER_EXISTS") {
			t.Errorf("%d %s", code, body)
		}
		if code, _, body = other.OverHTTP(t, http.MethodGet, "/v1/users/nobody/export", "", nil); code != http.StatusNotFound || !strings.Contains(body, "USER_NOT_FOUND") {
			t.Errorf("%d %s", code, body)
		}
	})
}

func TestAUserIsImportedOverConnectAndGRPCWeb(t *testing.T) {
	t.Parallel()
	h := e2e.StartSweeping(t)
	h.FillPortable(t)
	file := h.Settled(t, "ada")
	for name, options := range map[string][]connect.ClientOption{
		"Connect": {}, "Connect with JSON": {connect.WithProtoJSON()}, "gRPC-Web": {connect.WithGRPCWeb()},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect.NewClient[memoryv1.ImportUserRequest, memoryv1.ImportUserResponse](
				http.DefaultClient, "http://"+h.Conn.Target()+memoryv1.UserService_ImportUser_FullMethodName, options...)
			send := func(user, file string) (*memoryv1.ImportUserResponse, error) {
				stream := c.CallClientStream(h.Ctx)
				for len(file) > 0 {
					n := min(len(file), 1000)
					if err := stream.Send(&memoryv1.ImportUserRequest{UserId: user, Chunk: []byte(file[:n])}); err != nil {
						break // the reply says why
					}
					file = file[n:]
				}
				reply, err := stream.CloseAndReceive()
				if err != nil {
					return nil, err
				}
				return reply.Msg, nil
			}
			if reply, err := send("by "+name, file); err != nil || reply.GetUser().GetUserId() != "by "+name {
				t.Errorf("%v, %v", reply, err)
			}
			if _, err := send("by "+name, file); connect.CodeOf(err) != connect.CodeAlreadyExists {
				t.Errorf("a second time: %v", err)
			}
			if _, err := send("half by "+name, file[:len(file)/2]); connect.CodeOf(err) != connect.CodeInvalidArgument {
				t.Errorf("half of the file: %v", err)
			}
		})
	}
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// slowUsers is a store that takes its time to read a user.
type slowUsers struct {
	store.PrimaryStore
	takes time.Duration
}

func (s slowUsers) User(ctx context.Context, ref memory.UserRef) (memory.User, error) {
	select {
	case <-ctx.Done():
		return memory.User{}, ctx.Err()
	case <-time.After(s.takes):
	}
	return s.PrimaryStore.User(ctx, ref)
}

// How long a body is waited for says nothing of how long a call may take whose body has come, or which has none.
func TestACallMayTakeLongerThanItsBodyIsWaitedFor(t *testing.T) {
	t.Parallel()
	const patience = 100 * time.Millisecond
	wrap := func(s store.PrimaryStore) store.PrimaryStore { return slowUsers{s, 4 * patience} }
	h := e2e.StartWith(t, filepath.Join(t.TempDir(), "strata.db"), app.Options{Hooks: app.Hooks{Wrap: wrap}}, func(c *config.Config) { c.ReplyTimeout = patience })
	h.RecordTurn(t, "s", e2e.User("m", "plums"))
	connected := map[string]string{"Content-Type": "application/json", "Connect-Protocol-Version": "1"}
	for _, call := range []struct {
		method, path, body string
		header             map[string]string
	}{
		{http.MethodGet, "/v1/users/ada", "", nil},
		{http.MethodGet, "/v1/users/ada/export", "", nil},
		{http.MethodPost, "/memory.v1.UserService/GetUser", `{"user_id":"ada"}`, connected},
	} {
		if code, _, body := h.OverHTTP(t, call.method, call.path, call.body, call.header); code != http.StatusOK {
			t.Errorf("%s %s: %d %s", call.method, call.path, code, body)
		}
	}
}

func TestSlowHTTPClientsAreCutOff(t *testing.T) {
	t.Parallel()
	h := e2e.StartWithPatience(t, 300*time.Millisecond)
	for name, kind := range map[string]string{"whose body would be read": "application/json", "that is refused unread": "text/plain"} {
		c := e2e.Must(net.Dial("tcp", h.Conn.Target()))(t)
		defer c.Close()
		fmt.Fprintf(c, "POST /v1/users/ada/sessions/s1:record HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 1000\r\n\r\n{", kind)
		if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c); err != nil {
			t.Errorf("a client that sends nothing of its body, in a request %s: %v", name, err)
		}
	}
	if n, err := h.ListSessions(h.Ctx, &memoryv1.ListSessionsRequest{UserId: "ada"}); err == nil && len(n.GetSessions()) > 0 {
		t.Error("half a request was stored")
	}
}
