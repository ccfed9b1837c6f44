// Package synonyms knows which English words mean about the same, so that a question for a "physician" meets a "doctor".
package synonyms

import (
	"compress/gzip"
	_ "embed" // the table below
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
	near map[string][]Word
}

// Open reads the table inside the binary: callers keep it, for it takes some 20 ms of a processor and 6 MB of memory.
func Open() (*Table, error) {
	t, err := read(tableFile)
	if err != nil {
		return nil, fmt.Errorf("table of near words: %w", err)
	}
	return t, nil
}

// Of returns the words near to a term of text.Terms, best first, at most 30; nil when none is known. What it returns
// is the table's own: callers must not change it.
func (t *Table) Of(term string) []Word { return t.near[term] }

// The table's numbers: cosines are stored times 100, rows in two bytes.
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
	terms := strings.Split(strings.Clone(list), "\n") // a copy, which does not keep the numbers in memory
	if !ok || len(numbers) < len(terms) {
		return nil, errors.New("cut off")
	}
	return parse(terms, numbers[:len(terms)], numbers[len(terms):])
}

// parse reads how many neighbours each term has, then the rows of all neighbours, then their cosines.
func parse(terms []string, counts, pairs string) (*Table, error) {
	total := 0
	for i := range len(counts) {
		total += int(counts[i])
	}
	if len(pairs) != total*(rowBytes+1) {
		return nil, fmt.Errorf("%d bytes for %d pairs", len(pairs), total)
	}
	words, err := parseWords(terms, []byte(pairs[:total*rowBytes]), pairs[total*rowBytes:])
	if err != nil {
		return nil, err
	}
	t := &Table{near: make(map[string][]Word, len(terms))}
	for i, term := range terms {
		n := int(counts[i])
		if n > 0 {
			t.near[term] = words[:n:n]
		}
		words = words[n:]
	}
	return t, nil
}

func parseWords(terms []string, rows []byte, cosines string) ([]Word, error) {
	words := make([]Word, len(cosines))
	for i := range words {
		row := int(binary.LittleEndian.Uint16(rows[i*rowBytes:]))
		if row >= len(terms) {
			return nil, fmt.Errorf("a neighbour of row %d among %d terms", row, len(terms))
		}
		words[i] = Word{Term: terms[row], Cosine: float32(cosines[i]) / cosineScale}
	}
	return words, nil
}
