package elasticstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/elastic/go-elasticsearch/v7/esapi"

	"github.com/stratamem/strata/internal/memory/backendlatency"
)

// request is any request of package esapi.
type request interface {
	Do(ctx context.Context, transport esapi.Transport) (*esapi.Response, error)
}

// call sends a request and decodes the response into answer, unless it is nil. The body is always read to its end and
// closed, so that the connection can be used again.
func (v *View) call(ctx context.Context, r request, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer backendlatency.Begin(ctx)() // includes decoding, which begins before the whole response is here
	res, err := r.Do(ctx, v.client)
	if err != nil {
		return fmt.Errorf("no answer from elasticsearch: %w", err)
	}
	defer drain(res.Body)
	if res.IsError() {
		return readRefusal(res)
	}
	if answer == nil {
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(answer); err != nil {
		return fmt.Errorf("read the answer of elasticsearch: %w", err)
	}
	return nil
}

func drain(body io.ReadCloser) {
	_, _ = io.Copy(io.Discard, body) // a connection that cannot be read to its end is not used again, and that is all
	_ = body.Close()
}

// refusal is a response other than done. Elasticsearch's own text is left out: it may quote what was sent.
type refusal struct {
	status int
	kind   string // such as index_not_found_exception; "" when unknown
}

func (r *refusal) Error() string {
	if r.kind == "" {
		return fmt.Sprintf("elasticsearch answered %d", r.status)
	}
	return fmt.Sprintf("elasticsearch answered %d (%s)", r.status, r.kind)
}

func readRefusal(res *esapi.Response) *refusal {
	var body struct {
		Error cause `json:"error"`
	}
	_ = json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&body) // a proxy's page has no type
	return &refusal{status: res.StatusCode, kind: body.Error.kind()}
}

// cause is Elasticsearch's description of an error.
type cause struct {
	Type string `json:"type"`
}

// kind is the type, when it is a word of Elasticsearch's own.
func (c cause) kind() string {
	if len(c.Type) > 80 || strings.Trim(c.Type, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return c.Type
}

// isMissing reports whether an index is not there.
func isMissing(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.status == http.StatusNotFound && r.kind == "index_not_found_exception"
}

// isBusy reports whether the server refused for now.
func isBusy(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// isBlocked reports whether an index takes no rows for now.
func isBlocked(status int, c cause) bool {
	return status == http.StatusForbidden && c.kind() == "cluster_block_exception"
}

// body is the JSON of a request's value, which encoding/json can always write.
func body(value any) (io.Reader, error) {
	b, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("write a request: %w", err)
	}
	return bytes.NewReader(b), nil
}
