package secretscan

import (
	_ "embed" // of the rules
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// The rules of Gitleaks are embedded as their authors publish them (v8.30.1, config/gitleaks.toml, MIT: see NOTICE), so that
// a new version is a copied file. Gitleaks itself as a library would link archives, a terminal, a configuration reader and
// a WebAssembly machine into the program, and reads texts without a bound on the time that takes.
//
//go:embed gitleaks.toml
var gitleaksRules []byte

// The rules for what people write in conversations, in the same form.
//
//go:embed conversation.toml
var conversationRules []byte

// ruleFile is a file of rules. Paths are read where they are beside other conditions only: a message has none.
type ruleFile struct {
	Allowlist allowlistText `toml:"allowlist"`
	Rules     []ruleText    `toml:"rules"`
}

type ruleText struct {
	ID          string          `toml:"id"`
	Kind        string          `toml:"kind"` // conversation.toml alone: what a mask says, else it is the id
	Regex       string          `toml:"regex"`
	Path        string          `toml:"path"`
	Entropy     float64         `toml:"entropy"`
	SecretGroup int             `toml:"secretGroup"`
	Keywords    []string        `toml:"keywords"`
	Allowlists  []allowlistText `toml:"allowlists"`
	// Of conversation.toml alone: "figures" wants a digit or a sign that words do not have, "word" takes a plain word too
	// where a sentence or a line ends with it.
	Value string `toml:"value"`
}

type allowlistText struct {
	Condition   string   `toml:"condition"`
	Paths       []string `toml:"paths"`
	RegexTarget string   `toml:"regexTarget"`
	Regexes     []string `toml:"regexes"`
	Stopwords   []string `toml:"stopwords"`
}

// leftOut are rules of Gitleaks that are not run over messages, with the reason.
var leftOut = map[string]string{
	"curl-auth-header": "reads on over any number of lines; conversation.toml has rules for headers",
	"curl-auth-user":   "reads on over any number of lines; conversation.toml has a rule for user and password",
	"private-key":      "reads on without an end; see pem.go",
}

// Parts of the rules of Gitleaks that are written otherwise here: what may be before a name is left out, since a rule is
// tried where the name begins, and what may be after a value is wider, since sentences go on with signs and letters that
// source files do not have there.
const (
	beforeName = `[\w.-]{0,50}?`
	afterValue = "(?:[\\x60'\"\\s;]|\\\\[nr]|$)"
	afterWords = "(?:[\\x60'\"\\s;,.:!?()\\[\\]{}<>&|*@#]|[^\\x00-\\x7f]|\\\\[nr]|$)"
)

// rule is a rule that is ready to run.
type rule struct {
	kind      string
	generic   bool // gives way to others that find the same
	value     string
	entropy   float64
	group     int
	allow     []allowlist
	words     []string // where one is, the rule is tried
	anchored  bool     // whether a match begins with the word; else it may be anywhere around it
	assigns   bool     // whether a name, a sign such as = and the value are what it finds
	wordStart bool     // whether no letter, digit or _ may be before the match
	least     int      // the fewest bytes of a match
	pattern   func() *regexp.Regexp
}

// allowlist holds what is known to be no secret.
type allowlist struct {
	all       bool // whether each condition must hold, not one
	never     bool // whether it also wants a path
	target    string
	regexes   func() []*regexp.Regexp
	stopwords func() *automaton // nil for none
}

// ruleSet is all rules.
type ruleSet struct {
	rules   []*rule
	allow   []allowlist
	byWord  [][]int32 // by the automaton's word: the rules that are tried there
	lengths []int
	words   *automaton
}

// rules are the embedded ones. Their patterns are compiled when they are first tried.
var rules = sync.OnceValue(func() *ruleSet {
	set, err := newRuleSet(gitleaksRules, conversationRules)
	if err != nil {
		panic(err) // a test loads them
	}
	return set
})

func newRuleSet(files ...[]byte) (*ruleSet, error) {
	set := &ruleSet{}
	byWord := map[string][]int32{}
	for _, file := range files {
		var f ruleFile
		if err := toml.Unmarshal(file, &f); err != nil {
			return nil, fmt.Errorf("read rules of secrets: %w", err)
		}
		if a := newAllowlist(f.Allowlist); !a.empty() {
			set.allow = append(set.allow, a)
		}
		for _, text := range f.Rules {
			if _, out := leftOut[text.ID]; out || text.Path != "" {
				continue
			}
			r, err := newRule(text)
			if err != nil {
				return nil, fmt.Errorf("rule %s: %w", text.ID, err)
			}
			for _, w := range r.words {
				byWord[w] = append(byWord[w], int32(len(set.rules)))
			}
			set.rules = append(set.rules, r)
		}
	}
	words := slices.Sorted(maps.Keys(byWord))
	for _, w := range words {
		set.byWord, set.lengths = append(set.byWord, byWord[w]), append(set.lengths, len(w))
	}
	set.words = newAutomaton(words)
	return set, nil
}

func newRule(t ruleText) (*rule, error) {
	kind := t.Kind
	if kind == "" {
		kind = strings.ReplaceAll(t.ID, "-", " ")
	}
	if t.ID == "generic-api-key" {
		kind = "api key"
	}
	assigns := strings.Contains(t.Regex, beforeName)
	source := strings.ReplaceAll(strings.ReplaceAll(t.Regex, beforeName, ""), afterValue, afterWords)
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	r := &rule{
		kind: kind, generic: t.ID == "generic-api-key", value: t.Value, entropy: t.Entropy, group: t.SecretGroup, assigns: assigns,
		wordStart: beginsWord(parsed), least: leastBytes(parsed),
	}
	for _, a := range t.Allowlists {
		r.allow = append(r.allow, newAllowlist(a))
	}
	r.words, r.anchored = begins(parsed)
	if r.anchored && !assigns && len(t.Keywords) > 0 { // a keyword may be meant for what is around
		r.anchored = !slices.ContainsFunc(r.words, func(w string) bool {
			return !slices.ContainsFunc(t.Keywords, func(k string) bool {
				k = strings.ToLower(k)
				return strings.HasPrefix(w, k) || strings.HasPrefix(k, w)
			})
		})
	}
	if r.anchored {
		source = `\A(?:` + source + `)`
	} else {
		r.words = nil
		for _, k := range t.Keywords {
			r.words = append(r.words, strings.ToLower(k))
		}
	}
	if len(r.words) == 0 {
		return nil, fmt.Errorf("has no keywords")
	}
	r.pattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) }) // it was parsed above
	return r, nil
}

