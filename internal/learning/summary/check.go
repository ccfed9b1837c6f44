package summary

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// Answer is a summariser's reply.
type Answer struct {
	Text    string
	Cut     bool // it ran out of tokens
	Refused bool // it declined

	// Verbatim is set when code made the answer of sentences of its source, word for word: it cannot have invented
	// anything.
	Verbatim bool
}

// Check decides whether an answer is accepted; the reason is "" when it is. An accepted answer comes back without its
// wrapping, and the summary of messages without an unfinished last sentence if it has several: some endpoints stop there
// and report that they are done. It comes back with the source's sentences whose anchors it lost, and with those that take
// back or replace an earlier statement, word for word and each at its place in time, the most important first, as many as
// appendShare of MaxTokens holds. What a later sentence takes back or replaces is not put back. A Verbatim answer is always
// accepted, even an empty one: the checks are for models.
func Check(t Task, a Answer) (Checked, RefusalReason) {
	checked, reason, _ := CheckWithin(context.Background(), t, a)
	return checked, reason
}

// CheckWithin is Check for as long as somebody waits: once ctx has ended, its error is returned soon, and nothing else. A
// source of megabytes takes seconds.
func CheckWithin(ctx context.Context, t Task, a Answer) (Checked, RefusalReason, error) {
	answer := strings.TrimSpace(a.Text)
	if !a.Verbatim {
		answer = t.mend(unwrap(a.Text))
		reason, err := t.refuses(ctx, a, answer)
		if reason != "" || err != nil {
			return Checked{}, reason, err
		}
	}
	whole, n := t.whole(ctx, answer)
	if err := ctx.Err(); err != nil {
		return Checked{}, "", fmt.Errorf("look for what a summary lost: %w", err)
	}
	return Checked{Text: whole, Appended: n}, "", nil
}

// refuses returns why a model's answer is refused; "" when it is not.
func (t Task) refuses(ctx context.Context, a Answer, answer string) (RefusalReason, error) {
	switch {
	case a.Refused || refusal.MatchString(answer):
		return RefusalModel, nil
	case a.Cut:
		return RefusalCut, nil
	case answer == "":
		return RefusalEmpty, nil
	}
	for _, c := range checks {
		fails := c.fails(ctx, t, answer)
		if err := ctx.Err(); err != nil {
			return "", fmt.Errorf("check a summary: %w", err)
		}
		if fails {
			return c.reason, nil
		}
	}
	return "", nil
}

// checks are the checks of an answer, in order. The result of one is meaningless once the context has ended.
var checks = []struct {
	reason RefusalReason
	fails  func(context.Context, Task, string) bool
}{
	{RefusalSkeleton, func(_ context.Context, _ Task, answer string) bool { return isSkeleton(answer) }},
	{RefusalCut, func(_ context.Context, _ Task, answer string) bool { return isCut(answer) }},
	{RefusalLanguage, func(_ context.Context, t Task, answer string) bool { return t.isOtherScript(answer) }},
	{RefusalShrunk, func(_ context.Context, t Task, answer string) bool { return t.isShrunk(answer) }},
	{RefusalLong, func(_ context.Context, t Task, answer string) bool { return t.isLong(answer) }},
	{RefusalInstruction, func(_ context.Context, t Task, answer string) bool { return t.instructs(answer) }},
	{RefusalInvented, func(ctx context.Context, t Task, answer string) bool { return t.invents(ctx, answer) }},
}

var (
	codeFence = regexp.MustCompile("(?s)^```[a-z]*\n(.*?)\n?```$")
	preface   = regexp.MustCompileFrom(func() string { return `(?i)^(?:sure[,!.]? *)?(?:` + languagedata.AnyOf(languagedata.Prefaces) + `)\s*` })
	refusal   = regexp.MustCompileFrom(func() string { return `(?i)^(?:` + languagedata.AnyOf(languagedata.Refusals) + `)` })
)

// unwrap removes what models put around an answer: a code fence and a line that announces a summary.
func unwrap(s string) string {
	s = strings.TrimSpace(s)
	if m := codeFence.FindStringSubmatch(s); m != nil {
		s = strings.TrimSpace(m[1])
	}
	return strings.TrimSpace(strings.TrimPrefix(s, preface.FindString(s)))
}

// mendable is how many sentences must end before one that does not may be left out.
const mendable = 3

// mend leaves out a last sentence that does not end from a summary of messages. What rewrites or merges summaries is
// not mended: what it has not got to is lost.
func (t Task) mend(answer string) string {
	all := text.SentenceSpans(answer)
	if t.Rewrite || len(t.Parts) > 0 || len(all) <= mendable || !isCut(answer) {
		return answer
	}
	return strings.TrimSpace(answer[:all[len(all)-1].Start])
}

