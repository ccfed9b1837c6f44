package contextprofile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/contexts/settingschema"
)

// maxPromptBytes is the most of a prompt of a profile: it is paid with every call.
const maxPromptBytes = 8 << 10

// promptValues are the places of a summary's prompt, with what stands in them.
func promptValues(maxTokens int64, language string) map[string]string {
	if language == "" {
		language = "the language of the source"
	}
	return map[string]string{"max_tokens": fmt.Sprint(maxTokens), "language": language}
}

// fillPrompt puts values in the places of a prompt: {name}. {{ and }} are braces.
func fillPrompt(text string, values map[string]string) (string, error) {
	var b strings.Builder
	for text != "" {
		at := strings.IndexAny(text, "{}")
		if at < 0 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:at])
		brace, rest := text[at], text[at+1:]
		if rest != "" && rest[0] == brace {
			b.WriteByte(brace)
			text = rest[1:]
			continue
		}
		name, behind, closed := strings.Cut(rest, "}")
		if brace == '}' || !closed {
			return "", errors.New("it has a brace without its other one: write {{ or }} for a brace")
		}
		value, known := values[name]
		if !known {
			places := slices.Sorted(maps.Keys(values))
			if len(places) == 0 {
				return "", fmt.Errorf("it has the place {%s}, and none is known here: write {{ and }} for braces", name)
			}
			return "", fmt.Errorf("it has the place {%s}, which is not known; known are {%s}; "+
				"write {{ and }} for braces", name, strings.Join(places, "}, {"))
		}
		b.WriteString(value)
		text = behind
	}
	return b.String(), nil
}

// checkPrompt refuses a prompt that is too long or has places that cannot be filled.
func checkPrompt(fs *settingschema.Faults, key, text string, values map[string]string) {
	if len(text) > maxPromptBytes {
		fs.Add(key, "", "it has %d bytes; at most %d are allowed", len(text), maxPromptBytes)
	}
	if _, err := fillPrompt(text, values); err != nil {
		fs.Add(key, "", "%v", err)
	}
}
