package httpapi

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// TestRepliesAreWrittenAsProtojsonDoes holds the bytes of every type of the API against protojson's, whose random spaces are taken out.
func TestRepliesAreWrittenAsProtojsonDoes(t *testing.T) {
	c := newCodec()
	draw := filling{rand.New(rand.NewPCG(1, 2))} //nolint:gosec // of messages
	types, own := 0, 0
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		if mt.Descriptor().ParentFile().Package() != "memory.v1" {
			return true
		}
		types++
		for range 200 {
			m := mt.New()
			draw.fill(m, 4)
			want, wantErr := c.JSONCodec.MarshalAppend(nil, m.Interface())
			r := replyOf(t, m.Interface())
			got, err := c.MarshalAppend([]byte(`before`), r)
			if (err != nil) != (wantErr != nil) {
				t.Fatalf("%s: the error is %v, of protojson %v", mt.Descriptor().FullName(), err, wantErr)
			}
			if err != nil {
				continue
			}
			if got, want := compact(t, got[len("before"):]), compact(t, want); !bytes.Equal(got, want) {
				t.Fatalf("%s: protojson writes\n%s\nand this\n%s", mt.Descriptor().FullName(), want, got)
			}
			if w := c.writers.of(mt.Descriptor()); w != nil {
				if _, ok := w.append(nil, r.bytes); ok {
					own++
				}
			}
		}
		return true
	})
	if types < 150 || own < types*150 {
		t.Errorf("of %d types, of 200 messages each, only %d were written without protojson", types, own)
	}
}