// placeholder matches what models write where they have no content.
var placeholder = regexp.MustCompileFrom(func() string {
	return `(?i)^(?:\.{2,}|…|-+|\[.*\]|<.*>|\{.*\}|` + languagedata.AnyOf(languagedata.Placeholders) + `)[.!]?$`
})

// isSkeleton reports whether an answer has headings and placeholders and nothing else.
func isSkeleton(answer string) bool {
	for line := range strings.Lines(answer) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasSuffix(line, ":") || strings.HasSuffix(line, ":**") {
			continue
		}
		line = strings.Trim(strings.TrimLeft(line, "-*•·0123456789.) \t"), "*_ ")
		if _, value, ok := strings.Cut(line, ": "); ok && placeholder.MatchString(strings.Trim(value, "*_ ")) {
			continue
		}
		if hasLetter(line) && !placeholder.MatchString(line) {
			return false
		}
	}
	return true
}

// isCut reports whether an answer stops within a sentence although its others end with a stop. Bullets need none.
func isCut(answer string) bool {
	lines := strings.Split(answer, "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if endsSentence(last) || len(text.SentenceSpans(answer)) == 1 && utf8.RuneCountInString(answer) < shortAnswer {
		return false
	}
	open := 0
	for _, line := range lines[:len(lines)-1] {
		if line = strings.TrimSpace(line); line != "" && !endsSentence(line) && !strings.HasSuffix(line, ":") {
			open++
		}
	}
	return open == 0
}

// shortAnswer is up to how many characters one sentence may do without a stop.
const shortAnswer = 80

func endsSentence(s string) bool {
	s = strings.TrimRightFunc(s, func(r rune) bool { return strings.ContainsRune(`"')]”’»*_`, r) })
	r, _ := utf8.DecodeLastRuneInString(s)
	if strings.ContainsRune(".!?…。！？｡", r) {
		return true
	}
	return hasSuffix(s, koreanEnds())
}

// koreanEnds end a Korean sentence of a note, which has no stop.
var koreanEnds = sync.OnceValue(func() []string { return languagedata.Korean.Words(languagedata.NoteEnds) })

func hasSuffix(s string, endings []string) bool {
	return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(s, e) })
}

// source is all that a task gives to a summariser, without what it has to be understood by.
func (t Task) source() string {
	var b strings.Builder
	if t.Rewrite {
		b.WriteString(t.Previous + "\n")
	}
	for _, l := range t.Lines {
		b.WriteString(l.Text + "\n")
	}
	for _, p := range t.Parts {
		b.WriteString(p.Text + "\n")
	}
	return b.String()
}

// words returns the source without the input and output of tools, of which a summary may keep nothing.
func (t Task) words() string {
	t.Lines = slices.DeleteFunc(slices.Clone(t.Lines), func(l SourceText) bool { return l.Tool })
	return t.source()
}

// Bounds of an answer's length, in tokens as text.EstimateTokens estimates them.
const (
	shrunkRewrite = 0.35 // of the summary that it rewrites
	shrunkMerge   = 0.1  // of the summaries that it merges, at most a fifth of MaxTokens
	shrunkLeaf    = 0.02 // of its messages, at most a tenth of MaxTokens
	shortSource   = 60   // below which any length is plausible
	longerThan    = 1.5  // times its source
	farAbove      = 2.5  // times MaxTokens: the guess is up to 1.7 times what o200k_base counts in Korean
)

func (t Task) isShrunk(answer string) bool {
	tokens := float64(text.EstimateTokens(answer))
	room := float64(t.MaxTokens)
	if t.Rewrite && t.Previous != "" {
		previous := float64(text.EstimateTokens(t.Previous))
		return previous >= shortSource && tokens < shrunkRewrite*min(previous, orLarge(room))
	}
	source := float64(text.EstimateTokens(t.words()))
	if len(t.Parts) > 0 {
		return source >= shortSource && tokens < min(shrunkMerge*source, orLarge(room)/5)
	}
	return source >= shortSource && tokens < max(3, min(shrunkLeaf*source, orLarge(room)/10))
}

// orLarge returns a very large number for a limit that is not set.
func orLarge(limit float64) float64 {
	if limit <= 0 {
		return 1e9
	}
	return limit
}

func (t Task) isLong(answer string) bool {
	tokens := float64(text.EstimateTokens(answer))
	source := float64(max(shortSource, text.EstimateTokens(t.source())))
	return tokens > min(longerThan*source, farAbove*orLarge(float64(t.MaxTokens)))
}

