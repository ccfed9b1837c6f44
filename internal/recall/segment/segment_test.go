package segment_test

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/rank"
	"github.com/stratamem/strata/internal/recall/segment"
)

var may8 = time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC)

func doc(session string, seq int, role memory.Role, name, words string) segment.Doc {
	return docAt(session, seq, role, name, words, may8)
}

func docAt(session string, seq int, role memory.Role, name, words string, at time.Time) segment.Doc {
	m := memory.Message{Role: role, Name: name, CreateTime: at}
	if words != "" {
		m.Parts = []memory.Part{memory.TextPart(words)}
	}
	return segment.Analyze(memory.PlacedMessage{Place: memory.Place{Session: memory.SessionKey(session), Seq: int64(seq)}, Message: m})
}

// withChecksum sets the checksum of a segment whose content was changed.
func withChecksum(data []byte) []byte {
	body := data[:len(data)-crc32.Size]
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

func TestSegments(t *testing.T) {
	t.Run("come back as they were, each place once", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			docs := documents().Draw(t, "docs")
			data := segment.Encode(append(rapid.Permutation(docs).Draw(t, "order"), docs...))
			back, err := segment.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(docs, back, cmpopts.EquateEmpty()); diff != "" {
				t.Fatal(diff)
			}
			if string(segment.Encode(docs)) != string(data) {
				t.Fatal("equal documents gave other bytes")
			}
		})
	})
	t.Run("merged are one segment of all", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			docs := documents().Draw(t, "docs")
			n, m := rapid.IntRange(0, len(docs)).Draw(t, "n"), rapid.IntRange(0, len(docs)).Draw(t, "m")
			merged, err := segment.Merge(segment.Encode(docs[:max(n, m)]), segment.Encode(docs[min(n, m):]), segment.Encode(nil))
			if err != nil {
				t.Fatal(err)
			}
			if string(merged) != string(segment.Encode(docs)) {
				t.Fatal("other bytes")
			}
		})
	})
	t.Run("keep the vectors of the highest version alone", func(t *testing.T) {
		docs := []segment.Doc{doc("s", 1, memory.RoleUser, "Ann", "red fox"), doc("s", 2, memory.RoleUser, "Bob", "blue fox"), doc("s", 3, memory.RoleUser, "Ann", "fox")}
		docs[0].Vector, docs[1].Vector = segment.NewVector(1, []float32{1, 0}), segment.NewVector(2, []float32{0, 1, 0})
		merged, err := segment.Merge(segment.Encode(docs[:1]), segment.Encode(docs[1:]))
		if err != nil {
			t.Fatal(err)
		}
		back, err := segment.Decode(merged)
		if err != nil {
			t.Fatal(err)
		}
		docs[0].Vector = segment.Vector{}
		if diff := cmp.Diff(docs, back); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("of another version are refused, so that they are made again", func(t *testing.T) {
		data := segment.Encode([]segment.Doc{doc("s", 1, memory.RoleUser, "Ann", "red fox")})
		data[len("SLX")]--
		old := withChecksum(data)
		if err := rank.NewIndex().AddSegment(old); err == nil || !strings.Contains(err.Error(), "version") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("that are damaged are refused, and the index stays as it was", func(t *testing.T) {
		docs := []segment.Doc{doc("s", 1, memory.RoleUser, "Ann", "red fox"), doc("s", 2, memory.RoleUser, "Bob", "blue fox fox")}
		docs[1].Vector = segment.NewVector(3, []float32{.5, -.2})
		data, x := segment.Encode(docs), rank.NewIndex()
		for i := range data {
			bad := slices.Clone(data)
			bad[i] ^= 1
			for _, d := range [][]byte{bad, data[:i]} {
				if err := x.AddSegment(d); err == nil || x.Messages() != 0 {
					t.Fatalf("byte %d: %v, %d messages", i, err, x.Messages())
				}
			}
		}
		if _, err := segment.Merge(data, data[1:]); err == nil {
			t.Error("merged")
		}
	})
}

// documents draws documents of several sessions by place, some of them with a vector of one version.
func documents() *rapid.Generator[[]segment.Doc] {
	return rapid.Custom(func(t *rapid.T) []segment.Doc {
		word := rapid.SampledFrom(strings.Fields("red blue green fox hen cow runs sat ann bob may 8 ? 東京 커피"))
		var docs []segment.Doc
		for _, session := range []string{"p", "q", "r"} {
			for seq := range rapid.IntRange(0, 8).Draw(t, "messages of "+session) {
				words := strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "words"), " ")
				if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
					words += strings.Repeat(" grey wall. ", 90) + words
				}
				role := rapid.SampledFrom([]memory.Role{memory.RoleUser, memory.RoleAssistant}).Draw(t, "role")
				name := rapid.SampledFrom([]string{"Ann", "Bob", "Ann Lee", ""}).Draw(t, "name")
				d := docAt(session, seq+1, role, name, words, may8.AddDate(0, 0, rapid.IntRange(-40000, 3).Draw(t, "day")))
				d.MentionsTime = rapid.Bool().Draw(t, "mentions a time")
				if rapid.Bool().Draw(t, "has a vector") {
					d.Vector = segment.Vector{Version: 7, Values: rapid.SliceOfN(rapid.Int8(), 3, 3).Draw(t, "values")}
				}
				docs = append(docs, d)
			}
		}
		return docs
	})
}

func FuzzDecodeSegment(f *testing.F) {
	f.Add(segment.Encode(nil))
	embedded := doc("s", 2, memory.RoleUser, "Ann", "red fox")
	embedded.Vector = segment.NewVector(1, []float32{1, -.5})
	f.Add(segment.Encode([]segment.Doc{doc("s", 1, memory.RoleUser, "Ann", "red fox"), embedded}))
	f.Add(segment.Encode([]segment.Doc{
		doc("s", 1, memory.RoleUser, "Ann", "red fox"), doc("s", 7, memory.RoleUser, "Bob", strings.Repeat("blue fox fox. ", 100)), doc("t", 1, memory.RoleAssistant, "", ""),
	}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= crc32.Size { // reach behind the checksum
			data = withChecksum(slices.Clone(data))
		}
		docs, err := segment.Decode(data)
		x := rank.NewIndex()
		if err2 := x.AddSegment(data); (err == nil) != (err2 == nil) {
			t.Fatalf("Decode: %v, AddSegment: %v", err, err2)
		}
		if err != nil {
			return
		}
		if x.Messages() != len(docs) {
			t.Fatalf("%d messages of %d", x.Messages(), len(docs))
		}
		x.Search(rank.Query{Terms: []string{"fox", "red"}, Explain: true})
		back, err := segment.Decode(segment.Encode(docs))
		if diff := cmp.Diff(docs, back, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v %s", err, diff)
		}
	})
}
