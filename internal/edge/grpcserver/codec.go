package grpcserver

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stratamem/strata/internal/memory"
)

// codec decodes requests as gRPC's own codec does, but turns what that cannot decode into an answer that names the
// field. gRPC would answer INTERNAL before any interceptor runs.
//
// It is also where the memory of large messages is accounted for: of a request before it is decoded, of a reply until the
// transport has sent it.
type codec struct {
	encoding.CodecV2
	admitted *admitted
}

func newCodec(a *admitted) codec { return codec{encoding.GetCodecV2(grpcproto.Name), a} }

// Unmarshal never fails on a bad request: it leaves a fault in the message's unknown fields for withWellFormed.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if data.Len() >= smallBytes {
		if err := c.admitted.request(m, data); err != nil {
			return nil //nolint:nilerr // withRequests returns it to the caller
		}
	}
	err := c.CodecV2.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	fault := memory.FieldError{Field: "request", Description: "is not a valid protobuf message of this type"}
	if path, found := invalidUTF8(data.Materialize(), m.ProtoReflect().Descriptor(), place{}); found {
		fault = memory.FieldError{Field: path, Description: "is not valid UTF-8; send text as UTF-8, bytes in a blob"}
	}
	leaveFault(m, fault)
	return nil
}

// Marshal encodes a reply into memory that counts as held until the transport gives it back: a client that does not read
// leaves it there.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	out, ok := c.admitted.outgoing(v)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	m := v.(proto.Message) //nolint:forcetypeassert // only messages are outgoing
	size := proto.Size(m)
	buffer := mem.DefaultBufferPool().Get(size)
	encoded, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend((*buffer)[:0], m)
	if err != nil {
		mem.DefaultBufferPool().Put(buffer)
		out.release()
		return nil, fmt.Errorf("encode reply: %w", err)
	}
	*buffer = encoded
	return mem.BufferSlice{mem.NewBuffer(buffer, sentBuffer{mem.DefaultBufferPool(), out.by.sending(int64(size), out.release)})}, nil
}

// sentBuffer is a pool of one buffer, which is put back when the transport has sent what is in it.
type sentBuffer struct {
	mem.BufferPool
	sent func()
}

func (p sentBuffer) Put(b *[]byte) {
	p.sent()
	p.BufferPool.Put(b)
}

// faultField is a field number that no message of the API uses. A client that sends it itself is refused.
const faultField = protowire.Number(536870911)

// unreadable is what is wrong with a request of which gRPC cannot make a message.
func unreadable() memory.FieldError {
	return memory.FieldError{
		Field: "request", Description: "did not come whole, is not one message, or is not framed or compressed as its headers say",
	}
}

// isUnreadable reports whether an error of gRPC says that what was received is no message: that is the client's fault, which gRPC calls
// INTERNAL.
func isUnreadable(err error) bool { return status.Code(err) == codes.Internal }

// leaveFault has a message say what is wrong with the request, and nothing else.
func leaveFault(m proto.Message, fault memory.FieldError) {
	proto.Reset(m)
	m.ProtoReflect().
		SetUnknown(protowire.AppendString(protowire.AppendTag(nil, faultField, protowire.BytesType), fault.Field+"\x00"+fault.Description))
}

// DecodeFault returns the fault that the codec left.
func DecodeFault(m proto.Message) (memory.FieldError, bool) {
	for b := []byte(m.ProtoReflect().GetUnknown()); len(b) > 0; {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return memory.FieldError{}, false
		}
		if num == faultField && typ == protowire.BytesType {
			text, _ := protowire.ConsumeString(b[n:])
			return splitFault(text), true
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return memory.FieldError{}, false
		}
		b = b[n+size:]
	}
	return memory.FieldError{}, false
}

func splitFault(text string) memory.FieldError {
	for i := range len(text) {
		if text[i] == 0 {
			return memory.FieldError{Field: text[:i], Description: text[i+1:]}
		}
	}
	return memory.FieldError{Field: "request", Description: "holds a field that is reserved"}
}

// place is where the walk is; depth bounds it, since a hostile request can nest as deep as it is long.
type place struct {
	path  string
	depth int
}

const maxWalkDepth = 64

// invalidUTF8 walks an encoded message for the first string that is not UTF-8 and returns its path.
func invalidUTF8(b []byte, desc protoreflect.MessageDescriptor, at place) (string, bool) {
	if at.depth > maxWalkDepth {
		return "", false
	}
	seen := map[protowire.Number]int{}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return "", false
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return "", false
		}
		field := desc.Fields().ByNumber(num)
		if field != nil && typ == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(b[n:])
			if bad, found := invalidField(value, field, at.into(field, seen[num])); found {
				return bad, true
			}
		}
		seen[num]++
		b = b[n+size:]
	}
	return "", false
}

func invalidField(value []byte, field protoreflect.FieldDescriptor, at place) (string, bool) {
	switch field.Kind() {
	case protoreflect.StringKind:
		return at.path, !utf8.Valid(value)
	case protoreflect.MessageKind:
		return invalidUTF8(value, field.Message(), at)
	default:
		return "", false
	}
}

func (p place) into(field protoreflect.FieldDescriptor, index int) place {
	name := string(field.Name())
	if field.IsList() {
		name = fmt.Sprintf("%s[%d]", name, index)
	}
	if p.path != "" {
		name = p.path + "." + name
	}
	return place{path: name, depth: p.depth + 1}
}