func newAllowlist(t allowlistText) allowlist {
	a := allowlist{all: strings.EqualFold(t.Condition, "AND"), target: t.RegexTarget}
	a.never = a.all && len(t.Paths) > 0
	if len(t.Regexes) > 0 {
		a.regexes = sync.OnceValue(func() []*regexp.Regexp {
			var out []*regexp.Regexp
			for _, source := range t.Regexes {
				out = append(out, regexp.MustCompile(source))
			}
			return out
		})
	}
	if len(t.Stopwords) > 0 {
		a.stopwords = sync.OnceValue(func() *automaton {
			words := make([]string, len(t.Stopwords))
			for i, w := range t.Stopwords {
				words[i] = strings.ToLower(w)
			}
			return newAutomaton(words)
		})
	}
	return a
}

func (a allowlist) empty() bool { return a.regexes == nil && a.stopwords == nil }

// allows reports whether a value is no secret. Line and match are where it is.
func (a allowlist) allows(value, match, line string) bool {
	if a.never || a.empty() {
		return false
	}
	if a.regexes != nil {
		target := value
		switch a.target {
		case "match":
			target = match
		case "line":
			target = line
		}
		if found := slices.ContainsFunc(a.regexes(), func(re *regexp.Regexp) bool { return re.MatchString(target) }); found != a.all {
			return found
		}
	}
	if a.stopwords != nil {
		found := false
		a.stopwords().scan(value, func(int32, int) { found = true })
		if found != a.all {
			return found
		}
	}
	return a.all
}

