// Package factrank finds and scores a user's facts by their words, their vectors and the times at which they began to hold. It holds one
// user's facts in memory. It is pure: equal facts and queries give equal hits, in whatever order the facts came.
package factrank

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
	"unsafe"

	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// Index holds one user's facts to be ranked by words and by meaning. Reads may run side by side, a change must run
// alone.
type Index struct {
	facts    []memory.Fact // by number; what a number stood for may be dead
	live     []bool
	lengths  []int32
	words    [][]string // the distinct terms of each, to be taken out again
	numbers  map[string]int32
	postings map[string][]int32          // of live facts only
	sessions map[memory.SessionKey]int32 // numbers of the sessions that facts were first said in
	learnt   [][]int32                   // by session
	traits   []traits                    // what a search looks at of every fact, close together
	size     int                         // live facts
	length   int64                       // of all live facts
	vectors  factVectors                 // most facts may have theirs in a view
	rows     []int32                     // by number: the row of its vector; none for a fact without one
	texts    int64                       // bytes of what live facts hold beside their records
	terms    int64                       // bytes of the terms of live facts, with their places in words
	scratch  sync.Pool                   // of *factScratch
}

// noRow stands for no row and no owner.
const noRow = -1

// traits are what decides whether a fact may be a hit, whether it is of the core, and what of its score the query has no part in.
type traits struct {
	born         int64  // ValidFrom, in microseconds since 1970, as stores have it
	id           uint64 // what its id begins with: see idStart
	session      int32  // that it was first said in
	category     uint8
	significance uint8
	weight       uint8 // its significance; pinned for a pinned one
	open         bool  // alive and current
	wish         bool
	core         bool // about a name, health or diet
	learnt       bool // from messages: it has evidence
}

// NewIndex makes an empty index.
func NewIndex() *Index {
	return &Index{
		scratch: sync.Pool{New: func() any { return &factScratch{} }},
		numbers: map[string]int32{}, postings: map[string][]int32{},
		sessions: map[memory.SessionKey]int32{},
	}
}

// Len is how many facts the index holds, superseded ones included.
func (x *Index) Len() int { return x.size }

// WithoutVector is how many current facts have no vector here.
func (x *Index) WithoutVector() int {
	n := 0
	for i, row := range x.rows {
		if row == noRow && x.traits[i].open {
			n++
		}
	}
	return n
}

// IDsWithoutVector are the current facts that have no vector here, in the order in which they were put.
func (x *Index) IDsWithoutVector() (ids []string) {
	for i, row := range x.rows {
		if row == noRow && x.traits[i].open {
			ids = append(ids, x.facts[i].ID)
		}
	}
	return ids
}

// Has reports whether the index holds a fact, superseded ones included.
func (x *Index) Has(id string) bool {
	_, ok := x.numbers[id]
	return ok
}

// Bytes is about how much memory the index takes: TestBytesAreThoseOfTheHeap.
func (x *Index) Bytes() int64 {
	const (
		perTerm    = 112 // its entry in the map with the map's room to grow, and the list's own room
		perNumber  = 48  // an id's entry in its map
		perSession = 88  // its entry in its map, the list's header and its own room
	)
	perFact := int64(unsafe.Sizeof(memory.Fact{})+unsafe.Sizeof(traits{})+unsafe.Sizeof([]string{})) + 1 + 4 + 4
	return int64(unsafe.Sizeof(*x)) + int64(cap(x.facts))*perFact + int64(len(x.postings))*perTerm + int64(len(x.numbers))*perNumber +
		int64(len(x.sessions))*perSession + x.texts + x.terms + x.vectors.bytes()
}

