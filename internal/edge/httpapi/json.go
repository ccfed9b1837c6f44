package httpapi

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"connectrpc.com/vanguard"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Replies become JSON straight from the bytes that the gRPC server wrote: decoded into messages first, and written by protojson, which
// looks up each field of each message by reflection, translating a context takes a quarter of the time of making it.

// reply is a response that is kept as bytes until somebody needs its fields.
type reply struct {
	protoreflect.Message // an empty one of its type
	bytes                []byte
}

// ProtoReflect implements proto.Message.
func (r *reply) ProtoReflect() protoreflect.Message { return r }

// Interface implements protoreflect.Message.
func (r *reply) Interface() proto.Message { return r }

// decoded returns the response as a message.
func (r *reply) decoded() (proto.Message, error) {
	m := r.Message.Type().New().Interface()
	return m, proto.Unmarshal(r.bytes, m)
}

// replyTypes are the types of all messages; those of responses make a reply.
type replyTypes struct{ vanguard.TypeResolver }

// FindMessageByName implements vanguard.TypeResolver.
func (t replyTypes) FindMessageByName(name protoreflect.FullName) (protoreflect.MessageType, error) {
	found, err := t.TypeResolver.FindMessageByName(name)
	if err != nil || !strings.HasSuffix(string(name), "Response") {
		return found, err
	}
	return replyType{found}, nil
}

type replyType struct{ protoreflect.MessageType }

// New implements protoreflect.MessageType.
func (t replyType) New() protoreflect.Message { return &reply{Message: t.MessageType.New()} }

// protoCodec reads and writes what gRPC does. It leaves replies as they are.
type protoCodec struct{ *vanguard.ProtoCodec }

// Unmarshal implements vanguard.Codec.
func (c protoCodec) Unmarshal(data []byte, m proto.Message) error {
	if r, ok := m.(*reply); ok {
		r.bytes = append(r.bytes[:0], data...) // the caller uses data again
		return nil
	}
	return c.ProtoCodec.Unmarshal(data, m)
}

// MarshalAppend implements vanguard.Codec.
func (c protoCodec) MarshalAppend(base []byte, m proto.Message) ([]byte, error) {
	if r, ok := m.(*reply); ok {
		return append(base, r.bytes...), nil
	}
	return c.ProtoCodec.MarshalAppend(base, m)
}

// codec reads and writes JSON as protojson does.
type codec struct {
	vanguard.JSONCodec
	writers *jsonWriters
}

func newCodec() codec {
	c := vanguard.JSONCodec{MarshalOptions: protojson.MarshalOptions{UseProtoNames: true}}
	return codec{c, &jsonWriters{otherwise: c.MarshalAppend, known: map[protoreflect.FullName]*jsonWriter{}}}
}

// Unmarshal implements vanguard.Codec.
func (c codec) Unmarshal(data []byte, m proto.Message) error {
	return invalid(c.JSONCodec.Unmarshal(data, m), m.ProtoReflect().Descriptor())
}

// MarshalAppend implements vanguard.Codec. The bytes of a reply are those of protojson, but for the spaces that it adds at random.
func (c codec) MarshalAppend(base []byte, m proto.Message) ([]byte, error) {
	r, ok := m.(*reply)
	if !ok {
		return c.JSONCodec.MarshalAppend(base, m)
	}
	if w := c.writers.of(r.Descriptor()); w != nil {
		if out, ok := w.append(base, r.bytes); ok {
			return out, nil
		}
	}
	decoded, err := r.decoded()
	if err != nil {
		return nil, err
	}
	return c.JSONCodec.MarshalAppend(base, decoded) // which also says what is wrong with a message that is no JSON
}

// jsonWriters are those of the types of replies that were written.
type jsonWriters struct {
	otherwise func([]byte, proto.Message) ([]byte, error) // writes a message that is not plain

	mu    sync.Mutex
	known map[protoreflect.FullName]*jsonWriter // nil for a type that is not plain
}

// of returns what writes messages of a type; nil where only protojson can.
func (all *jsonWriters) of(m protoreflect.MessageDescriptor) *jsonWriter {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.make(m)
}

