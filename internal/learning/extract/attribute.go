package extract

import (
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// propertyKey is what makes two attributes one, however they are spelt: favourite_colours is favorite_color.
func propertyKey(attribute string) string {
	parts := strings.Split(attribute, "_")
	for i, w := range parts {
		parts[i] = spelling(w)
	}
	return strings.Join(parts, "_")
}

// american are British stems and how they are spelt in America.
var american = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(languagedata.English.Words(languagedata.Spellings)...)
})

// spelling is a word as it is compared: in American spelling and in the singular.
func spelling(word string) string {
	word = american().Replace(word)
	switch {
	case len(word) > 4 && strings.HasSuffix(word, "ies"):
		return strings.TrimSuffix(word, "ies") + "y"
	case len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") && !strings.HasSuffix(word, "is"):
		return strings.TrimSuffix(word, "s")
	}
	return word
}
