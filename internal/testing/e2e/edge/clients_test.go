package edge_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// seenByClient is what a client sees that records two messages, builds a context, reads both messages back by pages of one, records an
// empty message, calls without a key, waits for 50 seconds with a deadline of
// 3, by which the server must have replied, and exports its user.
type seenByClient struct {
	LastSeq    int
	Context    string
	Texts      []string
	Refused    refusal
	WithoutKey string
	Reached    bool
	File       string
}

// refusal is an error as a client sees it.
type refusal struct{ Code, Reason, Field string }

// TestRealClients calls the program that is released, which wants keys, with clients of other makers, in other languages and in a
// browser. testdata/clients/install.sh installs them; CI names clients in STRATA_TEST_REQUIRE.
func TestRealClients(t *testing.T) {
	tools, chromium := clientTools(t)
	invited, foreign := pageServer(t), pageServer(t)
	binary, descriptors := buildProgram(t), descriptorFile(t)
	s := startProgram(t, binary, "--auth", "required", "--bootstrap-key", "--cors-origins", invited)
	env := func(name string) []string {
		return append(os.Environ(), "STRATA_ADDRESS="+s.address, "STRATA_USER="+name, "STRATA_KEY="+s.keyOf(t, name), "STRATA_DESCRIPTORS="+descriptors)
	}
	python := filepath.Join(tools, "python", "bin", "python")
	for name, command := range map[string][]string{
		"connect-es": {"node", filepath.Join(tools, "connect.mjs")},
		"grpc-js":    {"node", filepath.Join(tools, "grpc.mjs")},
		"grpcio":     {python, filepath.Join(tools, "grpc_client.py")},
		"urllib":     {python, filepath.Join(tools, "rest.py")},
	} {
		t.Run(name+" is served", func(t *testing.T) {
			var seen seenByClient
			printed(t, env(name), &seen, command...)
			seen.check(t)
		})
	}
	for name, version := range map[string]string{"curl over HTTP/1.1": "--http1.1", "curl over HTTP/2 without TLS": "--http2-prior-knowledge"} {
		t.Run(name+" is served", func(t *testing.T) {
			user := "curl" + version
			curl{address: s.address, version: version, user: user, key: s.keyOf(t, user)}.walk(t).check(t)
		})
	}
	t.Run("grpcurl is served", func(t *testing.T) {
		grpcurl{program: filepath.Join(tools, "grpcurl"), address: s.address, descriptors: descriptors, key: s.keyOf(t, "grpcurl")}.walk(t, "grpcurl").check(t)
	})
	t.Run("a browser", func(t *testing.T) {
		open := startProgram(t, binary)
		pages := e2e.Must(json.Marshal(map[string]string{
			"invited": invited, "foreign": foreign, "server": "http://" + s.address, "open": "http://" + open.address,
			"user": "page", "connectKey": s.keyOf(t, "page-connect"), "restKey": s.keyOf(t, "page-rest"),
		}))(t)
		var seen struct {
			Connect, REST                   seenByClient
			Foreign, ForeignToOpen, Rebound map[string]string
			Form, ReboundVisit              int
		}
		printed(t, append(os.Environ(), "STRATA_PAGES="+string(pages), "STRATA_DESCRIPTORS="+descriptors, "STRATA_CHROMIUM="+chromium), &seen,
			"node", filepath.Join(tools, "browser.mjs"))
		t.Run("a page of an invited origin calls Connect", func(t *testing.T) { seen.Connect.check(t) })
		t.Run("a page of an invited origin calls REST", func(t *testing.T) { seen.REST.check(t) })
		t.Run("a page of another origin learns nothing", func(t *testing.T) {
			want := map[string]string{ // fetch fails where the browser keeps the reply
				"a call with JSON": "TypeError", "a call of Connect": "TypeError", "a read": "TypeError", "a read of the document": "TypeError",
				"plain text without asking": "nothing", "a form's type without asking": "nothing", "a post without a type": "nothing", "a beacon": "nothing",
			}
			if diff := cmp.Diff(want, seen.Foreign); diff != "" {
				t.Errorf("of a server with keys (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, seen.ForeignToOpen); diff != "" {
				t.Errorf("of a server without (-want +got):\n%s", diff)
			}
			if seen.Form != http.StatusForbidden && seen.Form != http.StatusUnsupportedMediaType {
				t.Errorf("a form is answered with HTTP %d", seen.Form)
			}
		})
		t.Run("a page whose name points to this machine is refused", func(t *testing.T) {
			for what, got := range seen.Rebound {
				if what != "a beacon" && got != "HTTP 403" && got != "nothing" {
					t.Errorf("%s: %s", what, got)
				}
			}
			if seen.ReboundVisit != http.StatusForbidden || len(seen.Rebound) == 0 {
				t.Errorf("/healthz is served with HTTP %d, calls %v", seen.ReboundVisit, seen.Rebound)
			}
		})
		t.Run("nothing of what uninvited pages sent was stored", func(t *testing.T) {
			for _, address := range []string{s.address, open.address} {
				var reply memoryv1.ListUsersResponse
				getAs(t, address, s.admin, "/v1/users", &reply)
				for _, u := range reply.GetUsers() {
					if u.GetUserId() == "intruder" {
						t.Errorf("%s has the user %s", address, u.GetUserId())
					}
				}
			}
		})
	})
}

func (seen seenByClient) check(t *testing.T) {
	t.Helper()
	if seen.LastSeq != 2 {
		t.Errorf("last_seq is %d after two messages", seen.LastSeq)
	}
	if !strings.Contains(seen.Context, "I am vegan, and I live in Porto") {
		t.Errorf("the context is %q", seen.Context)
	}
	if diff := cmp.Diff([]string{"I am vegan, and I live in Porto", "Noted!"}, seen.Texts); diff != "" {
		t.Errorf("what is read back (-want +got):\n%s", diff)
	}
	if want := (refusal{"INVALID_ARGUMENT", "FIELD_INVALID", "messages[0]"}); seen.Refused != want {
		t.Errorf("an empty message is refused with %+v, want %+v", seen.Refused, want)
	}
	if seen.WithoutKey != "UNAUTHENTICATED" {
		t.Errorf("a call without a key: %s", seen.WithoutKey)
	}
	if seen.Reached {
		t.Error("a wait for what never comes ended well")
	}
	lines := strings.Split(strings.TrimSuffix(seen.File, "\n"), "\n")
	for i, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("line %d of the export is no JSON: %.200q", i+1, line)
		}
	}
	if strings.Count(seen.File, "I am vegan, and I live in Porto") == 0 || len(lines) < 4 {
		t.Errorf("the export has %d lines: %.2000s", len(lines), seen.File)
	}
}

