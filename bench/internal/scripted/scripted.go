// Package scripted is what the measuring tools share about servers whose models follow a script: the flags that name such a
// model, what its prompts of extraction hold, and the answer that proposes facts.
package scripted

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/stratamem/strata/internal/testing/llmtest"
)

// ChatFlags have a server ask the model at the URL for summaries and facts.
func ChatFlags(url string) []string {
	return []string{"--chat-base-url", url, "--summary-model", "scripted", "--extraction-model", "scripted"}
}

// EmbeddingFlags have a server ask the model of that name at the URL for vectors.
func EmbeddingFlags(url, model string) []string {
	return []string{"--embedding-base-url", url, "--embedding-model", model, "--embedding-dimension", strconv.Itoa(llmtest.DefaultDimension)}
}

// Proposal is an operation of an extraction's answer.
type Proposal struct {
	Op           string  `json:"op"`
	Text         string  `json:"text"`
	Category     string  `json:"category"`
	Significance int     `json:"significance"`
	Confidence   float64 `json:"confidence"`
	Subject      string  `json:"subject,omitempty"`
	Attribute    string  `json:"attribute,omitempty"`
	Message      string  `json:"message"`
	Quote        string  `json:"quote"`
}

// Message is one that an extraction's prompt shows. A prompt indents the further lines of its text, so that none passes
// for a message.
type Message struct {
	Message, Text string
	Learn         bool
}

// Learnable returns the messages of a prompt that may be learnt from.
func Learnable(prompt string) []Message {
	var out []Message
	lines := bufio.NewScanner(strings.NewReader(prompt))
	lines.Buffer(nil, len(prompt)+1)
	for lines.Scan() {
		var m Message
		if json.Unmarshal(lines.Bytes(), &m) == nil && m.Learn {
			out = append(out, m)
		}
	}
	return out
}

// Propose is the answer of an extraction with these proposals.
func Propose(all []Proposal) llmtest.Reply {
	if all == nil {
		all = []Proposal{}
	}
	b, err := json.Marshal(map[string]any{"operations": all})
	if err != nil { // strings and numbers always encode
		return llmtest.Reply{Status: http.StatusInternalServerError}
	}
	return llmtest.Say(string(b))
}
