// Package rank finds old messages by their words, their vectors and the times that they mention. It holds one user's search index in
// memory, and fuses what several retrievers found. It is pure: equal documents and queries give equal results, in whatever order the
// documents came.
package rank

import (
	"errors"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/segment"
)

// Index is one user's search index. Calls of Search may run at the same time as each other, never at the same time as
// Add or AddSegment.
//
// Neighbours are counted at query time: postings hold own words only, and each counts in the neighbours' fields
// too. All weights are multiples of 1/65536, so sums of term frequencies and lengths are exact, and it does not matter
// in which order documents came.
type Index struct {
	weights [2]KindWeights // by kindNo
	transcript
	classes    []class // of each message
	passages   passages
	words      dictionary
	speakers   speakers
	days       days
	neighbours neighbours
	stats      statistics
	standing   []int32        // messages in which the user asks for something in every answer, in no order
	vectors    messageVectors // of the messages
	mentions   []mentions     // in the order of the messages that mention times
	scratch    sync.Pool
	limits     limits
}

// NewIndex returns an empty index with DefaultWeights.
func NewIndex() *Index { return NewIndexWith(DefaultWeights()) }

// NewIndexWith returns an empty index with the given weights.
func NewIndexWith(w Weights) *Index {
	x := &Index{
		weights:    [2]KindWeights{exact(w.Person), exact(w.AssistantChat)},
		transcript: transcript{sessions: map[memory.SessionKey]*session{}},
		words:      dictionary{numbers: map[string]int32{}},
		speakers:   speakers{newLabels[string]()},
		days:       days{newLabels[int64]()},
		limits:     defaultLimits(),
	}
	x.scratch.New = func() any { return &scratch{} }
	return x
}

// exact rounds what is summed.
func exact(w KindWeights) KindWeights {
	for _, v := range []*float64{
		&w.Before, &w.BeforeQuestion, &w.After, &w.TwoBefore, &w.TwoAfter, &w.Reply, &w.Name, &w.Date, &w.Fact, &w.Near,
	} {
		*v = quantum(*v)
	}
	return w
}

func quantum(v float64) float64 { return math.Round(v*65536) / 65536 }

// Messages returns how many messages the index holds.
func (x *Index) Messages() int { return len(x.messages) }

// Passages returns how many passages the index holds.
func (x *Index) Passages() int { return len(x.passages.message) }

// Bytes returns about how much memory the index takes: TestBytesAreThoseOfTheHeap.
func (x *Index) Bytes() int64 {
	const (
		perIndex    = 2200 // the maps of one day and one speaker, and the first words of all sets
		perTerm     = 96   // the string's header, its entry in the map, the list's header and what its room is rounded up to
		perSession  = 200  // its entry in the map, its key and its own room
		perLabels   = 3 * 4
		perMentions = 32 + 16 // its header, and some bytes
	)
	perMessage := int64(unsafe.Sizeof(message{})) + int64(unsafe.Sizeof([maxEdges]edge{})) + 1 + 1 + perLabels // one for the sets' bits
	perPassage := int64(4 + unsafe.Sizeof(segment.Span32{}) + 4 + 8 + 1)
	return int64(unsafe.Sizeof(*x)) + perIndex + int64(cap(x.messages))*perMessage + int64(cap(x.passages.message))*perPassage +
		int64(len(x.sessions))*perSession +
		int64(len(x.words.postings))*perTerm + int64(cap(x.mentions))*perMentions + 4*int64(cap(x.standing)) +
		x.words.chars + x.words.capacity + x.vectors.bytes()
}

// ScratchBytes returns about how much memory one Search takes at most beside the index.
func (x *Index) ScratchBytes() int64 {
	perPassage := int64(8 + unsafe.Sizeof(sum{}) + 2*4) // a frequency, a sum, and places in two lists
	all := int64(len(x.passages.message))*perPassage + int64(len(x.messages))*2*4
	best := sparseBytes(len(x.passages.message)) + int64(len(x.messages))*(boundPlanes+2*maxBestTerms)/8
	return max(all, best)
}

// Has reports whether the message at the place is in the index.
func (x *Index) Has(p memory.Place) bool {
	_, _, ok := x.find(p)
	return ok
}

// Add takes documents in any order. Of one whose place is present already only the vector is taken, as by addVector.
func (x *Index) Add(docs ...segment.Doc) {
	touched := map[*session]struct{}{}
	for _, d := range segment.Distinct(docs) {
		m, ok := x.insert(d, touched)
		if !ok {
			continue
		}
		for _, p := range d.Passages {
			pass := x.passages.add(m, &x.messages[m], segment.Span32{Start: int32(p.Start), End: int32(p.End)})
			for _, t := range p.Terms {
				x.countWords(pass, int32(t.Count))
				x.words.add(x.words.number(t.Term), segment.Posting{Pass: pass, Count: int32(t.Count)})
			}
		}
	}
	x.merge(touched)
	for _, d := range docs {
		if d.Vector.Version > 0 {
			x.addVector(d.Place, d.Vector, touched)
		}
	}
	x.refresh(touched)
}