// scripts are those that are distinguished. Han and Kana count as one: Japanese mixes them.
var scripts = []struct {
	tables []*unicode.RangeTable
	weight int // of a character: one of Han carries as much as three letters
}{
	{[]*unicode.RangeTable{unicode.Latin}, 1},
	{[]*unicode.RangeTable{unicode.Hangul}, 3},
	{[]*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana}, 3},
	{[]*unicode.RangeTable{unicode.Cyrillic}, 1},
	{[]*unicode.RangeTable{unicode.Arabic}, 1},
	{[]*unicode.RangeTable{unicode.Hebrew}, 1},
	{[]*unicode.RangeTable{unicode.Greek}, 1},
	{[]*unicode.RangeTable{unicode.Devanagari}, 1},
	{[]*unicode.RangeTable{unicode.Thai}, 1},
}

// latin is the place of the script of ASCII letters.
const latin = 0

// scriptShare is the share of a source's letters from which on a script may lead its summary.
const scriptShare = 0.15

// isOtherScript reports whether most of an answer is in a script that neither leads any message or summary it is made
// from nor makes up scriptShare of them all: people ask in Korean about long English logs.
func (t Task) isOtherScript(answer string) bool {
	if t.Style.Language != "" {
		return false // it may be asked for
	}
	lead, total := leadingScript(answer)
	if total < fewLetters {
		return false
	}
	pieces := []string{t.Previous}
	for _, l := range t.Lines {
		pieces = append(pieces, l.Text)
	}
	for _, p := range t.Parts {
		pieces = append(pieces, p.Text)
	}
	if slices.ContainsFunc(pieces, func(p string) bool { script, n := leadingScript(p); return script == lead && n >= fewLetters }) {
		return false
	}
	known, all := scriptWeights(strings.Join(pieces, "\n"))
	return all > 0 && float64(known[lead]) < scriptShare*float64(all)
}

// fewLetters is the weight of letters below which a text is taken to be in no script.
const fewLetters = 10

// leadingScript is the index of the script that most of s is in, and the weight of all its letters.
func leadingScript(s string) (script, total int) {
	weights, total := scriptWeights(s)
	return slices.Index(weights, slices.Max(weights)), total
}

func scriptWeights(s string) (weights []int, total int) {
	weights = make([]int, len(scripts))
	for _, r := range s {
		if r < utf8.RuneSelf {
			if r|0x20 >= 'a' && r|0x20 <= 'z' {
				weights[latin] += scripts[latin].weight
				total += scripts[latin].weight
			}
			continue
		}
		for i, script := range scripts {
			if unicode.In(r, script.tables...) {
				weights[i] += script.weight
				total += script.weight
				break
			}
		}
	}
	return weights, total
}

// evidence is what everything that the task gives supports.
func (t Task) evidence(ctx context.Context) *evidence {
	e := newEvidence()
	loc := orUTC(t.Location)
	for _, l := range t.Lines {
		if ctx.Err() != nil {
			return e
		}
		e.add(l.Who()+": "+l.Text, inZone(l.Time, loc))
	}
	var latest time.Time
	for _, p := range t.Parts {
		e.add(p.Title, inZone(p.To, loc))
		e.add(p.Text, inZone(p.To, loc))
		e.addSpan(inZone(p.From, loc), inZone(p.To, loc))
		latest = p.To
	}
	if len(t.Lines) > 0 {
		latest = t.Lines[0].Time
	}
	e.add(t.Previous, inZone(latest, loc))
	e.add(t.Period.Name, time.Time{})
	e.addPeriod(t, loc)
	e.counts[len(t.Parts)] = true
	e.counts[t.speakers()] = true
	return e
}

// addPeriod takes up the days of the task's period.
func (e *evidence) addPeriod(t Task, loc *time.Location) {
	if !t.Period.Start.IsZero() {
		e.addSpan(t.Period.Start.In(loc), t.Period.End.In(loc).AddDate(0, 0, -1))
	}
}

func (t Task) speakers() int { return len(t.speakerNames()) }

func (t Task) speakerNames() map[string]bool {
	names := map[string]bool{}
	for _, l := range t.Lines {
		names[l.Who()] = true
	}
	return names
}

// inZone is t in a location, zero when it is zero.
func inZone(t time.Time, loc *time.Location) time.Time {
	if t.IsZero() {
		return t
	}
	return t.In(loc)
}

// invents reports whether an answer has a date, time, quantity or name that the task does not support.
func (t Task) invents(ctx context.Context, answer string) bool {
	e := t.evidence(ctx)
	e.translated = t.isTranslated(e, answer)
	return e.inventedIn(answer) != ""
}

