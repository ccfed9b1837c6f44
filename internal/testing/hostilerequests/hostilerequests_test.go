package hostilerequests

import (
	"bytes"
	"net/http"
	"slices"
	"testing"
)

func TestARequestFollowsFromItsSeedAndNumber(t *testing.T) {
	t.Parallel()
	for _, p := range Protocols() {
		others := 0
		for i := range 100 {
			a := Make(p, 1, i)
			if b := Make(p, 1, i); !isSame(a, b) {
				t.Fatalf("%s, request %d:\n%s\n%s", p, i, a, b)
			}
			if !isSame(a, Make(p, 2, i)) {
				others++
			}
		}
		if others < 95 {
			t.Errorf("%s: of 100 requests only %d are others with another seed", p, others)
		}
	}
}

func isSame(a, b Request) bool {
	return bytes.Equal(a.Body, b.Body) && slices.Equal(a.Header, b.Header) && a.String() == b.String() && a.Path == b.Path && a.Seed == b.Seed
}

func TestAReplyOfTheServersFaultIsAFault(t *testing.T) {
	t.Parallel()
	grpc := func(status, message string) *http.Response {
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/grpc"}},
			Trailer: http.Header{"Grpc-Status": {status}, "Grpc-Message": {message}},
		}
	}
	of := func(code int, kind string) *http.Response {
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {kind}}}
	}
	//nolint:bodyclose // these replies have no body to close
	for name, c := range map[string]struct {
		res   *http.Response
		body  string
		fault bool
	}{
		"a good reply":                        {of(200, "application/json"), `{"code":13}`, false},
		"an invalid request":                  {of(400, "application/json"), `{"code":3}`, false},
		"HTTP 500":                            {of(500, "text/plain"), "", true},
		"INTERNAL of REST":                    {of(500, "application/json"), `{"code":13}`, true},
		"unknown of Connect":                  {of(500, "application/json"), `{"code":"unknown"}`, true},
		"INTERNAL of gRPC":                    {grpc("13", "internal error"), "", true},
		"gRPC's own word for a broken frame":  {grpc("13", "unexpected EOF"), "", false},
		"INVALID_ARGUMENT of gRPC":            {grpc("3", "no"), "", false},
		"INTERNAL in the trailers of the Web": {of(200, "application/grpc-web+proto"), string(frame(0x80, []byte("grpc-status: 13\r\n"))), true},
		"OK in the trailers of the Web":       {of(200, "application/grpc-web+proto"), string(frame(0x80, []byte("grpc-status: 0\r\n"))), false},
		"internal at the end of a stream":     {of(200, "application/connect+json"), string(frame(2, []byte(`{"error":{"code":"internal"}}`))), true},
		"a stream that ends well":             {of(200, "application/connect+json"), string(frame(2, []byte(`{}`))), false},
	} {
		if kind, fault := judge(c.res, []byte(c.body)); (fault != "") != c.fault {
			t.Errorf("%s: %s, %q", name, kind, fault)
		}
	}
}
