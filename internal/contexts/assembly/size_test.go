package assembly

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory"
)

// reply is what the server makes of a result's sections and rendering.
func reply(r Result) *memoryv1.BuildContextResponse {
	out := &memoryv1.BuildContextResponse{Rendering: r.Rendering}
	for _, s := range r.Sections {
		section := &memoryv1.Section{Kind: memoryv1.SectionKind(s.Kind), Tokens: s.Tokens}
		for _, it := range s.Items {
			item := &memoryv1.ContextItem{
				SessionId: it.SessionID, MessageId: it.MessageID, Seq: it.Seq, Role: memoryv1.Role(it.Role), Name: it.Name,
				CreateTime: timestamppb.New(it.CreateTime), Tokens: it.Tokens, Text: it.Text,
			}
			if it.Fact != nil {
				item.Fact, item.Model = factReply(*it.Fact), it.Fact.Model
			}
			if it.Summary != nil {
				item.Summary, item.Model = summaryReply(*it.Summary), it.Summary.Model
			}
			if it.Message != nil {
				item.Message = messageReply(*it.Message)
			}
			section.Items = append(section.Items, item)
		}
		out.Sections = append(out.Sections, section)
	}
	return out
}

func factReply(f memory.Fact) *memoryv1.Fact {
	out := &memoryv1.Fact{
		UserId: strings.Repeat("u", 255), FactId: f.ID, Text: f.Text, Category: memoryv1.Category(f.Category), Tags: f.Tags,
		Significance: int32(f.Significance), Confidence: f.Confidence, Subject: f.Subject, Attribute: f.Attribute,
		ValidFrom: timestamppb.New(f.ValidFrom), ValidTo: timestamppb.New(f.ValidTo), SupersededBy: f.SupersededBy, Pinned: f.Pinned,
		Origin: memoryv1.FactOrigin(f.Origin), Protected: f.Protected, Language: f.Language, Model: f.Model,
		CreateTime: timestamppb.New(f.CreateTime), UpdateTime: timestamppb.New(f.UpdateTime), LastUsedTime: timestamppb.New(f.LastUsedTime),
		Revision: f.Revision, Etag: f.ETag(),
	}
	for _, e := range f.Evidence {
		out.Evidence = append(out.Evidence, &memoryv1.Evidence{SessionId: e.SessionID, MessageId: e.MessageID, Seq: e.Seq, Quote: e.Quote})
	}
	return out
}

func summaryReply(s Summary) *memoryv1.SummaryItem {
	return &memoryv1.SummaryItem{
		NodeIds: s.Nodes, FromSeq: s.From, ToSeq: s.To, Name: s.Name, StartTime: timestamppb.New(s.Start), EndTime: timestamppb.New(s.End),
		Shortened: true,
	}
}

func messageReply(m memory.Message) *memoryv1.Message {
	out := &memoryv1.Message{
		Id: m.ID, Seq: m.Seq, TurnNo: m.TurnNo, Role: memoryv1.Role(m.Role), Name: m.Name, Parts: partsReply(m.Parts), Tags: m.Tags,
		CreateTime: timestamppb.New(m.CreateTime), RecordTime: timestamppb.New(m.RecordTime), Origin: memoryv1.Origin(m.Origin),
		Extract: memoryv1.ExtractMode(m.Extract), Pinned: m.Pinned,
		TokenCounts: &memoryv1.TokenCounts{O200KBase: m.Tokens.O200K, Cl100KBase: m.Tokens.CL100K},
	}
	if len(m.Metadata) > 0 {
		out.Metadata = &structpb.Struct{}
		if err := out.Metadata.UnmarshalJSON(m.Metadata); err != nil {
			panic(err)
		}
	}
	return out
}

