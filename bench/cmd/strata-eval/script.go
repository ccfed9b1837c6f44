package main

import (
	"slices"
	"strings"

	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/bench/internal/scripted"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// script returns what the dialogues' own models returned: extraction with the observations of the turns that the prompt
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
		return s.operations(r.User)
	}
	return llmtest.Say(s.summary(r.User))
}

// operations are the observations whose turn stands in the prompt to be learnt from, the quote being the whole turn.
func (s script) operations(prompt string) llmtest.Reply {
	var all []scripted.Proposal
	for _, m := range scripted.Learnable(prompt) {
		for _, o := range s.observations[m.Text] {
			all = append(all, scripted.Proposal{
				Op: "add", Text: o.Text, Category: "other", Significance: 5, Confidence: 1, Subject: o.Speaker, Message: m.Message, Quote: m.Text,
			})
		}
	}
	return scripted.Propose(all)
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