// ErrLacksWords is the error of AddSegment where the index has a message without passages whose document in the segment has some: it
// could not be analysed when the index got it. Such an index must be made anew.
var ErrLacksWords = errors.New("the index has a message without its words")

// AddSegment takes the documents of a segment as Add does. Damaged data is refused, and the index stays as it was.
func (x *Index) AddSegment(data []byte) error {
	seg, err := segment.Parse(data)
	if err != nil {
		return err
	}
	touched := map[*session]struct{}{}
	pass, lacks := x.insertSegment(seg, touched)
	if lacks {
		return ErrLacksWords
	}
	if len(pass) > 0 && pass[0] >= 0 && !slices.Contains(pass, skipped) {
		x.addLists(seg, pass[0])
	} else {
		x.addPostings(seg, pass)
	}
	x.addVectors(seg, touched)
	x.refresh(touched)
	return nil
}

// addLists takes the lists of a segment as they are, whose passages all went into the index in a row.
func (x *Index) addLists(seg *segment.Segment, first int32) {
	for pass, n := range seg.Words {
		x.countWords(first+int32(pass), n)
	}
	for i, term := range seg.Terms {
		x.words.join(x.words.number(term), &seg.Lists[i], first)
	}
}

// addPostings takes those of a segment whose passages were not all taken. They keep their order in the index.
func (x *Index) addPostings(seg *segment.Segment, pass []int32) {
	for i, term := range seg.Terms {
		no := int32(none)
		for p := (segment.Cursor{Data: seg.Lists[i].Data}); p.Next(); {
			to := pass[p.Pass]
			if to == skipped {
				continue
			}
			if no == none {
				no = x.words.number(term)
			}
			x.countWords(to, p.Count)
			x.words.add(no, segment.Posting{Pass: to, Count: p.Count})
		}
	}
}

// addVectors takes those of a segment.
func (x *Index) addVectors(seg *segment.Segment, touched map[*session]struct{}) {
	var room []int8
	for i := range seg.Messages {
		if m := &seg.Messages[i]; m.VectorData != nil {
			room = segment.AppendSigned(room[:0], m.VectorData)
			x.addVector(m.Place, segment.Vector{Version: seg.Version, Values: room}, touched)
		}
	}
}

// skipped is where a passage went whose message the index has already.
const skipped = -1

// insertSegment returns where each passage of the segment went; those that are not skipped are in a row. It reports whether the index
// has a message without the passages that the segment has of it.
func (x *Index) insertSegment(seg *segment.Segment, touched map[*session]struct{}) (pass []int32, lacks bool) {
	pass = make([]int32, 0, len(seg.Spans))
	x.messages = slices.Grow(x.messages, len(seg.Messages))
	for _, sm := range seg.Messages {
		m, ok := x.insert(sm.Doc, touched)
		lacks = lacks || !ok && sm.PassageCount > 0 && x.messages[m].first == x.messages[m].last
		for range sm.PassageCount {
			to := int32(skipped)
			if ok {
				to = x.passages.add(m, &x.messages[m], seg.Spans[len(pass)])
			}
			pass = append(pass, to)
		}
	}
	x.merge(touched)
	return pass, lacks
}

// insert adds a message without its passages, and returns its number; false where the index has it already. Those of a session must
// come by seq, and merge must be called after the last.
func (x *Index) insert(d segment.Doc, touched map[*session]struct{}) (m int32, ok bool) {
	s := x.session(d.Session)
	if at, present := x.position(s, d.Seq); present {
		return s.messages[at], false
	}
	m, first := int32(len(x.messages)), int32(len(x.passages.message))
	x.messages = append(x.messages, message{
		seq: d.Seq, create: d.CreateMillis, first: first, last: first, session: s.no,
		name: -1, day: x.days.add(d.CreateMillis, m), role: uint8(d.Role),
		question: d.Question, mentionsTime: d.MentionsTime, disclosure: d.Disclosure, kind: kindAssistantChat,
	})
	x.classes = append(x.classes, 0)
	x.neighbours.grow()
	x.passages.growMessages(m)
	x.vectors.rows = append(x.vectors.rows, none)
	if len(d.Mentions) > 0 {
		x.mentions = append(x.mentions, mentions{m, slices.Clone(d.Mentions)})
	}
	if d.Standing {
		x.standing = append(x.standing, m)
	}
	if d.Name != "" {
		x.messages[m].name = x.speakers.add(d.Name, m)
	}
	s.fresh = append(s.fresh, m)
	touched[s] = struct{}{}
	return m, true
}

// countWords adds to the words of a passage and of its message.
func (x *Index) countWords(pass, n int32) {
	x.passages.words[pass] += n
	x.messages[x.passages.message[pass]].words += n
}
