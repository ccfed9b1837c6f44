package main

import (
	"fmt"
	"strings"
)

// maxExpansions is the most lines that a pattern stands for.
const maxExpansions = 24

// expanded are the lines that a pattern stands for: "{Likes|Loves} tea" is "Likes tea" and "Loves tea". Of more than maxExpansions
// some are taken, spread over the choices, the same each time. An empty choice is allowed; choices do not nest.
func expanded(pattern string) ([]string, error) {
	fixed, choices, err := parsed(pattern)
	if err != nil {
		return nil, err
	}
	all := 1
	for _, c := range choices {
		all *= len(c)
	}
	n := min(all, maxExpansions)
	seen := map[string]bool{}
	var out []string
	for i := range n {
		at := i
		if all > n {
			at = spread(i, all)
		}
		var b strings.Builder
		for j, c := range choices {
			b.WriteString(fixed[j])
			b.WriteString(c[at%len(c)])
			at /= len(c)
		}
		b.WriteString(fixed[len(choices)])
		if line := strings.TrimSpace(b.String()); !seen[line] {
			seen[line] = true
			out = append(out, line)
		}
	}
	return out, nil
}

// parsed are the fixed parts of a pattern and the choices between them.
func parsed(pattern string) (fixed []string, choices [][]string, err error) {
	for {
		before, rest, found := strings.Cut(pattern, "{")
		if strings.Contains(before, "}") {
			return nil, nil, fmt.Errorf("the pattern %q has a } without a {", pattern)
		}
		fixed = append(fixed, before)
		if !found {
			return fixed, choices, nil
		}
		inner, after, found := strings.Cut(rest, "}")
		if !found || strings.Contains(inner, "{") {
			return nil, nil, fmt.Errorf("the pattern %q has a { without its }", pattern)
		}
		choices = append(choices, strings.Split(inner, "|"))
		pattern = after
	}
}

// spread is a number below n for the i-th of a choice: Knuth's multiplicative hash, whose numbers lie far apart.
func spread(i, n int) int { return int(uint64(uint32(i+1)*2654435761) * uint64(n) >> 32) }