func (all *jsonWriters) make(m protoreflect.MessageDescriptor) *jsonWriter {
	if w, ok := all.known[m.FullName()]; ok {
		return w
	}
	if !isPlain(m) {
		all.known[m.FullName()] = nil
		return nil
	}
	w := &jsonWriter{}
	all.known[m.FullName()] = w // before its fields, whose types may hold it again
	for i := range m.Fields().Len() {
		fd := m.Fields().Get(i)
		f := &jsonField{
			index: i, name: `"` + fd.TextName() + `":`, kind: fd.Kind(), list: fd.IsList(), packed: fd.IsPacked(), enum: fd.Enum(),
			otherwise: all.otherwise,
		}
		if of := fd.Message(); of != nil {
			f.message = all.make(of)
			f.isTime = of.FullName() == "google.protobuf.Timestamp"
			f.empty = func() proto.Message { return nil }
			if t, err := protoregistry.GlobalTypes.FindMessageByName(of.FullName()); err == nil {
				f.empty = func() proto.Message { return t.New().Interface() }
			}
		}
		w.fields[fd.Number()] = f
	}
	return w
}

// mostFields bounds the numbers of a plain message's fields.
const mostFields = 64

// isPlain reports whether messages of a type are an object with a member for each field that is set.
func isPlain(m protoreflect.MessageDescriptor) bool {
	if m.ParentFile().Package() == "google.protobuf" || m.ExtensionRanges().Len() > 0 || m.RequiredNumbers().Len() > 0 {
		return false
	}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if f.IsMap() || f.Number() >= mostFields || f.Enum() != nil && f.Enum().ParentFile().Package() == "google.protobuf" {
			return false
		}
	}
	return true
}

// jsonWriter writes messages of one type.
type jsonWriter struct {
	fields [mostFields]*jsonField // by number
}

// jsonField is how a field is written.
type jsonField struct {
	index        int    // of the field as declared, which is the order of JSON
	name         string // quoted, with a colon
	kind         protoreflect.Kind
	list, packed bool
	enum         protoreflect.EnumDescriptor
	isTime       bool
	message      *jsonWriter // nil for what is no message, or none that is plain
	empty        func() proto.Message
	otherwise    func([]byte, proto.Message) ([]byte, error)
}

// append writes a message. ok is false where protojson must, since a value is rare or wrong, or fields do not come in the order in
// which they are declared; out is of no use then.
func (w *jsonWriter) append(out, message []byte) (_ []byte, ok bool) {
	out = append(out, '{')
	var last *jsonField // whose list may go on
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 || number >= mostFields || w.fields[number] == nil {
			return out, false
		}
		f := w.fields[number]
		value := message[n:]
		n = protowire.ConsumeFieldValue(number, kind, value)
		if n < 0 {
			return out, false
		}
		message = value[n:]
		out, ok = f.begin(out, last)
		if !ok {
			return out, false
		}
		last = f
		if out, ok = f.append(out, kind, value[:n]); !ok {
			return out, false
		}
	}
	return append(last.end(out), '}'), true
}

// begin writes what stands before a value of the field, which comes after one of last.
func (f *jsonField) begin(out []byte, last *jsonField) (_ []byte, ok bool) {
	if last == f {
		return append(out, ','), f.list && !f.packed
	}
	if last != nil {
		if last.index > f.index {
			return out, false
		}
		out = append(last.end(out), ',')
	}
	out = append(out, f.name...)
	if f.list {
		out = append(out, '[')
	}
	return out, true
}

// end writes what stands after the field's last value. The field is nil in a message that has none.
func (f *jsonField) end(out []byte) []byte {
	if f != nil && f.list {
		return append(out, ']')
	}
	return out
}

// append writes a value of the field, or all of a packed list.
func (f *jsonField) append(out []byte, kind protowire.Type, value []byte) (_ []byte, ok bool) {
	switch kind {
	case protowire.VarintType:
		n, _ := protowire.ConsumeVarint(value)
		return f.appendVarint(out, n)
	case protowire.Fixed64Type:
		n, _ := protowire.ConsumeFixed64(value)
		return f.appendDouble(out, n)
	case protowire.BytesType:
		b, _ := protowire.ConsumeBytes(value)
		switch {
		case f.packed:
			return f.appendPacked(out, b)
		case f.kind == protoreflect.StringKind:
			return appendString(out, b)
		case f.kind == protoreflect.MessageKind:
			return f.appendMessage(out, b)
		}
	}
	return out, false
}

