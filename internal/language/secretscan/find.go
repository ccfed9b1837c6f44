// Package secretscan finds keys, tokens, passwords, card numbers and private keys in the words of people and programs. It is
// pure, and its time grows with the length of a text, whatever the text is.
package secretscan

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/memory"
)

// Bounds on what rules read. A value longer than maxValueBytes is taken whole all the same, see around.
const (
	maxValueBytes = 8 << 10
	figureBytes   = 160
	pieceBytes    = 300 // of what follows a word, up to the end of the value that is there
	aroundBytes   = 300 // before and after a word that a value may be anywhere around
)

// maxTries is how many times patterns are tried in the texts of one call, weighed by the bytes they read: from then on
// whatever looks like a value where a rule might find one is taken for a secret, so that a text made to be slow to read
// hides nothing. An honest text of 2 MiB stays below it.
const maxTries = 6_000

// bytesPerTry is how many bytes are read in the time of a try.
const bytesPerTry = 64

// found is a secret in a text before what overlaps is joined.
type found struct {
	span    memory.Span
	kind    string
	generic bool
}

// finder looks through the texts of one call.
type finder struct {
	set   *ruleSet
	tries int
	done  []int // by rule: up to where the text was looked at
	// covered is up to where a value of a known form is: no other rule need look at it.
	covered int
	// The text has no figure from lookedFrom on before the place figure; whether one is there, its byte says.
	lookedFrom, figure int
}

func newFinder() *finder {
	set := rules()
	return &finder{set: set, done: make([]int, len(set.rules))}
}

// Find returns the secrets in a text, ascending and apart.
func Find(text string) []memory.Secret { return newFinder().find(text) }

func (f *finder) find(text string) []memory.Secret {
	if len(text) < 4 {
		return nil
	}
	clear(f.done)
	f.covered, f.lookedFrom, f.figure = 0, 0, 0
	var all []found
	f.set.words.scan(text, func(word int32, end int) {
		for _, i := range f.set.byWord[word] {
			all = f.try(all, text, int(i), end-f.set.lengths[word], end)
		}
	})
	all = append(all, privateKeys(text)...)
	all = append(all, cards(text)...)
	return joined(text, all)
}

// try tries a rule at one of its words.
func (f *finder) try(all []found, text string, i, start, end int) []found {
	r := f.set.rules[i]
	if start < f.done[i] || start < f.covered || !f.mayStand(r, text, start, end) {
		return all
	}
	if f.tries >= maxTries {
		return f.assume(all, text, i, start, end)
	}
	if !r.anchored {
		return f.around(all, text, i, start, end)
	}
	piece := text[start:edge(text, end+pieceBytes)]
	f.tries += 1 + len(piece)/bytesPerTry
	m := r.pattern().FindStringSubmatchIndex(piece)
	if m == nil {
		return all
	}
	f.done[i] = start + max(m[1]-1, 1) // the sign after a value may begin the next
	return f.take(all, text, r, start, m)
}

// mayStand reports, cheaply, false where a rule cannot match at a word.
func (f *finder) mayStand(r *rule, text string, start, end int) bool {
	if !r.anchored {
		return true
	}
	if len(text)-start < r.least || r.wordStart && start > 0 && isWord(text[start-1]) {
		return false
	}
	if r.value == "figures" && !f.hasFigure(text, start) {
		return false
	}
	// A word with a figure is not a name but the beginning of a value.
	return !r.assigns || hasFigure(text[:end], start) || assigned(text, end) >= 0
}

// What a byte may be part of.
const (
	inWord   = 1 << iota // letters, digits and _
	inValue              // keys and tokens
	inGap                // what is between a name and the sign that gives it a value
	asSign               // such a sign
	inBlank              // what is between the sign and the value
	asFigure             // what plain words do not have
)

var byteKinds = func() (kinds [256]uint8) {
	mark := func(kind uint8, of string) {
		for i := range len(of) {
			kinds[of[i]] |= kind
		}
	}
	const figures, letters = "0123456789", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	mark(inWord|inValue|inGap, figures+letters+"_")
	mark(inValue, ".=-+/~%:@!#^&*")
	mark(inGap, " \t.-'\"\n\r\\")
	mark(asSign, "=:>|?,")
	mark(inBlank, "=:>|?,`'\" \t\r\n\\")
	mark(asFigure, figures+"!@#%^&+?~|\\$*")
	return kinds
}()

func isWord(b byte) bool { return byteKinds[b]&inWord != 0 }

// assigned is where the value begins of a name that ends at a place or soon after, -1 where no value follows. It holds
// wherever the rules of Gitleaks see an assignment.
func assigned(text string, at int) int {
	stop := min(len(text), at+40)
	for at < stop && byteKinds[text[at]]&asSign == 0 {
		if byteKinds[text[at]]&inGap == 0 {
			return -1
		}
		at++
	}
	if at >= stop {
		return -1
	}
	for stop = min(len(text), at+24); at < stop && byteKinds[text[at]]&inBlank != 0; at++ {
	}
	if !hasValue(text, at, 8) {
		return -1
	}
	return at
}

