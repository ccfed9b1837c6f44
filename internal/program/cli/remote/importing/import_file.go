package importing

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/chatformats"
)

// Limits of one Record call, with room for ids and names beside the messages.
const (
	maxBatchMessages = 1000
	maxBatchBytes    = 2<<20 - 64<<10
	maxCallBytes     = 4 << 20 // room for what is within the API's limits; what is above them never reaches the server
)

// importLine is one line of an import file.
type importLine struct {
	UserID    string            `json:"user_id"`
	SessionID string            `json:"session_id"`
	Messages  []json.RawMessage `json:"messages"`
	State     json.RawMessage   `json:"state"`
	Profile   string            `json:"profile"`
}

// byteOrderMark begins a UTF-8 file that some editors write. Files that were joined have one inside, too.
var byteOrderMark = []byte("\ufeff")

// readLines calls f with each line that is not blank, without a byte order mark, its number from 1 and its size in bytes.
// It stops at f's first error, and at a line in UTF-16, whose lines end otherwise.
func readLines(r io.Reader, f func(no int, line []byte, size int) error) error {
	buf := bufio.NewReaderSize(r, 1<<20)
	for no := 1; ; no++ {
		line, err := buf.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read line %d: %w", no, err)
		}
		if isUTF16(line) {
			return fmt.Errorf("line %d is in UTF-16: save the file as UTF-8, as by iconv -f UTF-16 -t UTF-8, and run the import again", no)
		}
		size := len(line)
		line = bytes.TrimPrefix(line, byteOrderMark)
		if len(bytes.TrimSpace(line)) > 0 {
			if err := f(no, line, size); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
}

// isUTF16 reports whether a line begins as UTF-16 does: with its byte order mark, or with a brace of two bytes.
func isUTF16(line []byte) bool {
	for _, begin := range []string{"\xff\xfe", "\xfe\xff", "{\x00", "\x00{"} {
		if bytes.HasPrefix(line, []byte(begin)) {
			return true
		}
	}
	return false
}

// lineError is a line that cannot become calls. Session is the one that it surely belongs to; nil when that is unknown.
type lineError struct {
	session *[sha256.Size]byte
	err     error
}

func (e *lineError) Error() string { return e.err.Error() }

func (e *lineError) Unwrap() error { return e.err }

// importer turns lines into Record calls. It remembers how often each body has come in its session, so that a body that
// comes twice is stored twice.
type importer struct {
	seen map[[sha256.Size]byte]int
}

func newImporter() importer { return importer{seen: map[[sha256.Size]byte]int{}} }

// occurrence is how often a thing with this hash came before.
func (im *importer) occurrence(of [sha256.Size]byte) string {
	n := im.seen[of]
	im.seen[of]++
	return strconv.Itoa(n)
}

// sessionCalls are the Record calls of one line, and their session.
type sessionCalls struct {
	session  [sha256.Size]byte
	requests []*memoryv1.RecordRequest
}

// requests are the Record calls of one line; the error is a *lineError. Ids depend on user, session, content and how
// often that content came before in the session, never on what else the file has: that makes an import safe to repeat,
// also after a line has been mended.
func (im *importer) requests(line []byte) (sessionCalls, error) {
	in, err := parseLine(line)
	if err != nil {
		return sessionCalls{}, &lineError{session: sessionOf(line), err: err}
	}
	calls := sessionCalls{session: hash(in.UserID, in.SessionID)}
	calls.requests, err = im.calls(in, calls.session)
	if err != nil {
		return sessionCalls{}, &lineError{session: &calls.session, err: err}
	}
	return calls, nil
}

func (im *importer) calls(in importLine, session [sha256.Size]byte) ([]*memoryv1.RecordRequest, error) {
	messages, err := im.messages(in, session)
	if err != nil {
		return nil, err
	}
	state := &structpb.Struct{}
	if len(in.State) == 0 || string(in.State) == "null" {
		state = nil
	} else if err := protojson.Unmarshal(in.State, state); err != nil {
		return nil, fmt.Errorf("state: it must be a JSON object: %w", err)
	}
	return im.identified(batches(in, messages, state))
}

// identified gives calls their request ids, and refuses one that no server takes.
func (im *importer) identified(all []*memoryv1.RecordRequest) ([]*memoryv1.RecordRequest, error) {
	for _, req := range all {
		if n := proto.Size(req); n > maxCallBytes {
			return nil, fmt.Errorf("a message or the state is too large: their call takes %d bytes, at most %d", n, maxCallBytes)
		}
		body, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		req.RequestId = derivedID("request", string(body), im.occurrence(hash("request", string(body))))
	}
	return all, nil
}

func parseLine(line []byte) (importLine, error) {
	var in importLine
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return in, fmt.Errorf("it must be one JSON object with user_id, session_id and messages: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return in, errors.New("something follows the JSON object: give each its own line")
	}
	switch {
	case in.UserID == "":
		return in, errors.New("user_id is missing")
	case in.SessionID == "":
		return in, errors.New("session_id is missing")
	case len(in.Messages) == 0 && len(in.State) == 0:
		return in, errors.New("there are neither messages nor state")
	}
	return in, nil
}

// sessionOf is the session of a line that is one JSON object, whatever else is wrong with it; nil when it names none.
func sessionOf(line []byte) *[sha256.Size]byte {
	var in struct {
		UserID    string `json:"user_id"`
		SessionID string `json:"session_id"`
	}
	if json.Unmarshal(line, &in) != nil || in.UserID == "" || in.SessionID == "" {
		return nil
	}
	session := hash(in.UserID, in.SessionID)
	return &session
}

func (im *importer) messages(in importLine, session [sha256.Size]byte) ([]*memoryv1.Message, error) {
	var all []*memoryv1.Message
	for i, raw := range in.Messages {
		some, err := chatformats.Messages(raw)
		if err == nil {
			err = im.Name(session, some)
		}
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// Name gives messages ids that have none.
func (im *importer) Name(session [sha256.Size]byte, messages []*memoryv1.Message) (err error) {
	for _, m := range messages {
		if m.GetId() != "" {
			continue
		}
		if m.Id, err = im.messageID(session, m); err != nil {
			return err
		}
	}
	return nil
}

// messageID derives an id from a message's session, content, and how often the session had that content before.
func (im *importer) messageID(session [sha256.Size]byte, m *memoryv1.Message) (string, error) {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(&memoryv1.Message{
		Role: m.GetRole(), Name: m.GetName(), Text: m.GetText(), Parts: m.GetParts(),
	})
	if err != nil {
		return "", fmt.Errorf("encode message: %w", err)
	}
	nth := im.occurrence(hash("message", string(session[:]), string(body)))
	return derivedID(string(session[:]), string(body), nth), nil
}

// batches splits a line into Record calls within the API's limits. The last one carries the state.
func batches(in importLine, messages []*memoryv1.Message, state *structpb.Struct) []*memoryv1.RecordRequest {
	request := func() *memoryv1.RecordRequest {
		return &memoryv1.RecordRequest{UserId: in.UserID, SessionId: in.SessionID, Profile: in.Profile}
	}
	all, size := []*memoryv1.RecordRequest{request()}, 0
	for _, m := range messages {
		last := all[len(all)-1]
		if n := len(last.Messages); n > 0 && (n == maxBatchMessages || size+proto.Size(m) > maxBatchBytes) {
			last, size = request(), 0
			all = append(all, last)
		}
		last.Messages = append(last.Messages, m)
		size += proto.Size(m)
	}
	all[len(all)-1].StatePatch = state
	return all
}

// derivedID is an id that only depends on the parts: 128 bits of their SHA-256 in hex.
func derivedID(parts ...string) string {
	sum := hash(parts...)
	return "import-" + hex.EncodeToString(sum[:16])
}

// hash is the SHA-256 of the parts, each with its length before it, so that no two lists give the same bytes.
func hash(parts ...string) [sha256.Size]byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