// clientTools are the folder that install.sh printed, and the program of Chromium.
func clientTools(t testing.TB) (folder, chromium string) {
	t.Helper()
	folder = os.Getenv("STRATA_TEST_CLIENTS")
	if folder == "" {
		backend.Missing(t, "clients", "STRATA_TEST_CLIENTS is not set: make real-clients installs what it names")
	}
	for _, program := range []string{"node", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			backend.Missing(t, "clients", err.Error())
		}
	}
	for _, program := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(program); err == nil {
			return folder, path
		}
	}
	backend.Missing(t, "clients", "there is no chromium in PATH")
	return "", ""
}

// pageServer serves an empty page, and returns its origin.
func pageServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>page</title><body></body>")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// descriptorFile is a file with the descriptors of the API, which clients that generate no code read.
func descriptorFile(t *testing.T) string {
	t.Helper()
	set, added := &descriptorpb.FileDescriptorSet{}, map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if added[f.Path()] {
			return
		}
		added[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	for _, name := range []string{"google/rpc/status.proto", "google/rpc/error_details.proto"} {
		add(e2e.Must(protoregistry.GlobalFiles.FindFileByPath(name))(t))
	}
	protoregistry.GlobalFiles.RangeFilesByPackage("memory.v1", func(f protoreflect.FileDescriptor) bool {
		add(f)
		return true
	})
	path := filepath.Join(t.TempDir(), "descriptors.binpb")
	if err := os.WriteFile(path, e2e.Must(proto.Marshal(set))(t), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// program is a running server as it is released.
type program struct {
	binary, address string
	admin           string // the token of an admin; "" where no keys are wanted
}

func buildProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "strata")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", path, "../../../../cmd/strata")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// startProgram serves on a free port of loopback until the test ends.
func startProgram(t *testing.T, binary string, args ...string) program {
	t.Helper()
	p := program{binary: binary}
	out := &e2e.Lines{}
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--metrics-listen", "", "--data", filepath.Join(t.TempDir(), "strata.db")}, args...)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v:\n%s", err, out)
		}
	}))
	e2e.Eventually(t, "the server says at which address it serves", func() bool {
		p.address = startedAt(out.String())
		return p.address != ""
	})
	e2e.Eventually(t, "the server is ready", func() bool {
		res, err := http.Get("http://" + p.address + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	if slices.Contains(args, "--bootstrap-key") {
		e2e.Eventually(t, "the first key is printed", func() bool {
			for line := range strings.Lines(out.String()) {
				if strings.HasPrefix(line, "strata_") {
					p.admin = strings.TrimSpace(line)
				}
			}
			return p.admin != ""
		})
	}
	return p
}

// startedAt is the address that a log says a server took; "" where it does not say it yet.
func startedAt(log string) string {
	for line := range strings.Lines(log) {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "strata starts" {
			return entry.Address
		}
	}
	return ""
}

// keyOf makes a key that reaches one user's memory, and returns its token.
func (p program) keyOf(t *testing.T, user string) string {
	t.Helper()
	create := exec.CommandContext(t.Context(), p.binary, "keys", "create", "--role", "user", "--user", user, "-o", "quiet", "--server", p.address)
	create.Env = append(os.Environ(), "STRATA_KEY="+p.admin)
	out, err := create.Output()
	if err != nil {
		t.Fatalf("make a key: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// printed runs a command and decodes what it prints.
func printed(t testing.TB, env []string, into any, command ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var out, faults bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &faults
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", command, err, out.String(), faults.String())
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatalf("%v: %v: %s%s", command, err, out.String(), faults.String())
	}
}

// getAs reads a reply of REST.
func getAs(t *testing.T, address, token, path string, into proto.Message) {
	t.Helper()
	r := e2e.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil))(t)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res := e2e.Must(http.DefaultClient.Do(r))(t) //nolint:bodyclose // it is, below
	defer res.Body.Close()
	body := e2e.Must(io.ReadAll(res.Body))(t)
	if err := protojson.Unmarshal(body, into); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: HTTP %d %s: %v", path, res.StatusCode, body, err)
	}
}

const (
	recordTwo = `{"messages": [{"id": "m1", "role": "ROLE_USER", "text": "I am vegan, and I live in Porto"},
		{"id": "m2", "role": "ROLE_ASSISTANT", "text": "Noted!"}]`
	recordEmpty = `{"messages": [{"role": "ROLE_USER", "text": ""}]`
	buildAsText = `{"query": "What may I cook?", "render": "RENDER_TEXT"`
	waitLonger  = `{"of": ["WATERMARK_SUMMARISED"], "min_seq": 9999, "timeout": "50s"`
)

// refusalOf reads an error's details.
func refusalOf(err error) refusal {
	out := refusal{Code: strings.ToUpper(codeName(status.Code(err)))}
	for _, d := range status.Convert(err).Proto().GetDetails() {
		var detail struct {
			Reason          string
			FieldViolations []struct{ Field string }
		}
		if json.Unmarshal(e2e.MustJSON(d), &detail) != nil {
			continue
		}
		if detail.Reason != "" {
			out.Reason = detail.Reason
		}
		if len(detail.FieldViolations) > 0 {
			out.Field = detail.FieldViolations[0].Field
		}
	}
	return out
}

// codeName is the name of a code as the specification of gRPC has it.
func codeName(code codes.Code) string {
	for name, number := range map[string]codes.Code{
		"OK": codes.OK, "INVALID_ARGUMENT": codes.InvalidArgument, "UNAUTHENTICATED": codes.Unauthenticated,
	} {
		if number == code {
			return name
		}
	}
	return code.String()
}

// curl calls REST.
type curl struct{ address, version, user, key string }

// Call returns the body of a reply, and the error that it is.
func (c curl) Call(t *testing.T, method, path, body string, more ...string) (string, error) {
	t.Helper()
	args := append([]string{"--silent", "--show-error", "--max-time", "60", c.version, "--request", method, "--write-out", "\n%{http_code} %{http_version}"}, more...)
	if body != "" {
		args = append(args, "--header", "Content-Type: application/json", "--data-binary", "@-")
	}
	cmd := exec.CommandContext(t.Context(), "curl", append(args, "http://"+c.address+path)...)
	cmd.Stdin = strings.NewReader(body)
	var faults bytes.Buffer
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("curl %s: %v: %s", path, err, faults.String())
	}
	at := bytes.LastIndexByte(out, '\n')
	reply := string(out[:at])
	var code int
	var version string
	if _, err := fmt.Sscan(string(out[at+1:]), &code, &version); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"--http1.1": "1.1", "--http2-prior-knowledge": "2"}[c.version]; version != want {
		t.Errorf("%s was served over HTTP/%s", path, version)
	}
	if code == http.StatusOK {
		return reply, nil
	}
	st := &spb.Status{}
	if err := protojson.Unmarshal([]byte(reply), st); err != nil {
		t.Fatalf("%s: HTTP %d %s: %v", path, code, reply, err)
	}
	return "", status.ErrorProto(st)
}