// replyOf is a message as the translation has it.
func replyOf(t testing.TB, m proto.Message) *reply {
	t.Helper()
	wire, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	r := replyType{m.ProtoReflect().Type()}.New().Interface().(*reply)
	if err := (protoCodec{}).Unmarshal(wire, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTheOrderOfFieldsIsThatOfTheirDeclaration holds that bytes in another order, and fields that come twice, are written as protojson does.
func TestTheOrderOfFieldsIsThatOfTheirDeclaration(t *testing.T) {
	c := newCodec()
	one, two := &memoryv1.Message{Id: "m1", Seq: 7}, &memoryv1.Message{Id: "m2", Name: "Mia"}
	for _, order := range [][]proto.Message{{one, two}, {two, one}} {
		r := replyOf(t, order[0])
		r.bytes = append(r.bytes, replyOf(t, order[1]).bytes...)
		decoded, err := r.decoded()
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.JSONCodec.MarshalAppend(nil, decoded)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.MarshalAppend(nil, r)
		if err != nil || !bytes.Equal(compact(t, got), compact(t, want)) {
			t.Errorf("%v: protojson writes\n%s\nand this\n%s", err, want, got)
		}
	}
}

func compact(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out.Bytes()
}

// filling fills messages with what is hard to write.
type filling struct{ *rand.Rand }

func (d filling) fill(m protoreflect.Message, depth int) {
	if t, ok := m.Interface().(*timestamppb.Timestamp); ok {
		proto.Merge(t, oneOf(d, times()))
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if d.IntN(3) == 0 || fd.Message() != nil && depth == 0 {
			continue
		}
		switch {
		case fd.IsMap():
			d.one(fd.MapValue(), depth, m.Mutable(fd).Map().NewValue, func(v protoreflect.Value) {
				m.Mutable(fd).Map().Set(protoreflect.ValueOfString(oneOf(d, words())).MapKey(), v)
			})
		case fd.IsList():
			for range d.IntN(3) {
				d.one(fd, depth, m.Mutable(fd).List().NewElement, m.Mutable(fd).List().Append)
			}
		default:
			d.one(fd, depth, func() protoreflect.Value { return m.NewField(fd) }, func(v protoreflect.Value) { m.Set(fd, v) })
		}
	}
}

func (d filling) one(fd protoreflect.FieldDescriptor, depth int, empty func() protoreflect.Value, set func(protoreflect.Value)) {
	switch fd.Kind() {
	case protoreflect.MessageKind:
		v := empty()
		d.fill(v.Message(), depth-1)
		set(v)
	case protoreflect.StringKind:
		set(protoreflect.ValueOfString(oneOf(d, words())))
	case protoreflect.BytesKind:
		set(protoreflect.ValueOfBytes([]byte(oneOf(d, words()))))
	case protoreflect.BoolKind:
		set(protoreflect.ValueOfBool(d.IntN(2) == 0))
	case protoreflect.Int32Kind:
		set(protoreflect.ValueOfInt32(oneOf(d, []int32{0, 1, -1, math.MaxInt32, math.MinInt32})))
	case protoreflect.Int64Kind:
		set(protoreflect.ValueOfInt64(oneOf(d, []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 53})))
	case protoreflect.DoubleKind:
		set(protoreflect.ValueOfFloat64(oneOf(d, numbers())))
	case protoreflect.EnumKind:
		set(protoreflect.ValueOfEnum(oneOf(d, []protoreflect.EnumNumber{0, 1, 2, 3, 99})))
	default:
		panic("a kind that the API has not had: " + fd.FullName())
	}
}

func oneOf[T any](d filling, all []T) T { return all[d.IntN(len(all))] }

func words() []string {
	return []string{
		"", "word", "two words", `"quoted" \ and / <b>&amp;</b>`, "\x00\x01\x1f\x20\x7f", "\b\f\n\r\t", "日本語 한국어 中文 ñ", "\u2028\u2029\ufffd",
		"👩‍👩‍👧 e\u0301", "[brackets, and: colons]", "null",
	}
}

func numbers() []float64 {
	return []float64{
		0, math.Copysign(0, -1), 1, -1.5, .1, 1e-6, 9.99e-7, 1e21, 1e20, 123456789.123456789, math.MaxFloat64, math.SmallestNonzeroFloat64,
		math.NaN(), math.Inf(1), math.Inf(-1), 1.0 / 3,
	}
}

func times() []*timestamppb.Timestamp {
	return []*timestamppb.Timestamp{
		{},
		{Seconds: 1_700_000_000},
		{Seconds: 1_700_000_000, Nanos: 1},
		{Seconds: 1_700_000_000, Nanos: 120_000_000},
		{Seconds: 1_700_000_000, Nanos: 123_456_000},
		{Seconds: 1_700_000_000, Nanos: 1000},
		{Seconds: -62135596800},
		{Seconds: 253402300799, Nanos: 999_999_999},
		{Seconds: -1, Nanos: 5_000_000},
	}
}

// TestWhatCannotBeWrittenIsAnError holds that a message that is no JSON is refused as protojson refuses it.
func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	c := newCodec()
	for _, m := range []proto.Message{
		&memoryv1.Message{CreateTime: &timestamppb.Timestamp{Nanos: -1}},
		&memoryv1.RecordRequest{Messages: []*memoryv1.Message{{CreateTime: &timestamppb.Timestamp{Seconds: 1 << 60}}}},
	} {
		_, want := c.JSONCodec.MarshalAppend(nil, m)
		if _, err := c.MarshalAppend(nil, replyOf(t, m)); err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("the error is %v, of protojson %v", err, want)
		}
	}
	broken := replyOf(t, &memoryv1.Message{Id: "id"})
	for cut := range len(broken.bytes) {
		r := &reply{Message: broken.Message, bytes: broken.bytes[:cut]}
		if _, err := c.MarshalAppend(nil, r); (err == nil) != (cut == 0) {
			t.Errorf("of %d bytes the error is %v", cut, err)
		}
	}
	if _, err := c.MarshalAppend(nil, &reply{Message: broken.Message, bytes: []byte("\x0a\x01\xff")}); err == nil {
		t.Error("words that are no UTF-8 were written")
	}
}

// BenchmarkReplies prints how long a reply of 200 messages takes to be written, beside protojson.
func BenchmarkReplies(b *testing.B) {
	c := newCodec()
	messages := &memoryv1.ListMessagesResponse{}
	for range 200 {
		messages.Messages = append(messages.Messages, &memoryv1.Message{
			Id: "01900000-0000-7000-8000-000000000000", Seq: 12, Role: memoryv1.Role_ROLE_USER, CreateTime: times()[1], RecordTime: times()[2],
			Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: "On day 12 I walked 3 km along the river and met Mia at the harbour."}}}},
		})
	}
	r := replyOf(b, messages)
	for _, way := range []struct {
		name  string
		write func([]byte) ([]byte, error)
	}{
		{"protojson", func(out []byte) ([]byte, error) {
			m, err := r.decoded()
			if err != nil {
				return nil, err
			}
			return c.JSONCodec.MarshalAppend(out, m)
		}},
		{"here", func(out []byte) ([]byte, error) { return c.MarshalAppend(out, r) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			var out []byte
			for b.Loop() {
				var err error
				if out, err = way.write(out[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
