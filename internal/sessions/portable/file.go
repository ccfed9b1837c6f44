package portable

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// MaxLine is the longest line that a file may have, in bytes: more than a turn of the largest call takes.
const MaxLine = 16 << 20

// Writer writes the file of one user.
type Writer struct {
	out     io.Writer
	hash    hash.Hash
	encoder *Encoder
	buffer  bytes.Buffer
	json    *json.Encoder
	trailer Trailer
}

// NewWriter writes the header of a file with the vectors. program is the version of the program that writes.
func NewWriter(out io.Writer, program string, vectors Vectors) (*Writer, error) {
	w := &Writer{out: out, hash: sha256.New(), encoder: NewEncoder(vectors)}
	w.json = json.NewEncoder(&w.buffer)
	w.json.SetEscapeHTML(false)
	header := Header{Format: Format, Version: Version, Program: program}
	if vectors.Embedding.Version != 0 {
		header.Version, header.Vectors = VectorsVersion, true
	}
	return w, w.line(Line{Header: &header})
}

// Write writes a record. Records must come in the order of store.Exporter.
func (w *Writer) Write(r store.Record) error {
	line, err := w.encoder.Line(r)
	if err != nil {
		return err
	}
	w.trailer.count(line)
	if err := w.line(line); err != nil {
		return err
	}
	if made := w.encoder.vectors.Embedding; line.User != nil && made.Version != 0 {
		return w.line(Line{Embedding: &Embedding{Model: made.Model, Dimension: made.Dimension}})
	}
	return nil
}

// Close writes the trailer.
func (w *Writer) Close() error {
	w.trailer.SHA256 = hex.EncodeToString(w.hash.Sum(nil))
	return w.line(Line{Trailer: &w.trailer})
}

func (w *Writer) line(l Line) error {
	w.buffer.Reset()
	if err := w.json.Encode(l); err != nil {
		return fmt.Errorf("encode a line: %w", err)
	}
	w.trailer.Lines++
	_, _ = w.hash.Write(w.buffer.Bytes()) // never fails
	_, err := w.out.Write(w.buffer.Bytes())
	return err
}

func (t *Trailer) count(l Line) {
	switch {
	case l.Session != nil:
		t.Sessions++
	case l.Turn != nil:
		t.Messages += int64(len(l.Turn.Messages))
		for i := range l.Turn.Messages {
			t.countVector(l.Turn.Messages[i].Vector)
		}
	case l.Fact != nil:
		t.Facts++
		t.countVector(l.Fact.Vector)
	case l.Document != nil:
		t.Documents++
	}
}

func (t *Trailer) countVector(v []byte) {
	if len(v) > 0 {
		t.Vectors++
	}
}

// Reader reads the file of one user.
type Reader struct {
	in      *bufio.Reader
	hash    hash.Hash
	decoder *Decoder
	long    []byte // a line that is longer than the buffer
	line    int64
	last    int // bytes of it
	vectors bool
	seen    Trailer
}

// NewReader checks the header. Its errors, and those of Next, are memory.Errors that name line and field.
func NewReader(in io.Reader, life Life) (*Reader, error) {
	r := &Reader{in: bufio.NewReaderSize(in, 64<<10), hash: sha256.New(), decoder: NewDecoder(life)}
	line, err := r.next()
	if err != nil {
		return nil, err
	}
	h := line.Header
	switch {
	case h == nil || h.Format != Format:
		return nil, memory.InvalidField("lines[1].header.format", "is not %s: this is no file that ExportUser wrote", Format)
	case h.Version != Version && h.Version != VectorsVersion:
		return nil, memory.InvalidField("lines[1].header.version", "is %d, and this server reads %d and %d: import it with the version that wrote it",
			h.Version, Version, VectorsVersion)
	case h.Vectors != (h.Version == VectorsVersion):
		return nil, memory.InvalidField("lines[1].header.vectors", "must be %t: only version %d holds vectors", h.Version == VectorsVersion, VectorsVersion)
	}
	r.vectors = h.Vectors
	return r, nil
}

// Begin reads the user, who must come first, and what made the vectors of a file that holds some.
func (r *Reader) Begin() error {
	if err := r.begin(); err != nil || !r.vectors {
		return err
	}
	return r.begin()
}

func (r *Reader) begin() error {
	line, err := r.next()
	if err != nil {
		return err
	}
	if r.decoder.user != nil && line.Embedding == nil {
		return memory.InvalidField(fmt.Sprintf("lines[%d]", r.line), "must be the embedding: the header says that the file holds vectors")
	}
	if _, err := r.decoder.Record(line); err != nil {
		return r.at(err)
	}
	return nil
}

// Embedding is what made the vectors of the file, once Begin has read it: its Model and Dimension; the zero one for a file without.
func (r *Reader) Embedding() memory.Embedding {
	if e := r.decoder.embedding; e != nil {
		return memory.Embedding{Model: e.Model, Dimension: e.Dimension}
	}
	return memory.Embedding{}
}

