package when

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// field is one thing that a form says.
type field int

const (
	offset    field = iota // days from today
	part                   // of the day
	count                  // of units
	unit                   // hours to years
	ago                    // marks that the count goes back
	ahead                  // marks that it goes on
	rolling                // marks that the count ends today
	step                   // -1 for the last, 0 for this, 1 for the next unit, weekday, weekend, month or season
	weekStep               // the same, of the ISO week
	monthStep              // of the month
	yearStep               // of the year
	weekday                // 0 for Monday
	weekend                // marks it
	season                 // 0 for spring
	year
	month
	day
	holiday // a number of holidays
	edge    // 0 for the beginning, 1 for the middle, 2 for the end of what the others name
	about   // marks that the days before and after are meant too
	fields
)

var fieldNames = map[string]field{
	"offset": offset, "part": part, "count": count, "unit": unit, "ago": ago, "ahead": ahead, "rolling": rolling,
	"step": step, "weeks": weekStep, "months": monthStep, "years": yearStep, "weekday": weekday, "weekend": weekend,
	"season": season, "year": year, "month": month, "day": day, "holiday": holiday, "edge": edge, "about": about,
}

// Counts that are no number: "a couple" and "a few".
const (
	couple = -2
	few    = -3
)

// reading is what a match says of each field.
type reading struct {
	is     [fields]bool
	values [fields]int
}

func (r *reading) has(f field) bool { return r.is[f] }

// counts are the least and the most that a count may be: 1 without one, and some days of "the other day", which is ago
// without one.
func (r *reading) counts() (least, most int) {
	switch n := r.values[count]; {
	case !r.has(count) && r.has(ago):
		return 2, 7
	case !r.has(count):
		return 1, 1
	case n == couple:
		return 2, 3
	case n == few:
		return 3, 7
	default:
		return n, n
	}
}

// unit is what is counted: days where the count says so itself, as 이틀 does.
func (r *reading) unit() int {
	if !r.has(unit) {
		return dayUnit
	}
	return r.values[unit]
}

// vocabulary is how a language spells the values of a field.
type vocabulary struct {
	pattern string   // without groups
	keys    []string // of keysOf: a text without any of them has no word of the vocabulary
	read    func(word string) (value int, ok bool)
}

// beginsBeyondASCII reports whether all words of a vocabulary begin with a letter such as ü. Expressions take it for no letter, so that
// what they find where such a word begins is no boundary.
func (v vocabulary) beginsBeyondASCII() bool {
	return len(v.keys) > 0 && !slices.ContainsFunc(v.keys, func(key string) bool { return key[0] < utf8.RuneSelf })
}

// spelled is a vocabulary of words, in lower case, "|" between those with the same value.
func spelled(words map[int]string) vocabulary {
	values := map[string]int{}
	for value, list := range words {
		for w := range strings.SplitSeq(list, "|") {
			values[w] = value
		}
	}
	delete(values, "") // of a value that has no word here
	longestFirst := func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }
	all := slices.SortedFunc(maps.Keys(values), longestFirst)
	var keys []string
	for _, w := range all {
		keys = append(keys, keyOf(w))
	}
	return vocabulary{
		pattern: strings.Join(all, "|"),
		keys:    keys,
		read: func(word string) (int, bool) {
			v, ok := values[strings.ToLower(word)]
			return v, ok
		},
	}
}

// listed is a vocabulary of words whose values count on from first.
func listed(first int, words ...string) vocabulary {
	values := map[int]string{}
	for i, w := range words {
		values[first+i] = w
	}
	return spelled(values)
}

// or is a vocabulary with the words of another one.
func (v vocabulary) or(other vocabulary) vocabulary {
	return vocabulary{
		pattern: v.pattern + "|" + other.pattern,
		keys:    slices.Concat(v.keys, other.keys),
		read: func(word string) (int, bool) {
			if n, ok := v.read(word); ok {
				return n, ok
			}
			return other.read(word)
		},
	}
}

// capitals is a vocabulary whose words count only with a capital: May is a month where may need not be one.
func (v vocabulary) capitals() vocabulary {
	words := strings.Split(v.pattern, "|")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return vocabulary{pattern: "(?-i:" + strings.Join(words, "|") + ")", keys: v.keys, read: v.read}
}

// number is a vocabulary of ASCII digits.
func number(pattern string) vocabulary {
	return vocabulary{pattern: pattern, keys: []string{shortNumber, longNumber}, read: func(word string) (int, bool) {
		n, err := strconv.Atoi(word)
		return n, err == nil
	}}
}

// Numbers in ASCII digits.
var (
	digitsOfDay  = number(`\d{1,2}`)
	digitsOfYear = vocabulary{pattern: `(?:18|19|20)\d\d`, keys: []string{longNumber}, read: digitsOfDay.read}
)

