package intent

import (
	"strings"

	regexp "github.com/stratamem/strata/internal/lazyregexp"
)

// Shapes are what is known by how it is written, in any language.
var (
	mailShape = regexp.MustCompile(`[^\s@]+@[^\s@]+\.[a-z]{2,}`)
	linkShape = regexp.MustCompile(`(?:https?|ftp|wss?)://\S+|\bwww\.\S+|\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/\S+|\bwebhooks?\b`)
	// An account is an IBAN, a wallet, or a number of at least six digits beside a word for an account.
	ibanShape   = regexp.MustCompile(`\b[a-z]{2}\d{2}(?: ?[0-9a-z]{4}){3,}|\b0x[0-9a-f]{16,}|\bbc1[0-9a-z]{20,}`)
	numberShape = regexp.MustCompile(
		`\b(?:account|iban|wallet|routing|cuenta|billetera)(?: number| numero)?\W{1,3}(?:\w+ ){0,2}\d[\d -]{5,}` +
			`|(?:계좌|지갑|은행|뱅크).{0,10}\d[\d -]{5,}|\d[\d -]{5,}\s?(?:계좌|지갑)` +
			`|(?:口座|振込先|普通|当座).{0,10}\d{6,}|(?:账号|账户|卡号|钱包|[工农中建招]行).{0,6}\d[\d -]{5,}`)
	codeShape = regexp.MustCompile(
		`\brm -r?f|\bdrop table\b|\bsudo \w|\bcurl \S|\bwget \S|\|\s?(?:ba)?sh\b|\bchmod \d|(?:delete|drop|wipe|send|exec|run|transfer|erase|purge|export)_\w+`,
	)
	fileShape = regexp.MustCompile(`\b[\w-]+\.(?:sh|ps1|bat|exe|cmd|vbs)\b`)
	blobShape = regexp.MustCompile(`[a-z0-9+/]{16,}={1,2}|\b(?:[a-z]+\d+){4,}[a-z0-9+/]*\b|\bbase64\b|\brot13\b|\b(?:[0-9a-f]{2} ){6,}`)
	markShape = regexp.MustCompile(
		`^\W*(?:system|assistant|developer|sistema|asistente|시스템|어시스턴트|システム|アシスタント|系统|助手)\s*[:：]|\[/?inst\]|<\|\w*|<</?sys>>|^\W*#+\s*(?:system|instruction)`,
	)
	rateShape = regexp.MustCompile(
		`\b(?:rate|score|mark|rank)\b.{0,30}\b(?:10|ten|highest|maximum|important|critical)\b` +
			`|\b(?:significance|importance|confidence|importancia|prioridad)\b.{0,16}\b(?:10|ten|diez|max\w*|highest)` +
			`|(?:중요도|점수).{0,12}(?:10|십|최고|최대)|重要(?:度|性).{0,8}(?:10|十|最高|最大)`)
)

func shapes(folded string, has *features) {
	has[mail] = strings.ContainsRune(folded, '@') && mailShape.MatchString(folded)
	has[link] = (strings.ContainsAny(folded, "/.") || strings.Contains(folded, "webhook")) && linkShape.MatchString(folded)
	if strings.ContainsAny(folded, "0123456789") {
		has[account] = ibanShape.MatchString(folded) || numberShape.MatchString(folded)
		has[blob] = blobShape.MatchString(folded)
		has[rate] = rateShape.MatchString(folded)
	} else {
		has[rate] = strings.ContainsAny(folded, "최最") && rateShape.MatchString(folded) ||
			strings.Contains(folded, "importan") && rateShape.MatchString(folded)
		has[blob] = strings.ContainsAny(folded, "=") && blobShape.MatchString(folded)
	}
	if strings.ContainsAny(folded, ":：[<#") {
		has[mark] = markShape.MatchString(folded)
	}
	has[code] = strings.ContainsAny(folded, "_-| ") && codeShape.MatchString(folded)
	has[file] = strings.ContainsRune(folded, '.') && fileShape.MatchString(folded)
	has[asks] = strings.HasSuffix(strings.TrimRight(folded, " \t.!)\"'"), "?")
}
