// Package conversations makes the conversations that figures and tests run on. The same seed gives the same bytes on
// every machine, so a figure can be measured again. Words are made up: they mean nothing in any language.
package conversations

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// VocabularySize is how many words there are.
const VocabularySize = 20_000

// lengthSpread is the standard deviation of the logarithm of a message's length. With 0.75, one message in twenty is
// longer than 3.4 medians.
const lengthSpread = 0.75

// maxSpread cuts the longest messages, in medians.
const maxSpread = 12

// start is the time of the first message.
var start = time.Date(2025, time.January, 6, 9, 0, 0, 0, time.UTC)

// Shape says what a user's conversations look like.
type Shape struct {
	Seed           uint64
	Sessions       int
	Messages       int // of each session
	MedianWords    int // of what people say
	AssistantWords int // median words of a reply; 0 for a chat between two named people
}

// W is the main workload: 50 sessions of 200 messages between two named people, median 25 words. Recall gives such
// chats its widest windows, so they are its dearest.
func W() Shape { return Shape{Seed: 1, Sessions: 50, Messages: 200, MedianWords: 25} }

// W2 is the workload of an agent with long answers: 20 sessions of 500 messages, every other one a reply of median 327
// words. A made-up word takes 2.75 tokens of o200k_base with its punctuation, so that is a median of 900 tokens.
func W2() Shape {
	return Shape{Seed: 2, Sessions: 20, Messages: 500, MedianWords: 25, AssistantWords: 327}
}

// Large is the workload of a user with so many messages: sessions of a thousand between two named people, one session
// where they are fewer.
func Large(messages int) Shape {
	return Shape{Seed: 3, Sessions: max(messages/1000, 1), Messages: min(messages, 1000), MedianWords: 25}
}

// Long is the same in a single session.
func Long(messages int) Shape {
	return Shape{Seed: 4, Sessions: 1, Messages: messages, MedianWords: 25}
}

// Neighbour is the i-th of many other users: one session of 30 messages.
func Neighbour(i int) Shape {
	return Shape{Seed: 1_000_000 + uint64(i), Sessions: 1, Messages: 30, MedianWords: 25}
}

// Session is one conversation.
type Session struct {
	ID       string
	Messages []memory.Message // with ID, Role, Name, Parts, CreateTime and Origin
}

// Conversations makes the shape's sessions.
func (s Shape) Conversations() []Session {
	return slices.Collect(s.All())
}

// All makes the shape's sessions one after the other, for shapes that are too large to hold.
func (s Shape) All() iter.Seq[Session] {
	return func(yield func(Session) bool) {
		w := newWriter(s.Seed)
		for i := range s.Sessions {
			if !yield(s.session(w, i)) {
				return
			}
		}
	}
}

// Queries makes n queries of eight different words each, drawn as the messages' words are.
func (s Shape) Queries(n int) []string {
	w := newWriter(s.Seed ^ 0x9e3779b97f4a7c15)
	queries := make([]string, n)
	for i := range queries {
		queries[i] = w.distinct(8)
	}
	return queries
}

// End is a time after the last message.
func (s Shape) End() time.Time {
	return start.AddDate(0, 0, s.Sessions+1+int(time.Duration(s.Messages)*messageStep/(24*time.Hour)))
}

// messageStep is the time from one message to the next.
const messageStep = 20 * time.Second

func (s Shape) session(w *writer, no int) Session {
	out := Session{ID: fmt.Sprintf("session-%04d", no+1)}
	begin := start.AddDate(0, 0, no)
	for i := range s.Messages {
		m := s.message(w, i)
		m.ID = fmt.Sprintf("m-%04d-%05d", no+1, i+1)
		m.CreateTime = begin.Add(time.Duration(i) * messageStep)
		out.Messages = append(out.Messages, m)
	}
	return out
}

func (s Shape) message(w *writer, i int) memory.Message {
	m := memory.Message{Role: memory.RoleUser, Origin: memory.OriginUser}
	median := s.MedianWords
	switch {
	case s.AssistantWords == 0:
		m.Name = [2]string{"Ada", "Grace"}[i%2]
	case i%2 == 1:
		m.Role, m.Origin, median = memory.RoleAssistant, memory.OriginModel, s.AssistantWords
	}
	m.Parts = []memory.Part{memory.TextPart(w.text(w.length(median)))}
	return m
}

// Text makes a text of exactly n bytes, at least one, from the seed.
func Text(seed uint64, n int) string {
	w := newWriter(seed)
	t := w.text(n/4 + 1)
	for len(t) < n {
		t += " " + w.text(16)
	}
	return strings.ReplaceAll(t[:n-1], "\n", " ") + "."
}

// writer draws words by Zipf's law with exponent 1: the word of rank r has a weight of 1/r.
type writer struct {
	rng        *rand.Rand
	cumulative []float64
}

func newWriter(seed uint64) *writer {
	return &writer{rng: rand.New(rand.NewPCG(seed, 0x5742)), cumulative: zipf}
}

// zipf is the cumulative weight by rank. It is never written again.
var zipf = cumulativeWeights()

func cumulativeWeights() []float64 {
	c := make([]float64, VocabularySize)
	sum := 0.0
	for r := range c {
		sum += 1 / float64(r+1)
		c[r] = sum
	}
	return c
}

// length draws a number of words from a log-normal distribution.
func (w *writer) length(median int) int {
	x := math.Exp(w.rng.NormFloat64() * lengthSpread)
	return max(1, int(float64(median)*min(x, maxSpread)))
}

func (w *writer) rank() int {
	x := w.rng.Float64() * w.cumulative[len(w.cumulative)-1]
	return min(sort.SearchFloat64s(w.cumulative, x), VocabularySize-1)
}

// text writes n words in sentences of twelve and, as long answers do, paragraphs of six sentences.
func (w *writer) text(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(Word(w.rank()))
		switch {
		case i == n-1:
			b.WriteByte('.')
		case i%72 == 71:
			b.WriteString(".\n\n")
		case i%12 == 11:
			b.WriteString(". ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func (w *writer) distinct(n int) string {
	seen := map[int]bool{}
	var words []string
	for len(words) < n {
		if r := w.rank(); !seen[r] {
			seen[r] = true
			words = append(words, Word(r))
		}
	}
	return strings.Join(words, " ")
}

const (
	consonants = "bdfgklmnprtvz"
	vowels     = "aeiou"
	syllables  = len(consonants) * len(vowels)
)

// Word is the word of a rank from 0: three syllables and a consonant, such that no two ranks share a word and no
// stemmer takes anything off.
func Word(rank int) string {
	r := rank % VocabularySize
	b := make([]byte, 0, 7)
	for range 3 {
		s := r % syllables
		b = append(b, consonants[s/len(vowels)], vowels[s%len(vowels)])
		r /= syllables
	}
	return string(append(b, 'k'))
}
