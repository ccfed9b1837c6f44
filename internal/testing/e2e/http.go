package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/api/annotations"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
)

// Entrance is a way to call the server.
type Entrance struct {
	Name string
	Call func(ctx context.Context, m protoreflect.MethodDescriptor, req, reply proto.Message) error
}

// Entrances are all ways to make a call that is no stream.
func (h *Server) Entrances() []Entrance {
	base := "http://" + h.Conn.Target()
	one := &http.Client{Transport: &http.Transport{}}
	two := &http.Client{Transport: &http.Transport{Protocols: UnencryptedHTTP2()}}
	return []Entrance{
		{"gRPC", func(ctx context.Context, m protoreflect.MethodDescriptor, req, reply proto.Message) error {
			return h.Conn.Invoke(ctx, MethodPath(m), req, reply)
		}},
		{"REST", func(ctx context.Context, m protoreflect.MethodDescriptor, req, reply proto.Message) error {
			return callREST(ctx, one, base, m, req, reply)
		}},
		{"Connect with JSON", connectEntrance(one, base, connect.WithProtoJSON())},
		{"Connect over HTTP/2", connectEntrance(two, base)},
		{"gRPC-Web", connectEntrance(one, base, connect.WithGRPCWeb())},
		{"gRPC-Web over HTTP/2", connectEntrance(two, base, connect.WithGRPCWeb())},
	}
}

// Walked are the entrances by which a test makes every call by everybody. With -short, for the race detector, they are gRPC and REST:
// behind its entrance a call runs through the same code, and what is entrances' own is tried by all of them in tests that make few calls.
func Walked(h *Server) []Entrance {
	if testing.Short() {
		return h.Entrances()[:2]
	}
	return h.Entrances()
}

func UnencryptedHTTP2() *http.Protocols {
	p := &http.Protocols{}
	p.SetUnencryptedHTTP2(true)
	return p
}

func MethodPath(m protoreflect.MethodDescriptor) string {
	return "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
}

func connectEntrance(
	client *http.Client, base string, options ...connect.ClientOption,
) func(context.Context, protoreflect.MethodDescriptor, proto.Message, proto.Message) error {
	return func(ctx context.Context, m protoreflect.MethodDescriptor, req, reply proto.Message) error {
		empty := connect.WithResponseInitializer(func(_ connect.Spec, reply any) error {
			*reply.(*dynamicpb.Message) = *dynamicpb.NewMessage(m.Output())
			return nil
		})
		options := append([]connect.ClientOption{connect.WithSchema(m), empty}, options...)
		c := connect.NewClient[dynamicpb.Message, dynamicpb.Message](client, base+MethodPath(m), options...)
		in := dynamicpb.NewMessage(m.Input())
		if err := copyMessage(in, req); err != nil {
			return err
		}
		call := connect.NewRequest(in)
		authorize(ctx, call.Header())
		out, err := c.CallUnary(ctx, call)
		if err == nil {
			return copyMessage(reply, out.Msg)
		}
		e, ok := errors.AsType[*connect.Error](err)
		if !ok {
			return err
		}
		st := &spb.Status{Code: int32(e.Code()), Message: e.Message()} //nolint:gosec // below 17
		for _, d := range e.Details() {
			v, err := d.Value()
			if err != nil {
				return err
			}
			detail, err := anypb.New(v)
			if err != nil {
				return err
			}
			st.Details = append(st.Details, detail)
		}
		return status.ErrorProto(st)
	}
}

type tokenKey struct{}

// WithToken has the calls of an entrance over HTTP come with a token.
func WithToken(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

func authorize(ctx context.Context, h http.Header) {
	if token, _ := ctx.Value(tokenKey{}).(string); token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
}

// copyMessage copies a message into another one of the same type that is made differently.
func copyMessage(to, from proto.Message) error {
	b, err := proto.Marshal(from)
	if err != nil {
		return err
	}
	return proto.Unmarshal(b, to)
}

// callREST calls a method by its HTTP path.
func callREST(ctx context.Context, client *http.Client, base string, m protoreflect.MethodDescriptor, req, reply proto.Message) error {
	r, err := RestRequest(ctx, base, m, req)
	if err != nil {
		return err
	}
	authorize(ctx, r.Header)
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		st := &spb.Status{}
		if err := protojson.Unmarshal(body, st); err != nil {
			return fmt.Errorf("HTTP %d: %q: %w", res.StatusCode, body, err)
		}
		return status.ErrorProto(st)
	}
	return protojson.Unmarshal(body, reply)
}

// RestRequest is the request of a call, by the method's google.api.http: fields in the path, in the body, and the rest as a query.
func RestRequest(ctx context.Context, base string, m protoreflect.MethodDescriptor, req proto.Message) (*http.Request, error) {
	rule, ok := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	if !ok || rule.GetPattern() == nil {
		return nil, fmt.Errorf("%s has no HTTP path", m.FullName())
	}
	verb, path := "", ""
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		verb, path = http.MethodGet, p.Get
	case *annotations.HttpRule_Post:
		verb, path = http.MethodPost, p.Post
	case *annotations.HttpRule_Patch:
		verb, path = http.MethodPatch, p.Patch
	case *annotations.HttpRule_Delete:
		verb, path = http.MethodDelete, p.Delete
	}
	left := proto.Clone(req).ProtoReflect()
	for strings.Contains(path, "{") {
		from, to := strings.Index(path, "{"), strings.Index(path, "}")
		in, field := left, left.Descriptor().Fields().ByName("")
		for _, name := range strings.Split(path[from+1:to], ".") {
			if field != nil {
				in = in.Mutable(field).Message()
			}
			field = in.Descriptor().Fields().ByName(protoreflect.Name(name))
		}
		path = path[:from] + strings.ReplaceAll(url.PathEscape(in.Get(field).String()), ":", "%3A") + path[to+1:]
		in.Clear(field)
	}
	var body io.Reader
	switch rule.GetBody() {
	case "":
	case "*":
		body = bytes.NewReader(MustJSON(left.Interface()))
		left = left.New()
	default:
		field := left.Descriptor().Fields().ByName(protoreflect.Name(rule.GetBody()))
		body = bytes.NewReader(MustJSON(left.Get(field).Message().Interface()))
		left.Clear(field)
	}
	query := url.Values{}
	left.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.IsList() {
			for i := range v.List().Len() {
				query.Add(string(f.Name()), queryValue(f, v.List().Get(i)))
			}
			return true
		}
		query.Set(string(f.Name()), queryValue(f, v))
		return true
	})
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, verb, base+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if until, ok := ctx.Deadline(); ok {
		r.Header.Set("X-Server-Timeout", fmt.Sprintf("%f", time.Until(until).Seconds()))
	}
	return r, nil
}

func queryValue(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch {
	case f.Enum() != nil:
		return string(f.Enum().Values().ByNumber(v.Enum()).Name())
	case f.Message() != nil:
		var text string
		if json.Unmarshal(MustJSON(v.Message().Interface()), &text) != nil {
			panic(f.FullName() + " is no value of a query")
		}
		return text
	}
	return v.String()
}

func MustJSON(m proto.Message) []byte {
	out, err := protojson.Marshal(m)
	if err != nil {
		panic(err)
	}
	return out
}

// OverHTTP sends a request and returns its status, and what comes back.
func (h *Server) OverHTTP(t *testing.T, method, path, body string, header map[string]string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(h.Ctx, method, "http://"+h.Conn.Target()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			r.Host = v
		}
		r.Header.Set(k, v)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	read, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(read)
}

// Median of sorted durations.
func Median(sorted []time.Duration) time.Duration { return sorted[len(sorted)/2] }
