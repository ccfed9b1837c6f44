package text

import "strings"

// Cardinal reads an English number below a hundred from one lower-case word, such as seven or twenty-five.
func Cardinal(word string) (n int, ok bool) {
	if ten, unit, ok := strings.Cut(word, "-"); ok {
		t, isTen := tens[ten]
		u, isUnit := units[unit]
		return t + u, isTen && isUnit
	}
	if n, ok := units[word]; ok {
		return n, true
	}
	n, ok = tens[word]
	return n, ok
}

var units = map[string]int{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
	"seventeen": 17, "eighteen": 18, "nineteen": 19,
}

var tens = map[string]int{
	"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}
