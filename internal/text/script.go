package text

import "github.com/stratamem/strata/internal/languagedata"

// Clings is languagedata.Clings.
func Clings(r rune) bool { return languagedata.Clings(r) }
