// Package builtin holds what works without a model: an extractive summariser and a rule-based extractor. Both name
// themselves in what they answer, so that nobody takes them for a model.
package builtin

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
)

// ExtractiveModel is the name under which Summarizer answers.
const ExtractiveModel = "builtin:extractive"

// Summarizer summarises without a model: it picks sentences of its source, word for word. Equal tasks get equal
// answers. It costs no tokens and fails only where its context ends.
type Summarizer struct{}

// Summarize picks the sentences that hold names, numbers, dates and decisions, share their words with the others, and
// are recent, as many as MaxTokens holds, what people say before what models answer. What stands in a message is marked with
// who said it. Greetings, thanks, laughter and acknowledgements are never picked, nor what a later sentence takes back: of
// messages that hold nothing else the answer is empty.
func (Summarizer) Summarize(ctx context.Context, t summary.Task) (llm.Answer, error) {
	found := candidates(ctx, t)
	if err := ctx.Err(); err != nil {
		return llm.Answer{}, fmt.Errorf("pick sentences: %w", err)
	}
	limit := room(t, found)
	found = spoken(found)
	score(found)
	picked := pick(ctx, found, limit)
	if err := ctx.Err(); err != nil {
		return llm.Answer{}, fmt.Errorf("pick sentences: %w", err)
	}
	return llm.Answer{Text: render(picked), Finish: llm.FinishStop, Model: ExtractiveModel, Verbatim: true}, nil
}

// candidate is a sentence that may be picked.
type candidate struct {
	text    string // as it will stand
	words   string // without who said it
	place   int
	role    float64  // weight of who said it
	tool    bool     // what a tool was asked or answered
	open    bool     // a question that nobody has spoken after
	terms   []string // all of them
	unique  []string // each once, sorted
	anchors float64
	score   float64
}

// maxSentence is how many tokens of a sentence are kept. A longer one is a pasted log more often than a statement.
const maxSentence = 50

// candidates are the sentences of a task that hold to its end, without small talk, echoes and questions that were answered.
// Once ctx has ended, those that are missing are of no interest.
func candidates(ctx context.Context, t summary.Task) []candidate {
	worth, asks := worthSaying(t.Said(ctx))
	said, places, _ := summary.Holding(worth)
	speakers := speakersOf(t.Lines)
	out := make([]candidate, 0, len(said))
	for i, s := range said {
		if ctx.Err() != nil {
			return nil
		}
		c := newCandidate(s, speakers)
		c.place = i
		if s.Line >= 0 {
			c.role, c.tool = weightOf(t.Lines[s.Line]), s.Tool
		}
		switch asks[places[i]] {
		case asksOpenly:
			c.open = true
		case asksAnswered:
			c.role *= answeredFactor
		}
		out = append(out, c)
	}
	return out
}

// asksHow says whether a sentence asks, and what became of the question.
type asksHow int

const (
	asksNothing asksHow = iota
	asksOpenly
	asksAnswered
)

// answeredFactor puts what was answered behind the answer.
const answeredFactor = 0.6

// worthSaying leaves out small talk, what the assistant only repeats, and questions that were answered: what matters of them is
// in the answers. What a person asked an assistant stays, since the answer seldom makes sense alone, and a question whose answer
// is a word or two makes one sentence with it.
func worthSaying(said []summary.Said) (out []summary.Said, asks []asksHow) {
	add := func(s summary.Said, a asksHow) { out, asks = append(out, s), append(asks, a) }
	for i, s := range said {
		short, talk := isShortAnswer(said, i), promptinjection.IsPleasantry(s.Text) || s.Role == memory.RoleAssistant && !s.Tool && summary.Acknowledges(s.Text)
		switch {
		case s.Line < 0:
			add(s, asksNothing)
		case short && len(out) > 0 && out[len(out)-1].Whole == said[i-1].Whole:
			joined := summary.Joined(out[len(out)-1], s)
			joined.Role, joined.Line, joined.Who = s.Role, s.Line, s.Who
			out[len(out)-1], asks[len(out)-1] = joined, asksNothing
		case talk, isEcho(said, i), onlyGreets(said, i):
		case !text.AsksQuestion(s.Text):
			add(s, asksNothing)
		case isOpen(said, i):
			add(s, asksOpenly)
		case s.Role == memory.RoleUser && asksAssistant(said, i), i+1 < len(said) && isShortAnswer(said, i+1):
			add(s, asksAnswered)
		}
	}
	return out, asks
}

