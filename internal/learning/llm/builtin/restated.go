package builtin

import (
	"strings"

	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
)

// restatement is a sentence, or a part of one, in a form that the grammars read: "never suggest nuts, my son is allergic to them" says
// "my son is allergic to nuts".
type restatement struct {
	said  string
	quote string // where the message says so
}

// restatedAll are the sentences to read in place of several.
func restatedAll(sentences []string) []restatement {
	var out []restatement
	for _, s := range sentences {
		out = append(out, restated(s)...)
	}
	return out
}

// restated are the sentences to read in place of a sentence: itself where no form of it is known.
func restated(sentence string) []restatement {
	bare := strings.TrimRight(strings.TrimSpace(sentence), " .!")
	if asked := thenAsked(strings.TrimSpace(sentence)); asked != nil {
		return asked
	}
	if introduced := koIntroduced(strings.TrimSpace(sentence)); introduced != nil {
		return introduced
	}
	if m := enReason.FindStringSubmatch(bare); m != nil {
		return append(withoutSuggestion(m[1]+m[2]), restatement{said: m[3] + " to " + m[2] + ".", quote: bare})
	}
	if m := koReason.FindStringSubmatch(bare); m != nil {
		return []restatement{{said: m[1] + "어요.", quote: bare}}
	}
	if theirs := andThey(bare); theirs != nil {
		return theirs
	}
	if each := eachOfThem(bare); each != nil {
		return each
	}
	if now := asOfANewTime(bare); now != nil {
		return now
	}
	clause, rest, more := strings.Cut(bare, ", ")
	wish := withoutSuggestion(clause)
	switch {
	case len(wish) == 0:
		return []restatement{{said: sentence}}
	case more:
		return append(wish, restatement{said: rest + "."})
	}
	return wish
}

var (
	// enReason is what somebody asks for because of an allergy: what is asked, what it is about, and whose allergy it is.
	enReason = enAsked.pattern("because-of-allergy")
	// koReason is an allergy that is the reason of a request.
	koReason = koAsked.pattern("because-of-allergy")
	// enSuggestion asks that something be suggested never again.
	enSuggestion = enAsked.pattern("no-suggestion")
	// enNoThing begins what names nothing by itself, or is more than a thing.
	enNoThing = enAsked.pattern("no-thing")
)

// withoutSuggestion is a wish never to have something suggested as a statement; nil for any other clause.
func withoutSuggestion(clause string) []restatement {
	m := enSuggestion.FindStringSubmatch(clause)
	if m == nil || enNoThing.MatchString(m[2]) {
		return nil
	}
	return []restatement{{said: "I never want to have " + m[2] + " " + strings.ToLower(m[1]) + "ed.", quote: clause}}
}

var (
	// enAndThey is what is said of somebody of the speaker's, and more of the same one.
	enAndThey = enAsked.pattern("and-they")
	// enSomebodyElse is of whom more may be said instead.
	enSomebodyElse = enAsked.pattern("somebody-else")
)

// andThey are the clauses of "my mother doesn't eat pork and she's allergic to celery", both said of her; nil for any other sentence, and
// where somebody else may be meant.
func andThey(sentence string) []restatement {
	if !strings.Contains(sentence, " and ") && !strings.Contains(sentence, " but ") {
		return nil // as most, for which the expression would cost more
	}
	m := enAndThey.FindStringSubmatch(sentence)
	if m == nil || english.blocked.MatchString(sentence) {
		return nil
	}
	them := spokenOf.FindString(m[1])
	if them == "" || enSomebodyElse.MatchString(m[1][len(them):]) {
		return nil
	}
	return []restatement{{said: m[1] + "."}, {said: ofThem(m[2], m[1]) + ".", quote: m[2]}}
}

// moreOfThem are, by language, what is said of somebody of the speaker's by several verbs, and of whom the later ones may be instead.
var moreOfThem = [...]struct{ clauses, somebodyElse *regexp.Regexp }{
	{enAsked.pattern("and-does"), enSomebodyElse},
	{esAsked.pattern("and-does"), esAsked.pattern("somebody-else")},
}

