package builtin

import (
	"slices"
	"strings"

	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/learning/extract"
)

// statement is a sentence that was read: who said it, and what was found in it.
type statement struct {
	speaker string
	facts   []finding
	back    bool // whether the sentence after it took it back, and said nothing in its place so far
}

// findAfterLatest is what a sentence states and takes back, and what of the sentence before it takes back with words such as "scratch
// that"; back reports whether it does.
func (r *reading) findAfterLatest(l extract.Line, m message, sentence string) (found []finding, back bool) {
	found = r.find(l, m, sentence)
	instead, back := r.takenBack(l, sentence)
	if back = back && !slices.ContainsFunc(found, finding.corrects); back {
		found = r.find(l, m, instead)
		found = append(found, r.unsaid(l, sentence, found)...)
	}
	if r.latest.back = back && instead == ""; !r.latest.back {
		r.latest = statement{speaker: r.task.SpeakerOf(l), facts: slices.DeleteFunc(slices.Clone(found), finding.retracts)}
	}
	return found, back
}

// takenBack returns what a sentence that takes back the one before it puts in its place, said of whom that one was about: after "my
// sister is vegan", "scratch that, she's vegetarian" puts "my sister is vegetarian" there; "" for nothing. ok is false of any other
// sentence than these and the one after "scratch that".
func (r *reading) takenBack(l extract.Line, sentence string) (instead string, ok bool) {
	instead, ok = extract.TakesBack(sentence)
	if r.latest.speaker != r.task.SpeakerOf(l) || len(r.latest.facts) == 0 {
		return instead, ok
	}
	if !ok && r.latest.back {
		instead, ok = strings.TrimSpace(sentence), true
	}
	return ofThem(instead, r.latest.facts[0].quote), ok
}

// unsaid leaves out what the sentence before taught so far, and returns what is known from it as retractions by a sentence that takes it
// back; none where one of what is said instead has the same property and so takes its place, or where the sentence before stated more
// than one sentence may take back.
func (r *reading) unsaid(l extract.Line, sentence string, instead []finding) []finding {
	was := r.latest
	if was.back || was.speaker != r.task.SpeakerOf(l) || len(was.facts) > extract.MaxEndings {
		return nil
	}
	var out []finding
	for _, f := range was.facts {
		settled := func(n finding) bool { return n.text == f.text || n.attribute != "" && n.attribute == f.attribute }
		if slices.ContainsFunc(instead, settled) {
			return nil
		}
		taken := r.inPlaceOfMended(l, finding{
			op: opRetract, rule: &factRule{}, text: f.text, attribute: f.attribute, quote: strings.Trim(sentence, " \t\r\n"), mends: &f,
		})
		if taken.mends = nil; taken.known != "" { // what no job has stored yet is only left out
			out = append(out, taken)
		}
	}
	return out
}

// ofThem is a sentence about somebody who was spoken of before, with them in place of the pronoun; as it is where it has none.
func ofThem(sentence, before string) string {
	them := spokenOf.FindString(before)
	if them == "" {
		return sentence
	}
	for _, of := range pronouns {
		for _, in := range of() {
			if m := in.pattern.FindStringSubmatch(sentence); m != nil {
				return strings.NewReplacer("<them>", them, "$1", m[1]).Replace(in.stated[0])
			}
		}
	}
	return sentence
}

var (
	// spokenOf begins a statement about somebody or something of the speaker's.
	spokenOf = regexp.MustCompile(`^(?i:my|our|mi|nuestr[oa]) \p{Ll}[\p{L}-]*(?: \p{Lu}\p{L}+)?`)
	// pronouns are, by language, sentences about somebody who was spoken of, and the same with them as <them>.
	pronouns = []func() []inversion{enAsked.inversions("of-them"), esAsked.inversions("of-them")}
)
