package promptinjection

import (
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/languagedata"
	"github.com/stratamem/strata/internal/text"
)

// Telling says what a message tells of whoever wrote it. The values are stored: never renumber them.
type Telling uint8

// What a message tells. Later ones tell more.
const (
	TellsSomething Telling = iota // what has to do with anything
	TellsNothing                  // a greeting, thanks, laughter, an acknowledgement
	TellsOfSpeaker                // of the speaker: what is liked, owned, done or planned
	TellsEssential                // a name, or somebody's health or diet
)

// maxTelling is how much of a message is looked at.
const maxTelling = 1 << 10

// TellingOf returns what a message tells, by the words of its statements: what it asks tells nothing of its speaker. It is
// for finding what may help, so it would rather take a line too many for one about its speaker than miss one.
func TellingOf(message string) Telling {
	out, said := TellsNothing, false
	for _, sentence := range text.Sentences(text.Clip(message, maxTelling)) {
		r := readBy(fold(sentence), tellingWords)
		if r.pleasantries {
			continue
		}
		said = true
		switch {
		case text.AsksQuestion(sentence):
		case r.has[name] || r.has[health]:
			return TellsEssential
		case r.has[self]:
			out = TellsOfSpeaker
		}
	}
	if said && out == TellsNothing {
		return TellsSomething
	}
	return out
}

// IsEssential reports whether a statement is about a name, or somebody's health or diet: what may matter to any question.
func IsEssential(statement string) bool {
	r := readBy(fold(statement), tellingWords)
	return r.has[name] || r.has[health]
}

// tellingWords are what TellingOf looks for, a small part of all words: whole transcripts are read by them.
var tellingWords = lexicons{
	latin: tellingLexicon("latin"), korean: tellingLexicon("hangul"), japanese: tellingLexicon("kana"), chinese: tellingLexicon("han"),
}

// tellingLexicon is the lexicon of a script for what tells of the speaker: lists of its own, and those of what every reader of
// messages needs.
func tellingLexicon(script string) func() *lexicon {
	return sync.OnceValue(func() *lexicon {
		var of []words
		for _, all := range wordsOfScript(script, languagedata.Intent) {
			of = append(of, words{name: all[name], health: all[health], pleasant: all[pleasant]})
		}
		return newSearchIndex(append(of, wordsOfScript(script, languagedata.Telling)...)...)
	})
}

// lexicons are the words that a reading looks for, by script.
type lexicons struct {
	latin, korean, japanese, chinese func() *lexicon
}

// allWords are those of every feature.
var allWords = lexicons{
	latin: scriptLexicon("latin"), korean: scriptLexicon("hangul"), japanese: scriptLexicon("kana"), chinese: scriptLexicon("han"),
}

// readBy reads a statement by some words alone: of its shape only whether letters are set apart is known.
func readBy(folded string, by lexicons) *reading {
	r := &reading{}
	r.read(folded, by)
	return r
}

func (r *reading) read(folded string, by lexicons) {
	fields := strings.Fields(folded)
	joined := joinLetters(fields)
	r.has[disguised] = len(joined) < len(fields)
	r.scan(joined, by)
}
