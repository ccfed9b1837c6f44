package console

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

//go:embed words/*.json
var wordFiles embed.FS

// languageCookie holds the language that was chosen.
const languageCookie = "strata_console_language"

// words are the console's texts in one language, by name. Names of values of the API are the proto's own.
type words struct {
	Language string
	texts    map[string]string
}

// of returns a text with its arguments filled in, as fmt does. A name without a text stands for itself: values that a newer
// API has are shown as they are.
func (w words) of(name string, args ...any) string {
	text, ok := w.texts[name]
	if !ok {
		return name
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// catalogue has the words of every language.
type catalogue struct {
	languages []string // the first one is for readers of none of them
	words     map[string]words
	matcher   language.Matcher
}

// openCatalogue reads the word files.
func openCatalogue() (catalogue, error) {
	c := catalogue{languages: []string{"en"}, words: map[string]words{}}
	entries, err := wordFiles.ReadDir("words")
	if err != nil {
		return c, fmt.Errorf("read the console's words: %w", err)
	}
	var tags []language.Tag
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".json")
		content, err := wordFiles.ReadFile(path.Join("words", e.Name()))
		if err != nil {
			return c, fmt.Errorf("read the console's words: %w", err)
		}
		w := words{Language: name}
		if err := json.Unmarshal(content, &w.texts); err != nil {
			return c, fmt.Errorf("read the console's words in %s: %w", e.Name(), err)
		}
		c.words[name] = w
		if !slices.Contains(c.languages, name) {
			c.languages = append(c.languages, name)
		}
	}
	for _, name := range c.languages {
		tag, err := language.Parse(name)
		if err != nil {
			return c, fmt.Errorf("the console's language %s: %w", name, err)
		}
		tags = append(tags, tag)
	}
	c.matcher = language.NewMatcher(tags)
	return c, nil
}

// forRequest returns the words for a request: of the language that was chosen, else of the one that the browser asks for.
func (c catalogue) forRequest(r *http.Request) words {
	if chosen, err := r.Cookie(languageCookie); err == nil {
		if w, ok := c.words[chosen.Value]; ok {
			return w
		}
	}
	asked, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil {
		return c.words[c.languages[0]]
	}
	_, index, _ := c.matcher.Match(asked...)
	return c.words[c.languages[index]]
}
