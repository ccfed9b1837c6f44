package promptinjection

import (
	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/text"
)

// AsksReply reports whether a query asks for what its reader said before: "What did you recommend for the balcony?", "네가
// 추천해 준 식당이 어디였지?". Whoever asks so is not helped by words of his own. "What do you recommend?" asks for something new.
// The forms are English, Spanish, German, Korean, Japanese and Chinese.
func AsksReply(query string) bool {
	folded := fold(text.Clip(query, maxDisclosure))
	for _, f := range replyForms() {
		if f.isIn(folded) {
			return true
		}
	}
	return false
}

// replyForms are what such queries of each language have.
var replyForms = formsOf(languagedata.ReplyMarks, languagedata.Replies)
