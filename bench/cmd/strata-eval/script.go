package main

import (
	"bufio"
	"encoding/json"
	"slices"
	"strings"

	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/internal/llm"
	"github.com/stratamem/strata/internal/llm/llmtest"
)

// script answers what the dialogues' own models answered: extraction with the observations of the turns that the prompt
// holds, summaries with the summary of the session it is about.
type script struct {
	observations map[string][]eval.Fact // by what was said
	summaries    map[string]string      // by the words of a session's first turn
}

// newScript gathers the dialogues' observations by what was said. Few words are said twice.
func newScript(dialogues []eval.Dialogue) script {
	s := script{observations: map[string][]eval.Fact{}, summaries: map[string]string{}}
	for _, d := range dialogues {
		for _, session := range d.Sessions {
			s.add(session)
		}
	}
	return s
}

func (s script) add(session eval.Session) {
	for i, t := range session.Turns {
		for _, o := range session.Facts {
			if slices.Contains(o.Turns, t.Label) {
				s.observations[t.Text] = append(s.observations[t.Text], o)
			}
		}
		if i == 0 {
			s.summaries[t.Text] = session.Summary
		}
	}
}

// answer is the scripted server's Chat.
func (s script) answer(r llmtest.Request) llmtest.Reply {
	if r.Operation == llm.OpExtract {
		return llmtest.Say(s.operations(r.User))
	}
	return llmtest.Say(s.summary(r.User))
}

// operation is what the schema of extraction asks for.
type operation struct {
	Op           string   `json:"op"`
	Text         string   `json:"text"`
	Category     string   `json:"category"`
	Significance int      `json:"significance"`
	Confidence   float64  `json:"confidence"`
	Subject      string   `json:"subject"`
	Attribute    *string  `json:"attribute"`
	Tags         []string `json:"tags"`
	Message      string   `json:"message"`
	Quote        string   `json:"quote"`
	Supersedes   *string  `json:"supersedes"`
	ValidFrom    *string  `json:"valid_from"`
}

// operations are the observations whose turn stands in the prompt to be learnt from, the quote being the whole turn.
func (s script) operations(prompt string) string {
	answer := struct {
		Operations []operation `json:"operations"`
	}{[]operation{}}
	lines := bufio.NewScanner(strings.NewReader(prompt))
	lines.Buffer(nil, len(prompt)+1)
	for lines.Scan() {
		var line struct {
			Message string `json:"message"`
			Text    string `json:"text"`
			Learn   bool   `json:"learn"`
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil || !line.Learn {
			continue
		}
		for _, o := range s.observations[line.Text] {
			answer.Operations = append(answer.Operations, operation{
				Op: "add", Text: o.Text, Category: "other", Significance: 5, Confidence: 1, Subject: o.Speaker, Tags: []string{},
				Message: line.Message, Quote: line.Text,
			})
		}
	}
	b, err := json.Marshal(answer)
	if err != nil { // strings and numbers always encode
		return ""
	}
	return string(b)
}

// summary is that of the session whose first turn stands in the prompt. A prompt without one is about the end of a
// session, or merges summaries: it gets the last sentences of what it shows.
func (s script) summary(prompt string) string {
	for line := range strings.Lines(prompt) {
		_, said, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if whole, ok := s.summaries[said]; ok {
			return whole
		}
	}
	var said []string
	for line := range strings.Lines(prompt) {
		if shown, ok := strings.CutPrefix(strings.TrimSpace(line), "| "); ok && !strings.HasPrefix(shown, "(") {
			said = append(said, shown)
		}
	}
	return strings.Join(said[max(0, len(said)-4):], "\n")
}