func partsReply(parts []memory.Part) []*memoryv1.Part {
	var out []*memoryv1.Part
	for _, p := range parts {
		to := &memoryv1.Part{}
		switch p.Kind {
		case memory.PartText:
			to.Kind = &memoryv1.Part_Text{Text: &memoryv1.Text{Text: p.Text}}
		case memory.PartReasoning:
			to.Kind = &memoryv1.Part_Reasoning{Reasoning: &memoryv1.Reasoning{Text: p.Text, Signature: p.Signature, Encrypted: p.Data}}
		case memory.PartToolCall:
			to.Kind = &memoryv1.Part_ToolCall{ToolCall: &memoryv1.ToolCall{Id: p.CallID, Name: p.Name, Arguments: p.Arguments}}
		case memory.PartToolResult:
			to.Kind = &memoryv1.Part_ToolResult{ToolResult: &memoryv1.ToolResult{CallId: p.CallID, Parts: partsReply(p.Parts), IsError: p.IsError}}
		case memory.PartBlob:
			to.Kind = &memoryv1.Part_Blob{Blob: &memoryv1.Blob{MimeType: p.MIMEType, Data: p.Data}}
		case memory.PartURI:
			to.Kind = &memoryv1.Part_Uri{Uri: &memoryv1.Uri{MimeType: p.MIMEType, Uri: p.URI}}
		case memory.PartOpaque:
			to.Kind = &memoryv1.Part_Opaque{Opaque: &memoryv1.Opaque{Type: p.Type, Json: p.JSON}}
		}
		out = append(out, to)
	}
	return out
}

// valueGen makes JSON values of every kind, many of them of the sort that is short as JSON and long as protobuf.
func valueGen(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		switch kind := rapid.IntRange(0, 7).Draw(t, "kind"); {
		case kind == 0:
			return rapid.Bool().Draw(t, "bool")
		case kind == 1:
			return nil
		case kind == 2:
			return rapid.StringN(0, 20, 60).Draw(t, "string")
		case kind == 3:
			return rapid.Float64().Draw(t, "float")
		case kind == 4 && depth > 0:
			return rapid.MapOfN(rapid.StringN(0, 5, 20), valueGen(depth-1), 0, 5).Draw(t, "object")
		case kind == 5 && depth > 0:
			return rapid.SliceOfN(valueGen(depth-1), 0, 6).Draw(t, "list")
		case kind == 6:
			numbers := make([]int, rapid.SampledFrom([]int{0, 1, 30, 300, 3000}).Draw(t, "numbers"))
			return numbers
		}
		return json.RawMessage(rapid.SampledFrom([]string{"0", "1e20", "-1E20", "1e-6", "5e-324", "0.5", strings.Repeat("[", 90) + strings.Repeat("]", 90), strings.Repeat(`{"":`, 40) + "1" + strings.Repeat("}", 40)}).Draw(t, "raw"))
	})
}

func TestMetadataIsChargedAtLeastItsEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(rapid.MapOfN(rapid.StringN(0, 8, 30), valueGen(3), 0, 6).Draw(t, "metadata"))
		if err != nil {
			t.Fatal(err)
		}
		s := &structpb.Struct{}
		if err := s.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
		text, err := protojson.MarshalOptions{}.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		// protojson puts a blank behind some commas and colons at random; the JSON without them is what counts
		var packed int
		if c, err := json.Marshal(json.RawMessage(text)); err == nil {
			packed = len(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(c)))
		}
		if charged := objectBytes(raw); charged < proto.Size(s) || charged < packed {
			t.Fatalf("%d bytes of JSON are charged %d, and take %d as protobuf, %d as JSON: %s", len(raw), charged, proto.Size(s), packed, raw)
		}
	})
}

