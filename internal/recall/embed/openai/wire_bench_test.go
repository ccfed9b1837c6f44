package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/testing/llmtest"
)

// BenchmarkReply decodes the reply to a query in each form, and by turns the numbers by encoding/json alone, which is how the client
// library decodes them.
func BenchmarkReply(b *testing.B) {
	type reference struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	numbers := replyOf(b, encodedPlain)
	for name, body := range map[string][]byte{"base64": replyOf(b, encodedBase64), "numbers": numbers} {
		b.Run(name, func(b *testing.B) {
			var took, base []time.Duration
			for b.Loop() {
				begin := time.Now()
				if err := json.NewDecoder(bytes.NewReader(numbers)).Decode(&reference{}); err != nil {
					b.Fatal(err)
				}
				base = append(base, time.Since(begin))
				begin = time.Now()
				if err := json.Unmarshal(body, &reply{}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begin))
			}
			slices.Sort(took)
			slices.Sort(base)
			b.ReportMetric(float64(len(body)), "bytes")
			b.ReportMetric(float64(took[len(took)/2])/float64(base[len(base)/2]), "of-encoding/json")
		})
	}
}

// replyOf is what an endpoint sends for a text, 1,536 numbers.
func replyOf(b *testing.B, as encoding) []byte {
	b.Helper()
	s := llmtest.New(llmtest.Options{Dimension: 1536})
	defer s.Close()
	sent, err := json.Marshal(request{Input: []string{"prefers green tea"}, EncodingFormat: as})
	if err != nil {
		b.Fatal(err)
	}
	resp, err := http.Post(s.URL()+"/embeddings", "application/json", bytes.NewReader(sent))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	return body
}
