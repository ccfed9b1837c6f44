package languagedata

import (
	"strings"
	"sync"
)

// cardinals are the English numerals of one word below a hundred: those below twenty, and the tens.
var cardinals = sync.OnceValue(func() (c struct{ units, tens map[string]int }) {
	c.units, c.tens = map[string]int{}, map[string]int{}
	for i, w := range English.Words(Units) {
		c.units[w] = i
	}
	for i, w := range English.Words(Tens) {
		c.tens[w] = 10 * (i + 2)
	}
	return c
})

// Cardinal reads an English number below a hundred from one lower-case word, such as seven or twenty-five.
func Cardinal(word string) (n int, ok bool) {
	c := cardinals()
	if ten, unit, ok := strings.Cut(word, "-"); ok {
		t, isTen := c.tens[ten]
		u, isUnit := c.units[unit]
		return t + u, isTen && isUnit
	}
	if n, ok := c.units[word]; ok {
		return n, true
	}
	n, ok = c.tens[word]
	return n, ok
}
