package mongostore

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/memory"
)

// decodedHere has every document that is decoded without reflection.
var decodedHere = []bson.Unmarshaler{
	&userDoc{}, &userFeeds{}, &feedDoc{}, &sessionDoc{}, &turnDoc{}, &messageDoc{}, &nodeDoc{}, &manifestDoc{}, &segmentEntry{},
	&factDoc{}, &factState{}, &evidenceDoc{},
}

// reflected is the type of a document without its methods, so that the driver decodes it by reflection.
func reflected(of bson.Unmarshaler) reflect.Type {
	named := reflect.TypeOf(of).Elem()
	fields := make([]reflect.StructField, named.NumField())
	for i := range fields {
		fields[i] = named.Field(i)
	}
	return reflect.StructOf(fields)
}

// filled is a value of the type in which nothing is zero.
func filled(t *testing.T, of reflect.Type) reflect.Value {
	v := reflect.New(of).Elem()
	if of == reflect.TypeFor[bson.Raw]() {
		raw, err := bson.Marshal(eq("n", 1))
		if err != nil {
			t.Fatal(err)
		}
		return reflect.ValueOf(bson.Raw(raw))
	}
	switch of.Kind() {
	case reflect.String:
		v.SetString("Tea, bitte. 차")
	case reflect.Int, reflect.Int64:
		v.SetInt(1 << 40)
	case reflect.Uint8:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
		v.Elem().Set(filled(t, of.Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(of, 2, 2))
		v.Index(0).Set(filled(t, of.Elem()))
	case reflect.Struct:
		for i := range of.NumField() {
			if of.Field(i).Tag.Get("bson") != "-" {
				v.Field(i).Set(filled(t, of.Field(i).Type))
			}
		}
	default:
		t.Fatalf("no value of %s", of)
	}
	return v
}

// stored are documents of a type: with all fields, with none and with each alone, so that a new one cannot be forgotten.
func stored(t *testing.T, of bson.Unmarshaler) (documents []reflect.Value) {
	shape := reflected(of)
	full := filled(t, shape)
	documents = append(documents, full, reflect.New(shape).Elem())
	for i := range shape.NumField() {
		one := reflect.New(shape).Elem()
		one.Field(i).Set(full.Field(i))
		documents = append(documents, one)
	}
	return documents
}

func marshalled(t *testing.T, document any) bson.Raw {
	t.Helper()
	data, err := bson.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDocumentsAreDecodedAsTheDriverDoes(t *testing.T) {
	for _, of := range decodedHere {
		for i, document := range stored(t, of) {
			data := marshalled(t, document.Interface())
			want, got := reflect.New(document.Type()), reflect.New(reflect.TypeOf(of).Elem())
			if err := bson.Unmarshal(data, want.Interface()); err != nil {
				t.Fatal(err)
			}
			if err := decode(data, got.Interface()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Elem().Interface(), got.Elem().Convert(document.Type()).Interface()); diff != "" {
				t.Errorf("%T, document %d: (-want +got)\n%s", of, i, diff)
			}
		}
	}
}

// A manifest without a number, of a user whose view has a checkpoint and who has no segment yet, keeps the first number.
func TestAFieldThatADocumentLacksStaysAsItIs(t *testing.T) {
	m := manifestDoc{NextNo: 7}
	if err := decode(marshalled(t, eq("feed", eq("build", 2), "next_no", nil)), &m); err != nil {
		t.Fatal(err)
	}
	if m.NextNo != 7 || m.Feed.Build != 2 {
		t.Errorf("it is decoded as %+v", m)
	}
}

func TestADamagedDocumentIsRefused(t *testing.T) {
	for _, of := range decodedHere {
		sound := marshalled(t, filled(t, reflected(of)).Interface())
		for n := range sound {
			if err := of.UnmarshalBSON(sound[:n]); err == nil {
				t.Errorf("%d of %d bytes are decoded as %T", n, len(sound), of)
			}
		}
		fields, err := sound.Elements()
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range fields {
			if err := of.UnmarshalBSON(marshalled(t, eq(field.Key(), bson.Regex{Pattern: "x"}))); err == nil {
				t.Errorf("%T: a regular expression is decoded as %s", of, field.Key())
			}
		}
	}
	if err := new(messageDoc).UnmarshalBSON(marshalled(t, eq("tags", bson.A{1}))); err == nil {
		t.Error("a number is decoded as a tag")
	}
}

// BenchmarkDecoding decodes a stored document of each type, here and by the driver's reflection.
func BenchmarkDecoding(b *testing.B) {
	at := int64(1)
	state := factState{
		Change: 1, Revision: 1, Text: "She drinks her tea without milk.", Significance: 5, Confidence: .9, Subject: "user", Attribute: "tea",
		Evidence: []evidenceDoc{{Session: "abcdefghijklmnop", SessionID: "s", Seq: 3, MessageID: "m", Quote: "no milk, please"}}, ValidFrom: &at,
	}
	for _, document := range []bson.Unmarshaler{
		&userDoc{Scope: "abcdefghijklmnop", Tenant: "t", UserID: "alice", Timezone: "Asia/Seoul", Revision: 1},
		&sessionDoc{Key: "abcdefghijklmnop", Scope: "abcdefghijklmnop", Tenant: "t", UserID: "alice", SessionID: "s", LastSeq: 400},
		&nodeDoc{Key: "abcdefghijklmnop/n", Scope: "abcdefghijklmnop", ID: "n", Session: "abcdefghijklmnop", Text: "Of tea.", FromTime: &at},
		&turnDoc{ID: "abcdefghijklmnop/1", Scope: "abcdefghijklmnop", Session: "abcdefghijklmnop", Messages: []messageDoc{{Text: "Tea?"}, {}}},
		&factDoc{Key: "abcdefghijklmnop/f", Scope: "abcdefghijklmnop", ID: "f", Sessions: []string{"s"}, State: state},
	} {
		data, err := bson.Marshal(document)
		if err != nil {
			b.Fatal(err)
		}
		name, shape := reflect.TypeOf(document).Elem().Name(), reflected(document)
		b.Run(name+"/here", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := decode(data, document); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/by the driver", func(b *testing.B) {
			b.ReportAllocs()
			to := reflect.New(shape).Interface()
			for b.Loop() {
				if err := bson.Unmarshal(data, to); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// byReflection is a message as the driver decodes it.
type byReflection messageDoc

func BenchmarkDecodingATurn(b *testing.B) {
	var messages []messageDoc
	for i := range 30 {
		messages = append(messages, messageDoc{
			ID: fmt.Sprintf("message-%d", i), BodyHash: make([]byte, 32), Seq: int64(i), Role: memory.RoleUser, CreateTime: 1, RecordTime: 2,
			O200K: 30, CL100K: 31, Text: "It rained all day, so we stayed in and cooked a stew of lentils and carrots for the whole family.",
		})
	}
	data, err := bson.Marshal(eq("messages", messages))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("here", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var to struct{ Messages []messageDoc }
			if err := bson.Unmarshal(data, &to); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by the driver", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var to struct{ Messages []byReflection }
			if err := bson.NewDecoder(bson.NewDocumentReader(bytes.NewReader(data))).Decode(&to); err != nil {
				b.Fatal(err)
			}
		}
	})
}