// All returns every fact, superseded ones included, by id.
func (x *Index) All() []memory.Fact {
	out := make([]memory.Fact, 0, x.size)
	for n, f := range x.facts {
		if x.live[n] {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b memory.Fact) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Put adds a fact, or replaces what the index has of it. A fact whose text changed loses its vector, and no other: the
// primary store makes a new one for a new text only.
func (x *Index) Put(f memory.Fact) {
	n, ok := x.numbers[f.ID]
	if !ok {
		x.insert(f)
		return
	}
	was := x.facts[n]
	if was.Text == f.Text && was.Words() == f.Words() && learntIn(was) == learntIn(f) {
		x.texts += textBytes(f) - textBytes(was)
		x.facts[n], x.traits[n] = f, x.traitsOf(f)
		return
	}
	row := int32(noRow)
	if was.Text == f.Text {
		row, x.rows[n] = x.rows[n], noRow
	}
	x.remove(n)
	x.insert(f)
	if row != noRow {
		x.rows[x.numbers[f.ID]], x.vectors.owners[row] = row, x.numbers[f.ID]
	}
}

// Forget takes a fact out.
func (x *Index) Forget(id string) {
	if n, ok := x.numbers[id]; ok {
		x.remove(n)
		delete(x.numbers, id)
	}
}

func (x *Index) insert(f memory.Fact) {
	n := int32(len(x.facts))
	terms := text.Terms(f.Words())
	x.facts, x.live, x.rows = append(x.facts, f), append(x.live, true), append(x.rows, noRow)
	x.lengths, x.traits = append(x.lengths, int32(len(terms))), append(x.traits, x.traitsOf(f))
	slices.Sort(terms)
	words := slices.Clone(slices.Compact(terms))
	x.words = append(x.words, words)
	for _, t := range words {
		x.postings[t] = append(x.postings[t], n)
	}
	x.terms += termBytes(words)
	in := x.traits[n].session
	x.learnt[in] = append(x.learnt[in], n)
	x.numbers[f.ID] = n
	x.size++
	x.length += int64(x.lengths[n])
	x.texts += textBytes(f)
}

// pinned is the weight of pinned facts, above every significance.
const pinned = 255

func (x *Index) traitsOf(f memory.Fact) traits {
	significance := uint8(min(max(f.Significance, 0), 10))
	t := traits{
		born: f.ValidFrom.UnixMicro(), id: idStart(f.ID), session: x.session(learntIn(f)), category: uint8(f.Category),
		significance: significance, weight: significance, open: f.IsCurrent(), wish: f.IsWish(),
		core: promptinjection.IsEssential(f.Text), learnt: len(f.Evidence) > 0,
	}
	if f.Pinned {
		t.weight = pinned
	}
	return t
}

// idStart is the first eight bytes of an id as a number, so that a lower one is of an id that sorts before.
func idStart(id string) uint64 {
	var start [8]byte
	copy(start[:], id)
	return binary.BigEndian.Uint64(start[:])
}

// compareIDs orders by id. Most ids differ in their start, so that the facts, which lie far apart, are not read.
func (x *Index) compareIDs(a, b int32) int {
	if p, q := x.traits[a].id, x.traits[b].id; p != q {
		return cmp.Compare(p, q)
	}
	return cmp.Compare(x.facts[a].ID, x.facts[b].ID)
}

// session is the number of a session that a fact was first said in.
func (x *Index) session(key memory.SessionKey) int32 {
	n, ok := x.sessions[key]
	if !ok {
		n = int32(len(x.learnt))
		x.sessions[key], x.learnt = n, append(x.learnt, nil)
	}
	return n
}

// textBytes is about what a fact holds beside its record: its texts, tags and evidence.
func textBytes(f memory.Fact) int64 {
	n := len(f.ID) + len(f.Text) + len(f.Subject) + len(f.Attribute) + len(f.SupersededBy) + len(f.Language) + len(f.Model)
	for _, tag := range f.Tags {
		n += int(unsafe.Sizeof(tag)) + len(tag)
	}
	for _, e := range f.Evidence {
		n += int(unsafe.Sizeof(e)) + len(e.Quote) + len(e.Session) + len(e.SessionID) + len(e.MessageID)
	}
	return int64(n)
}

// termBytes is about what the terms of a fact take: their letters, and a header and a number of the fact for each.
func termBytes(terms []string) int64 {
	n := 0
	for _, t := range terms {
		n += len(t) + int(unsafe.Sizeof(t)) + 4
	}
	return int64(n)
}

// remove leaves the number as a dead one: postings name it no more.
func (x *Index) remove(n int32) {
	for _, t := range x.words[n] {
		x.postings[t] = slices.DeleteFunc(x.postings[t], func(m int32) bool { return m == n })
		if len(x.postings[t]) == 0 {
			delete(x.postings, t)
		}
	}
	x.texts -= textBytes(x.facts[n])
	x.terms -= termBytes(x.words[n])
	in := x.traits[n].session
	x.learnt[in] = slices.DeleteFunc(x.learnt[in], func(m int32) bool { return m == n })
	x.length -= int64(x.lengths[n])
	x.size--
	x.freeRow(n)
	x.live[n], x.words[n], x.facts[n], x.traits[n] = false, nil, memory.Fact{}, traits{}
}

// learntIn is the session a fact was first said in; "" for what a person wrote.
func learntIn(f memory.Fact) memory.SessionKey {
	if len(f.Evidence) == 0 {
		return ""
	}
	return f.Evidence[0].Session
}

// SetVector gives a fact its vector, of length 1; a fact that the index does not have is passed over. A vector of
// another dimension than the ones before drops those: they are of another model.
func (x *Index) SetVector(id string, v []float32) {
	n, ok := x.numbers[id]
	if !ok {
		return
	}
	if len(v) != x.vectors.dim {
		x.DropVectors()
		x.vectors.dim = len(v)
	}
	if x.rows[n] == noRow {
		x.rows[n] = x.vectors.addRow(n)
	}
	x.vectors.set(x.rows[n], v)
}

// freeRow takes the fact's vector out, if it has one.
func (x *Index) freeRow(n int32) {
	if row := x.rows[n]; row != noRow {
		x.vectors.freeRow(row)
		x.rows[n] = noRow
	}
}

// DropVectors takes all vectors out: they are of another model, or a view has them.
func (x *Index) DropVectors() {
	x.vectors = factVectors{}
	for n := range x.rows {
		x.rows[n] = noRow
	}
}

// LearntIn returns the current facts that were first said in the session, the latest first, equal times by id.
func (x *Index) LearntIn(session memory.SessionKey) []memory.Fact {
	in, ok := x.sessions[session]
	if !ok {
		return nil
	}
	var out []memory.Fact
	for _, n := range x.learnt[in] {
		if x.facts[n].IsCurrent() {
			out = append(out, x.facts[n])
		}
	}
	slices.SortFunc(out, func(a, b memory.Fact) int {
		return cmp.Or(b.ValidFrom.Compare(a.ValidFrom), cmp.Compare(a.ID, b.ID))
	})
	return out
}
