package hostilerequests

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// judge says what a reply is, and which defect of the server it shows: "" for none. INTERNAL, UNKNOWN and DATA_LOSS call something the
// server's fault, however the protocol says it.
func judge(res *http.Response, body []byte) (kind, fault string) {
	kind = fmt.Sprintf("HTTP %d", res.StatusCode)
	said := res.Trailer
	if said.Get("Grpc-Status") == "" {
		said = res.Header // of a reply without a body
	}
	status, message := said.Get("Grpc-Status"), said.Get("Grpc-Message")
	contentType := res.Header.Get("Content-Type")
	switch {
	case strings.HasPrefix(contentType, "application/grpc-web"):
		status, message = statusOfWeb(body, strings.Contains(contentType, "-text"), status, message)
	case strings.HasPrefix(contentType, "application/connect+"):
		status = statusOfConnect(body)
		message = string(body[:min(len(body), shown)])
	case strings.HasPrefix(contentType, "application/json") && res.StatusCode != http.StatusOK:
		status = statusOfJSON(body)
		message = string(body[:min(len(body), shown)])
	}
	if status != "" {
		kind += " status " + status
	}
	if res.StatusCode >= http.StatusBadRequest && res.StatusCode < http.StatusInternalServerError {
		return kind, "" // gRPC's own words for headers that it cannot read are HTTP 400 with INTERNAL
	}
	if strings.HasPrefix(contentType, "application/grpc") && !strings.HasPrefix(contentType, "application/grpc-web") && isReadersWord(message) {
		return kind, ""
	}
	switch status {
	case "2", "13", "15", "unknown", "internal", "data_loss":
		return kind, fmt.Sprintf("the reply is of the server's fault: %s: %s", status, message)
	}
	if res.StatusCode == http.StatusInternalServerError {
		return kind, fmt.Sprintf("the reply is of the server's fault: %q", body[:min(len(body), shown)])
	}
	return kind, ""
}

// isReadersWord reports whether INTERNAL with these words is what gRPC's library replies to frames of which it can make no message, before
// any code of a server: over its own protocol nobody can have it say something else.
func isReadersWord(message string) bool {
	return readersWords.MatchString(message)
}

var readersWords = regexp.MustCompile(
	`^(unexpected EOF|cardinality violation: received|grpc: (compressed flag set|received unexpected payload format|failed to (decompress|read decompressed)))`)

// shown is how much of a reply a fault shows.
const shown = 300

var webStatus = regexp.MustCompile(`(?i)grpc-status: ?(\d+)`)

// statusOfWeb reads the trailers of gRPC-Web, which are the last frame of the body.
func statusOfWeb(body []byte, isText bool, status, message string) (string, string) {
	if isText {
		body, _ = base64.StdEncoding.DecodeString(string(body))
	}
	for len(body) >= 5 {
		n := 5 + int(binary.BigEndian.Uint32(body[1:]))
		if n > len(body) {
			break
		}
		if body[0]&0x80 != 0 {
			if m := webStatus.FindSubmatch(body[5:n]); m != nil {
				return string(m[1]), string(body[5:min(n, shown)])
			}
		}
		body = body[n:]
	}
	return status, message
}

// statusOfConnect reads the end of a stream of Connect, which is the last frame of the body.
func statusOfConnect(body []byte) string {
	for len(body) >= 5 {
		n := 5 + int(binary.BigEndian.Uint32(body[1:]))
		if n > len(body) {
			break
		}
		if body[0]&2 != 0 {
			var end struct{ Error struct{ Code string } }
			_ = json.Unmarshal(body[5:n], &end) // what is no JSON has no status
			return end.Error.Code
		}
		body = body[n:]
	}
	return ""
}

// statusOfJSON reads google.rpc.Status, whose code is a number, or an error of Connect, whose code is a word.
func statusOfJSON(body []byte) string {
	var e struct{ Code json.RawMessage }
	_ = json.Unmarshal(body, &e) // what is no JSON has no status
	return string(bytes.Trim(e.Code, `"`))
}
