package sessions

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/stratamem/strata/internal/memory"
)

// requestBody is what a request_id was first sent with. Its digest is stored for the life of the session, so the form may never
// change: a new field must be left out of the JSON when it is not set.
type requestBody struct {
	Messages        []requestMessage   `json:"m,omitempty"`
	StatePatch      json.RawMessage    `json:"s,omitempty"`
	ExpectedLastSeq *int64             `json:"e,omitempty"`
	Extract         memory.ExtractMode `json:"x,omitempty"`
	Profile         string             `json:"p,omitempty"`
}

// requestMessage is a message as it was received.
type requestMessage struct {
	ID         string             `json:"i,omitempty"`
	Role       memory.Role        `json:"r"`
	Name       string             `json:"n,omitempty"`
	Parts      []memory.Part      `json:"p,omitempty"`
	Tags       []string           `json:"t,omitempty"`
	Metadata   json.RawMessage    `json:"m,omitempty"`
	CreateTime int64              `json:"c,omitempty"` // microseconds since 1970
	Origin     memory.Origin      `json:"o,omitempty"`
	Extract    memory.ExtractMode `json:"x,omitempty"`
	Pinned     bool               `json:"k,omitempty"`
	Hidden     bool               `json:"h,omitempty"`
	Format     string             `json:"f,omitempty"` // of the original
	Data       []byte             `json:"d,omitempty"` // of the original
}

// requestDigest covers the whole request as it was received, so that a request id cannot be used for another one.
func requestDigest(p RecordParams) (memory.Digest, error) {
	if p.RequestID == "" {
		return memory.Digest{}, nil
	}
	body := requestBody{StatePatch: p.StatePatch, ExpectedLastSeq: p.ExpectedLastSeq, Extract: p.Extract, Profile: p.Profile}
	for _, m := range p.Messages {
		body.Messages = append(body.Messages, received(m))
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return memory.Digest{}, fmt.Errorf("encode request: %w", err)
	}
	return sha256.Sum256(encoded), nil
}

func received(m memory.Message) requestMessage {
	out := requestMessage{
		ID: m.ID, Role: m.Role, Name: m.Name, Parts: m.Parts, Tags: m.Tags, Metadata: m.Metadata,
		Origin: m.Origin, Extract: m.Extract, Pinned: m.Pinned, Hidden: m.Hidden,
	}
	if !m.CreateTime.IsZero() {
		out.CreateTime = m.CreateTime.UnixMicro()
	}
	if m.Original != nil {
		out.Format, out.Data = m.Original.Format, m.Original.Data
	}
	return out
}
