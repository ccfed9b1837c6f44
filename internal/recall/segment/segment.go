package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// A segment, all numbers as unsigned varints unless said otherwise:
//
//	"SLX" and a version byte
//	sessions   count; each: length, bytes, messages            by key
//	names      count; each: length, bytes                      by name
//	messages   each: seq (after the first of a session: step), role·32 + standing·16 + disclosure·4 + mentions a time·2 +
//	           question (disclosure is a promptinjection.Disclosure), name no. + 1 or 0, create time (zigzag, step from the
//	           message before), passages; each passage: gap, length;
//	           the times it mentions (when.Mentions): length, bytes
//	terms      count; each: shared prefix, rest, bytes, postings; each posting: step·2 + (count > 1), count - 2
//	vectors    version, 0 for none and the end of the block; dimension, count; each: step from the message before, a
//	           signed byte for each dimension
//	checksum   CRC-32C of all before, four bytes, little endian
//
// Messages stand by session and seq, passages in their order, terms by bytes, so equal documents give equal bytes.
const (
	segmentMagic   = "SLX"
	segmentVersion = 5
	checksumSize   = 4
)

// What is noted of a message beside its role.
const (
	flagQuestion = 1 << iota
	flagMentionsTime

	shiftDisclosure = 2 // of two bits
	flagStanding    = 1 << 4
	shiftRole       = 5
)

// errDamaged is what every refusal of a segment wraps.
var errDamaged = errors.New("segment is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode packs documents of Analyze for storage; seqs count from 1. Equal sets of documents give equal bytes; of
// several documents with one place the first is kept. Of the vectors only those of the highest version are kept: lower
// ones are of a model that was replaced.
func Encode(docs []Doc) []byte {
	docs = Distinct(docs)
	b := append(make([]byte, 0, 64*len(docs)+64), segmentMagic...)
	b = append(b, segmentVersion)
	b = appendSessions(b, docs)
	b, names := appendNames(b, docs)
	b = appendMessages(b, docs, names)
	b = appendTerms(b, docs)
	b = appendVectors(b, docs)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// Distinct returns the documents by place, each place once.
func Distinct(docs []Doc) []Doc {
	docs = slices.Clone(docs)
	slices.SortStableFunc(docs, func(a, b Doc) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Seq, b.Seq))
	})
	return slices.CompactFunc(docs, func(a, b Doc) bool { return a.Place == b.Place })
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendSessions(b []byte, docs []Doc) []byte {
	var counts []int
	var keys []memory.SessionKey
	for i, d := range docs {
		if i == 0 || d.Session != docs[i-1].Session {
			keys, counts = append(keys, d.Session), append(counts, 0)
		}
		counts[len(counts)-1]++
	}
	b = binary.AppendUvarint(b, uint64(len(keys)))
	for i, k := range keys {
		b = binary.AppendUvarint(appendString(b, string(k)), uint64(counts[i]))
	}
	return b
}

