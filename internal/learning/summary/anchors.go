package summary

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/language/text"
)

// AnchorKind is the kind of detail that an anchor is.
type AnchorKind string

// The kinds of anchors.
const (
	AnchorName       AnchorKind = "name"
	AnchorNumber     AnchorKind = "number"
	AnchorDate       AnchorKind = "date"
	AnchorIdentifier AnchorKind = "identifier"
	AnchorDecision   AnchorKind = "decision" // a sentence in which somebody decides
)

// Anchor is a detail that a summary must not lose or change: a name, a number or amount, a date, an identifier, or a
// decision. It is found by form alone, in English and Korean: what has no such form is no anchor.
type Anchor struct {
	Kind       AnchorKind
	Text       string // as it is; of a decision the sentence
	Start, End int    // bytes
	when       when
	value      float64
	word       word
}

// decides are the words of decisions and commitments.
var decides = regexp.MustCompileFrom(func() string { return `(?i)` + languagedata.AnyOf(languagedata.Decides) })

// decisive is what each English form of decides has some of, in lower case, and decisiveKorean what each Korean one has.
var (
	decisive       = sync.OnceValue(func() []string { return languagedata.English.Words(languagedata.DecideParts) })
	decisiveKorean = sync.OnceValue(func() []string { return languagedata.Korean.Words(languagedata.DecideParts) })
)

// mayDecide reports whether decides may find anything in a sentence: to search for it is dear (BenchmarkAnchors).
func mayDecide(sentence string) bool {
	if containsAny(strings.ToLower(sentence), decisive()) {
		return true
	}
	return !languagedata.IsASCII(sentence) && (strings.ContainsAny(sentence, oddFolds) || containsAny(sentence, decisiveKorean()))
}

// weights are how much the loss of an anchor costs: decisions are what a later turn needs most.
var weights = map[AnchorKind]float64{
	AnchorDecision: 3, AnchorIdentifier: 2.5, AnchorDate: 2, AnchorNumber: 2, AnchorName: 1.5,
}

// Weight is how much the loss of the anchor costs, from 1.5 for a name to 3 for a decision.
func (a Anchor) Weight() float64 { return weights[a.Kind] }

// Anchors are the anchors of a text in order of their start.
func Anchors(s string) []Anchor {
	var out []Anchor
	taken := make(mask, len(s))
	add := func(a Anchor) {
		a.Text = s[a.Start:a.End]
		out = append(out, a)
	}
	for _, d := range datesIn(s) {
		taken.mark(d.Span)
		add(Anchor{Kind: AnchorDate, Start: d.Start, End: d.End, when: d.when})
	}
	ws := wordsOf(s)
	for i, w := range ws {
		if kind := nameKind(ws, i); kind != "" && !taken.has(w.Span) {
			taken.mark(w.Span)
			add(Anchor{Kind: kind, Start: w.Start, End: w.End, word: w})
		}
	}
	for _, n := range numbersIn(ws) {
		if !taken.has(n.Span) && (!n.spelled || n.value > 2) {
			add(Anchor{Kind: AnchorNumber, Start: n.Start, End: n.End, value: n.value})
		}
	}
	for _, sentence := range text.SentenceSpans(s) {
		if mayDecide(sentence.Of(s)) && decides.MatchString(sentence.Of(s)) {
			add(Anchor{Kind: AnchorDecision, Start: sentence.Start, End: sentence.Start + len(strings.TrimSpace(sentence.Of(s)))})
		}
	}
	slices.SortStableFunc(out, func(a, b Anchor) int { return a.Start - b.Start })
	return out
}

// nameKind returns whether the word at i is a name or an identifier; "" for neither. A capital at the start of a sentence
// is a name's when the same word has one elsewhere, too, or another such word follows.
func nameKind(ws []word, i int) AnchorKind {
	w, next := ws[i], word{}
	if i+1 < len(ws) {
		next = ws[i+1]
	}
	switch {
	case isIdentifier(w.text) && isName(w):
		return AnchorIdentifier
	case isName(w), koreanName(w.text, next.text) != "":
		return AnchorName
	case w.first && isUpperFirst(w.text) && !wordsOfNames().greetings.Has(w.lower) && !wordsOfNames().starters.Has(w.lower) && namesElsewhere(ws, i):
		return AnchorName
	}
	return ""
}

func namesElsewhere(ws []word, i int) bool {
	return slices.ContainsFunc(ws, func(w word) bool { return w.lower == ws[i].lower && isName(w) })
}

// key makes equal anchors equal strings.
func (a Anchor) key() string {
	switch a.Kind {
	case AnchorNumber:
		return "n" + strconv.FormatFloat(a.value, 'g', -1, 64)
	case AnchorDecision:
		return "d" + strings.Join(text.Terms(a.Text), " ")
	case AnchorDate:
		return "t" + strings.ToLower(a.Text)
	}
	return "w" + nameStem(a.word)
}

// nameStem is a name without a Korean particle.
func nameStem(w word) string {
	if isHangul(w.text) {
		return particles().Off(w.text, 2)
	}
	return w.lower
}

// keeps reports whether the texts hold an anchor. It cannot judge names, dates and decisions in another language.
func (e *evidence) keeps(a Anchor) bool {
	if e.translated && a.Kind != AnchorNumber && a.Kind != AnchorIdentifier {
		return true
	}
	switch a.Kind {
	case AnchorNumber:
		return e.hasValue(a.value) || e.translated && e.hasValue(a.value/1000)
	case AnchorDate:
		return e.hasText(a.Text) || e.hasDate(a.when)
	case AnchorDecision:
		return e.hasDecision(a.Text)
	}
	return e.hasName(a.word) || isHangul(a.word.text) && e.hasText(nameStem(a.word))
}

// keptShare is the share of a decision's words from which on it counts as kept in other words.
const keptShare = 0.6

func (e *evidence) hasDecision(sentence string) bool {
	terms := text.Terms(sentence)
	kept := 0
	for _, t := range terms {
		if e.stems[t] {
			kept++
		}
	}
	return float64(kept) >= keptShare*float64(len(terms))
}
