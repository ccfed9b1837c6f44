package secretscan

import (
	"strconv"

	"github.com/stratamem/strata/internal/memory"
)

// cards are the numbers of payment cards in a text: the first digits and the length of an issuer's cards (ISO/IEC 7812), the
// check digit, and groups as they are printed, which most other long numbers do not have.
func cards(text string) []found {
	var out []found
	for i := 0; i < len(text); i++ {
		if text[i] < '3' || text[i] > '6' || i > 0 && joins(text[i-1]) {
			continue
		}
		digits, groups, end := cardDigits(text, i)
		if issued(digits) && printed(len(digits), groups) && luhn(digits) {
			out = append(out, found{span: memory.Span{Start: i, End: end}, kind: "card number"})
		}
		i = max(i, end-1)
	}
	return out
}

// joins reports whether a number that follows the byte is part of something longer.
func joins(b byte) bool { return isWord(b) || b == '.' || b == '-' || b == '/' || b == '#' || b == '%' }

const (
	leastDigits = 14
	mostDigits  = 19
)

// cardDigits reads a number from a place on whose groups one kind of sign parts. The number is none, but read, where it is
// longer than a card's or something goes on after it.
func cardDigits(text string, at int) (digits string, groups []int, end int) {
	var read []byte
	var sign byte
	group, i := 0, at
	for ; i < len(text); i++ {
		b := text[i]
		if '0' <= b && b <= '9' {
			group++
			if len(read) <= mostDigits {
				read = append(read, b)
			}
			end = i + 1
			continue
		}
		next := i+1 < len(text) && '0' <= text[i+1] && text[i+1] <= '9'
		if !next || b != ' ' && b != '-' || sign != 0 && b != sign {
			break
		}
		sign = b
		groups, group = append(groups, group), 0
		if len(groups) > 8 {
			break
		}
	}
	groups = append(groups, group)
	if end < len(text) && (isWord(text[end]) || text[end] == '-' || text[end] == '/' ||
		text[end] == '.' && end+1 < len(text) && isWord(text[end+1])) {
		return "", nil, end
	}
	return string(read), groups, end
}

// printed reports whether digits are in groups as on a card.
func printed(digits int, groups []int) bool {
	switch {
	case len(groups) == 1:
		return true
	case digits == 15:
		return len(groups) == 3 && groups[0] == 4 && groups[1] == 6
	case digits == 14:
		return len(groups) == 3 && groups[0] == 4 && groups[1] == 6
	}
	for i, n := range groups {
		if n != 4 && i < len(groups)-1 {
			return false
		}
	}
	return groups[len(groups)-1] <= 4
}

// issued reports whether issuers have cards of such numbers.
func issued(digits string) bool {
	n := len(digits)
	if n < leastDigits || n > mostDigits {
		return false
	}
	first, err := strconv.Atoi(digits[:4])
	if err != nil {
		return false
	}
	is := func(from, to, places int) bool { // whether the number begins so
		head := first
		for range 4 - places {
			head /= 10
		}
		return from <= head && head <= to
	}
	switch {
	case is(4, 4, 1): // Visa
		return n == 16
	case is(51, 55, 2), is(2221, 2720, 4): // Mastercard
		return n == 16
	case is(34, 34, 2), is(37, 37, 2): // American Express
		return n == 15
	case is(300, 305, 3), is(36, 36, 2), is(38, 39, 2): // Diners Club
		return n == 14
	case is(3528, 3589, 4), is(6011, 6011, 4), is(644, 649, 3), is(65, 65, 2): // JCB, Discover
		return n == 16
	case is(62, 62, 2): // UnionPay
		return n >= 16
	}
	return false
}

// luhn reports whether the last digit checks the others (ISO/IEC 7812-1, annex B).
func luhn(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}
