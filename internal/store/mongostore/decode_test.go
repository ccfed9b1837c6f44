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

// reflected is a message as the driver decodes it.
type reflected messageDoc

// TestAMessageIsDecodedAsTheDriverDoes: every field, set and not, so that a new one cannot be forgotten.
func TestAMessageIsDecodedAsTheDriverDoes(t *testing.T) {
	full := reflected{
		ID: "m", BodyHash: []byte{1, 2}, Seq: 1 << 40, Role: memory.RoleUser, Origin: memory.OriginRecalled, Extract: 1, Pinned: true,
		Hidden: true, Deleted: true, Freed: true, FirstHash: []byte{3}, CreateTime: 4, RecordTime: 5, O200K: 6, CL100K: 7, Name: "Ada", Text: "Tea, bitte. 차",
		Parts: `[{"text":"x"}]`, Tags: []string{"a", ""}, Metadata: `{"a":1}`, Original: &originalDoc{Format: "f", Data: []byte("d")},
	}
	messages := []reflected{full, {}, {Text: "only text", Seq: 2}}
	for i := range reflect.TypeFor[reflected]().NumField() {
		if reflect.ValueOf(full).Field(i).IsZero() {
			t.Errorf("the test does not set %s", reflect.TypeFor[reflected]().Field(i).Name)
		}
		var one reflected
		reflect.ValueOf(&one).Elem().Field(i).Set(reflect.ValueOf(full).Field(i))
		messages = append(messages, one)
	}
	data, err := bson.Marshal(eq("turn", 3, "messages", messages))
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Messages []reflected }
	var got turnDoc
	if err := bson.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if err := bson.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for i := range want.Messages {
		if diff := cmp.Diff(want.Messages[i], reflected(got.Messages[i])); diff != "" {
			t.Errorf("message %d: %s", i, diff)
		}
	}
}

func TestADamagedMessageIsRefused(t *testing.T) {
	sound, err := bson.Marshal(messageDoc{ID: "m", Text: "tea", Tags: []string{"a"}, Original: &originalDoc{}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range sound {
		if err := new(messageDoc).UnmarshalBSON(sound[:n]); err == nil {
			t.Errorf("%d of %d bytes are decoded", n, len(sound))
		}
	}
	for _, wrong := range []bson.D{
		eq("id", 1), eq("body_hash", "x"), eq("seq", "x"), eq("pinned", 1), eq("text", true), eq("tags", "x"),
		eq("tags", bson.A{1}), eq("original", "x"),
	} {
		data, err := bson.Marshal(wrong)
		if err != nil {
			t.Fatal(err)
		}
		if err := new(messageDoc).UnmarshalBSON(data); err == nil {
			t.Errorf("%v is decoded", wrong)
		}
	}
}

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
			var to struct{ Messages []reflected }
			if err := bson.NewDecoder(bson.NewDocumentReader(bytes.NewReader(data))).Decode(&to); err != nil {
				b.Fatal(err)
			}
		}
	})
}