func TestStructuredRepliesStayWithinMaxBytes(t *testing.T) {
	fits := func(t testing.TB, in reading) Result {
		t.Helper()
		r := assemble(t, in)
		if size := proto.Size(reply(r)); size > in.MaxBytes {
			t.Errorf("the reply has %d bytes; the limit is %d", size, in.MaxBytes)
		}
		return r
	}
	large := func(change func(*memory.Message)) reading {
		var messages []memory.Message
		for range 8 {
			m := said(memory.RoleUser, "hello")
			change(&m)
			messages = append(messages, m)
		}
		in := input(t, RenderStructured, messages...)
		in.MaxBytes = 3 << 20
		return in
	}
	t.Run("facts count, with what they were learnt from, and take no more than a quarter", func(t *testing.T) {
		in := large(func(*memory.Message) {})
		in.MaxBytes, in.Available = 60_000, 100_000
		for i := range 200 {
			in.Facts = append(in.Facts, memory.Fact{
				ID: fmt.Sprint(i), Text: fmt.Sprint("likes tea ", i), Tags: []string{strings.Repeat("t", 64)}, Model: strings.Repeat("m", 60),
				Evidence: []memory.Evidence{{SessionID: strings.Repeat("s", 255), MessageID: "m1", Quote: strings.Repeat("q", 500)}},
			})
		}
		in.Policy.Facts.Share = .2
		taken := section(fits(t, in), SectionFacts).Items
		if size := proto.Size(reply(Result{Sections: []Section{{Items: taken}}})); len(taken) < 4 || size > in.MaxBytes/4 {
			t.Errorf("%d facts are there, in %d bytes", len(taken), size)
		}
	})
	for name, change := range map[string]func(*memory.Message){
		"opaque parts count": func(m *memory.Message) {
			m.Parts = append(m.Parts, memory.Part{Kind: memory.PartOpaque, Type: "x", JSON: `{"a":"` + strings.Repeat("x", 900<<10) + `"}`})
		},
		"opaque parts within results count": func(m *memory.Message) {
			*m = calling("c")
			r := answering(memory.RoleTool, "c").Parts[0]
			r.Parts = append(r.Parts, memory.Part{Kind: memory.PartOpaque, Type: "x", JSON: strings.Repeat("1", 900<<10)})
			m.Parts = append(m.Parts, r)
		},
		"the types of opaque parts count": func(m *memory.Message) {
			m.Parts = append(m.Parts, memory.Part{Kind: memory.PartOpaque, Type: strings.Repeat("x", 900<<10), JSON: "1"})
		},
		"reasoning counts": func(m *memory.Message) {
			m.Role = memory.RoleAssistant
			m.Parts = append(m.Parts, memory.Part{Kind: memory.PartReasoning, Data: []byte(strings.Repeat("x", 900<<10))})
		},
		"metadata of many small numbers counts": func(m *memory.Message) {
			m.Metadata = json.RawMessage(`{"a":[` + strings.Repeat("1,", 100<<10) + `1]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if r := fits(t, large(change)); len(section(r, SectionRecent).Items) == 0 {
				t.Error("nothing of the tail is there")
			}
		})
	}
	t.Run("whatever messages carry", rapid.MakeCheck(func(t *rapid.T) {
		in := inputGen().Draw(t, "in")
		for i := range in.Tail {
			if rapid.Bool().Draw(t, "more") {
				in.Tail[i].Tags = rapid.SliceOfN(rapid.StringN(1, 20, 64), 0, 4).Draw(t, "tags")
				in.Tail[i].Metadata, _ = json.Marshal(map[string]any{"a": valueGen(2).Draw(t, "metadata")})
				in.Tail[i].Parts = append(in.Tail[i].Parts, memory.Part{Kind: memory.PartOpaque, Type: "x", JSON: fmt.Sprintf("%q", strings.Repeat("\\", rapid.IntRange(0, 3000).Draw(t, "opaque")))})
			}
		}
		in.MaxBytes = rapid.SampledFrom([]int{10_000, 20_000, 100_000}).Draw(t, "limit")
		r, err := assembled(t.Context(), in)
		if err != nil {
			return
		}
		if size := proto.Size(reply(r)); size > in.MaxBytes {
			t.Fatalf("the reply has %d bytes; the limit is %d", size, in.MaxBytes)
		}
	}))
}