// form is one way to name a time.
type form struct {
	pattern func() *regexp.Regexp // compiled when a text first needs it: most processes never see most forms
	groups  []field
	words   []vocabulary
	needs   vocabularies // a text must have words of
}

// vocabularies are a set of a language's vocabularies, a bit for each.
type vocabularies uint64

// compiledGrammar is how one language, or several that share words, name times.
type compiledGrammar struct {
	keys       map[string]vocabularies // those with words of a key
	forms      []form
	inMessages []form // further ways to name a time, in messages only: see MentionsIn
	beside     []form // what names a time only beside another one: see joinBeside
	decoys     []form
	stands     func(s string, start, end int) bool // reports whether what was matched is no part of other words
}

// grammar is what a language is compiled from. In a form {month} stands for a word of the vocabulary of that name, and
// {month:capital} for one of the vocabulary capital whose value is a month. A form has no groups of its own.
type grammar struct {
	words      map[string]vocabulary
	around     string // of a form: %s is the form
	forms      []string
	inMessages []string // of messages only, where a mistake costs little: "see you thursday"
	beside     []string // parts of a day, and the like, that count only beside a day: "in the small hours"
	decoys     []string // expressions that look like times and are none
	stands     func(s string, start, end int) bool
}

var placeholder = regexp.MustCompile(`\{([a-z]+)(?::([a-z]+))?\}`)

func (g grammar) compile() *compiledGrammar {
	l := &compiledGrammar{keys: map[string]vocabularies{}, stands: g.stands}
	bits := map[string]vocabularies{}
	for name, v := range g.words {
		bits[name] = 1 << len(bits)
		for _, key := range v.keys {
			l.keys[key] |= bits[name]
		}
	}
	for _, f := range g.forms {
		l.forms = append(l.forms, g.form(f, bits))
	}
	for _, f := range g.inMessages {
		l.inMessages = append(l.inMessages, g.form(f, bits))
	}
	for _, f := range g.beside {
		l.beside = append(l.beside, g.form(f, bits))
	}
	for _, f := range g.decoys {
		l.decoys = append(l.decoys, g.form(f, bits))
	}
	return l
}

// form compiles a template. What stands in a group may be left out, so that only what stands in none is needed.
func (g grammar) form(template string, bits map[string]vocabularies) form {
	var f form
	var pattern strings.Builder
	end := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(template, -1) {
		names := placeholder.FindStringSubmatch(template[at[0]:at[1]])
		vocabulary := cmp.Or(names[2], names[1])
		pattern.WriteString(template[end:at[0]] + "(" + g.words[vocabulary].pattern + ")")
		f.groups, f.words = append(f.groups, fieldNames[names[1]]), append(f.words, g.words[vocabulary])
		if strings.Count(template[:at[0]], "(") == strings.Count(template[:at[0]], ")") {
			f.needs |= bits[vocabulary]
		}
		end = at[1]
	}
	pattern.WriteString(template[end:])
	whole := strings.Replace(g.around, "%s", pattern.String(), 1)
	if strings.HasPrefix(template, "{") && f.words[0].beginsBeyondASCII() {
		whole = strings.Replace(whole, `\b`, `\B`, 1)
	}
	f.pattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(whole) })
	return f
}

// spot is where a word of some of a language's vocabularies begins.
type spot struct {
	at int
	in vocabularies
}

// spotsOf are the places of one language's words.
func spotsOf(places []place, no int) []spot {
	var out []spot
	for _, p := range places {
		if in := p.in[no]; in != 0 {
			out = append(out, spot{p.at, in})
		}
	}
	return out
}

// find appends what the language's forms match. Trying a form is dear, so only those are tried whose words are there,
// and only about the rarest of these.
func (l *compiledGrammar) find(out []expression, s string, spots []spot, in kindOfText) []expression {
	found := len(out)
	counts := countsOf(spots)
	out = l.matchAll(out, l.forms, s, spots, counts)
	if in == inMessage {
		out = l.matchAll(out, l.inMessages, s, spots, counts)
	}
	if found < len(out) {
		out = joinBeside(out, found, l.matchAll(nil, l.beside, s, spots, counts), s)
	}
	return l.addDecoys(out, found, s)
}

// matchAll appends what some of the language's forms match.
func (l *compiledGrammar) matchAll(out []expression, forms []form, s string, spots []spot, counts *wordCounts) []expression {
	for i := range forms {
		f := &forms[i]
		rarest, ok := counts.rarest(f.needs)
		if !ok {
			continue
		}
		for _, w := range windows(s, spots, rarest) {
			out = l.match(out, f, s, w)
		}
	}
	return out
}

