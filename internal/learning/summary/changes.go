package summary

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// Statement is a sentence of a conversation, or of a summary of it.
type Statement struct {
	Who  string      // the speaker's name or role; "" when unknown
	Role memory.Role // 0 when unknown
	Text string
}

// Change is what a later statement makes of an earlier one.
type Change struct {
	By int // the place of the later statement that takes it back or replaces it; -1 when it holds to the end
	// Leans is set when the later statement does not name its subject ("No, cancel that."), so that neither can be
	// understood alone.
	Leans bool
}

// Changes returns, for each of the statements in their order, the later one that takes it back, decides or replaces it. It
// recognises them by form alone, in English, Spanish, German, Korean, Japanese and Chinese: words of taking back or changing with
// the same topic, the same statement denied, and a decision after a doubt. It prefers to miss a change over inventing one:
// two values side by side are no change.
func Changes(said []Statement) []Change {
	out := make([]Change, len(said))
	seen := seenStatements{byTerm: map[string][]int{}}
	for i, s := range said {
		out[i].By = -1
		r := readStatement(s)
		seen.change(out, r, i)
		seen.add(r, i)
	}
	return out
}

// How far back a statement that does not name its subject may refer, how long it may be, and how many statements with a
// term are compared.
const (
	leanReach    = 8
	longestLean  = 30 // tokens
	termReach    = 32
	longestTopic = 40 // terms of a statement that are looked at
)

// statement is a Statement as changes are read from it.
type statement struct {
	Statement
	topic   []string // its terms without words of change
	terms   []string // all of its terms
	revokes bool     // takes something back
	changes bool     // puts something in another's place
	weakly  bool     // may do so, where nearly all else is the same
	decides bool     // of something open
	open    bool     // doubts, waits or denies
	denied  bool     // has an odd number of negations
	idle    bool     // a question, or without content
}

func readStatement(s Statement) statement {
	folded := foldWords(s.Text)
	r := statement{Statement: s}
	rest := folded
	strip := func(list []string) bool {
		found := false
		for _, w := range list {
			if strings.Contains(folded, w) {
				found = true
				rest = strings.ReplaceAll(rest, w, " ")
			}
		}
		return found
	}
	of := wordsOfChange()
	r.revokes, r.changes, r.decides = strip(of.revoking), strip(of.changing), strip(of.deciding)
	r.weakly, r.open = strip(of.shifting), strip(of.doubting)
	for _, w := range of.negations {
		if strings.Count(folded, w)%2 == 1 {
			r.denied = !r.denied
		}
	}
	r.topic, r.terms = distinctTerms(rest), distinctTerms(s.Text)
	r.idle = text.AsksQuestion(s.Text) || len(r.terms) == 0
	return r
}

// foldWords is a text in lower case with its Latin words set apart by single blanks, one at either end too, so that a phrase
// between blanks is found whole.
func foldWords(s string) string {
	var b strings.Builder
	b.WriteByte(' ')
	for _, r := range strings.ToLower(s) {
		switch {
		case r == '’' || r == '\'':
			b.WriteByte('\'')
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			b.WriteRune(r)
		default:
			b.WriteByte(' ')
		}
	}
	return strings.Join(append(append([]string{""}, strings.Fields(b.String())...), ""), " ")
}

func distinctTerms(s string) []string {
	var out []string
	have := map[string]bool{}
	for _, t := range text.Terms(s) {
		if !have[t] && len(out) < longestTopic {
			have[t] = true
			out = append(out, t)
		}
	}
	return out
}

// seenStatements are those before the one that is looked at.
type seenStatements struct {
	all      []statement
	byTerm   map[string][]int // the latest statements with a term
	compared []int            // by statement: the place of the last one that it was compared with, 0 for none
}

func (s *seenStatements) add(r statement, at int) {
	s.all, s.compared = append(s.all, r), append(s.compared, 0)
	if r.idle {
		return
	}
	for _, t := range r.terms {
		of := append(s.byTerm[t], at)
		s.byTerm[t] = of[max(0, len(of)-termReach):]
	}
}

// change notes what the statement at a place makes of those before it.
func (s *seenStatements) change(out []Change, later statement, at int) {
	if later.idle {
		return
	}
	found := false
	for _, t := range later.terms {
		for _, i := range s.byTerm[t] {
			if s.compared[i] == at || out[i].By >= 0 {
				continue
			}
			s.compared[i] = at
			if replaces(later, s.all[i]) {
				out[i], found = Change{By: at}, true
			}
		}
	}
	if later.decides {
		for i := max(0, at-termReach); i < at; i++ {
			if e := s.all[i]; out[i].By < 0 && !e.idle && e.open && e.isBare() && e.Who == later.Who {
				out[i], found = Change{By: at}, true
			}
		}
	}
	if !found {
		s.lean(out, later, at)
	}
}

