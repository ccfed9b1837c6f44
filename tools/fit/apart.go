package main

import (
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// apartFiles have the statements that were written before rules and weights were looked at. No line that is much like one of them is
// learnt from: what is missed of them says what is missed of statements that nobody has seen.
var apartFiles = [...]string{
	"internal/learning/extract/testdata/apart_*.tsv", "internal/learning/extract/testdata/sealed_*.tsv", "internal/learning/extract/testdata/unseen_*.tsv", "internal/learning/factclassifier/testdata/fresh_*.tsv",
}

// maxAlike is the share of pieces that a line may have in common with a statement written apart.
const maxAlike = .5

// apart finds lines that are much like a statement that was written apart.
type apart struct {
	sizes []int
	by    map[string][]int // statements by their pieces
}

func readApart() (*apart, error) {
	a := &apart{by: map[string][]int{}}
	for _, pattern := range apartFiles {
		files, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			lines, err := read(file)
			if err != nil {
				return nil, err
			}
			for _, line := range lines {
				a.add(line[strings.LastIndexByte(line, '\t')+1:])
			}
		}
	}
	return a, nil
}

func (a *apart) add(statement string) {
	own := pieces(statement)
	for piece := range own {
		a.by[piece] = append(a.by[piece], len(a.sizes))
	}
	a.sizes = append(a.sizes, len(own))
}

// has reports whether a line shares more than maxAlike of the pieces of it and of a statement.
func (a *apart) has(line string) bool {
	own, shared := pieces(line), map[int]int{}
	for piece := range own {
		for _, statement := range a.by[piece] {
			shared[statement]++
		}
	}
	for statement, n := range shared {
		if float64(n) > maxAlike*float64(len(own)+a.sizes[statement]-n) {
			return true
		}
	}
	return false
}

// pieces are all runs of three letters and digits of a text, of two where words are not set apart.
func pieces(s string) map[string]bool {
	var letters []rune
	dense := false
	for _, r := range " " + strings.ToLower(norm.NFKC.String(s)) + " " {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			dense = dense || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
			letters = append(letters, r)
		case len(letters) == 0 || letters[len(letters)-1] != ' ':
			letters = append(letters, ' ')
		}
	}
	n := 3
	if dense {
		n = 2
	}
	out := map[string]bool{}
	for i := 0; i+n <= len(letters); i++ {
		out[string(letters[i:i+n])] = true
	}
	return out
}