// eachOfThem are the clauses of "my wife is allergic to nuts and works at Bosch", each said of her: what ends one of them must leave the
// others. nil for any other sentence, and where somebody else may be meant.
func eachOfThem(sentence string) []restatement {
	if len(sentence) > maxSentenceBytes {
		return nil
	}
	for _, of := range moreOfThem {
		m := of.clauses.FindStringSubmatch(sentence)
		if m == nil || of.somebodyElse.MatchString(m[2]) || grammarOf(sentence).blocked.MatchString(sentence) {
			continue
		}
		them, first := m[1], m[1]+" "+m[2]
		out := []restatement{{said: first + ".", quote: first}}
		for {
			quote := m[3]
			m = of.clauses.FindStringSubmatch(them + " " + quote)
			if m == nil || of.somebodyElse.MatchString(m[2]) {
				return append(out, restatement{said: them + " " + quote + ".", quote: quote})
			}
			out = append(out, restatement{said: them + " " + m[2] + ".", quote: m[2]})
		}
	}
	return nil
}

// ofNewTimes are, by language, what was so and another time at which it is now.
var ofNewTimes = [...]func() []inversion{enAsked.inversions("changed-time"), esAsked.inversions("changed-time"), deAsked.inversions("changed-time")}

// asOfANewTime is what a sentence says is so by now: of "I normally train on Mondays, but now on Fridays" it is "I train on Fridays now".
// nil for any other sentence.
func asOfANewTime(sentence string) []restatement {
	if len(sentence) > maxSentenceBytes || !strings.ContainsAny(sentence, ",;–—") && !strings.Contains(sentence, " but ") {
		return nil // as most, for which the expressions would cost more
	}
	for _, of := range ofNewTimes {
		for _, in := range of() {
			m := in.pattern.FindStringSubmatch(sentence)
			if m != nil {
				return []restatement{{said: variants(in.stated[0], m[1:])[0], quote: sentence}}
			}
		}
	}
	return nil
}

// asThenAsked are, by language, a statement of the speaker and a question that goes on from it.
var asThenAsked = [...]struct {
	sentences func() []inversion
	reads     func(statement string) bool // whether what is restated is of the speaker; nil where all of it is
}{
	{enAsked.inversions("then-asked"), func(statement string) bool { return len(english.find(statement)) > 0 }}, // nobody is a first step, or a rule
	{esAsked.inversions("then-asked"), nil},
	{koAsked.inversions("then-asked"), nil},
	{jaAsked.inversions("then-asked"), nil},
	{zhAsked.inversions("then-asked"), nil},
	{deAsked.inversions("then-asked"), nil},
}

// thenAsked are the statement of the speaker with which a question begins, and the question: "as a vegan, what can I eat in Lyon?" says
// "I'm vegan". nil for any other sentence.
func thenAsked(sentence string) []restatement {
	if !strings.ContainsAny(sentence, "?？") || len(sentence) > maxSentenceBytes {
		return nil
	}
	for _, in := range asThenAsked {
		for _, entry := range in.sentences() {
			m := entry.pattern.FindStringSubmatch(sentence)
			if m == nil {
				continue
			}
			question := m[len(m)-1]
			stated := restatement{said: strings.ReplaceAll(entry.stated[0], "$1", m[1])}
			if !strings.Contains(sentence, strings.TrimRight(stated.said, ".。")) {
				stated.quote = strings.TrimRight(strings.TrimSuffix(sentence, question), " ,，、")
			}
			if in.reads != nil && stated.quote != "" && !in.reads(stated.said) {
				continue
			}
			return []restatement{stated, {said: question}}
		}
	}
	return nil
}

var (
	// koIntroduces is a name and what is said of whoever has it.
	koIntroduces = koAsked.pattern("introduces")
	// koNoGivenNames are words that look like names.
	koNoGivenNames = koAsked.words("no-given-names")
)

// koIntroduced are the name and the rest of a sentence such as "혜진이고 부산에 살아요", if a rule reads the rest as said of the speaker; nil for
// any other.
func koIntroduced(sentence string) []restatement {
	m := koIntroduces.FindStringSubmatch(sentence)
	if m == nil || koNoGivenNames().Has(m[1]) || korean.blocked.MatchString(sentence) || len(korean.find(m[2])) == 0 {
		return nil
	}
	return []restatement{
		{said: "제 이름은 " + m[1] + "이에요.", quote: strings.TrimRight(strings.TrimSuffix(sentence, m[2]), " ,")},
		{said: m[2]},
	}
}