// replaces reports whether a statement about the same takes an earlier one back, replaces or decides it.
func replaces(later, earlier statement) bool {
	if later.Role == earlier.Role && later.Who != earlier.Who {
		return false // two people speak each for himself
	}
	shared := common(later.topic, earlier.topic)
	mine, theirs := len(later.topic), len(earlier.topic)
	byUser := later.Role != memory.RoleAssistant || earlier.Role == memory.RoleAssistant
	switch {
	case later.revokes && shared > 0 && (2*shared >= theirs || shared == mine && theirs <= 6):
		return !earlier.revokes
	case byUser && later.changes && shared > 0 && 2*shared >= theirs:
		return true
	case byUser && later.weakly && shared > 0 && theirs-shared <= 1 && mine-shared <= 1:
		return true
	case later.decides && earlier.open && !later.open:
		all := common(later.terms, earlier.terms)
		return all > 0 && 3*all >= len(earlier.terms) || shared > 0 && 2*shared >= min(mine, theirs)
	case later.Who == earlier.Who && later.denied != earlier.denied:
		return shared > 0 && 10*shared >= 7*theirs && 10*shared >= 7*mine
	}
	return false
}

// lean finds what a short statement of a user refers to that takes back or changes something without naming it: the same
// person's last statement of any weight, and the replies since.
func (s *seenStatements) lean(out []Change, later statement, at int) {
	vague := later.revokes && later.isVague() || later.changes && pointing(later.Text)
	if !vague || later.Role == memory.RoleAssistant || text.EstimateTokens(later.Text) > longestLean {
		return
	}
	for i := at - 1; i >= max(0, at-leanReach); i-- {
		e := s.all[i]
		if e.Who != later.Who || e.idle || promptinjection.IsPleasantry(e.Text) {
			continue
		}
		if out[i].By >= 0 {
			return
		}
		out[i] = Change{By: at, Leans: true}
		for j := i + 1; j < at; j++ {
			if out[j].By < 0 && s.all[j].Role == memory.RoleAssistant {
				out[j] = Change{By: at}
			}
		}
		return
	}
}

// isBare reports whether a statement has nothing but words of change; a pair of characters is an ending.
func (r statement) isBare() bool {
	return len(r.topic) == 0 || len(r.topic) == 1 && r.topic[0][0] >= utf8.RuneSelf
}

// shortDense is how many tokens a statement has at most that has little besides its words of change, in scripts without
// blanks between words, whose terms are pairs of characters.
const shortDense = 12

// isVague reports whether a statement has little but words of change.
func (r statement) isVague() bool {
	return len(r.topic) <= 2 || r.topic[0][0] >= utf8.RuneSelf && text.EstimateTokens(r.Text) <= shortDense
}

// pointing reports whether a text names what it is about by a pronoun alone, or by what it is not.
func pointing(s string) bool {
	return containsAny(foldWords(s), wordsOfChange().pointers)
}

// common is how many terms two lists have in common.
func common(a, b []string) int {
	n := 0
	for _, x := range a {
		for _, y := range b {
			if x == y {
				n++
				break
			}
		}
	}
	return n
}

// phrases are those of a list in all languages, which bars divide. One in Latin letters is enclosed in blanks, so that it is found
// as whole words; * at its end allows any ending, and _ at its end is a blank.
func phrases(list languagedata.List) []string {
	var out []string
	for _, line := range languagedata.AllLines(list) {
		for p := range strings.SplitSeq(line, "|") {
			if p = strings.TrimSpace(p); p != "" {
				out = append(out, phrase(p))
			}
		}
	}
	return out
}

func phrase(p string) string {
	if r, _ := utf8.DecodeRuneInString(p); unicode.Is(unicode.Latin, r) {
		p = " " + p
		if stem, ok := strings.CutSuffix(p, "*"); ok {
			p = stem
		} else {
			p += " "
		}
	}
	return strings.ReplaceAll(p, "_", " ")
}

// changeWords are the words of change.
type changeWords struct {
	revoking, changing, shifting, deciding, doubting, negations, pointers []string
}

var wordsOfChange = sync.OnceValue(func() *changeWords {
	return &changeWords{
		revoking: phrases(languagedata.Revoking), changing: phrases(languagedata.Changing), shifting: phrases(languagedata.Shifting),
		deciding: phrases(languagedata.Settling), doubting: phrases(languagedata.Doubting), negations: phrases(languagedata.Negations),
		pointers: phrases(languagedata.Pointers),
	}
})
