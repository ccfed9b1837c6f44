package when

import (
	"regexp"
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/text"
)

// Order is which of the things that fit are asked for, by when they were said.
type Order int

// The orders.
const (
	AnyOrder   Order = iota
	Latest           // "the last time I ran", "most recently"
	FirstTalk        // what was said in the first session: "when we first talked"
	LatestTalk       // what was said in the latest session: "in our last conversation"
)

// Ordered is an order that words ask for.
type Ordered struct {
	Order      Order
	Start, End int // bytes of the words that ask for it
}

// The words that ask for each order. They are looked for in this order: "the last time we talked" is of a talk.
var orders = sync.OnceValue(func() []orderWords {
	return []orderWords{
		{FirstTalk, orderPattern(languagedata.FirstTalk)}, {LatestTalk, orderPattern(languagedata.LatestTalk)}, {Latest, orderPattern(languagedata.Latest)},
	}
})

type orderWords struct {
	order   Order
	pattern *regexp.Regexp
}

func orderPattern(of languagedata.List) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + languagedata.AnyOf(of))
}

// orderParts are what words that ask for an order have one of: a regular expression is dear.
var orderParts = sync.OnceValue(func() []string { return languagedata.AllWords(languagedata.OrderParts) })

// OrderIn returns the order that the beginning of a query, MaxBytes of it, asks for, AnyOrder where it asks for none.
func OrderIn(query string) Ordered {
	f := fold(text.Clip(query, MaxBytes))
	if !mayOrder(strings.ToLower(f.text)) {
		return Ordered{}
	}
	for _, o := range orders() {
		if at := o.pattern.FindStringIndex(f.text); at != nil {
			return Ordered{o.order, f.starts(at[0]), f.ends(at[1])}
		}
	}
	return Ordered{}
}

func mayOrder(s string) bool {
	for _, p := range orderParts() {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
