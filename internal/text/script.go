package text

import "github.com/stratamem/strata/internal/language"

// Clings is language.Clings.
func Clings(r rune) bool { return language.Clings(r) }
