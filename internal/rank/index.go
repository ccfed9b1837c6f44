package rank

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/stratamem/strata/internal/intent"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/text"
)

// Index is one user's lexical index. Calls of Search may run at the same time as each other, never at the same time as
// Add or AddSegment.
//
// A passage's field is spread at query time: postings hold own words only, and each counts in the neighbours' fields
// too. All weights are multiples of 1/65536, so sums of term frequencies and lengths are exact, and it does not matter
// in which order documents came.
type Index struct {
	weights   [2]KindWeights // by kindNo
	sessions  map[memory.SessionKey]*session
	bySession []*session // in the order of message.session
	messages  []message
	spread    [][maxEdges]edge  // of each message: where its words count too
	reaches   [reachSets]bitset // by message: see settleReach
	single    bitset            // the messages of exactly one passage
	several   bitset            // the messages of more than one
	classes   []class           // of each message

	// One entry for each passage.
	passMessage []int32
	passSpan    []span32
	passWords   []int32   // own words
	passLength  []float64 // of the field
	passKind    []kindNo

	termNo   map[string]int32
	postings []postings // by term
	names    labels[string]
	days     labels[int64]

	lengths  [2]float64 // sums over the passages of a kind
	counts   [2]int     // passages of a kind
	capacity int64      // of all lists of postings, in bytes
	chars    int64      // of all terms
	standing []int32    // messages in which the user asks for something in every answer, in no order
	turns    turnVectors
	told     []toldOf // in the order of the messages that tell of times
	scratch  sync.Pool
	limits   limits
}

// kindNo is a Kind as an index.
type kindNo uint8

const (
	kindPerson kindNo = iota
	kindAssistantChat
)

func (k kindNo) kind() Kind {
	if k == kindPerson {
		return KindPerson
	}
	return KindAssistantChat
}

// session holds a session's messages by seq.
type session struct {
	key      memory.SessionKey
	no       int32 // in bySession
	messages []int32
	fresh    []int32 // by seq too: inserted, and not among messages yet
	replies  bool    // one of them is an assistant's
	dirty    bool
	from, to int // positions to be settled, to excluded, while dirty
}

// message holds no pointer, so that the garbage collector passes over all of them.
type message struct {
	seq         int64
	create      int64
	words       int32 // of all its passages
	first, last int32 // its passages, last excluded
	name, day   int32 // labels; name -1 for none
	session     int32
	role        uint8 // a memory.Role
	kind        kindNo
	telling     intent.Telling
	question    bool
	tellsTime   bool
	settled     bool // its passages are in lengths and counts
}

// class is what of a message decides its factors, but for its speaker and its time.
type class uint8

const (
	classUser class = 1 << iota // an assistant chat's user said it
	classAssistantChat
	classTellsTime

	classes = classTellsTime << 1 // how many there are
)

func (m *message) class() (c class) {
	if m.kind == kindAssistantChat {
		c = classAssistantChat
		if memory.Role(m.role) == memory.RoleUser {
			c |= classUser
		}
	}
	if m.tellsTime {
		c |= classTellsTime
	}
	return c
}

// message is one of the class that nobody is named in.
func (c class) message() *message {
	m := &message{name: -1, kind: kindPerson, tellsTime: c&classTellsTime != 0}
	if c&classAssistantChat != 0 {
		m.kind = kindAssistantChat
	}
	if c&classUser != 0 {
		m.role = uint8(memory.RoleUser)
	}
	return m
}

// maxEdges is four neighbours and the message that a reply answers.
const maxEdges = 5

// edge says that a message's words count in the passages from first to last, excluded.
type edge struct {
	first, last int32
	weight      float32 // exact: a small multiple of 1/65536; 0 ends the list
}

// reach is how far a message acts within its session: a reply is looked for this far behind the user's message.
const reach = 8

// NewIndex returns an empty index with DefaultWeights.
func NewIndex() *Index { return NewIndexWith(DefaultWeights()) }

