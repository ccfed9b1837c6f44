package promptinjection

import (
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/language/text"
)

// IsStanding reports whether a message asks its reader for something in every answer to come: "Always give sources when I
// ask about health", "앞으로는 항상 존댓말로 답해 줘". Such a wish holds for questions that share no word with it. It is read by
// the form of a sentence alone, so that a wish about any subject is known; a question is none, and neither is what
// somebody always does, or asks for once. The forms are English, Spanish, German, Korean, Japanese and Chinese.
func IsStanding(message string) bool {
	for _, sentence := range text.Sentences(text.Clip(message, maxDisclosure)) {
		if text.AsksQuestion(sentence) {
			continue
		}
		folded := fold(sentence)
		for _, f := range standingForms() {
			if f.isIn(folded) {
				return true
			}
		}
	}
	return false
}

// sentenceForm is how sentences of a language say something.
type sentenceForm struct {
	marks []string // a sentence without any of them is none
	form  *regexp.Regexp
}

func (f *sentenceForm) isIn(folded string) bool {
	for _, m := range f.marks {
		if strings.Contains(folded, m) {
			return f.form.MatchString(folded)
		}
	}
	return false
}

// standingForms are those of all languages. A regular expression is dear; most sentences have none of its marks.
var standingForms = formsOf(languagedata.StandingMarks, languagedata.Standing)

// formsOf are the forms in a list of each language, with their marks. They are read when a sentence is first looked at.
func formsOf(marks, list languagedata.List) func() []sentenceForm {
	return sync.OnceValue(func() []sentenceForm {
		var out []sentenceForm
		for _, l := range languagedata.All() {
			if words := l.Words(marks); len(words) > 0 {
				out = append(out, sentenceForm{languagedata.Blanks(words), regexp.MustCompile(l.Pattern(list))})
			}
		}
		return out
	})
}
