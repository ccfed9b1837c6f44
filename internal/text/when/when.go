// Package when reads the times that words name, in English, Korean, Japanese, Chinese and Spanish, without a model. It is
// pure: equal words at an equal time give equal answers.
package when

import "time"

// Mention is a stretch of time that words name, such as "last week" or "in May".
type Mention struct {
	From, To   time.Time // From to before To, in the zone that was asked in
	Start, End int       // bytes of the words that name it
	// Yearless says that the words leave the year open, as "in May" does: From and To are of the latest year that has
	// begun, and the same stretch of any other year is meant as well.
	Yearless bool
}
