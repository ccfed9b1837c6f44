// Package synonyms knows which English words mean about the same, so that a question for a "physician" meets a "doctor".
package synonyms

import (
	"compress/gzip"
	_ "embed" // the table below
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Word is a word that is near to another.
type Word struct {
	Term   string  // of text.Terms
	Cosine float32 // of both words' vectors, above 0 to 1
}

// The table, as tools/semantics makes it of all-MiniLM-L6-v2: for every whole word of its vocabulary that is no stop
// word and no number, the nearest words of a cosine of .4 and more.
//
//go:embed near.bin.gz
var tableFile string

// Table knows the near words of some 13,500 English terms. It never changes; all goroutines may read it. Open makes one.
type Table struct {
	terms   []string // sorted
	first   []uint32 // for each term the number of its first pair, and after the last the number of all pairs
	rows    string   // for each pair the near term's number, in rowBytes
	cosines string   // for each pair, times cosineScale
}

// Open reads the table inside the binary: callers keep it, for it takes some 10 ms of a processor and 1 MB of memory.
func Open() (*Table, error) {
	t, err := read(tableFile)
	if err != nil {
		return nil, fmt.Errorf("table of near words: %w", err)
	}
	return t, nil
}

// Of returns the words near to a term of text.Terms, best first, at most 30; nil when none is known.
func (t *Table) Of(term string) []Word {
	i, known := slices.BinarySearch(t.terms, term)
	if !known || t.first[i] == t.first[i+1] {
		return nil
	}
	words := make([]Word, 0, t.first[i+1]-t.first[i])
	for pair := t.first[i]; pair < t.first[i+1]; pair++ {
		words = append(words, Word{Term: t.terms[t.row(pair)], Cosine: float32(t.cosines[pair]) / cosineScale})
	}
	return words
}

// row is the number of a pair's near term.
func (t *Table) row(pair uint32) int {
	at := pair * rowBytes
	return int(t.rows[at]) | int(t.rows[at+1])<<8
}

// The table's numbers: cosines are stored times 100, rows in two bytes, the lower first.
const (
	cosineScale = 100
	rowBytes    = 2
)

// read decodes a table; gzip's checksum refuses a damaged one.
func read(file string) (*Table, error) {
	r, err := gzip.NewReader(strings.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	list, numbers, ok := strings.Cut(string(data), "\n\n")
	terms := strings.Split(list, "\n")
	if !ok || len(numbers) < len(terms) {
		return nil, errors.New("cut off")
	}
	return parse(terms, numbers[:len(terms)], numbers[len(terms):])
}

// parse reads how many neighbours each term has, then the rows of all neighbours, then their cosines.
func parse(terms []string, counts, pairs string) (*Table, error) {
	if !slices.IsSorted(terms) {
		return nil, errors.New("terms out of order")
	}
	first := make([]uint32, 1, len(terms)+1)
	for i := range len(counts) {
		first = append(first, first[i]+uint32(counts[i]))
	}
	total := int(first[len(counts)])
	if len(pairs) != total*(rowBytes+1) {
		return nil, fmt.Errorf("%d bytes for %d pairs", len(pairs), total)
	}
	t := &Table{terms: terms, first: first, rows: pairs[:total*rowBytes], cosines: pairs[total*rowBytes:]}
	for pair := range uint32(total) {
		if row := t.row(pair); row >= len(terms) {
			return nil, fmt.Errorf("a neighbour of row %d among %d terms", row, len(terms))
		}
	}
	return t, nil
}