// NewIndexWith returns an empty index with the given weights.
func NewIndexWith(w Weights) *Index {
	x := &Index{
		weights:  [2]KindWeights{exact(w.Person), exact(w.AssistantChat)},
		sessions: map[memory.SessionKey]*session{},
		termNo:   map[string]int32{},
		names:    newLabels[string](),
		days:     newLabels[int64](),
		limits:   defaultLimits(),
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
func (x *Index) Passages() int { return len(x.passMessage) }

// Bytes returns about how much memory the index takes.
func (x *Index) Bytes() int64 {
	const (
		perTerm    = 96  // the string's header, its entry in the map, the list's header and what its room is rounded up to
		perSession = 200 // its entry in the map, its key and its own room
		perLabels  = 3 * 4
		perTold    = 32 + 16 // its header, and some bytes
	)
	perMessage := int64(unsafe.Sizeof(message{})) + int64(unsafe.Sizeof([maxEdges]edge{})) + 1 + 1 + perLabels // one for the sets' bits
	perPassage := int64(4 + unsafe.Sizeof(span32{}) + 4 + 8 + 1)
	return int64(cap(x.messages))*perMessage + int64(cap(x.passMessage))*perPassage + int64(len(x.sessions))*perSession +
		int64(len(x.postings))*perTerm + int64(cap(x.told))*perTold + 4*int64(cap(x.standing)) + x.chars + x.capacity + x.turns.bytes()
}

// ScratchBytes returns about how much memory one Search takes at most beside the index.
func (x *Index) ScratchBytes() int64 {
	perPassage := int64(8 + unsafe.Sizeof(sum{}) + 2*4) // a frequency, a sum, and places in two lists
	all := int64(len(x.passMessage))*perPassage + int64(len(x.messages))*2*4
	best := x.laneBytes() + int64(len(x.messages))*(boundPlanes+2*maxBestTerms)/8
	return max(all, best)
}

// Has reports whether the message at the place is in the index.
func (x *Index) Has(p memory.Place) bool {
	s := x.sessions[p.Session]
	if s == nil {
		return false
	}
	_, ok := x.position(s, p.Seq)
	return ok
}

// position is where a seq stands or belongs in a session. Mostly no seq is left out, so that a seq tells its place.
func (x *Index) position(s *session, seq int64) (int, bool) {
	n := len(s.messages)
	if n == 0 || x.messages[s.messages[n-1]].seq < seq {
		return n, false
	}
	if at := seq - x.messages[s.messages[0]].seq; at >= 0 && at < int64(n) && x.messages[s.messages[at]].seq == seq {
		return int(at), true
	}
	return slices.BinarySearchFunc(s.messages, seq, func(m int32, seq int64) int {
		return int(min(max(x.messages[m].seq-seq, -1), 1))
	})
}

// Add takes documents in any order. Of one whose place is present already only the vector is taken, as by SetVectors.
func (x *Index) Add(docs ...Doc) {
	touched := map[*session]struct{}{}
	for _, d := range distinct(docs) {
		m, ok := x.insert(d, touched)
		if !ok {
			continue
		}
		for _, p := range d.Passages {
			pass := x.addPassage(m, span32{int32(p.Start), int32(p.End)})
			for _, t := range p.Terms {
				x.addTo(x.term(t.Term), posting{pass, int32(t.Count)})
			}
		}
	}
	x.merge(touched)
	for _, d := range docs {
		if d.Vector.Version > 0 {
			x.takeVector(d.Place, d.Vector, touched)
		}
	}
	x.settle(touched)
}

// AddSegment takes the documents of a segment as Add does. Damaged data is refused, and the index stays as it was.
func (x *Index) AddSegment(data []byte) error {
	seg, err := parseSegment(data)
	if err != nil {
		return err
	}
	touched := map[*session]struct{}{}
	pass := x.insertSegment(seg, touched)
	if len(pass) > 0 && pass[0] >= 0 && !slices.Contains(pass, skipped) {
		x.addLists(seg, pass[0])
	} else {
		x.addPostings(seg, pass)
	}
	x.addVectors(seg, touched)
	x.settle(touched)
	return nil
}

// addLists takes the lists of a segment as they are, whose passages all went into the index in a row.
func (x *Index) addLists(seg *segment, first int32) {
	for pass, n := range seg.words {
		x.count(first+int32(pass), n)
	}
	for i, term := range seg.terms {
		list := &x.postings[x.term(term)]
		before := cap(list.data)
		list.join(&seg.lists[i], first)
		x.capacity += int64(cap(list.data) - before)
	}
}

// addPostings takes those of a segment whose passages were not all taken. They keep their order in the index.
func (x *Index) addPostings(seg *segment, pass []int32) {
	for i, term := range seg.terms {
		no := int32(none)
		for p := (cursor{data: seg.lists[i].data}); p.next(); {
			to := pass[p.pass]
			if to == skipped {
				continue
			}
			if no == none {
				no = x.term(term)
			}
			x.addTo(no, posting{to, p.count})
		}
	}
}

// addVectors takes those of a segment.
func (x *Index) addVectors(seg *segment, touched map[*session]struct{}) {
	var room []int8
	for i := range seg.messages {
		if m := &seg.messages[i]; m.vector != nil {
			room = appendSigned(room[:0], m.vector)
			x.takeVector(m.Place, Vector{seg.version, room}, touched)
		}
	}
}

// skipped is where a passage went whose message the index has already.
const skipped = -1

// insertSegment returns where each passage of the segment went; those that are not skipped are in a row.
func (x *Index) insertSegment(seg *segment, touched map[*session]struct{}) []int32 {
	pass := make([]int32, 0, len(seg.spans))
	x.messages = slices.Grow(x.messages, len(seg.messages))
	for _, sm := range seg.messages {
		m, ok := x.insert(sm.Doc, touched)
		for range sm.passages {
			to := int32(skipped)
			if ok {
				to = x.addPassage(m, seg.spans[len(pass)])
			}
			pass = append(pass, to)
		}
	}
	x.merge(touched)
	return pass
}

// insert adds a message without its passages. Those of a session must come by seq, and merge must be called after the last.
func (x *Index) insert(d Doc, touched map[*session]struct{}) (m int32, ok bool) {
	s := x.sessions[d.Session]
	if s == nil {
		s = &session{key: d.Session, no: int32(len(x.bySession))}
		x.sessions[d.Session] = s
		x.bySession = append(x.bySession, s)
	}
	if _, present := x.position(s, d.Seq); present {
		return 0, false
	}
	m, first := int32(len(x.messages)), int32(len(x.passMessage))
	x.messages = append(x.messages, message{
		seq: d.Seq, create: d.CreateMillis, first: first, last: first, session: s.no,
		name: -1, day: x.dayLabel(d.CreateMillis, m), role: uint8(d.Role),
		question: d.Question, tellsTime: d.TellsTime, telling: d.Telling, kind: kindAssistantChat,
	})
	x.spread, x.classes = append(x.spread, [maxEdges]edge{}), append(x.classes, 0)
	x.turns.rows = append(x.turns.rows, none)
	if len(d.Checkpoint) > 0 {
		x.told = append(x.told, toldOf{m, slices.Clone(d.Checkpoint)})
	}
	if m%64 == 0 {
		for i := range x.reaches {
			x.reaches[i] = append(x.reaches[i], 0)
		}
		x.single, x.several = append(x.single, 0), append(x.several, 0)
	}
	if d.Standing {
		x.standing = append(x.standing, m)
	}
	if d.Name != "" {
		x.messages[m].name = x.nameLabel(d.Name, m)
	}
	s.fresh = append(s.fresh, m)
	touched[s] = struct{}{}
	return m, true
}

// merge puts inserted messages between those of their sessions: all of a session at once, so that a long session whose
// older part comes later is moved once for each part, not once for each message.
func (x *Index) merge(touched map[*session]struct{}) {
	for s := range touched {
		if len(s.fresh) == 0 {
			continue
		}
		reply := false
		for _, m := range s.fresh {
			reply = reply || memory.Role(x.messages[m].role) == memory.RoleAssistant
		}
		from, to := x.mergeFresh(s)
		s.touch(from, to, reply)
	}
}

// mergeFresh returns the positions from the first to the last fresh message, the latter excluded.
func (x *Index) mergeFresh(s *session) (from, to int) {
	fresh, old := s.fresh, len(s.messages)-1
	s.messages = append(s.messages, fresh...)
	s.fresh = nil
	for at, left := len(s.messages)-1, len(fresh)-1; left >= 0; at-- {
		if old >= 0 && x.messages[s.messages[old]].seq > x.messages[fresh[left]].seq {
			s.messages[at] = s.messages[old]
			old--
			continue
		}
		s.messages[at] = fresh[left]
		if left == len(fresh)-1 {
			to = at + 1
		}
		from = at
		left--
	}
	return from, to
}

// touch notes that messages from one position to another, excluded, are new. The first reply of a session changes the kind
// of all of it.
func (s *session) touch(from, to int, reply bool) {
	from, to = max(from-reach, 0), min(to+reach, len(s.messages))
	if reply && !s.replies {
		s.replies = true
		from, to = 0, len(s.messages)
	}
	s.dirty, s.from, s.to = true, from, to
}

func (x *Index) nameLabel(name string, m int32) int32 {
	return x.names.add(name, m, func() []string { return text.Terms(name) })
}

// dayLabel files a message under its day in UTC, written as "8 May 2023".
func (x *Index) dayLabel(millis int64, m int32) int32 {
	const perDay = 24 * 60 * 60 * 1000
	day := millis / perDay
	if millis%perDay < 0 {
		day--
	}
	return x.days.add(day, m, func() []string {
		return text.TermsKeepingStopWords(time.UnixMilli(day * perDay).UTC().Format("2 January 2006"))
	})
}

// addPassage adds a passage of the last message without its terms.
func (x *Index) addPassage(m int32, span span32) int32 {
	pass := int32(len(x.passMessage))
	x.passMessage = append(x.passMessage, m)
	x.passSpan = append(x.passSpan, span)
	x.passWords = append(x.passWords, 0)
	x.passLength = append(x.passLength, 0)
	x.passKind = append(x.passKind, kindAssistantChat)
	x.messages[m].last = pass + 1
	several := x.messages[m].first < pass
	x.single.set(m, !several)
	x.several.set(m, several)
	return pass
}

// count adds to the words of a passage and of its message.
func (x *Index) count(pass, n int32) {
	x.passWords[pass] += n
	x.messages[x.passMessage[pass]].words += n
}

func (x *Index) addTo(no int32, p posting) {
	x.count(p.pass, p.count)
	list := &x.postings[no]
	before := cap(list.data)
	list.add(p)
	x.capacity += int64(cap(list.data) - before)
}

// term returns the term's number, a new one where it is unknown.
func (x *Index) term(t string) int32 {
	no, ok := x.termNo[t]
	if !ok {
		no = int32(len(x.postings))
		x.termNo[strings.Clone(t)] = no // t may be part of a whole segment's terms
		x.postings = append(x.postings, postings{})
		x.chars += int64(len(t))
	}
	return no
}