// shortAnswer is how many tokens an answer may take that makes no sense without its question.
const shortAnswer = 6

// isShortAnswer reports whether a sentence answers the question right before it in a word or two.
func isShortAnswer(said []summary.Said, at int) bool {
	s := said[at]
	if at == 0 || s.Tool || s.Line < 0 || text.EstimateTokens(s.Text) > shortAnswer || text.AsksQuestion(s.Text) {
		return false
	}
	asked := said[at-1]
	return asked.Line >= 0 && !asked.Tool && asked.Who != s.Who && text.AsksQuestion(asked.Text) && !promptinjection.IsPleasantry(asked.Text) &&
		(s.Role == memory.RoleUser && !promptinjection.IsPleasantry(s.Text) || yesOrNo().Has(firstWord(s.Text)) && !(s.Role == memory.RoleAssistant && takesNote().Has(firstWord(s.Text))))
}

// yesOrNo are the words that an answer to a question begins with where it is one. From an assistant some of them mean no more
// than that it has understood.
var (
	takesNote = sync.OnceValue(func() languagedata.Set { return languagedata.SetOf(languagedata.AllWords(languagedata.TakesNote)) })
	yesOrNo   = sync.OnceValue(func() languagedata.Set { return languagedata.SetOf(languagedata.AllWords(languagedata.YesOrNo)) })
)

// wordsOf are the words of a sentence in lower case.
func wordsOf(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// firstWord is the first word of a sentence in lower case.
func firstWord(s string) string {
	fields := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) })
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// echoReach is how many sentences before it an echo may repeat.
const echoReach = 12

// isEcho reports whether a sentence of an assistant says nothing but what a person has just said.
func isEcho(said []summary.Said, at int) bool {
	s := said[at]
	if s.Role != memory.RoleAssistant || s.Tool {
		return false
	}
	own := distinct(text.Terms(s.Text))
	for i := max(0, at-echoReach); i < at; i++ {
		if said[i].Role == memory.RoleUser && !said[i].Tool && echoes(own, distinct(text.Terms(said[i].Text))) {
			return true
		}
	}
	return false
}

// echoes reports whether terms repeat most of others and add hardly any: Noted: … adds one.
func echoes(own, others []string) bool {
	shared := 0
	for _, t := range own {
		if _, found := slices.BinarySearch(others, t); found {
			shared++
		}
	}
	return shared > len(own)-shared && len(own)-shared <= 1 && float64(shared) >= repeated*float64(len(others))
}

// onlyGreets reports whether a sentence of an assistant is a greeting or an acknowledgement with a word or two of what a person has
// just stated: "Hello Bob!", "Okay, gorm." Where the person asked, the word or two are the answer.
func onlyGreets(said []summary.Said, at int) bool {
	s := said[at]
	if s.Role != memory.RoleAssistant || s.Tool {
		return false
	}
	var stated []string
	for i := at - 1; i >= 0 && at-i <= echoReach; i-- {
		if said[i].Role != memory.RoleUser || said[i].Tool {
			continue
		}
		if text.AsksQuestion(said[i].Text) {
			return false
		}
		stated = distinct(append(text.Terms(said[i].Text), wordsOf(said[i].Text)...))
		break
	}
	var left []string
	repeats := 0
	for word := range strings.FieldsSeq(s.Text) {
		same := func(w string) bool { _, found := slices.BinarySearch(stated, w); return found }
		if slices.ContainsFunc(append(text.Terms(word), wordsOf(word)...), same) && !promptinjection.IsPleasantry(word) {
			repeats++
			continue
		}
		left = append(left, word)
	}
	return repeats > 0 && repeats <= mostRepeated && len(left) > 0 && promptinjection.IsPleasantry(strings.Join(left, " "))
}

// mostRepeated is how many words of what was stated a greeting or an acknowledgement may hold.
const mostRepeated = 3