// wordCounts are how many words of each vocabulary a text has.
type wordCounts [64]int

func countsOf(spots []spot) *wordCounts {
	var n wordCounts
	for _, sp := range spots {
		for in := sp.in; in != 0; in &= in - 1 {
			n[bits.TrailingZeros64(uint64(in))]++
		}
	}
	return &n
}

// rarest is that one of the vocabularies which has the fewest words; ok is false when one has none.
func (n *wordCounts) rarest(of vocabularies) (rarest vocabularies, ok bool) {
	fewest := math.MaxInt
	for ; of != 0; of &= of - 1 {
		switch words := n[bits.TrailingZeros64(uint64(of))]; {
		case words == 0:
			return 0, false
		case words < fewest:
			rarest, fewest = of&-of, words
		}
	}
	return rarest, true
}

// window is a part of a text.
type window struct{ start, end int }

// reach is the most bytes that a form or a decoy matches.
const reach = 64

// windows are the parts of a text that hold whatever a form matches with words of a vocabulary.
func windows(s string, spots []spot, of vocabularies) []window {
	var out []window
	for _, sp := range spots {
		if sp.in&of != 0 {
			out = joined(out, around(s, sp.at, sp.at))
		}
	}
	return out
}

// joined appends a window that begins no earlier than the last, or extends the last where they overlap.
func joined(all []window, w window) []window {
	if n := len(all); n > 0 && w.start <= all[n-1].end {
		all[n-1].end = max(all[n-1].end, w.end)
		return all
	}
	return append(all, w)
}

// around is the part of a text that what matches with a byte from start to end cannot leave. It cuts no word in ASCII.
func around(s string, start, end int) window {
	w := window{max(start-reach, 0), min(end+reach, len(s))}
	for w.start > 0 && cutsWord(s, w.start) {
		w.start--
	}
	for w.end < len(s) && cutsWord(s, w.end) {
		w.end++
	}
	return w
}

// cutsWord reports whether the bytes before and at a place belong to one character, or are letters or digits in ASCII.
func cutsWord(s string, at int) bool {
	return !utf8.RuneStart(s[at]) || isWordByte(s[at-1]) && isWordByte(s[at])
}

func isWordByte(b byte) bool { return b < utf8.RuneSelf && isWordRune(rune(b)) }

// match appends what a form matches in a window.
func (l *compiledGrammar) match(out []expression, f *form, s string, w window) []expression {
	for _, at := range f.pattern().FindAllStringSubmatchIndex(s[w.start:w.end], -1) {
		start, end := w.start+at[0], w.start+at[1]
		if !l.stands(s, start, end) {
			continue
		}
		if r, ok := f.read(s[w.start:w.end], at); ok {
			out = append(out, expression{reading: r, start: start, end: end})
		}
	}
	return out
}

// addDecoys appends the decoys about what was found from a place on.
func (l *compiledGrammar) addDecoys(out []expression, found int, s string) []expression {
	if len(l.decoys) == 0 || found == len(out) {
		return out
	}
	times := slices.Clone(out[found:])
	slices.SortFunc(times, func(a, b expression) int { return cmp.Compare(a.start, b.start) })
	var about []window
	for i := range times {
		about = joined(about, around(s, times[i].start, times[i].end))
	}
	for _, w := range about {
		for _, f := range l.decoys {
			for _, at := range f.pattern().FindAllStringIndex(s[w.start:w.end], -1) {
				if l.stands(s, w.start+at[0], w.start+at[1]) {
					out = append(out, expression{start: w.start + at[0], end: w.start + at[1], decoy: true})
				}
			}
		}
	}
	return out
}

// read takes a match's groups for what they say.
func (f form) read(s string, at []int) (r reading, ok bool) {
	for g, name := range f.groups {
		start, end := at[2*g+2], at[2*g+3]
		if start < 0 { // of a part that is left out
			continue
		}
		if r.values[name], ok = f.words[g].read(s[start:end]); !ok {
			return r, false
		}
		r.is[name] = true
	}
	return r, true
}

// before and after are the characters beside a match, utf8.RuneError at the ends of the text.
func before(s string, at int) rune {
	r, _ := utf8.DecodeLastRuneInString(s[:at])
	return r
}

func after(s string, at int) rune {
	r, _ := utf8.DecodeRuneInString(s[at:])
	return r
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// wholeNumber reports whether no digit of a number at either end of a match lies outside it.
func wholeNumber(s string, start, end int) bool {
	cutBefore := isDigit(rune(s[start])) && isDigit(before(s, start))
	cutAfter := isDigit(rune(s[end-1])) && isDigit(after(s, end))
	return !cutBefore && !cutAfter
}