func (f *jsonField) appendPacked(out, values []byte) (_ []byte, ok bool) {
	for first := true; len(values) > 0; first = false {
		n, size := protowire.ConsumeVarint(values)
		if size < 0 {
			return out, false
		}
		if !first {
			out = append(out, ',')
		}
		if out, ok = f.appendVarint(out, n); !ok {
			return out, false
		}
		values = values[size:]
	}
	return out, true
}

func (f *jsonField) appendVarint(out []byte, n uint64) (_ []byte, ok bool) {
	switch f.kind {
	case protoreflect.BoolKind:
		return strconv.AppendBool(out, protowire.DecodeBool(n)), true
	case protoreflect.Int32Kind:
		return strconv.AppendInt(out, int64(int32(n)), 10), true //nolint:gosec // as it was written
	case protoreflect.Int64Kind: // as a string, for JSON's numbers have 53 bits
		return append(strconv.AppendInt(append(out, '"'), int64(n), 10), '"'), true //nolint:gosec // as it was written
	case protoreflect.EnumKind:
		number := protoreflect.EnumNumber(int32(n)) //nolint:gosec // as it was written
		if v := f.enum.Values().ByNumber(number); v != nil {
			return append(append(append(out, '"'), v.Name()...), '"'), true
		}
		return strconv.AppendInt(out, int64(number), 10), true
	}
	return out, false
}

func (f *jsonField) appendDouble(out []byte, bits uint64) (_ []byte, ok bool) {
	n := math.Float64frombits(bits)
	size := math.Abs(n)
	if f.kind != protoreflect.DoubleKind || f.packed || math.IsNaN(n) || size != 0 && size < 1e-6 || size >= 1e21 {
		return out, false // in words, or with an exponent: rare
	}
	return strconv.AppendFloat(out, n, 'f', -1, 64), true
}

func (f *jsonField) appendMessage(out, message []byte) (_ []byte, ok bool) {
	switch {
	case f.message != nil:
		return f.message.append(out, message)
	case f.isTime:
		t := &timestamppb.Timestamp{}
		if err := proto.Unmarshal(message, t); err != nil {
			return out, false
		}
		return appendTime(out, t)
	}
	m := f.empty()
	if m == nil || proto.Unmarshal(message, m) != nil {
		return out, false
	}
	text, err := f.otherwise(nil, m)
	return append(out, text...), err == nil
}

// appendTime writes a time with 0, 3, 6 or 9 digits after its seconds.
func appendTime(out []byte, t *timestamppb.Timestamp) (_ []byte, ok bool) {
	if !t.IsValid() {
		return out, false
	}
	out = t.AsTime().AppendFormat(append(out, '"'), time.RFC3339)
	nanos := t.GetNanos()
	if nanos == 0 {
		return append(out, '"'), true
	}
	digits := 9
	for ; nanos%1000 == 0; nanos /= 1000 {
		digits -= 3
	}
	out = append(out[:len(out)-len("Z")], '.')
	for unit := int32(math.Pow10(digits - 1)); unit > 0; unit /= 10 {
		out = append(out, '0'+byte(nanos/unit%10)) //nolint:gosec // a digit
	}
	return append(out, 'Z', '"'), true
}

func appendString(out, s []byte) (_ []byte, ok bool) {
	if !utf8.Valid(s) {
		return out, false
	}
	out = append(out, '"')
	from := 0
	for i, c := range s {
		if c < ' ' || c == '"' || c == '\\' {
			out = appendEscaped(append(out, s[from:i]...), c)
			from = i + 1
		}
	}
	return append(append(out, s[from:]...), '"'), true
}

func appendEscaped(out []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\b':
		return append(out, '\\', 'b')
	case '\f':
		return append(out, '\\', 'f')
	case '\n':
		return append(out, '\\', 'n')
	case '\r':
		return append(out, '\\', 'r')
	case '\t':
		return append(out, '\\', 't')
	}
	return append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