// isOpen reports whether nobody has answered a question: nobody else has spoken after it, or, where a person asked an
// assistant, said nothing but to repeat it or to acknowledge.
func isOpen(said []summary.Said, at int) bool {
	asked := said[at]
	for i, s := range said[at+1:] {
		echo := s.Role == memory.RoleAssistant && (summary.Acknowledges(s.Text) || isEcho(said, at+1+i))
		if s.Who != asked.Who && !(asked.Role == memory.RoleUser && echo) {
			return false
		}
	}
	return true
}

// asksAssistant reports whether an assistant is the next to speak after a sentence.
func asksAssistant(said []summary.Said, at int) bool {
	for _, s := range said[at+1:] {
		if s.Line != said[at].Line {
			return s.Role == memory.RoleAssistant
		}
	}
	return false
}

// spoken leaves out what tools were asked and answered, where people and models said enough: it is full of names and
// numbers, and what matters of it was said.
func spoken(found []candidate) []candidate {
	words := slices.DeleteFunc(slices.Clone(found), func(c candidate) bool { return c.tool })
	if tokensOf(words) < fewWords {
		return found
	}
	return words
}

// fewWords is how many tokens people and models must have said that what tools were asked and answered is left out.
const fewWords = 60

func tokensOf(found []candidate) int {
	total := 0
	for _, c := range found {
		total += text.EstimateTokens(c.text)
	}
	return total
}

// speakersOf are the words of the speakers' names. People call each other by name all the time: that is no anchor.
func speakersOf(lines []summary.SourceText) []string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.Fields(strings.ToLower(l.Who()))...)
	}
	return distinct(out)
}

// longestRead is how many bytes of a sentence are read. It is far more than stands in a summary of it.
const longestRead = 4 << 10

func newCandidate(s summary.Said, speakers []string) candidate {
	sentence := text.Clip(s.Text, longestRead)
	prefix, _ := strings.CutSuffix(s.Whole, s.Text)
	c := candidate{text: prefix + closed(shortened(sentence)), words: sentence, role: 1, terms: text.Terms(sentence)}
	c.unique = distinct(c.terms)
	for _, a := range summary.Anchors(sentence) {
		if a.Kind != summary.AnchorName || !isSpeaker(a.Text, speakers) {
			c.anchors += a.Weight()
		}
	}
	if s.Role == memory.RoleUser && promptinjection.IsVital(sentence) {
		c.anchors += vitalWeight
	}
	return c
}

// isSpeaker reports whether a name is a speaker's, or a short form of it.
func isSpeaker(name string, speakers []string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), "'s")
	return slices.ContainsFunc(speakers, func(s string) bool { return strings.HasPrefix(s, name) || strings.HasPrefix(name, s) })
}

// weightOf puts what people say before what models and tools answer.
func weightOf(l summary.SourceText) float64 {
	switch {
	case l.Tool: // whoever's message it stands in
	case l.Role == memory.RoleUser:
		return 1
	case l.Role == memory.RoleAssistant:
		return 0.5
	}
	return 0.4
}

// shortened is a sentence of at most maxSentence tokens, and of one that a later one leans on both.
func shortened(s string) string {
	i := strings.LastIndex(s, summary.Arrow)
	if i < 0 {
		return cut(s)
	}
	return strings.TrimRight(shortened(s[:i]), "…") + summary.Arrow + cut(s[i+len(summary.Arrow):])
}

// cut shortens a sentence of more than maxSentence tokens at a space.
func cut(s string) string {
	if text.EstimateTokens(s) <= maxSentence {
		return s
	}
	end := 0
	for i := range s {
		if text.EstimateTokens(s[:i]) > maxSentence {
			break
		}
		end = i
	}
	if space := strings.LastIndexByte(s[:end], ' '); space > 0 {
		end = space
	}
	return s[:end] + "…"
}

// closed ends a sentence with a stop where it has none, so that nobody takes it for cut off.
func closed(s string) string {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s, `"')]”’»*_`))
	if strings.ContainsRune(".!?…。！？｡", r) {
		return s
	}
	return s + "."
}

// vitalWeight is what a sentence about a name, somebody's health or family counts beside its anchors: as much as a decision.
const vitalWeight = 3

// Weights of what makes a sentence worth picking. Anchors count for their length; the others are at most 1.
const (
	anchorWeight  = 8.0
	centralWeight = 1.0
	recentWeight  = 0.3
	openWeight    = 0.8
	lengthFloor   = 6
)

