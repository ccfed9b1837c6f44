// Package builtin holds what works without a model: an extractive summariser and a rule-based extractor. Both name
// themselves in what they answer, so that nobody takes them for a model.
package builtin

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/summary"
	"github.com/stratamem/strata/internal/text"
)

// ExtractiveModel is the name under which Summarizer answers.
const ExtractiveModel = "builtin:extractive"

// Summarizer summarises without a model: it picks sentences of its source, word for word. Equal tasks get equal
// answers. It costs no tokens and fails only where its context ends.
type Summarizer struct{}

// Summarize picks the sentences that hold names, numbers, dates and decisions, share their words with the others, and
// are recent, as many as MaxTokens holds. What stands in a message is marked with who said it.
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
	return llm.Answer{Text: render(picked), Finish: llm.FinishStop, Model: ExtractiveModel}, nil
}

// candidate is a sentence that may be picked.
type candidate struct {
	text    string // as it will stand
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

// candidates are the sentences of a task: of the summary to rewrite, of the summaries to merge, and of the messages.
// Questions that somebody has spoken after are left out: what matters of them is in the answers. Once ctx has ended, those
// that are missing are of no interest.
func candidates(ctx context.Context, t summary.Task) []candidate {
	var out []candidate
	if t.Rewrite {
		out = fromSummary(out, t.Previous)
	}
	for _, p := range t.Parts {
		out = fromSummary(out, p.Text)
	}
	speakers := speakersOf(t.Lines)
	last := lastOfOthers(t.Lines)
	for i, l := range t.Lines {
		open := i >= last
		for _, s := range text.Sentences(l.Text) {
			if ctx.Err() != nil {
				return nil
			}
			if asks := text.AsksQuestion(s); !asks || open {
				c := newCandidate(speaker(l)+": ", s, speakers)
				c.role, c.tool, c.open = weightOf(l), l.Tool, asks
				out = append(out, c)
			}
		}
	}
	for i := range out {
		out[i].place = i
	}
	return out
}

// spoken leaves out what tools were asked and answered, where people and models said enough: it is full of names and
// numbers, and what matters of it was said.
func spoken(found []candidate) []candidate {
	words := slices.DeleteFunc(slices.Clone(found), func(c candidate) bool { return c.tool })
	if tokensOf(words) < leastRoom {
		return found
	}
	return words
}

func tokensOf(found []candidate) int {
	total := 0
	for _, c := range found {
		total += text.EstimateTokens(c.text)
	}
	return total
}

// lastOfOthers is the first of the lines from which on one speaks alone: nobody else has spoken after it.
func lastOfOthers(lines []summary.Line) int {
	first := len(lines)
	for first > 0 && speaker(lines[first-1]) == speaker(lines[len(lines)-1]) {
		first--
	}
	return first
}

// speakersOf are the words of the speakers' names. People call each other by name all the time: that is no anchor.
func speakersOf(lines []summary.Line) []string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.Fields(strings.ToLower(speaker(l)))...)
	}
	return distinct(out)
}

func fromSummary(out []candidate, s string) []candidate {
	for _, sentence := range text.Sentences(s) {
		out = append(out, newCandidate("", sentence, nil))
	}
	return out
}

// longestRead is how many bytes of a sentence are read. It is far more than stands in a summary of it.
const longestRead = 4 << 10

func newCandidate(prefix, sentence string, speakers []string) candidate {
	sentence = text.Clip(sentence, longestRead)
	c := candidate{text: prefix + closed(cut(sentence)), role: 1, terms: text.Terms(sentence)}
	c.unique = distinct(c.terms)
	for _, a := range summary.Anchors(sentence) {
		if a.Kind != summary.AnchorName || !isSpeaker(a.Text, speakers) {
			c.anchors += a.Weight()
		}
	}
	return c
}

// isSpeaker reports whether a name is a speaker's, or a short form of it.
func isSpeaker(name string, speakers []string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), "'s")
	return slices.ContainsFunc(speakers, func(s string) bool { return strings.HasPrefix(s, name) || strings.HasPrefix(name, s) })
}

func speaker(l summary.Line) string {
	return cmp.Or(strings.Join(strings.Fields(l.Speaker), " "), l.Role.String())
}

// weightOf puts what people say before what models and tools answer.
func weightOf(l summary.Line) float64 {
	switch {
	case l.Tool: // whoever's message it stands in
	case l.Role == memory.RoleUser:
		return 1
	case l.Role == memory.RoleAssistant:
		return 0.7
	}
	return 0.4
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
			recentWeight*float64(i+1)/float64(len(found))
		if c.open {
			c.score += openWeight
		}
	}
}

// Ways to speak in English: reactions say little of lasting worth, statements about oneself most.
var (
	reaction = regexp.MustCompile(`(?i)^(?:wow|that's|that is|that sounds|sounds|thanks|thank you|hey|hi|hello|congrat\w*|cool|great|awesome|nice|yeah|yep|oh|aw+|glad|totally|absolutely|definitely|you're|your|you have|it's)\b`)
	named    = regexp.MustCompile(`^[\pL\pN ._-]{1,40}: `)
	aboutMe  = strings.Fields("I My my We we Our our")
)

const (
	reactionFactor = 0.4
	aboutMeFactor  = 1.3
)

// manner is a factor for the way a sentence speaks.
func (c candidate) manner() float64 {
	switch {
	case reaction.MatchString(c.text) || reaction.MatchString(strings.TrimPrefix(c.text, named.FindString(c.text))):
		return reactionFactor
	case speaksOfOneself(c.text):
		return aboutMeFactor
	}
	return 1
}

// speaksOfOneself reports whether some of aboutMe stands as a word; the I of I'm is one.
func speaksOfOneself(s string) bool {
	notInWord := func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') }
	for w := range strings.FieldsFuncSeq(s, notInWord) {
		if slices.Contains(aboutMe, w) {
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
const leastRoom = 60

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

// pick takes the best sentences that fit, leaving out what repeats another one, and answers them in their order. What
// says nothing is only taken when there is nothing else; of sentences that are all too long the best one is taken.
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
		talk := len(c.terms) < fewTerms && c.anchors == 0
		if cost > room || len(out) > 0 && (talk || slices.ContainsFunc(out, c.repeats)) {
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
	if len(terms) == 0 || c.anchors > other.anchors {
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
