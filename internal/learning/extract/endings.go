package extract

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// How many stored facts an answer may end. People who say that something is over say of what; a model that lets "nobody
// has an allergy" end whatever it was shown errs, or obeys.
const (
	MaxEndings = 2 // by one quote
	// Of one answer as many as the sentences it quotes and these.
	moreEndings = 2
)

// checkReplacement: a fact takes the place only of one about the same thing: of the same attribute, or with a word in
// common that says something.
func (v *verifier) checkReplacement(f, old memory.Fact) RejectReason {
	sameProperty := f.Attribute != "" && propertyKey(f.Attribute) == propertyKey(old.Attribute)
	if old.Text == "" || sameProperty || v.sharesWord(f, old) { // without a text it is none, or gone meanwhile
		return ""
	}
	return RejectUnrelated
}

// empty are words that stand in facts about anything.
var empty = sync.OnceValue(func() []string { return text.Terms(strings.Join(languagedata.AllWords(languagedata.Empty), " ")) })

// sharesWord reports whether what was said or learnt has a word of the old fact that says something, other than of whom.
func (v *verifier) sharesWord(f, old memory.Fact) bool {
	have := text.Terms(old.Text)
	names := text.Terms(f.Subject + " " + v.task.speakers())
	return slices.ContainsFunc(text.Terms(f.Text+"\n"+f.Evidence[0].Quote), func(term string) bool {
		return !slices.Contains(empty(), term) && !slices.Contains(names, term) &&
			slices.ContainsFunc(have, func(old string) bool { return akin(term, old) })
	})
}

// akinLetters is how many letters from the beginning two words of one root have in common, where stems differ: allergic
// and allergy.
const akinLetters = 6

func akin(a, b string) bool {
	return a == b || len(a) >= akinLetters && len(b) >= akinLetters && a[:akinLetters] == b[:akinLetters] && !hasClingingScript(a)
}

// speakers are the names of those who speak.
func (t Task) speakers() string {
	var names []string
	for _, l := range t.Lines {
		names = append(names, l.Name)
	}
	return strings.Join(names, " ")
}

// place is where a quote stands in the line; all of it where that cannot be found, as when particles differ.
func (s *source) place(quote string) Said {
	line, part := strings.Join(s.words, ""), squeeze(quote)
	at := strings.Index(line, part)
	if at < 0 {
		return Said{To: utf8.RuneCountInString(line)}
	}
	from := utf8.RuneCountInString(line[:at])
	said := Said{From: from, To: from + utf8.RuneCountInString(part)}
	end := 0
	for i, sentence := range text.Sentences(s.Text) {
		if end += utf8.RuneCountInString(squeeze(sentence)); from < end {
			said.Sentence = i
			break
		}
	}
	return said
}

// overlaps reports whether two quotes of one message have a letter in common, so that they are one.
func (s Said) overlaps(o Said) bool {
	return s == (Said{}) || o == (Said{}) || s.From < o.To && o.From < s.To
}

// ended is what a proposal ended.
type ended struct {
	place memory.Place
	said  Said
	facts int
}

// endings counts what an answer ends.
type endings struct {
	done      []ended
	total     int
	sentences int // that it quotes
}

func newEndings(proposals []Proposal) endings {
	type sentence struct {
		place memory.Place
		no    int
	}
	quoted := map[sentence]bool{}
	for _, p := range proposals {
		quoted[sentence{placeOf(p), p.Said.Sentence}] = true
	}
	return endings{sentences: len(quoted)}
}

func placeOf(p Proposal) memory.Place {
	if len(p.Fact.Evidence) == 0 {
		return memory.Place{}
	}
	return p.Fact.Evidence[0].Place()
}

// allow reports whether the proposal may end so many facts more.
func (e *endings) allow(p Proposal, facts int) bool {
	sum := facts
	for _, d := range e.done {
		if d.place == placeOf(p) && d.said.overlaps(p.Said) {
			sum += d.facts
		}
	}
	return facts == 0 || sum <= MaxEndings && e.total+facts <= e.sentences+moreEndings
}

func (e *endings) note(p Proposal, facts int) {
	if facts > 0 {
		e.done, e.total = append(e.done, ended{placeOf(p), p.Said, facts}), e.total+facts
	}
}
