package factclassifier

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/language/text"
)

// Keeping is how much a clause that somebody says of themselves, or of those around them, reads like one that is worth
// keeping: what lasts, or what happened to them. Reactions, requests, states of the moment, what is asked, supposed or said in
// jest read less so. It is a logit; where to draw the line is the caller's choice. Of a long clause the beginning counts.
func Keeping(clause string) float64 {
	r := promptinjection.Read(clause)
	if r.Pleasantries {
		return -certain
	}
	return weights.scores(clauseFeatures(clause, r))[keeping]
}

// ClauseFeatures are the features by which Keeping judges, as program fit learns from them: those of a statement and its cues.
func ClauseFeatures(clause string) []Feature {
	return clauseFeatures(clause, promptinjection.Read(clause))
}

func clauseFeatures(clause string, r promptinjection.Reading) []Feature {
	c := collectorOf(clause, r)
	cues := cuesOf(r.Words)
	for i, a := range cues {
		c.add(kindCue, hash(kindCue, uint64(a)))
		for _, b := range cues[:i] {
			c.add(kindCues, hash(kindCues, uint64(a)<<8|uint64(b)))
		}
	}
	return c.features()
}

// cue is something that a clause has whatever the language: who, when, in what mood, about what. The weights know it by its number.
type cue uint8

const (
	cueI cue = iota
	cueWe
	cueMine
	cueYou
	cueThat // points at what was said or shown
	cueNow
	cueThen  // a time gone by
	cueSince // for how long
	cueOften
	cuePlan
	cueDoubt
	cueNot
	cueReaction
	cueRequest
	cueTask // the work at hand: a file, an error, a function
	cueKin
	cueWork
	cueStudy
	cueHome
	cueHealth
	cueFood
	cueAnimal
	cuePastime
	cueTravel
	cueFaith
	cueLike
	cueTool
	cueEvent // something that happens once in a life or a year
	cueCount
)

// cueOfList are the cues by the names of their lists in languagedata.Cues.
var cueOfList = map[string]cue{
	"i": cueI, "we": cueWe, "mine": cueMine, "you": cueYou, "that": cueThat, "now": cueNow, "then": cueThen, "since": cueSince,
	"often": cueOften, "plan": cuePlan, "doubt": cueDoubt, "not": cueNot, "reaction": cueReaction, "request": cueRequest,
	"task": cueTask, "kin": cueKin, "work": cueWork, "study": cueStudy, "home": cueHome, "health": cueHealth, "food": cueFood,
	"animal": cueAnimal, "pastime": cuePastime, "travel": cueTravel, "faith": cueFaith, "like": cueLike, "tool": cueTool,
	"event": cueEvent,
}

// cuesOf are the cues of a statement in the words of promptinjection.Reading, in order.
func cuesOf(words string) []cue {
	var has [cueCount]bool
	for word := range strings.FieldsFuncSeq(words, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
		for _, c := range cueOfWord(word) {
			has[c] = true
		}
	}
	if strings.ContainsFunc(words, text.Clings) {
		for c, list := range denseCues() {
			has[c] = has[c] || containsAny(words, list)
		}
	}
	var out []cue
	for c, is := range has {
		if is {
			out = append(out, cue(c))
		}
	}
	return out
}

func containsAny(s string, list []string) bool {
	for _, part := range list {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// cueOfWord are the cues of a word in Latin letters, in its plural or past form too.
func cueOfWord(word string) []cue {
	all := latinCues()
	if cues, ok := all[word]; ok {
		return cues
	}
	for _, ending := range [...]string{"s", "es", "ed", "d", "ing"} {
		if stem, ok := strings.CutSuffix(word, ending); ok && len(stem) > 2 {
			if cues, ok := all[stem]; ok {
				return cues
			}
		}
	}
	return nil
}

// cueWords calls f for each word of each cue of a language.
func cueWords(l languagedata.Language, f func(c cue, word string)) {
	for name, words := range l.Lists(languagedata.Cues) {
		c, known := cueOfList[name]
		if !known {
			panic(fmt.Sprintf("%s has a list of cues %q, which is no cue", l, name)) // the files are a part of the program
		}
		for word := range strings.FieldsSeq(words) {
			f(c, word)
		}
	}
}

// latinCues are the words of languages in Latin letters, without accents as promptinjection.Reading has them.
var latinCues = sync.OnceValue(func() map[string][]cue {
	m := map[string][]cue{}
	for _, l := range languagedata.OfScript("latin") {
		cueWords(l, func(c cue, word string) { m[word] = append(m[word], c) })
	}
	return m
})

// denseCues are pieces of words of the other languages.
var denseCues = sync.OnceValue(func() (out [cueCount][]string) {
	for _, l := range denseLanguages() {
		cueWords(l, func(c cue, word string) { out[c] = append(out[c], word) })
	}
	return out
})

// denseLanguages are those in whose scripts other words or particles cling to a word.
func denseLanguages() []languagedata.Language {
	return slices.DeleteFunc(languagedata.All(), func(l languagedata.Language) bool {
		return slices.Contains(languagedata.OfScript("latin"), l)
	})
}
