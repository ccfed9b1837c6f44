package promptinjection

import (
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/text"
)

// Disclosure is what a message says about whoever wrote it. The values are stored: never renumber them.
type Disclosure uint8

// What a message discloses. Later ones are more.
const (
	DisclosesSomething Disclosure = iota // what has to do with anything
	DisclosesNothing                     // a greeting, thanks, laughter, an acknowledgement
	DisclosesSpeaker                     // of the speaker: what is liked, owned, done or planned
	DisclosesEssential                   // a name, or somebody's health or diet
)

// maxDisclosure is how much of a message is looked at.
const maxDisclosure = 1 << 10

// DisclosureOf returns what a message discloses, by the words of its statements: what it asks discloses nothing. It is
// for finding what may help, so it would rather take a line too many for one about its speaker than miss one.
func DisclosureOf(message string) Disclosure {
	out, said := DisclosesNothing, false
	for _, sentence := range text.Sentences(text.Clip(message, maxDisclosure)) {
		r := readBy(fold(sentence), disclosureWords)
		if r.pleasantries {
			continue
		}
		said = true
		switch {
		case text.AsksQuestion(sentence):
		case r.has[name] || r.has[health]:
			return DisclosesEssential
		case r.has[self]:
			out = DisclosesSpeaker
		}
	}
	if said && out == DisclosesNothing {
		return DisclosesSomething
	}
	return out
}

// IsEssential reports whether a statement is about a name, or somebody's health or diet: what may matter to any question.
func IsEssential(statement string) bool {
	r := readBy(fold(statement), disclosureWords)
	return r.has[name] || r.has[health]
}

// disclosureWords are what DisclosureOf looks for, a small part of all words: whole transcripts are read by them.
var disclosureWords = phraseIndexes{
	latin: disclosurePhrases("latin"), korean: disclosurePhrases("hangul"), japanese: disclosurePhrases("kana"), chinese: disclosurePhrases("han"),
}

// disclosurePhrases is the phrase index of a script for what is about the speaker: lists of its own, and those of what every reader of
// messages needs.
func disclosurePhrases(script string) func() *phraseIndex {
	return sync.OnceValue(func() *phraseIndex {
		var of []words
		for _, all := range wordsOfScript(script, languagedata.Intent) {
			of = append(of, words{name: all[name], health: all[health], pleasant: all[pleasant]})
		}
		return newPhraseIndex(append(of, wordsOfScript(script, languagedata.Disclosure)...)...)
	})
}

// phraseIndexes have the phrases that a reading looks for, by script.
type phraseIndexes struct {
	latin, korean, japanese, chinese func() *phraseIndex
}

// allWords are those of every feature.
var allWords = phraseIndexes{
	latin: scriptPhrases("latin"), korean: scriptPhrases("hangul"), japanese: scriptPhrases("kana"), chinese: scriptPhrases("han"),
}

// readBy reads a statement by some words alone: of its shape only whether letters are set apart is known.
func readBy(folded string, by phraseIndexes) *reading {
	r := &reading{}
	r.read(folded, by)
	return r
}

func (r *reading) read(folded string, by phraseIndexes) {
	fields := strings.Fields(folded)
	joined := joinLetters(fields)
	r.has[disguised] = len(joined) < len(fields)
	r.scan(joined, by)
}
