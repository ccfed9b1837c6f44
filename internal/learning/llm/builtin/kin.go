package builtin

import (
	"strings"

	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// introductions say who somebody of the speaker's is: how the speaker calls that one, in the first group, and the name, in the
// second.
var introductions = []*regexp.Regexp{enClauses.pattern("introductions"), esClauses.pattern("introductions")}

// knownKin is a fact about who somebody of the speaker's is.
var knownKin = enClauses.pattern("known-kin")

// introduced is a sentence with what the speaker calls whoever is only named in it, as far as the lines so far or what is known say
// that: "Mira is allergic to nuts" after "my daughter Mira" is "my daughter Mira is allergic to nuts". The second result takes that
// out of a quote again.
func (r *reading) introduced(l extract.Line, sentence string) (string, *strings.Replacer) {
	said := namedSubject.FindStringSubmatch(sentence)
	if said == nil {
		return sentence, nil
	}
	called := r.calls(l, said[2])
	if called == "" {
		return sentence, nil
	}
	named := called + " " + said[2]
	return sentence[:len(said[1])] + named + sentence[len(said[1])+len(said[2]):], strings.NewReplacer(named, said[2])
}

// namedSubject begins a sentence about somebody by name: what stands before the name, and the name.
var namedSubject = marks{"before-name", "of-name"}.pattern(`^(\s*(?:(?i:%s),? )*)(\p{Lu}\p{L}+)(?:'s | (?i:%s)\s)`)

// calls is what the speaker of a line calls somebody: "my daughter"; "" where nothing says so, or two things do.
func (r *reading) calls(l extract.Line, name string) string {
	speaker, out := r.task.SpeakerOf(l), ""
	note := func(called string) bool {
		if out != "" && !strings.EqualFold(out, called) {
			return false
		}
		out = called
		return true
	}
	for _, line := range r.task.Lines {
		if line.Role == memory.RoleUser && r.task.SpeakerOf(line) == speaker && !eachIntroduction(line.Text, name, note) {
			return ""
		}
		if line.Alias == l.Alias {
			break
		}
	}
	for _, k := range r.task.Known {
		m := knownKin.FindStringSubmatch(k.Fact.Text)
		if m != nil && m[2] == name && strings.EqualFold(k.Fact.Subject, speaker) && !note("my "+strings.ToLower(m[1])) {
			return ""
		}
	}
	return out
}

// eachIntroduction calls note with what the text says somebody of that name is to its speaker, such as "my sister", until note returns
// false; it reports whether note never did.
func eachIntroduction(text, name string, note func(called string) bool) bool {
	for i, p := range introductions {
		owner := [...]string{"my ", "mi "}[i]
		for _, m := range p.FindAllStringSubmatch(text, -1) {
			if m[2] == name && !note(owner+strings.ToLower(m[1])) {
				return false
			}
		}
	}
	return true
}