func (c curl) walk(t *testing.T) (seen seenByClient) {
	t.Helper()
	key := []string{"--header", "Authorization: Bearer " + c.key}
	s1 := "/v1/users/" + url.PathEscape(c.user) + "/sessions/s%2F1"
	reply := func(method, path, body string, into proto.Message, more ...string) {
		t.Helper()
		out, err := c.Call(t, method, path, body, append(more, key...)...)
		for try := 1; status.Code(err) == codes.DeadlineExceeded && try < 10; try++ { // the reply may be late, but not each time
			out, err = c.Call(t, method, path, body, append(more, key...)...)
		}
		if err == nil {
			err = protojson.Unmarshal([]byte(out), into)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	var recorded memoryv1.RecordResponse
	reply(http.MethodPost, s1+":record", recordTwo+"}", &recorded)
	seen.LastSeq = int(recorded.GetLastSeq())
	var built memoryv1.BuildContextResponse
	reply(http.MethodPost, s1+":buildContext", buildAsText+"}", &built)
	seen.Context = built.GetRendering()
	var first, second memoryv1.ListMessagesResponse
	reply(http.MethodGet, s1+"/messages?page_size=1", "", &first)
	reply(http.MethodGet, s1+"/messages?page_size=1&page_token="+url.QueryEscape(first.GetNextPageToken()), "", &second)
	for _, m := range append(first.GetMessages(), second.GetMessages()...) {
		seen.Texts = append(seen.Texts, m.GetParts()[0].GetText().GetText())
	}
	_, err := c.Call(t, http.MethodPost, s1+":record", recordEmpty+"}", key...)
	seen.Refused = refusalOf(err)
	_, err = c.Call(t, http.MethodGet, s1, "")
	seen.WithoutKey = refusalOf(err).Code
	var waited memoryv1.WaitForWatermarkResponse
	reply(http.MethodPost, s1+":wait", waitLonger+"}", &waited, "--header", "X-Server-Timeout: 3")
	seen.Reached = waited.GetReached()
	seen.File = e2e.Must(c.Call(t, http.MethodGet, "/v1/users/"+url.PathEscape(c.user)+"/export", "", key...))(t)
	return seen
}

// grpcurl calls gRPC.
type grpcurl struct{ program, address, descriptors, key string }

// Call returns the replies of a method, and the error that grpcurl printed as JSON.
func (g grpcurl) Call(t *testing.T, method, body, key string, more ...string) ([]json.RawMessage, error) {
	t.Helper()
	args := append([]string{"-plaintext", "-protoset", g.descriptors, "-format-error", "-d", "@"}, more...)
	if key != "" {
		args = append(args, "-H", "authorization: Bearer "+key)
	}
	cmd := exec.CommandContext(t.Context(), g.program, append(args, g.address, "memory.v1."+method)...)
	cmd.Stdin = strings.NewReader(body)
	var faults bytes.Buffer
	cmd.Stderr = &faults
	out, err := cmd.Output()
	if err != nil {
		st := &spb.Status{}
		if e := protojson.Unmarshal(faults.Bytes(), st); e != nil {
			t.Fatalf("grpcurl %s: %v: %s", method, err, faults.String())
		}
		return nil, status.ErrorProto(st)
	}
	var replies []json.RawMessage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var reply json.RawMessage
		if err := d.Decode(&reply); errors.Is(err, io.EOF) {
			return replies, nil
		} else if err != nil {
			t.Fatalf("grpcurl %s: %v: %s", method, err, out)
		}
		replies = append(replies, reply)
	}
}

func (g grpcurl) walk(t *testing.T, user string) (seen seenByClient) {
	t.Helper()
	ids := fmt.Sprintf(`, "user_id": %q, "session_id": "s/1"}`, user)
	reply := func(method, body string, into proto.Message, more ...string) {
		t.Helper()
		replies, err := g.Call(t, method, body, g.key, more...)
		for try := 1; status.Code(err) == codes.DeadlineExceeded && try < 10; try++ { // the reply may be late, but not each time
			replies, err = g.Call(t, method, body, g.key, more...)
		}
		if err == nil && len(replies) != 1 {
			err = fmt.Errorf("%d replies", len(replies))
		}
		if err == nil {
			err = protojson.Unmarshal(replies[0], into)
		}
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
	}
	var recorded memoryv1.RecordResponse
	reply("MemoryService/Record", recordTwo+ids, &recorded)
	seen.LastSeq = int(recorded.GetLastSeq())
	var built memoryv1.BuildContextResponse
	reply("MemoryService/BuildContext", buildAsText+ids, &built)
	seen.Context = built.GetRendering()
	var first, second memoryv1.ListMessagesResponse
	reply("MemoryService/ListMessages", `{"page_size": 1`+ids, &first)
	reply("MemoryService/ListMessages", fmt.Sprintf(`{"page_size": 1, "page_token": %q`, first.GetNextPageToken())+ids, &second)
	for _, m := range append(first.GetMessages(), second.GetMessages()...) {
		seen.Texts = append(seen.Texts, m.GetParts()[0].GetText().GetText())
	}
	_, err := g.Call(t, "MemoryService/Record", recordEmpty+ids, g.key)
	seen.Refused = refusalOf(err)
	_, err = g.Call(t, "MemoryService/GetSession", `{`+ids[1:], "")
	seen.WithoutKey = refusalOf(err).Code
	var waited memoryv1.WaitForWatermarkResponse
	reply("WorkService/WaitForWatermark", waitLonger+ids, &waited, "-max-time", "3")
	seen.Reached = waited.GetReached()
	pieces, err := g.Call(t, "UserService/ExportUser", fmt.Sprintf(`{"user_id": %q}`, user), g.key)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range pieces {
		var of struct{ Chunk string }
		if err := json.Unmarshal(piece, &of); err != nil {
			t.Fatal(err)
		}
		seen.File += string(e2e.Must(base64.StdEncoding.DecodeString(of.Chunk))(t))
	}
	return seen
}
