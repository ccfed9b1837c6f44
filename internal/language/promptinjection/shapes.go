package promptinjection

import (
	"slices"
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
)

// Shapes are what is known by how it is written, in any language.
var (
	mailShape = regexp.MustCompile(`[^\s@]+@[^\s@]+\.[a-z]{2,}`)
	linkShape = regexp.MustCompile(`(?:https?|ftp|wss?)://\S+|\bwww\.\S+|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/\S+|\bwebhooks?\b`)
	// An account is an IBAN, a wallet, or a number of at least six digits beside a word for an account.
	ibanShape   = regexp.MustCompile(`\b[a-z]{2}\d{2}(?: ?[0-9a-z]{4}){3,}|\b0x[0-9a-f]{16,}|\bbc1[0-9a-z]{20,}`)
	numberShape = regexp.MustCompileFrom(func() string { return languagedata.AnyOf(languagedata.AccountNumbers) })
	codeShape   = regexp.MustCompile(
		`\brm -r?f|\bdrop table\b|\bsudo \w|\bcurl \S|\bwget \S|\|\s?(?:ba)?sh\b|\bchmod \d|(?:delete|drop|wipe|send|exec|run|transfer|erase|purge|export)_\w+`,
	)
	fileShape = regexp.MustCompile(`\b[\w-]+\.(?:sh|ps1|bat|exe|cmd|vbs)\b`)
	blobShape = regexp.MustCompile(`[a-z0-9+/]{16,}={1,2}|\b(?:[a-z]+\d+){4,}[a-z0-9+/]*\b|\bbase64\b|\brot13\b|\b(?:[0-9a-f]{2} ){6,}`)
	markShape = regexp.MustCompileFrom(func() string {
		roles := strings.Join(languagedata.AllWords(languagedata.PromptRoles), "|")
		return `^\W*(?:` + roles + `)\s*[:：]|\[/?inst\]|<\|\w*|<</?sys>>|^\W*#+\s*(?:system|instruction)`
	})
	rateShape = regexp.MustCompileFrom(func() string { return languagedata.AnyOf(languagedata.Rates) })
)

// rateMarks are what a text without a digit that rates itself has one of.
var rateMarks = sync.OnceValue(func() []string { return languagedata.AllWords(languagedata.RateMarks) })

func shapes(folded string, has *features) {
	has[mail] = strings.ContainsRune(folded, '@') && mailShape.MatchString(folded)
	has[link] = (strings.ContainsAny(folded, "/.") || strings.Contains(folded, "webhook")) && linkShape.MatchString(folded)
	if strings.ContainsAny(folded, "0123456789") {
		has[account] = ibanShape.MatchString(folded) || numberShape.MatchString(folded)
		has[blob] = blobShape.MatchString(folded)
		has[rate] = rateShape.MatchString(folded)
	} else {
		marked := func(mark string) bool { return strings.Contains(folded, mark) }
		has[rate] = slices.ContainsFunc(rateMarks(), marked) && rateShape.MatchString(folded)
		has[blob] = strings.ContainsAny(folded, "=") && blobShape.MatchString(folded)
	}
	if strings.ContainsAny(folded, ":：[<#") {
		has[mark] = markShape.MatchString(folded)
	}
	has[code] = strings.ContainsAny(folded, "_-| ") && codeShape.MatchString(folded)
	has[file] = strings.ContainsRune(folded, '.') && fileShape.MatchString(folded)
	has[asks] = strings.HasSuffix(strings.TrimRight(folded, " \t.!)\"'"), "?")
}
