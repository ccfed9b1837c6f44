package secretscan

import "math/bits"

// automaton finds many words in one pass over a text (Aho and Corasick, "Efficient string matching", 1975). Letters of
// ASCII match in either case; all else byte by byte.
type automaton struct {
	class   [256]uint16 // the column of a byte; 0 for bytes of no word
	columns int
	shift   int       // of a state to its row: rows are padded to a power of two
	next    []int32   // by row and column: twice the row of the next state, and 1 where a word ends there
	ends    [][]int32 // by state: the words that end there, nil for most
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// newAutomaton makes the automaton of words that have no upper-case letters of ASCII.
func newAutomaton(words []string) *automaton {
	a := &automaton{columns: 1}
	for _, w := range words {
		for i := range len(w) {
			if a.class[w[i]] == 0 {
				a.class[w[i]] = uint16(a.columns)
				a.columns++
			}
		}
	}
	for b := byte('A'); b <= 'Z'; b++ {
		a.class[b] = a.class[lower(b)]
	}
	a.shift = bits.Len(uint(a.columns - 1))
	a.columns = 1 << a.shift
	a.grow()
	for i, w := range words {
		state := 0
		for j := range len(w) {
			at := state*a.columns + int(a.class[w[j]])
			if a.next[at] == 0 {
				a.next[at] = int32(a.grow())
			}
			state = int(a.next[at])
		}
		a.ends[state] = append(a.ends[state], int32(i))
	}
	a.link()
	return a
}

// grow adds a state.
func (a *automaton) grow() int {
	a.next = append(a.next, make([]int32, a.columns)...)
	a.ends = append(a.ends, nil)
	return len(a.ends) - 1
}

// link fills in where a word that fails goes on, breadth first, and makes next hold rows instead of states.
func (a *automaton) link() {
	fail := make([]int, len(a.ends))
	queue := make([]int, 0, len(a.ends))
	for c := range a.columns {
		if to := int(a.next[c]); to != 0 {
			queue = append(queue, to)
		}
	}
	for i := 0; i < len(queue); i++ {
		state := queue[i]
		a.ends[state] = append(a.ends[state], a.ends[fail[state]]...)
		for c := range a.columns {
			to := &a.next[state*a.columns+c]
			other := a.next[fail[state]*a.columns+c]
			if *to == 0 {
				*to = other
				continue
			}
			fail[*to] = int(other)
			queue = append(queue, int(*to))
		}
	}
	for i, to := range a.next {
		a.next[i] = 2 * to * int32(a.columns)
		if len(a.ends[to]) > 0 {
			a.next[i]++
		}
	}
}

// scan calls found for every word in the text, with the word's end.
func (a *automaton) scan(text string, found func(word int32, end int)) {
	state := int32(0)
	for i := range len(text) {
		state = a.next[state>>1+int32(a.class[text[i]])]
		if state&1 == 0 {
			continue
		}
		for _, w := range a.ends[state>>1>>a.shift] {
			found(w, i+1)
		}
	}
}
