package settingschema

import (
	"slices"
	"strings"
)

// DidYouMean names the nearest of the known names, or all of them when none is near.
func DidYouMean(name string, known []string) string {
	known = slices.Sorted(slices.Values(known))
	best, least := "", len(name)/3+2
	for _, k := range known {
		if d := distance(plain(name), plain(k)); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return "; known are " + strings.Join(known, ", ")
	}
	return "; did you mean " + best + "?"
}

// plain makes names that differ only in case and dashes equal.
func plain(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "-")) }

// distance is the least number of bytes to insert, delete or replace to turn a into b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
