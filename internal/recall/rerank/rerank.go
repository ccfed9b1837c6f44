// Package rerank asks a /rerank endpoint how relevant documents are to a query: a cross-encoder that reads both together,
// served by Cohere, Jina, vLLM, llama.cpp, Text Embeddings Inference and others.
package rerank

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
	"time"

	"github.com/stratamem/strata/internal/memory/backendlatency"
)

// API is the dialect that an endpoint speaks. Answers are understood in any of them.
type API string

// The dialects.
const (
	// Cohere is what Cohere (v1 and v2), Jina, vLLM and llama.cpp understand: model, query, documents and top_n, and nothing
	// more, since Cohere refuses fields that it does not know.
	Cohere API = "cohere"
	// Jina is the same and asks besides not to be sent the documents back.
	Jina API = "jina"
	// TEI is Text Embeddings Inference's own: query and texts, cut by the server where they are too long.
	TEI API = "tei"
)

// Options are what a Client needs. Key may be empty; all else is required.
type Options struct {
	BaseURL string // what /rerank is put behind, such as https://api.cohere.com/v2 or http://127.0.0.1:8080
	Key     string // sent to that host only, as a bearer token; "" for none
	Model   string // as the endpoint names it; TEI serves one model and takes no name
	API     API
	Meter   Meter
	Now     func() time.Time // the clock that durations are taken by
}

// Call is what is known of a call after it.
type Call struct {
	Model     string
	Documents int
	Outcome   string // ok, else a Class
	Duration  time.Duration
}

// Meter counts calls. It must not block.
type Meter interface {
	Reranked(c Call)
}

// maxAnswer is the longest response that is read, in bytes: 200 documents of 2 KiB sent back, each byte escaped as six.
const maxAnswer = 4 << 20

// idlePerHost is how many connections are kept for the next calls, where the standard library keeps two.
const idlePerHost = 16

// Client asks one endpoint. It may be used concurrently.
type Client struct {
	options   Options
	address   string
	authorize func(http.Header)
	http      *http.Client
}

// New makes a Client. It does not call the endpoint.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the base URL of a reranker must be like https://api.cohere.com/v2, without user, query and fragment")
	case o.Model == "":
		return nil, errors.New("a reranker needs the name of its model")
	case o.API != Cohere && o.API != Jina && o.API != TEI:
		return nil, fmt.Errorf("the API of a reranker must be %s, %s or %s", Cohere, Jina, TEI)
	}
	pool := http.DefaultTransport.(*http.Transport).Clone()
	pool.MaxIdleConnsPerHost = idlePerHost
	return &Client{
		options: o.withoutKey(), address: strings.TrimRight(o.BaseURL, "/") + "/rerank", authorize: bearer(o.Key),
		// A redirect would take documents to a place that nobody configured.
		http: &http.Client{Transport: pool, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

func (o Options) withoutKey() Options {
	o.Key = ""
	return o
}

// bearer holds the key in a function, so that no way of printing a Client shows it.
func bearer(key string) func(http.Header) {
	return func(h http.Header) {
		if key != "" {
			h.Set("Authorization", "Bearer "+key)
		}
	}
}

// Close closes the connections that are kept for later calls.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Rerank returns one finite score for each document, in the order of the documents, the higher the better. Their scale
// depends on the model; some are below zero. It makes one call, none without documents, and does not retry. The error is an
// *Error, which holds nothing of the query, the documents or the response.
func (c *Client) Rerank(ctx context.Context, query string, documents []string) ([]float64, error) {
	if len(documents) == 0 {
		return nil, nil
	}
	start := c.options.Now()
	scores, failure := c.ask(ctx, query, documents)
	call := Call{Model: c.options.Model, Documents: len(documents), Outcome: "ok", Duration: c.options.Now().Sub(start)}
	if failure != nil {
		call.Outcome = string(failure.Class)
		c.options.Meter.Reranked(call)
		return nil, failure
	}
	c.options.Meter.Reranked(call)
	return scores, nil
}

func (c *Client) ask(ctx context.Context, query string, documents []string) ([]float64, *Error) {
	body, err := json.Marshal(c.request(query, documents))
	if err != nil {
		return nil, nonsense("the call of the reranker cannot be written as JSON")
	}
	status, answer, err := c.post(ctx, body)
	switch {
	case err != nil:
		return nil, broken(ctx, err)
	case status >= 300 && status < 400:
		return nil, &Error{Class: ClassRefused, Status: status, text: "the reranker redirects elsewhere: set the base URL that it means"}
	case status != http.StatusOK:
		return nil, &Error{Class: ClassRefused, Status: status, text: fmt.Sprintf("the reranker answered with status %d", status)}
	case len(answer) > maxAnswer:
		return nil, nonsense(fmt.Sprintf("the answer of the reranker is longer than %d bytes", maxAnswer))
	}
	return scores(answer, len(documents))
}

// post returns the status and the body, of which it reads one byte more than the limit at most.
func (c *Client) post(ctx context.Context, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("make the call of the reranker: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	c.authorize(req.Header)
	defer backendlatency.Begin(ctx)()
	reply, err := c.http.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("call the reranker: %w", err)
	}
	defer func() { _ = reply.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(reply.Body, maxAnswer+1))
	if err != nil {
		return 0, nil, fmt.Errorf("read the answer of the reranker: %w", err)
	}
	return reply.StatusCode, answer, nil
}
