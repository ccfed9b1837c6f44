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

// NewWriter writes the header. program is the version of the program that writes.
func NewWriter(out io.Writer, program string) (*Writer, error) {
	w := &Writer{out: out, hash: sha256.New(), encoder: NewEncoder()}
	w.json = json.NewEncoder(&w.buffer)
	w.json.SetEscapeHTML(false)
	return w, w.line(Line{Header: &Header{Format: Format, Version: Version, Program: program}})
}

// Write writes a record. Records must come in the order of store.Exporter.
func (w *Writer) Write(r store.Record) error {
	line, err := w.encoder.Line(r)
	if err != nil {
		return err
	}
	w.trailer.count(line)
	return w.line(line)
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
	case l.Fact != nil:
		t.Facts++
	case l.Document != nil:
		t.Documents++
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
	case h.Version != Version:
		return nil, memory.InvalidField("lines[1].header.version", "is %d, and this server reads %d: import it with the version that wrote it", h.Version, Version)
	case h.Vectors:
		return nil, memory.InvalidField("lines[1].header.vectors", "must be false: version %d holds no vectors", Version)
	}
	return r, nil
}

// Begin reads the user, who must come first.
func (r *Reader) Begin() error {
	line, err := r.next()
	if err != nil {
		return err
	}
	if _, err := r.decoder.Record(line); err != nil {
		return r.at(err)
	}
	return nil
}

// User is the user as it shall be, once Begin has read it.
func (r *Reader) User() *store.UserRecord { return r.decoder.User() }

// Into has all that follows be of another life of the user than NewReader was told, under the ids. It must be called after Begin and
// before Next.
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
		l.Header != nil, l.User != nil, l.Session != nil, l.Turn != nil, l.Edits != nil, l.Summary != nil, l.Job != nil, l.Fact != nil,
		l.ForgottenFact != nil, l.RefusedOperation != nil, l.Document != nil, l.DeletedDocument != nil, l.Trailer != nil,
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
		return fmt.Sprintf("has the field %.80s, which version %d of the format does not know", text[len(unknown):], Version)
	}
	return "is no line of the format"
}