// knownShare is the share of an answer's terms that its source has at least where both are in one language.
const knownShare = 0.4

// isTranslated reports whether an answer is in another language than its source, as its style may ask for: then it shares
// few terms with it, and can only be compared by numbers and identifiers.
func (t Task) isTranslated(source *evidence, answer string) bool {
	terms := text.Terms(answer)
	if t.Style.Language == "" || len(terms) == 0 {
		return false
	}
	known := 0
	for _, term := range terms {
		if source.stems[term] {
			known++
		}
	}
	return float64(known) < knownShare*float64(len(terms))
}

// inventedIn is the first detail of an answer that the evidence does not support; "" for none.
func (e *evidence) inventedIn(answer string) string {
	ws := wordsOf(answer)
	taken := make(mask, len(answer))
	for _, d := range datesIn(answer) {
		if !e.hasText(d.Of(answer)) && !e.hasDate(d.when) && !e.isPlainYear(d.when) {
			return d.Of(answer)
		}
		taken.mark(d.Span)
	}
	for _, c := range clocksIn(answer) {
		if !taken.has(c.Span) && !e.clocks[c.minute] && !e.hasText(c.Of(answer)) {
			return c.Of(answer)
		}
		taken.mark(c.Span)
	}
	for _, n := range numbersIn(ws) {
		if !taken.has(n.Span) && !e.supports(n, answer) {
			return n.Of(answer)
		}
	}
	if e.translated {
		return "" // names have other forms, and in German all nouns are capitalised
	}
	return e.inventedName(ws, taken)
}

// isPlainYear reports whether a year is a quantity of the source.
func (e *evidence) isPlainYear(w when) bool {
	return w.month == 0 && w.weekday == 0 && e.hasValue(float64(w.year))
}

var (
	rounding = regexp.MustCompile(
		`(?i)(?:\b(?:about|around|nearly|almost|approximately|roughly|over|more than|less than|under|at least|some|up to)|~|약|거의|대략|최소|최대)\s*[$€£₩]?$`,
	)
	roundingKorean = regexp.MustCompile(`^[^\s]{0,4}\s?(?:이상|이하|넘|가까이|정도|남짓|여)`)
	timeUnit       = regexp.MustCompile(`(?i)^[\s-]*(?:min|hour|hr|day|week|month|year|분|시간|일|주|개월|달|년)`)
	dayMark        = regexp.MustCompile(`(?i)^(?:st|nd|rd|th|[일日号號])`)
)

// supports reports whether a quantity of the answer follows from the evidence: it is there, it counts what is listed, or it
// is rounded or converted to another unit.
func (e *evidence) supports(n number, answer string) bool {
	before, after := answer[:n.Start], answer[n.End:]
	switch {
	case n.spelled && n.value <= 2, e.hasValue(n.value):
		return true
	case e.translated && (e.hasValue(1000*n.value) || e.hasDay(int(n.value))): // 1.200 for 1,200; 7. Mai
		return true
	case n.value <= 10 && e.counts[int(n.value)] && n.value == float64(int(n.value)):
		return true
	case dayMark.MatchString(after) && e.hasDay(int(n.value)):
		return true
	case rounding.MatchString(before) || roundingKorean.MatchString(after):
		return e.isNear(n.value) || e.isSpan(n.value)
	case timeUnit.MatchString(after):
		return e.isConverted(n.value) || e.isSpan(n.value)
	}
	return false
}

// actsLikeName are words that follow a name at the start of a sentence.
var actsLikeName = regexp.MustCompileFrom(func() string { return `^(?:` + languagedata.AnyOf(languagedata.NameVerbs) + `)$` })

func (e *evidence) inventedName(ws []word, taken mask) string {
	for i, w := range ws {
		next := word{}
		if i+1 < len(ws) {
			next = ws[i+1]
		}
		if taken.has(w.Span) || wordsOfNames().headings.Has(w.lower) {
			continue
		}
		if name := koreanName(w.text, next.text); name != "" && !e.hasText(name) && !e.hasText(strings.TrimSuffix(name, "이")) {
			return name
		}
		if (isName(w) || opensWithName(w, next, ws)) && !e.hasName(w) {
			return w.text
		}
	}
	return ""
}

