// Package segment makes documents of messages, and packs documents into immutable segments to be stored. It is pure: equal documents
// give equal bytes, in whatever order they came.
package segment

import (
	"sort"

	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/memory"
)

// Doc is what the index keeps of one message: no words, only their terms.
type Doc struct {
	memory.Place
	Role         memory.Role
	Name         string        // of the speaker; "" for none
	CreateMillis int64         // when it was said (memory.Message.SaidTime), milliseconds since 1970 in UTC
	Question     bool          // the message ends with a question
	MentionsTime bool          // the message says when something was or will be
	Mentions     when.Mentions // the times that the message mentions
	// Disclosure says how much the message says about its author; for roles other than the user, only whether it says anything.
	Disclosure promptinjection.Disclosure
	Standing   bool // the user asks an assistant for something in every answer: see promptinjection.IsStanding
	Passages   []Passage
	Vector     Vector // the zero one until the message is embedded
}

// Passage is the unit that is scored. Spans are bytes of memory.Message.SaidText.
type Passage struct {
	text.Span
	Terms []TermCount // by term, each one once
}

// TermCount says how often a term stands in a passage.
type TermCount struct {
	Term  string
	Count int // 1 to maxCount
}

// maxCount is the most that a term counts in one passage. A passage of text.PassageTokens cannot reach it; the limit
// keeps a damaged segment from outweighing everything.
const maxCount = 4096

// Analyze makes the document of a message. Segments hold what it makes: whoever changes that must change text.AnalyzerID
// too, so that they are made again. The message must be recallable (memory.Message.Recallable). One without
// words has no passages and is never found, but its role and place matter to its neighbours.
func Analyze(m memory.PlacedMessage) Doc {
	words := m.Message.SaidText()
	doc := Doc{
		Place: m.Place, Role: m.Message.Role, Name: m.Message.Name,
		CreateMillis: m.Message.SaidTime().UnixMilli(), Question: text.AsksQuestion(words),
		MentionsTime: when.MentionsTime(words), Mentions: when.MentionsIn(words), Disclosure: disclosureOf(m.Message.Role, words),
	}
	for _, span := range text.Passages(words) {
		doc.Passages = append(doc.Passages, Passage{Span: span, Terms: CountTerms(text.Terms(span.Of(words)))})
	}
	doc.Standing = doc.Role == memory.RoleUser && len(doc.Passages) == 1 && promptinjection.IsStanding(words)
	return doc
}

// maxNothingBytes is the longest message that may say nothing, such as a greeting.
const maxNothingBytes = 200

// disclosureOf returns how much a message says about the user. What others say about themselves does not count.
func disclosureOf(role memory.Role, words string) promptinjection.Disclosure {
	switch {
	case role == memory.RoleUser:
		return promptinjection.DisclosureOf(words)
	case len(words) <= maxNothingBytes && promptinjection.DisclosureOf(words) == promptinjection.DisclosesNothing:
		return promptinjection.DisclosesNothing
	}
	return promptinjection.DisclosesSomething
}

// CountTerms returns each term once, sorted. It reorders terms.
func CountTerms(terms []string) []TermCount {
	sort.Strings(terms)
	var out []TermCount
	for _, t := range terms {
		switch n := len(out); {
		case n > 0 && out[n-1].Term == t:
			out[n-1].Count = min(out[n-1].Count+1, maxCount)
		default:
			out = append(out, TermCount{Term: t, Count: 1})
		}
	}
	return out
}

// maxEmbeddedBytes is how much of a message is embedded: models read some 256 word pieces, and the first ones of a long
// reply say what it is about. Source: measured with MiniLM on BEAM-128K, where vectors of all passages were no better.
const maxEmbeddedBytes = 2 << 10

// EmbeddedWords are what is embedded of a message: its first words, after the speaker's name. Source: measured on LoCoMo.
func EmbeddedWords(m memory.Message) string {
	words := text.Clip(m.SaidText(), maxEmbeddedBytes)
	if m.Name == "" {
		return words
	}
	return m.Name + ": " + words
}
