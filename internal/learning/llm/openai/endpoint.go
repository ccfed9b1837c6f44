// Package openai calls chat models over the OpenAI API, which OpenAI, Azure, Ollama, vLLM and llama.cpp serve. Its
// Client is also what internal/recall/embed/openai calls.
package openai

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/stratamem/strata/internal/memory/secret"
)

// Endpoint is where models are served.
type Endpoint struct {
	BaseURL        string        // with the version, such as https://api.openai.com/v1
	Key            secret.Text   // sent to that host only
	Timeout        time.Duration // of one call; more than 0
	MaxAnswerBytes int64         // a longer body is refused; more than 0
}

// Client speaks to one endpoint. It may be used concurrently.
type Client struct {
	API     *sdk.Client
	Timeout time.Duration
	http    *http.Client
	baseURL string // without a slash at the end
	pool    *http.Transport
}

// idlePerHost is how many connections are kept for the next calls. The standard library keeps two, which is fewer
// than background work holds open at once.
const idlePerHost = 16

// readAtOnce is how much of a reply is read at once, in bytes: the vector of a query, 1,536 numbers in base64, with its header. The
// standard library reads 4,096.
const readAtOnce = 16 << 10

// NewClient makes a client. It fails on an endpoint that cannot be one; it does not call it.
func NewClient(e Endpoint) (*Client, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	pool := http.DefaultTransport.(*http.Transport).Clone()
	pool.MaxIdleConnsPerHost, pool.ReadBufferSize = idlePerHost, readAtOnce
	c := &Client{
		Timeout: e.Timeout, baseURL: strings.TrimRight(e.BaseURL, "/"), pool: pool,
		http: &http.Client{Transport: gate{next: pool, key: e.Key, maxBytes: e.MaxAnswerBytes}},
	}
	config := sdk.DefaultConfig("") // the key is set by the gate
	config.BaseURL, config.HTTPClient = c.baseURL, c.http
	c.API = sdk.NewClientWithConfig(config)
	return c, nil
}

// Close closes the connections that are kept for later calls.
func (c *Client) Close() { c.pool.CloseIdleConnections() }

func (e Endpoint) check() error {
	u, err := url.Parse(e.BaseURL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("the base URL of a model endpoint must be like https://api.openai.com/v1")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return fmt.Errorf("the base URL of a model endpoint must hold no user, query or fragment: the key is set apart")
	case e.Timeout <= 0:
		return fmt.Errorf("the timeout of a model endpoint must be more than 0, not %s", e.Timeout)
	case e.MaxAnswerBytes <= 0:
		return fmt.Errorf("the answer limit of a model endpoint must be more than 0 bytes, not %d", e.MaxAnswerBytes)
	}
	return nil
}

// gate is what every request and reply passes: it adds the key, refuses redirects and bounds the answer.
type gate struct {
	next     http.RoundTripper
	key      secret.Text
	maxBytes int64
}

func (g gate) RoundTrip(req *http.Request) (*http.Response, error) {
	if g.key.IsSet() {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+g.key.Reveal())
	}
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		_ = resp.Body.Close()
		return nil, redirected(resp)
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, g.maxBytes)
	return resp, nil
}

// redirectError is a redirect that was not followed: it would take prompts to a place nobody configured.
type redirectError struct {
	status int
	host   string
}

func redirected(resp *http.Response) error {
	e := &redirectError{status: resp.StatusCode, host: "an unknown place"}
	if u, err := resp.Location(); err == nil {
		e.host = u.Scheme + "://" + u.Host
	}
	return e
}

func (e *redirectError) Error() string {
	return fmt.Sprintf("the endpoint redirects to %s: set the base URL it means", e.host)
}