// hasValue reports whether a value of so many bytes is at a place.
func hasValue(text string, at, size int) bool {
	if len(text)-at < size {
		return false
	}
	for i := at; i < at+size; i++ {
		if byteKinds[text[i]]&inValue == 0 {
			return false
		}
	}
	return true
}

// hasFigure is hasFigure for places that come nearly in order: each byte of the text is looked at about once.
func (f *finder) hasFigure(text string, at int) bool {
	if at < f.lookedFrom || at > f.figure {
		f.lookedFrom, f.figure = at, at
	}
	stop := min(len(text), at+figureBytes)
	for f.figure < stop && byteKinds[text[f.figure]]&asFigure == 0 {
		f.figure++
	}
	return f.figure < stop
}

// hasFigure reports whether a figure or sign that plain words do not have is soon after a place.
func hasFigure(text string, at int) bool {
	for i := at; i < min(len(text), at+figureBytes); i++ {
		if byteKinds[text[i]]&asFigure != 0 {
			return true
		}
	}
	return false
}

// valueEnd is where a run of bytes ends that keys and tokens are made of.
func valueEnd(text string, at int) int {
	for at < len(text) && byteKinds[text[at]]&inValue != 0 {
		at++
	}
	return at
}

// around tries a rule on what is around a word.
func (f *finder) around(all []found, text string, i, start, end int) []found {
	r := f.set.rules[i]
	from := max(edge(text, start-aroundBytes), f.done[i])
	to := edge(text, end+aroundBytes)
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	f.done[i] = end + aroundBytes/2
	f.tries += 1 + 2*(to-from)/bytesPerTry
	for _, m := range r.pattern().FindAllStringSubmatchIndex(text[from:to], -1) {
		all = f.take(all, text, r, from, m)
		f.done[i] = max(f.done[i], from+m[1])
	}
	return all
}

// edge is a place in the text, moved on to the end of the value in which it is: no value is cut.
func edge(text string, at int) int {
	if at <= 0 {
		return 0
	}
	if at >= len(text) {
		return len(text)
	}
	if end := valueEnd(text[:min(len(text), at+maxValueBytes)], at); end > at {
		return end
	}
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}

// assume reports a secret where a rule might find one, without trying the rule.
func (f *finder) assume(all []found, text string, i, start, end int) []found {
	r := f.set.rules[i]
	at := start
	if r.assigns || r.value != "" {
		at = assigned(text, end)
	}
	if at < 0 {
		return all
	}
	to := valueEnd(text, at)
	f.done[i] = max(to, start+1)
	if to-at < 16 || !strings.ContainsAny(text[at:to], "0123456789") {
		return all
	}
	return append(all, found{span: memory.Span{Start: at, End: to}, kind: r.kind, generic: r.generic})
}

// take adds what a pattern matched, unless it is no secret. The match counts from an offset.
func (f *finder) take(all []found, text string, r *rule, offset int, m []int) []found {
	from, to := m[0], m[1]
	switch {
	case r.group > 0 && 2*r.group+1 < len(m) && m[2*r.group] >= 0:
		from, to = m[2*r.group], m[2*r.group+1]
	default:
		for g := 2; g+1 < len(m); g += 2 {
			if m[g] >= 0 && m[g+1] > m[g] {
				from, to = m[g], m[g+1]
				break
			}
		}
	}
	from, to = offset+from, offset+to
	match := text[offset+m[0] : offset+m[1]]
	if r.value != "" {
		to = from + len(strings.TrimRight(text[from:to], ".?!:;,)'\"`"))
		if !plausible(r.value, text, from, to) {
			return all
		}
	}
	value := text[from:to]
	if value == "" || r.entropy > 0 && entropy(value) <= r.entropy || placeholder(value) {
		return all
	}
	allowed := func(lists []allowlist) bool {
		return slices.ContainsFunc(lists, func(a allowlist) bool { return a.allows(value, match, lineOf(text, offset+m[0], offset+m[1])) })
	}
	if allowed(f.set.allow) || allowed(r.allow) {
		return all
	}
	if r.anchored && !r.assigns && r.value == "" {
		f.covered = max(f.covered, to)
	}
	return append(all, found{span: memory.Span{Start: from, End: to}, kind: r.kind, generic: r.generic})
}

// lineOf is the line in which a match is, but no more of it than is read around one.
func lineOf(text string, start, end int) string {
	from, to := max(start-aroundBytes, 0), min(end+aroundBytes, len(text))
	if i := strings.LastIndexByte(text[from:start], '\n'); i >= 0 {
		from += i + 1
	}
	if i := strings.IndexByte(text[end:to], '\n'); i >= 0 {
		to = end + i
	}
	return text[from:to]
}

// entropy is Shannon's, in bits a byte, as the rules of Gitleaks count it.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

