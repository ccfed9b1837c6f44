package builtin

import (
	"strings"

	regexp "github.com/stratamem/strata/internal/lazyregexp"
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
	if m := enReason.FindStringSubmatch(bare); m != nil {
		return append(withoutSuggestion(m[1]+m[2]), restatement{said: m[3] + " to " + m[2] + ".", quote: bare})
	}
	if m := koReason.FindStringSubmatch(bare); m != nil {
		return []restatement{{said: m[1] + "어요.", quote: bare}}
	}
	if clause, rest, ok := strings.Cut(bare, ", "); ok {
		if wish := withoutSuggestion(clause); len(wish) > 0 {
			return append(wish, restatement{said: rest + "."})
		}
	}
	if wish := withoutSuggestion(bare); len(wish) > 0 {
		return wish
	}
	return []restatement{{said: sentence}}
}

// enReason is what somebody asks for because of an allergy: what is asked with what it is about, that, and whose allergy it is.
var enReason = regexp.MustCompile(
	`(?i)^(.*\b(?:suggest|recommend|give|serve|offer|cook|make|buy|order|use|add|avoid|with|no|without)(?:ing)?(?: me| us| her| him| them| any)? )` +
		`(\p{L}+?(?: (?:or )?\p{L}+)??)(?:,? please)?(?:,|;| -| –| —)? (?:(?:because|since|as|cause|for|'cause) )?` +
		`((?:(?:i'm|i am|(?:my|our) [^,;.]+? is|\p{L}+ is)) (?:(?:very|severely|badly|extremely|highly|deathly|quite|mildly) )?allergic)` +
		`(?: to (?:them|it|those|that|these))?$`,
)

// koReason is an allergy that is the reason of a request.
var koReason = regexp.MustCompile(`^(.+?(?:알레르기|알러지)(?:가|도)? ?있)(?:으니까|으니|어서|는데|으므로|기 때문에|거든요),? .+$`)

// enSuggestion asks that something be suggested never again.
var enSuggestion = regexp.MustCompile(
	`(?i)^(?:(?:and|also|so|but|ok|okay),? )?(?:please,? |pls )?(?:never|don't ever|do not ever) (suggest|recommend)(?: me| us| to me)? ([^,;?]+?)(?: again| anymore| to me| to us|,? please)*$`,
)

// enPointing begins what names nothing by itself, or is more than a thing.
var enPointing = regexp.MustCompile(`(?i)^(?:that|this|these|those|it|them|to|how|what|when|where|why|i|you|we|he|she|they|anything|something|stuff)\b`)

// withoutSuggestion is a wish never to have something suggested as a statement; nil for any other clause.
func withoutSuggestion(clause string) []restatement {
	m := enSuggestion.FindStringSubmatch(clause)
	if m == nil || enPointing.MatchString(m[2]) {
		return nil
	}
	return []restatement{{said: "I never want to have " + m[2] + " " + strings.ToLower(m[1]) + "ed.", quote: clause}}
}