// appendNames returns the number of each name too, from 1; "" has 0.
func appendNames(b []byte, docs []Doc) ([]byte, map[string]uint64) {
	var names []string
	for _, d := range docs {
		if d.Name != "" {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	nos := make(map[string]uint64, len(names))
	b = binary.AppendUvarint(b, uint64(len(names)))
	for i, n := range names {
		nos[n] = uint64(i + 1)
		b = appendString(b, n)
	}
	return b, nos
}

func appendMessages(b []byte, docs []Doc, names map[string]uint64) []byte {
	var create int64
	for i, d := range docs {
		seq := d.Seq
		if i > 0 && docs[i-1].Session == d.Session {
			seq -= docs[i-1].Seq
		}
		flags := uint64(d.Role)<<shiftRole | uint64(d.Disclosure)<<shiftDisclosure
		if d.Question {
			flags |= flagQuestion
		}
		if d.MentionsTime {
			flags |= flagMentionsTime
		}
		if d.Standing {
			flags |= flagStanding
		}
		b = binary.AppendUvarint(b, uint64(seq))
		b = binary.AppendUvarint(b, flags)
		b = binary.AppendUvarint(b, names[d.Name])
		b = binary.AppendVarint(b, d.CreateMillis-create)
		b = appendSpans(b, d.Passages)
		b = appendString(b, string(d.Mentions))
		create = d.CreateMillis
	}
	return b
}

func appendSpans(b []byte, passages []Passage) []byte {
	b = binary.AppendUvarint(b, uint64(len(passages)))
	at := 0
	for _, p := range passages {
		b = binary.AppendUvarint(b, uint64(p.Start-at))
		b = binary.AppendUvarint(b, uint64(p.End-p.Start))
		at = p.End
	}
	return b
}

func appendTerms(b []byte, docs []Doc) []byte {
	lists := map[string][]Posting{}
	var pass int32
	for _, d := range docs {
		for _, p := range d.Passages {
			for _, t := range p.Terms {
				lists[t.Term] = append(lists[t.Term], Posting{pass, int32(t.Count)})
			}
			pass++
		}
	}
	terms := make([]string, 0, len(lists))
	for t := range lists {
		terms = append(terms, t)
	}
	slices.Sort(terms)
	b = binary.AppendUvarint(b, uint64(len(terms)))
	before := ""
	for _, t := range terms {
		shared := sharedPrefix(before, t)
		b = binary.AppendUvarint(b, uint64(shared))
		b = appendString(b, t[shared:])
		b = appendPostings(b, lists[t])
		before = t
	}
	return b
}

func appendPostings(b []byte, list []Posting) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	at := int32(0)
	for _, p := range list {
		b = appendPosting(b, p, at)
		at = p.Pass
	}
	return b
}

func appendVectors(b []byte, docs []Doc) []byte {
	kept := vectorsOf(docs)
	if len(kept) == 0 {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(docs[kept[0]].Vector.Version))
	b = binary.AppendUvarint(b, uint64(len(docs[kept[0]].Vector.Values)))
	b = binary.AppendUvarint(b, uint64(len(kept)))
	at := 0
	for _, i := range kept {
		b = binary.AppendUvarint(b, uint64(i-at))
		for _, v := range docs[i].Vector.Values {
			b = append(b, byte(v))
		}
		at = i
	}
	return b
}

// vectorsOf returns which documents have a vector of the highest version, and of the dimension that its first one has.
func vectorsOf(docs []Doc) (kept []int) {
	var of Vector
	for i := range docs {
		v := docs[i].Vector
		if v.Version > of.Version && len(v.Values) > 0 {
			kept, of = nil, v
		}
		if v.Version == of.Version && v.Version > 0 && len(v.Values) == len(of.Values) {
			kept = append(kept, i)
		}
	}
	return kept
}

func sharedPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Merge packs the documents of several segments as one, each place once. Damaged data is refused.
func Merge(data ...[]byte) ([]byte, error) {
	var all []Doc
	for i, d := range data {
		docs, err := Decode(d)
		if err != nil {
			return nil, fmt.Errorf("merge segment %d of %d: %w", i+1, len(data), err)
		}
		all = append(all, docs...)
	}
	return Encode(all), nil
}

// Decode returns the documents of a segment by session and seq. Data that is damaged, cut or of another version
// is refused.
func Decode(data []byte) ([]Doc, error) {
	seg, err := Parse(data)
	if err != nil {
		return nil, err
	}
	passages := make([]Passage, len(seg.Spans))
	for i, s := range seg.Spans {
		passages[i].Span = text.Span{Start: int(s.Start), End: int(s.End)}
	}
	for i, term := range seg.Terms {
		for p := (Cursor{Data: seg.Lists[i].Data}); p.Next(); {
			at := &passages[p.Pass]
			at.Terms = append(at.Terms, TermCount{Term: term, Count: int(p.Count)})
		}
	}
	docs := seg.docs()
	for i, m := range seg.Messages {
		if m.PassageCount > 0 {
			docs[i].Passages = passages[:m.PassageCount:m.PassageCount]
			passages = passages[m.PassageCount:]
		}
	}
	return docs, nil
}

// Span32 is a text.Span in half the room.
type Span32 struct{ Start, End int32 }

// Segment is a segment taken apart. Lists and vectors are parts of the data it came from: nobody may append to them.
type Segment struct {
	Messages []Message
	Spans    []Span32 // of all passages
	Words    []int32  // of all passages
	Terms    []string
	Lists    []Postings // by term
	Version  int        // of the vectors; 0 for none
}

// Message is one message of a segment.
type Message struct {
	Doc                 // without passages and vector
	PassageCount int    // how many of the next spans are this message's
	VectorData   []byte // a signed byte for each dimension; nil for none
}

// docs returns the documents without their passages.
func (seg *Segment) docs() []Doc {
	docs := make([]Doc, len(seg.Messages))
	room := make([]int8, 0, seg.vectorBytes())
	for i, m := range seg.Messages {
		docs[i] = m.Doc
		if m.VectorData != nil {
			from := len(room)
			room = AppendSigned(room, m.VectorData)
			docs[i].Vector = Vector{seg.Version, room[from:len(room):len(room)]}
		}
	}
	return docs
}

func (seg *Segment) vectorBytes() (n int) {
	for _, m := range seg.Messages {
		n += len(m.VectorData)
	}
	return n
}

// AppendSigned appends the numbers of a vector that a segment holds.
func AppendSigned(to []int8, bytes []byte) []int8 {
	for _, b := range bytes {
		to = append(to, int8(b))
	}
	return to
}

// Parse takes a segment apart, and checks all of its content. Data that is damaged, cut or of another version is refused.
func Parse(data []byte) (*Segment, error) {
	head := len(segmentMagic) + 1
	if len(data) < head+checksumSize || string(data[:len(segmentMagic)]) != segmentMagic {
		return nil, fmt.Errorf("decode segment: no header: %w", errDamaged)
	}
	if v := data[head-1]; v != segmentVersion {
		return nil, fmt.Errorf("decode segment: version %d is not %d: %w", v, segmentVersion, errDamaged)
	}
	body := data[:len(data)-checksumSize]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(data[len(body):]) {
		return nil, fmt.Errorf("decode segment: checksum differs: %w", errDamaged)
	}
	r := &reader{data: body[head:]}
	seg := &Segment{}
	seg.readMessages(r)
	seg.readTerms(r)
	seg.readVectors(r)
	if len(r.data) > 0 {
		r.fail()
	}
	if r.bad {
		return nil, fmt.Errorf("decode segment: content: %w", errDamaged)
	}
	return seg, nil
}

func (seg *Segment) readMessages(r *reader) {
	keys := make([]memory.SessionKey, r.count())
	counts := make([]int, len(keys))
	for i := range keys {
		keys[i], counts[i] = memory.SessionKey(r.str()), r.count()
		r.check(counts[i] > 0 && (i == 0 || keys[i] > keys[i-1]))
	}
	names := make([]string, r.count()+1)
	for i := range names[1:] {
		names[i+1] = r.str()
	}
	var create int64
	for i, n := range counts {
		var seq int64
		for range n {
			if r.bad {
				return
			}
			m := seg.readMessage(r, names)
			m.Session, m.Seq, m.CreateMillis = keys[i], m.Seq+seq, m.CreateMillis+create
			r.check(m.Seq > seq)
			seq, create = m.Seq, m.CreateMillis
			seg.Messages = append(seg.Messages, m)
		}
	}
}

// readMessage leaves steps where the message before is needed.
func (seg *Segment) readMessage(r *reader, names []string) Message {
	var m Message
	m.Seq = int64(r.limited(1 << 62))
	flags := r.limited(1 << 8)
	m.Role, m.Question, m.MentionsTime = memory.Role(flags>>shiftRole), flags&flagQuestion != 0, flags&flagMentionsTime != 0
	m.Disclosure, m.Standing = promptinjection.Disclosure(flags>>shiftDisclosure&3), flags&flagStanding != 0
	m.Name = names[r.below(len(names))]
	m.CreateMillis = r.signed()
	m.PassageCount = r.count()
	at := uint64(0)
	for range m.PassageCount {
		start := at + r.limited(1<<30)
		at = start + r.limited(1<<30)
		r.check(at < 1<<31)
		seg.Spans = append(seg.Spans, Span32{int32(start), int32(at)})
	}
	if mentions := r.bytes(); len(mentions) > 0 {
		m.Mentions = mentions
	}
	return m
}

func (seg *Segment) readTerms(r *reader) {
	n := r.count()
	seg.Words = make([]int32, len(seg.Spans))
	seg.Lists = make([]Postings, 0, n)
	var all []byte
	offsets := make([]int, 1, n+1)
	for i := range n {
		before := all[offsets[max(i-1, 0)]:]
		shared := int(r.below(len(before) + 1))
		all = append(all, before[:shared]...)
		all = append(all, r.bytes()...)
		r.check(i == 0 || bytes.Compare(all[offsets[i]:], before) > 0)
		offsets = append(offsets, len(all))
		seg.readPostings(r)
		if r.bad {
			return
		}
	}
	joined := string(all)
	seg.Terms = make([]string, n)
	for i := range seg.Terms {
		seg.Terms[i] = joined[offsets[i]:offsets[i+1]]
	}
}

// readPostings checks a list, and keeps it as it is.
func (seg *Segment) readPostings(r *reader) {
	at := uint64(0)
	n := r.count()
	r.check(n > 0)
	list := r.data
	for i := range n {
		step := r.uvarint()
		at += step >> 1
		count := uint64(1)
		if step&1 == 1 {
			count = 2 + r.limited(maxCount-2)
		}
		r.check(at < uint64(len(seg.Spans)) && (i == 0 || step > 1))
		if r.bad {
			return
		}
		seg.Words[at] += int32(count)
	}
	seg.Lists = append(seg.Lists, Postings{Data: list[:len(list)-len(r.data)], N: int32(n), last: int32(at)})
}

func (seg *Segment) readVectors(r *reader) {
	seg.Version = int(r.limited(1 << 31))
	if seg.Version == 0 {
		return
	}
	dim, n := r.count(), r.count()
	if r.check(dim > 0 && n > 0 && n <= len(seg.Messages)); r.bad {
		return
	}
	at := 0
	for i := range n {
		at += int(r.limited(uint64(len(seg.Messages))))
		if r.check(at < len(seg.Messages) && (i == 0 || seg.Messages[at].VectorData == nil) && len(r.data) >= dim); r.bad {
			return
		}
		seg.Messages[at].VectorData = r.data[:dim:dim]
		r.data = r.data[dim:]
	}
}

// reader takes numbers and strings from data. After the first fault it only returns zeros.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) fail() { r.data, r.bad = nil, true }

func (r *reader) check(ok bool) {
	if !ok {
		r.fail()
	}
}

func (r *reader) uvarint() uint64 {
	if len(r.data) > 0 && r.data[0] < 0x80 {
		v := uint64(r.data[0])
		r.data = r.data[1:]
		return v
	}
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) signed() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.data = r.data[n:]
	return v
}

// limited is a number of at most limit.
func (r *reader) limited(limit uint64) uint64 {
	v := r.uvarint()
	if v > limit {
		r.fail()
		return 0
	}
	return v
}

// below is a number below n, which is at least 1.
func (r *reader) below(n int) uint64 { return r.limited(uint64(n - 1)) }

// count is how many things follow. Each takes a byte at least, so a damaged count cannot ask for more memory than the
// data suggests.
func (r *reader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.data)) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) bytes() []byte {
	n := r.count()
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) str() string { return string(r.bytes()) }

// DecodeVectors returns the documents of a segment without their passages, by session and seq. Data that is damaged, cut
// or of another version is refused.
func DecodeVectors(data []byte) ([]Doc, error) {
	seg, err := Parse(data)
	if err != nil {
		return nil, err
	}
	return seg.docs(), nil
}
