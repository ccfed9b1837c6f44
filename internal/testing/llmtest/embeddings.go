package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"

	"github.com/stratamem/strata/internal/language/text"
)

// DefaultDimension is that of small sentence embedders.
const DefaultDimension = 384

// Vector is a stand-in for a semantic embedding: texts that share words, up to their endings, are near, others are
// about orthogonal. Every word has a direction of its own; a text is their sum, normalised. Equal texts have equal
// vectors.
func Vector(s string, dimension int) []float32 {
	sum := make([]float64, dimension)
	words := text.Terms(s)
	if len(words) == 0 {
		words = []string{s}
	}
	for _, w := range words {
		addDirection(sum, w)
	}
	var square float64
	for _, x := range sum {
		square += x * x
	}
	v := make([]float32, dimension)
	for i, x := range sum {
		v[i] = float32(x / math.Sqrt(square))
	}
	return v
}

func addDirection(sum []float64, word string) {
	h := fnv.New64a()
	h.Write([]byte(word))
	random := rand.New(rand.NewPCG(h.Sum64(), uint64(len(word))))
	for i := range sum {
		sum[i] += random.NormFloat64()
	}
}

// EmbedRequest is an embedding request.
type EmbedRequest struct {
	N          int // from 1, over all requests
	Model      string
	Texts      []string
	Dimensions int    // the parameter; 0 when it is not sent
	Encoding   string // the parameter encoding_format; "" when it is not sent
}

// EmbedReply is the reply to an embedding request. The zero value has the Vector of each text.
type EmbedReply struct {
	Delays
	Vectors    [][]float32 // nil for the right ones
	NotFinite  bool        // the first number is NaN, as Python servers write it
	Numbers    bool        // the vectors come as numbers where base64 is asked for, as servers do that do not know the parameter
	Backwards  bool        // the vectors come in reverse order, with their indexes
	Unreported bool        // the reply has no usage
	Status     int         // other than 0 and 200: Failure is answered
	Failure    Failure
	RetryAfter string
	Fault      Fault
}

func (s *Server) embeddings(w http.ResponseWriter, r *http.Request) {
	var wire struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Dimensions int      `json:"dimensions"`
		Encoding   string   `json:"encoding_format"`
	}
	if err := json.NewDecoder(r.Body).Decode(&wire); err != nil {
		writeError(
			w,
			http.StatusBadRequest,
			Failure{Type: "invalid_request_error", Message: "The body is not JSON, or the input no list of texts."},
		)
		return
	}
	req := EmbedRequest{Model: wire.Model, Texts: wire.Input, Dimensions: wire.Dimensions, Encoding: wire.Encoding}
	req.N = s.record(r, Call{Operation: OpEmbed, Model: req.Model, Format: FormatNone, Tokens: count(req.Texts...), Texts: len(req.Texts)})
	if s.isBarred(w, r) {
		return
	}
	var reply EmbedReply
	if s.options.Embed != nil {
		reply = s.options.Embed(req)
	}
	if s.wait(r, reply.Delays) && !s.isFault(w, r, reply.Fault) {
		s.writeVectors(w, req, reply)
	}
}

func (s *Server) writeVectors(w http.ResponseWriter, req EmbedRequest, p EmbedReply) {
	if p.Status != 0 && p.Status != http.StatusOK {
		Reply{Status: p.Status, Failure: p.Failure, RetryAfter: p.RetryAfter}.write(w, Request{})
		return
	}
	if p.Vectors == nil {
		p.Vectors = s.vectors(req)
	}
	body, err := json.Marshal(p.body(req))
	if err != nil {
		writeError(
			w,
			http.StatusInternalServerError,
			Failure{Type: "server_error", Message: fmt.Sprintf("The script's vectors cannot be written: %v.", err)},
		)
		return
	}
	if p.NotFinite { // in base64 it is among the bytes already
		body = bytes.Replace(body, []byte(`"embedding":[`), []byte(`"embedding":[NaN,`), 1)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client may be gone
}

func (s *Server) vectors(req EmbedRequest) [][]float32 {
	dimension := s.options.Dimension
	if req.Dimensions > 0 {
		dimension = req.Dimensions
	}
	vectors := make([][]float32, len(req.Texts))
	for i, t := range req.Texts {
		vectors[i] = Vector(t, dimension)
	}
	return vectors
}

func (p EmbedReply) body(req EmbedRequest) map[string]any {
	data := make([]any, len(p.Vectors))
	for i, v := range p.Vectors {
		place := i
		if p.Backwards {
			place = len(data) - 1 - i
		}
		data[place] = map[string]any{"object": "embedding", "index": i, "embedding": p.encoded(v, req.Encoding)}
	}
	body := map[string]any{"object": "list", "model": req.Model, "data": data}
	if !p.Unreported {
		n := count(req.Texts...)
		body["usage"] = map[string]int64{"prompt_tokens": n, "total_tokens": n}
	}
	return body
}

// encoded is a vector as it stands in the body: numbers, or their bytes in base64.
func (p EmbedReply) encoded(v []float32, encoding string) any {
	if encoding != "base64" || p.Numbers {
		return v
	}
	if p.NotFinite && len(v) > 0 {
		v = slices.Clone(v)
		v[0] = float32(math.NaN())
	}
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