// joined are the secrets that were found, each place once: what overlaps is one, of the most specific kind.
func joined(text string, all []found) []memory.Secret {
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.span.Start, b.span.Start), cmp.Compare(b.span.End, a.span.End), strings.Compare(a.kind, b.kind))
	})
	var out []memory.Secret
	var last found
	for _, x := range all {
		if n := len(out); n > 0 && x.span.Start < out[n-1].Span.End {
			if last.generic && !x.generic || last.generic == x.generic && x.span.End-x.span.Start > last.span.End-last.span.Start {
				last, out[n-1].Kind = x, x.kind
			}
			out[n-1].Span.End = max(out[n-1].Span.End, x.span.End)
			continue
		}
		last = x
		out = append(out, memory.Secret{Span: x.span, Kind: x.kind})
	}
	for i := range out { // borders of characters, whatever a pattern read as bytes
		s := &out[i].Span
		for s.Start > 0 && !utf8.RuneStart(text[s.Start]) {
			s.Start--
		}
		for s.End < len(text) && !utf8.RuneStart(text[s.End]) {
			s.End++
		}
	}
	return out
}

// placeholder reports whether a value is only a placeholder for one.
func placeholder(v string) bool {
	low := strings.ToLower(v)
	if strings.HasPrefix(low, "your") || strings.HasPrefix(low, "my_") || strings.HasPrefix(low, "my-") ||
		strings.HasPrefix(low, "change") || strings.HasPrefix(low, "replace") || strings.HasPrefix(low, "insert") ||
		strings.HasPrefix(low, "${") || strings.HasPrefix(low, "<") || strings.HasPrefix(low, "{{") || strings.HasPrefix(low, "process.env") {
		return true
	}
	for _, w := range []string{"example", "placeholder", "dummy", "redacted", "xxxx", "****", "....", "00000000", "todo"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	return noSecrets[strings.TrimRight(low, ".?!")]
}

// noSecrets are words that are where a secret could and are none: what passwords are said to be, and types and defaults of
// settings.
var noSecrets = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(`
		wrong incorrect invalid expired weak strong safe secure secret required missing empty blank correct right same different changed
		reset stored hashed encrypted saved forgotten lost gone known unknown optional mandatory needed protected long short simple easy hard
		good great bad fine okay valid case-sensitive sensitive accepted rejected accurate right there here also just this that what working
		important necessary available compromised leaked stolen public private shared temporary permanent unique random generated default
		string text null none true false undefined varchar bytes password passwd passphrase passcode pass token input field
		type hidden object number
		integer boolean char user username admin-only login email unset enabled disabled must should will would could have been being
		obligatoria obligatorio incorrecta incorrecto correcta correcto debil débil segura seguro invalida inválida larga corta necesaria secreta
		privada publica pública distinta diferente nueva antigua igual fuerte sencilla difícil fácil importante entender
		reset update login link url http https api json xml html`) {
		words[w] = true
	}
	return words
}()

// plausible reports whether what is after words such as "my password is" is one. A value with figures or signs is; a plain
// word is one only where a sentence or a line ends with it, and where a rule takes such words.
func plausible(how, text string, from, to int) bool {
	v := text[from:to]
	if len(v) < 4 && !allDigits(v) || len(v) < 3 {
		return false
	}
	if strings.ContainsAny(v, "()") && !strings.ContainsAny(v, "0123456789") {
		return false
	}
	if strings.ContainsAny(v, "0123456789!@#%^&+?~|\\$*") {
		return !isCall(text, to)
	}
	if how != "word" {
		return false
	}
	low := strings.ToLower(v)
	if noSecrets[low] || strings.ContainsAny(v, "._/-") && low == v || isCall(text, to) {
		return false
	}
	for _, end := range []string{"ed", "ing", "able", "ful", "less", "ent"} {
		if strings.HasSuffix(low, end) && low == v && !quoted(text, from, to) {
			return false
		}
	}
	return quoted(text, from, to) || ends(text, to)
}

func isCall(text string, at int) bool { return at < len(text) && (text[at] == '(' || text[at] == '[') }

func quoted(text string, from, to int) bool {
	return from > 0 && to < len(text) && strings.IndexByte("'\"`", text[from-1]) >= 0 && strings.IndexByte("'\"`", text[to]) >= 0
}

// ends reports whether a sentence or a line ends at a place, or a word of a language goes on there that is not written in
// the letters of ASCII: of values such words are not.
func ends(text string, at int) bool {
	rest := text[at:min(len(text), at+16)]
	if rest == "" {
		return true
	}
	r, size := utf8.DecodeRuneInString(rest)
	if r >= utf8.RuneSelf && unicode.IsLetter(r) || strings.ContainsRune("。」』”’\n\r;", r) {
		return true
	}
	if strings.ContainsRune(".!?,)'\"`", r) {
		next, _ := utf8.DecodeRuneInString(rest[size:])
		return rest[size:] == "" || unicode.IsSpace(next)
	}
	return false
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
