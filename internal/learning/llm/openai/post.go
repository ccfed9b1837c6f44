package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	sdk "github.com/sashabaranov/go-openai"
)

// Post sends a body to a path below the base URL, such as /embeddings, and reads the reply's JSON into reply. It is for calls whose
// replies have forms that sdk does not read. It returns the reply's header, nil without a reply, and errors that Failure classifies.
func (c *Client) Post(ctx context.Context, path string, body, reply any) (http.Header, error) {
	sent, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the body of a call of %s: %w", path, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.baseURL+path, bytes.NewReader(sent))
	if err != nil {
		return nil, fmt.Errorf("make a request for %s: %w", path, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	read, err := readAll(resp)
	switch {
	case err != nil:
		return resp.Header, err
	case resp.StatusCode < 200 || resp.StatusCode >= 400:
		return resp.Header, refused(resp, read)
	}
	return resp.Header, json.Unmarshal(read, reply)
}

// mostAnnounced is how much room is made at once for a body of announced length, so that an endpoint that announces more than it sends
// takes no memory.
const mostAnnounced = 1 << 20

func readAll(resp *http.Response) ([]byte, error) {
	var read bytes.Buffer
	read.Grow(int(min(max(resp.ContentLength, 0), mostAnnounced)) + bytes.MinRead)
	_, err := read.ReadFrom(resp.Body)
	return read.Bytes(), err
}

// refused is the error that sdk returns for such a reply.
func refused(resp *http.Response, body []byte) error {
	var said sdk.ErrorResponse
	if err := json.Unmarshal(body, &said); err != nil || said.Error == nil {
		return &sdk.RequestError{HTTPStatus: resp.Status, HTTPStatusCode: resp.StatusCode, Err: err, Body: body}
	}
	said.Error.HTTPStatus, said.Error.HTTPStatusCode = resp.Status, resp.StatusCode
	return said.Error
}