// Vectors are those of the record that Next returned last.
func (r *Reader) Vectors() RecordVectors { return r.decoder.vectors }

// User is the user as it shall be, once Begin has read it.
func (r *Reader) User() *store.UserRecord { return r.decoder.User() }

// Into has all that follows be of another life of the user than the one given to NewReader, under the ids. It must be called after
// Begin and before Next.
func (r *Reader) Into(scope memory.ScopeKey, ids IDs) {
	r.decoder.life.Scope, r.decoder.life.IDs = scope, ids
	r.decoder.user.Scope = scope
}

// LastBytes is how long the line of the last record was.
func (r *Reader) LastBytes() int { return r.last }

// Counts are what was read so far.
func (r *Reader) Counts() Trailer { return r.seen }

// Next returns the next record but the user's own; io.EOF once the trailer has come and agrees with all that was read.
func (r *Reader) Next() (store.Record, error) {
	sum := hex.EncodeToString(r.hash.Sum(nil))
	line, err := r.next()
	if err != nil {
		return store.Record{}, err
	}
	if line.Trailer != nil {
		return store.Record{}, r.finish(*line.Trailer, sum)
	}
	if line.Embedding != nil {
		return store.Record{}, memory.InvalidField(fmt.Sprintf("lines[%d].embedding", r.line),
			"must be the third line of a file whose header says that it holds vectors, and come once")
	}
	record, err := r.decoder.Record(line)
	if err != nil {
		return store.Record{}, r.at(err)
	}
	r.seen.count(line)
	return record, nil
}

func (r *Reader) finish(t Trailer, sum string) error {
	r.seen.Lines, r.seen.SHA256 = r.line-1, sum
	if t != r.seen {
		return memory.InvalidField(fmt.Sprintf("lines[%d].trailer", r.line), "does not fit the lines before it: the file is damaged; nothing was imported")
	}
	if err := r.decoder.Finish(); err != nil {
		return r.at(err)
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return memory.InvalidField(fmt.Sprintf("lines[%d]", r.line+1), "comes after the trailer, which must be the last line")
	}
	return io.EOF
}

// at adds the line to a field's path.
func (r *Reader) at(err error) error {
	e, ok := errors.AsType[*memory.Error](err)
	if !ok || len(e.Fields) == 0 {
		return err
	}
	return memory.InvalidField(fmt.Sprintf("lines[%d].%s", r.line, e.Fields[0].Field), "%s", e.Fields[0].Description)
}

func (r *Reader) next() (Line, error) {
	r.line++
	var line Line
	raw, err := r.raw()
	if err != nil {
		return line, err
	}
	r.last = len(raw)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&line); err != nil {
		return line, memory.InvalidField(fmt.Sprintf("lines[%d]", r.line), "%s", reasonOf(err))
	}
	if n := line.members(); n != 1 {
		return line, memory.InvalidField(fmt.Sprintf("lines[%d]", r.line), "has %d members; it must have one, whose name is the kind of the line", n)
	}
	if d.InputOffset() != int64(len(raw))-1 {
		return line, memory.InvalidField(fmt.Sprintf("lines[%d]", r.line), "holds more than one object: leave each on a line of its own")
	}
	return line, nil
}

// members is how many fields are set.
func (l *Line) members() (n int) {
	for _, set := range []bool{
		l.Header != nil, l.User != nil, l.Embedding != nil, l.Session != nil, l.Turn != nil, l.Edits != nil, l.Summary != nil, l.Job != nil,
		l.Fact != nil, l.ForgottenFact != nil, l.RefusedOperation != nil, l.Document != nil, l.DeletedDocument != nil,
		l.Trailer != nil,
	} {
		if set {
			n++
		}
	}
	return n
}

// raw reads a line with its end.
func (r *Reader) raw() ([]byte, error) {
	r.long = r.long[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		switch {
		case err == nil && len(r.long) == 0:
			_, _ = r.hash.Write(part) // never fails
			return part, nil
		case err == nil:
			r.long = append(r.long, part...)
			_, _ = r.hash.Write(r.long)
			return r.long, nil
		case errors.Is(err, io.EOF):
			return nil, memory.InvalidField(fmt.Sprintf("lines[%d]", r.line), "is cut or missing: the file has no trailer; export it again")
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		if len(r.long)+len(part) > MaxLine {
			return nil, memory.InvalidField(fmt.Sprintf("lines[%d]", r.line), "is longer than %d bytes", MaxLine)
		}
		r.long = append(r.long, part...)
	}
}

// reasonOf is what is wrong with a line, without its content.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s must be of type %s", e.Field, e.Type)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("is no JSON at byte %d", e.Offset)
	}
	const unknown = "json: unknown field "
	if text := err.Error(); len(text) > len(unknown) && text[:len(unknown)] == unknown {
		return fmt.Sprintf("has the field %.80s, which version %d of the format does not know", text[len(unknown):], VectorsVersion)
	}
	return "is no line of the format"
}