// The most words that a pattern may begin with, and the bytes of one that are looked for.
const (
	maxBeginnings = 96
	maxWordBytes  = 20
	minWordBytes  = 2
)

// begins are the words one of which every match begins with, in lower case, or false where there are too many.
func begins(re *syntax.Regexp) (words []string, ok bool) {
	all, _ := beginnings(re)
	if all == nil {
		return nil, false
	}
	seen := map[string]bool{}
	for _, w := range all {
		for len(w) > maxWordBytes {
			w = w[:maxWordBytes]
		}
		if len(w) < minWordBytes {
			return nil, false
		}
		seen[w] = true
	}
	return slices.Sorted(maps.Keys(seen)), true
}

// beginnings are the texts that matches begin with, nil for too many, and whether each is a whole match.
func beginnings(re *syntax.Regexp) (texts []string, whole bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{asciiLower(string(re.Rune))}, true
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpBeginLine, syntax.OpWordBoundary:
		return []string{""}, true
	case syntax.OpCapture:
		return beginnings(re.Sub[0])
	case syntax.OpCharClass:
		seen := map[string]bool{}
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i+1]-re.Rune[i] > 8 {
				return []string{""}, false
			}
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				seen[asciiLower(string(c))] = true
			}
		}
		if len(seen) > 8 {
			return []string{""}, false
		}
		return slices.Sorted(maps.Keys(seen)), true
	case syntax.OpQuest:
		sub, whole := beginnings(re.Sub[0])
		return append([]string{""}, sub...), whole
	case syntax.OpAlternate:
		whole = true
		for _, sub := range re.Sub {
			more, all := beginnings(sub)
			if more == nil {
				return nil, false
			}
			texts, whole = append(texts, more...), whole && all
		}
		if len(texts) > maxBeginnings {
			return nil, false
		}
		return texts, whole
	case syntax.OpConcat:
		return beginningsOf(re.Sub)
	}
	return []string{""}, false
}

// beginningsOf are those of patterns one after the other.
func beginningsOf(subs []*syntax.Regexp) (texts []string, whole bool) {
	texts = []string{""}
	for _, sub := range subs {
		more, all := beginnings(sub)
		if more == nil || len(more) > 1 && (len(texts)*len(more) > maxBeginnings || shortest(texts) >= enoughBytes) {
			return texts, false
		}
		var longer []string
		for _, t := range texts {
			for _, m := range more {
				longer = append(longer, t+m)
			}
		}
		texts = longer
		if !all {
			return texts, false
		}
	}
	return texts, true
}

// enoughBytes of a word are rare enough in texts.
const enoughBytes = 4

func shortest(texts []string) int {
	n := maxWordBytes
	for _, t := range texts {
		n = min(n, len(t))
	}
	return n
}

func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// beginsWord reports whether a pattern begins with a word boundary.
func beginsWord(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpWordBoundary:
		return true
	case syntax.OpCapture:
		return beginsWord(re.Sub[0])
	case syntax.OpConcat:
		return len(re.Sub) > 0 && beginsWord(re.Sub[0])
	}
	return false
}

// leastBytes is the fewest bytes that a match may have.
func leastBytes(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return leastBytes(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min * leastBytes(re.Sub[0])
	case syntax.OpConcat:
		n := 0
		for _, sub := range re.Sub {
			n += leastBytes(sub)
		}
		return n
	case syntax.OpAlternate:
		n := leastBytes(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			n = min(n, leastBytes(sub))
		}
		return n
	}
	return 0
}
