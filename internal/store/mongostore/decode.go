package mongostore

import (
	"bytes"
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// The driver's own Decode and All make a reader with a buffer of 4 KiB for each document, and copy each number and text through it
// (driver 2.9): decodeOne, decodeCurrent and decodeAll read the reply's bytes where they are.

// decode decodes a document. Those that contexts read by the hundred implement bson.Unmarshaler, and are called without a copy.
func decode(document bson.Raw, to any) error {
	if own, ok := to.(bson.Unmarshaler); ok {
		return own.UnmarshalBSON(document)
	}
	return bson.Unmarshal(document, to)
}

// decodeOne decodes what a query for one document found; mongo.ErrNoDocuments where it found none.
func decodeOne(found *mongo.SingleResult, to any) error {
	raw, err := found.Raw()
	if err != nil {
		return err
	}
	return decode(raw, to)
}

// decodeCurrent decodes the document that the cursor is at.
func decodeCurrent(cursor *mongo.Cursor, to any) error { return decode(cursor.Current, to) }

// decodeAll decodes every document that the cursor has left, and closes it.
func decodeAll[D any](ctx context.Context, cursor *mongo.Cursor, to *[]D) error {
	defer cursor.Close(ctx) //nolint:errcheck // what was read is whole; the server ends cursors by itself
	*to = make([]D, 0, cursor.RemainingBatchLength())
	for cursor.Next(ctx) {
		*to = append(*to, *new(D))
		if err := decodeCurrent(cursor, &(*to)[len(*to)-1]); err != nil {
			return err
		}
	}
	return cursor.Err()
}

// eachField calls read with the fields of a document that are not null. One that read refuses is an error, whose text names no value.
func eachField(data []byte, what string, read func(name []byte, v bsoncore.Value) (ok bool)) error {
	size, rest, ok := bsoncore.ReadLength(data)
	if !ok || int(size) != len(data) {
		return fmt.Errorf("decode %s: it has another length than it says", what)
	}
	for len(rest) > 1 {
		var field bsoncore.Element
		if field, rest, ok = bsoncore.ReadElement(rest); !ok {
			return fmt.Errorf("decode %s: a field is cut short", what)
		}
		name, err := field.KeyBytesErr()
		if err != nil {
			return fmt.Errorf("decode the name of a field of %s: %w", what, err)
		}
		v, err := field.ValueErr()
		if err != nil {
			return fmt.Errorf("decode %s of %s: %w", name, what, err)
		}
		if v.Type != bsoncore.TypeNull && !read(name, v) {
			return fmt.Errorf("decode %s: %s is of type %s", what, name, v.Type)
		}
	}
	return nil
}

// The functions below read a value into a field; false where it is of another type. What they keep of a value is a copy: it is part of
// the reply.

func readText[T ~string](v bsoncore.Value, to *T) bool {
	text, ok := v.StringValueOK()
	*to = T(text)
	return ok
}

func readBool(v bsoncore.Value, to *bool) (ok bool) {
	*to, ok = v.BooleanOK()
	return ok
}

func readNumber[N ~int | ~int64](v bsoncore.Value, to *N) bool {
	n, ok := v.AsInt64OK()
	*to = N(n)
	return ok
}

func readFraction(v bsoncore.Value, to *float64) (ok bool) {
	*to, ok = v.AsFloat64OK()
	return ok
}

func readBytes(v bsoncore.Value, to *[]byte) bool {
	_, data, ok := v.BinaryOK()
	*to = bytes.Clone(data)
	return ok
}

func readRaw(v bsoncore.Value, to *bson.Raw) bool {
	data, ok := v.DocumentOK()
	*to = bson.Raw(bytes.Clone(data))
	return ok
}

func readDocument(v bsoncore.Value, to any) bool {
	data, ok := v.DocumentOK()
	return ok && decode(bson.Raw(data), to) == nil
}

// readOptional reads what a field points to.
func readOptional[T any](v bsoncore.Value, to **T, read func(v bsoncore.Value, to *T) bool) bool {
	*to = new(T)
	return read(v, *to)
}

// readList reads an array whose elements are read by read; null is the zero one.
func readList[T any](v bsoncore.Value, to *[]T, read func(v bsoncore.Value, to *T) bool) bool {
	list, ok := v.ArrayOK()
	if !ok {
		return false
	}
	values, err := list.Values()
	*to = make([]T, len(values))
	for i := range values {
		ok = ok && (values[i].Type == bsoncore.TypeNull || read(values[i], &(*to)[i]))
	}
	return ok && err == nil
}

func readDocuments[T any](v bsoncore.Value, to *[]T) bool {
	return readList(v, to, func(v bsoncore.Value, to *T) bool { return readDocument(v, to) })
}
