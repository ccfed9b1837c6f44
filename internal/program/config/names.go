package config

import "strings"

// Names are names divided by commas.
type Names string

// List returns the names, without the space around them.
func (n Names) List() []string {
	var out []string
	for name := range strings.SplitSeq(string(n), ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}
