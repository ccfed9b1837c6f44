// Command fold prints the term that the analyzer makes of each word it reads, one a line, and an empty line for a word
// that has no place among near words.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"github.com/stratamem/strata/internal/language/languagedata"
	"github.com/stratamem/strata/internal/language/text"
)

func main() {
	if err := fold(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fold:", err)
		os.Exit(1)
	}
}

func fold(words io.Reader, terms io.Writer) error {
	out := bufio.NewWriter(terms)
	in := bufio.NewScanner(words)
	for in.Scan() {
		fmt.Fprintln(out, term(in.Text()))
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("read words: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write terms: %w", err)
	}
	return nil
}

// term is the one term of a word; "" for stop words and numbers, and for words whose stem reads as one of them, such as
// those of "wills" and "tens".
func term(word string) string {
	terms := text.Terms(word)
	if len(terms) != 1 || len(text.Terms(terms[0])) == 0 || isNumber(word) || isNumber(terms[0]) {
		return ""
	}
	return terms[0]
}

func isNumber(word string) bool {
	_, ok := languagedata.Cardinal(word)
	return ok
}
