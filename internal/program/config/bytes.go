package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a size. As text it is a number with B, KB, MB, GB (powers of 1000), KiB, MiB or GiB (powers of 1024);
// without a unit it counts bytes.
type Bytes int64

// unit is a name for a number of bytes.
type unit struct {
	name string
	size int64
}

// units are tried in order: those of 1024 first, since they make the shorter text, and B last, since all end in it.
func units() []unit {
	return []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}}
}

// UnmarshalText reads a size such as 64MiB.
func (b *Bytes) UnmarshalText(text []byte) error {
	s, size := strings.TrimSpace(string(text)), int64(1)
	for _, u := range units() {
		if rest, ok := cutSuffixFold(s, u.name); ok {
			s, size = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n < 0 || n*float64(size) >= math.MaxInt64 || math.IsNaN(n) {
		return fmt.Errorf("%q is not a size: write a number with B, KB, MB, GB, KiB, MiB or GiB, such as 64MiB", text)
	}
	*b = Bytes(n * float64(size))
	return nil
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if len(s) < len(suffix) || !strings.EqualFold(s[len(s)-len(suffix):], suffix) {
		return s, false
	}
	return s[:len(s)-len(suffix)], true
}

// MarshalText writes the size in the largest unit that divides it.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// String writes the size in the largest unit that divides it.
func (b Bytes) String() string {
	for _, u := range units() {
		if b != 0 && int64(b)%u.size == 0 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.name
		}
	}
	return "0B"
}