func score(found []candidate) {
	df := map[string]int{}
	for _, c := range found {
		for _, t := range c.unique {
			df[t]++
		}
	}
	for i := range found {
		c := &found[i]
		length := float64(lengthFloor + text.EstimateTokens(c.text))
		c.score = c.role*c.manner()*(anchorWeight*c.anchors/length+centralWeight*centrality(*c, df, len(found))) +
			c.role*recentWeight*float64(i+1)/float64(len(found))
		if c.open {
			c.score += openWeight
		}
	}
}

// Ways to speak in English: reactions say little of lasting worth, statements about oneself most.
var (
	reaction = regexp.MustCompileFrom(func() string { return languagedata.English.Pattern(languagedata.Reactions) })
	aboutMe  = sync.OnceValue(func() []string { return languagedata.English.Words(languagedata.AboutMe) })
)

const (
	reactionFactor = 0.4
	aboutMeFactor  = 1.3
)

// manner is a factor for the way a sentence speaks.
func (c candidate) manner() float64 {
	switch {
	case reaction.MatchString(c.words):
		return reactionFactor
	case speaksOfOneself(c.words):
		return aboutMeFactor
	}
	return 1
}

// speaksOfOneself reports whether some of aboutMe stands as a word; the I of I'm is one.
func speaksOfOneself(s string) bool {
	notInWord := func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') }
	for w := range strings.FieldsFuncSeq(s, notInWord) {
		if slices.Contains(aboutMe(), w) {
			return true
		}
	}
	return false
}

// centrality is how many of the other sentences share a term, on average over the sentence's terms; the root keeps
// two or three frequent words from deciding alone.
func centrality(c candidate, df map[string]int, n int) float64 {
	terms := c.unique
	if len(terms) < fewTerms || n < 2 {
		return 0
	}
	var sum float64
	for _, t := range terms {
		sum += math.Sqrt(float64(df[t]-1) / float64(n-1))
	}
	return sum / float64(len(terms))
}

// fewTerms is under how many terms a sentence says too little to be central.
const fewTerms = 3

func distinct(terms []string) []string {
	sorted := slices.Clone(terms)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// leafShare is how much of its messages a summary takes at most: it is to be shorter than they are.
const leafShare = 0.4

// leastRoom is the tokens that a summary may always take.
const leastRoom = 150

// room is how many tokens the answer may take.
func room(t summary.Task, found []candidate) int {
	limit := int(t.MaxTokens)
	if limit <= 0 {
		limit = math.MaxInt
	}
	if t.Rewrite || len(t.Parts) > 0 {
		return limit
	}
	return min(limit, max(leastRoom, int(leafShare*float64(tokensOf(found)))))
}

// pick takes the best sentences that fit, leaving out what repeats another one, and returns them in their order. Of sentences
// that are all too long the best one is taken.
func pick(ctx context.Context, found []candidate, room int) []candidate {
	ranked := slices.Clone(found)
	slices.SortFunc(ranked, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.place, a.place))
	})
	var out []candidate
	for _, c := range ranked {
		if ctx.Err() != nil {
			return nil
		}
		cost := text.EstimateTokens(c.text) + 1
		if cost > room || slices.ContainsFunc(out, c.repeats) {
			continue
		}
		out, room = append(out, c), room-cost
	}
	if len(out) == 0 {
		out = ranked[:min(1, len(ranked))]
	}
	slices.SortFunc(out, func(a, b candidate) int { return cmp.Compare(a.place, b.place) })
	return out
}

// repeated is the share of a sentence's terms that, found in another one, make it a repetition.
const repeated = 0.8

func (c candidate) repeats(other candidate) bool {
	if c.text == other.text {
		return true
	}
	terms := c.unique
	if len(terms) == 0 || c.anchors > other.anchors || c.role > other.role {
		return false
	}
	shared := 0
	for _, t := range terms {
		if _, found := slices.BinarySearch(other.unique, t); found {
			shared++
		}
	}
	return float64(shared) >= repeated*float64(len(terms))
}

// render writes each sentence on a line of its own.
func render(picked []candidate) string {
	lines := make([]string, len(picked))
	for i, c := range picked {
		lines[i] = c.text
	}
	return strings.Join(lines, "\n")
}
