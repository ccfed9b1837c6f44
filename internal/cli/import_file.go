package cli

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// Limits of one Record call, with room for ids and names beside the messages.
const (
	maxBatchMessages = 1000
	maxBatchBytes    = 2<<20 - 64<<10
)

// importLine is one line of an import file.
type importLine struct {
	UserID    string            `json:"user_id"`
	SessionID string            `json:"session_id"`
	Messages  []json.RawMessage `json:"messages"`
	State     json.RawMessage   `json:"state"`
	Profile   string            `json:"profile"`
}

// readLines calls f with each line that is not blank, its number from 1 and its size in bytes. It stops at f's first
// error.
func readLines(r io.Reader, f func(no int, line []byte, size int) error) error {
	buf := bufio.NewReaderSize(r, 1<<20)
	for no := 1; ; no++ {
		line, err := buf.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read line %d: %w", no, err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if err := f(no, line, len(line)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
}

// importer turns lines into Record calls. It remembers how many messages each session has had, so that a session may
// go on in a later line.
type importer struct {
	positions map[[sha256.Size]byte]int
}

// requests are the Record calls of one line. The same line at the same place in a session always gives the same
// request ids and message ids: that makes an import safe to repeat.
func (im *importer) requests(line []byte) ([]*memoryv1.RecordRequest, error) {
	in, err := parseLine(line)
	if err != nil {
		return nil, err
	}
	messages, err := im.messages(in)
	if err != nil {
		return nil, err
	}
	state := &structpb.Struct{}
	if len(in.State) == 0 || string(in.State) == "null" {
		state = nil
	} else if err := protojson.Unmarshal(in.State, state); err != nil {
		return nil, fmt.Errorf("state: it must be a JSON object: %w", err)
	}
	return batches(in, messages, state)
}

func parseLine(line []byte) (importLine, error) {
	var in importLine
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return in, fmt.Errorf("it must be one JSON object with user_id, session_id and messages: %w", err)
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

func (im *importer) messages(in importLine) ([]*memoryv1.Message, error) {
	session := hash(in.UserID, in.SessionID)
	from := im.positions[session]
	im.positions[session] += len(in.Messages)
	all := make([]*memoryv1.Message, len(in.Messages))
	for i, raw := range in.Messages {
		m, err := parseMessage(raw)
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		if m.GetId() == "" {
			if m.Id, err = messageID(session, from+i, m); err != nil {
				return nil, fmt.Errorf("messages[%d]: %w", i, err)
			}
		}
		all[i] = m
	}
	return all, nil
}

// messageID derives an id from a message's session, position and content.
func messageID(session [sha256.Size]byte, position int, m *memoryv1.Message) (string, error) {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(&memoryv1.Message{
		Role: m.GetRole(), Name: m.GetName(), Text: m.GetText(), Parts: m.GetParts(),
	})
	if err != nil {
		return "", fmt.Errorf("encode message: %w", err)
	}
	return derivedID(string(session[:]), fmt.Sprint(position), string(body)), nil
}

// batches splits a line into Record calls within the API's limits. The last one carries the state.
func batches(in importLine, messages []*memoryv1.Message, state *structpb.Struct) ([]*memoryv1.RecordRequest, error) {
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
	for _, req := range all {
		body, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		req.RequestId = derivedID(string(body))
	}
	return all, nil
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
