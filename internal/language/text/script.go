package text

import "github.com/stratamem/strata/internal/language/languagedata"

// Clings is languagedata.Clings.
func Clings(r rune) bool { return languagedata.Clings(r) }