// opensWithName reports whether the first word of a sentence is a name by what follows it.
func opensWithName(w, next word, ws []word) bool {
	known := wordsOfNames()
	if !w.first || !isUpperFirst(w.text) || known.starters.Has(w.lower) || known.greetings.Has(w.lower) || known.capitalised.Has(w.lower) ||
		hasSuffix(w.lower, []string{"ing", "ly", "ed", "tion", "ment", "ness"}) {
		return false
	}
	lower := func(o word) bool { return o.text == w.lower }
	follows := actsLikeName.MatchString(next.text) || !next.first && isUpperFirst(next.text) && !known.capitalised.Has(next.lower)
	return (follows || strings.HasSuffix(w.text, "'s") || strings.HasSuffix(w.text, "’s")) && !slices.ContainsFunc(ws, lower)
}

// appendShare is the share of MaxTokens that code may append of what a summariser lost.
const appendShare = 0.25

// lostSentence is a sentence of the source with anchors that the answer lost.
type lostSentence struct {
	text    string
	place   int
	revises bool // takes back or replaces an earlier statement
	count   int
	weight  float64
}

// whole is an answer with what it lost, and how many anchors that brings back.
func (t Task) whole(ctx context.Context, answer string) (whole string, anchors int) {
	kept := newEvidence()
	kept.add(answer, time.Time{})
	if t.Style.Language != "" {
		kept.translated = t.isTranslated(t.evidence(ctx), answer)
	}
	for name := range t.speakerNames() {
		kept.add(name, time.Time{})
	}
	said := t.Said(ctx)
	room := int(appendShare * float64(t.MaxTokens))
	var chosen []lostSentence
	for _, s := range t.lostSentences(ctx, said, kept) {
		cost := text.EstimateTokens(s.text) + 1
		if cost > room {
			continue
		}
		if s.weight, s.count = kept.lacks(s); s.count == 0 {
			continue
		}
		kept.add(s.text, time.Time{})
		chosen, room, anchors = append(chosen, s), room-cost, anchors+s.count
	}
	if len(chosen) == 0 {
		return answer, 0
	}
	slices.SortFunc(chosen, func(a, b lostSentence) int { return cmp.Compare(a.place, b.place) })
	pieces := alignSentences(answer, said)
	for _, s := range chosen {
		pieces = putBack(pieces, s.text, s.place)
	}
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.text)
	}
	return strings.TrimSpace(b.String()), anchors
}

// lostSentences returns the sentences with lost anchors, the most important for their length first. Those of an earlier
// summary were found worth keeping already: they come before those of messages.
func (t Task) lostSentences(ctx context.Context, said []Said, kept *evidence) []lostSentence {
	holding, places, revising := Holding(said)
	var out []lostSentence
	for i, s := range holding {
		if ctx.Err() != nil {
			return nil
		}
		factor, size := summaryFactor, text.EstimateTokens(s.Whole)
		if s.Line >= 0 {
			factor = spokenFactors[s.Role]
		}
		if factor == 0 || s.Tool || text.AsksQuestion(s.Text) || size > longestAppended || promptinjection.IsPleasantry(s.Text) ||
			s.Role == memory.RoleAssistant && Acknowledges(s.Text) {
			continue
		}
		lost := lostSentence{text: s.Whole, place: places[i], revises: revising[i]}
		if lost.weight, lost.count = kept.lacks(lost); lost.count > 0 {
			lost.weight *= factor / float64(lengthFloor+size)
			out = append(out, lost)
		}
	}
	slices.SortStableFunc(out, func(a, b lostSentence) int { return cmp.Compare(b.weight, a.weight) })
	return out
}

// lacks is the weight and number of a sentence's anchors that the texts do not hold. That a sentence takes something back or
// replaces it is an anchor, too.
func (e *evidence) lacks(s lostSentence) (weight float64, n int) {
	weight, n = e.missing(s.text)
	_, said := SplitLabel(s.text)
	if i := strings.LastIndex(said, Arrow); i >= 0 {
		said = said[i:]
	}
	if s.revises && !e.translated && !e.hasDecision(said) {
		weight, n = weight+weights[AnchorDecision], n+1
	}
	return weight, n
}

// longestAppended is the most tokens of a sentence that is appended: longer ones are more often pasted than written.
const longestAppended = 60

// spokenFactors weigh by author. The output of tools and instructions have no author: they are appended only if an earlier
// summary has them.
var spokenFactors = map[memory.Role]float64{memory.RoleUser: 1, memory.RoleAssistant: 0.7}

// summaryFactor puts what a summary held before what only a message holds.
const summaryFactor = 4.0

// missing is the weight and number of a sentence's anchors that the texts do not hold.
func (e *evidence) missing(sentence string) (weight float64, n int) {
	for _, a := range Anchors(sentence) {
		if !e.keeps(a) {
			weight += weights[a.Kind]
			n++
		}
	}
	return weight, n
}
