package grpcapi

import (
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/memory"
)

// messagesFrom checks and converts the messages of a request.
func messagesFrom(c *requests.Checker, field string, in []*memoryv1.Message, most, mostBytes int) []memory.Message {
	c.Count(field, len(in), most)
	out, total := make([]memory.Message, 0, len(in)), 0
	for i, m := range in {
		path := fmt.Sprintf("%s[%d]", field, i)
		total += checkMessageSize(c, path, m)
		out = append(out, messageFrom(c, path, m))
	}
	c.Bytes(field, total, mostBytes)
	return out
}

func checkMessageSize(c *requests.Checker, path string, m *memoryv1.Message) int {
	n := proto.Size(m)
	c.Bytes(path, n, requests.MaxMessageBytes)
	return n
}

func messageFrom(c *requests.Checker, path string, in *memoryv1.Message) memory.Message {
	role, ok := enums.Roles.From(in.GetRole())
	if !ok {
		c.Fault(path+".role", "is %v; it must be system, developer, user, assistant or tool", in.GetRole())
	}
	m := memory.Message{
		ID: c.Label(path+".id", in.GetId()), Role: role, Name: c.Name(path+".name", in.GetName()),
		Parts: contentFrom(c, path, in), Tags: tagsFrom(c, path+".tags", in.GetTags()),
		Metadata:   c.Object(path+".metadata", in.GetMetadata(), requests.MaxObjectBytes),
		CreateTime: c.Time(path+".create_time", in.GetCreateTime()), Pinned: in.GetPinned(), Hidden: in.GetHidden(),
		Origin: originFrom(c, path+".origin", in.GetOrigin(), role), Extract: extractModeFrom(c, path+".extract", in.GetExtract()),
	}
	if o := in.GetOriginal(); o != nil {
		m.Original = &memory.Original{Format: c.ID(path+".original.format", o.GetFormat()), Data: o.GetData()}
	}
	return m
}

func originFrom(c *requests.Checker, field string, o memoryv1.Origin, role memory.Role) memory.Origin {
	if o == memoryv1.Origin_ORIGIN_UNSPECIFIED {
		return memory.DefaultOrigin(role)
	}
	origin, ok := enums.Origins.From(o)
	if !ok {
		c.Fault(field, "is %d, which names no origin", o)
	}
	return origin
}

func extractModeFrom(c *requests.Checker, field string, e memoryv1.ExtractMode) memory.ExtractMode {
	mode, ok := enums.ExtractModes.From(e)
	if !ok && e != memoryv1.ExtractMode_EXTRACT_MODE_UNSPECIFIED {
		c.Fault(field, "is %d; it must be allow or none", e)
	}
	return mode
}

// extractOrAllowFrom is for what is updated: naming it without a value allows.
func extractOrAllowFrom(c *requests.Checker, field string, e memoryv1.ExtractMode) memory.ExtractMode {
	return max(extractModeFrom(c, field, e), memory.ExtractAllow)
}

func tagsFrom(c *requests.Checker, field string, tags []string) []string {
	c.Count(field, len(tags), requests.MaxTags)
	for i, t := range tags {
		path := fmt.Sprintf("%s[%d]", field, i)
		c.Bytes(path, len(t), requests.MaxTagBytes)
		c.ID(path, t)
	}
	return tags
}

// contentFrom returns a message's parts; a plain text is one text part.
func contentFrom(c *requests.Checker, path string, in *memoryv1.Message) []memory.Part {
	switch {
	case in.GetText() != "" && len(in.GetParts()) > 0:
		c.Fault(path+".text", "is set beside parts; set one of them")
	case in.GetText() != "":
		return []memory.Part{memory.TextPart(in.GetText())}
	case len(in.GetParts()) == 0 && in.GetRole() == memoryv1.Role_ROLE_ASSISTANT:
		return nil // an aborted stream, or a refusal
	case len(in.GetParts()) == 0:
		c.Fault(path, "is empty; set text or at least one part")
	}
	return partsFrom(c, path+".parts", in.GetParts())
}

func partsFrom(c *requests.Checker, field string, in []*memoryv1.Part) []memory.Part {
	c.Count(field, len(in), requests.MaxParts)
	var out []memory.Part
	for i, p := range in {
		out = append(out, partFrom(c, fmt.Sprintf("%s[%d]", field, i), p))
	}
	return out
}

func partFrom(c *requests.Checker, path string, in *memoryv1.Part) memory.Part {
	switch k := in.GetKind().(type) {
	case *memoryv1.Part_Text:
		if k.Text.GetText() == "" {
			c.Fault(path+".text.text", "is empty; leave the part out")
		}
		return memory.TextPart(k.Text.GetText())
	case *memoryv1.Part_Reasoning:
		r := k.Reasoning
		return memory.Part{Kind: memory.PartReasoning, Text: r.GetText(), Signature: r.GetSignature(), Data: r.GetEncrypted()}
	case *memoryv1.Part_ToolCall:
		return toolCallFrom(c, path+".tool_call", k.ToolCall)
	case *memoryv1.Part_ToolResult:
		return toolResultFrom(c, path+".tool_result", k.ToolResult)
	case *memoryv1.Part_Blob:
		return blobFrom(c, path+".blob", k.Blob)
	case *memoryv1.Part_Uri:
		return uriFrom(c, path+".uri", k.Uri)
	case *memoryv1.Part_Opaque:
		return memory.Part{Kind: memory.PartOpaque, Type: c.ID(path+".opaque.type", k.Opaque.GetType()), JSON: k.Opaque.GetJson()}
	}
	c.Fault(path, "has no kind; set text, reasoning, tool_call, tool_result, blob, uri or opaque")
	return memory.Part{}
}

func toolCallFrom(c *requests.Checker, path string, in *memoryv1.ToolCall) memory.Part {
	return memory.Part{
		Kind: memory.PartToolCall, CallID: c.CallID(path+".id", in.GetId()),
		Name: c.ID(path+".name", in.GetName()), Arguments: in.GetArguments(),
	}
}

func toolResultFrom(c *requests.Checker, path string, in *memoryv1.ToolResult) memory.Part {
	return memory.Part{
		Kind: memory.PartToolResult, CallID: c.CallID(path+".call_id", in.GetCallId()),
		Parts: resultPartsFrom(c, path+".parts", in.GetParts()), IsError: in.GetIsError(),
	}
}

// resultPartsFrom are the parts of a tool's answer. They cannot hold calls or results again, so nothing nests deeper.
func resultPartsFrom(c *requests.Checker, field string, in []*memoryv1.Part) []memory.Part {
	for i, p := range in {
		switch p.GetKind().(type) {
		case *memoryv1.Part_ToolCall, *memoryv1.Part_ToolResult, *memoryv1.Part_Reasoning:
			c.Fault(fmt.Sprintf("%s[%d]", field, i), "is of a kind that a result cannot hold; use text, blob, uri or opaque")
			return nil
		}
	}
	return partsFrom(c, field, in)
}

func blobFrom(c *requests.Checker, path string, in *memoryv1.Blob) memory.Part {
	if len(in.GetData()) == 0 {
		c.Fault(path+".data", "is empty; leave the part out")
	}
	return memory.Part{
		Kind:     memory.PartBlob,
		MIMEType: c.ID(path+".mime_type", in.GetMimeType()),
		Data:     in.GetData(),
		Image:    imageFrom(c, path+".image", in.GetImage()),
	}
}

// maxPixels is the most that an image may be wide or high.
const maxPixels = 100_000

// imageFrom returns nil where nothing is said of the image.
func imageFrom(c *requests.Checker, field string, in *memoryv1.ImageSize) *memory.Image {
	if in == nil {
		return nil
	}
	detail, ok := enums.ImageDetails.From(in.GetDetail())
	if !ok && in.GetDetail() != memoryv1.ImageDetail_IMAGE_DETAIL_UNSPECIFIED {
		c.Fault(field+".detail", "is %d; it must be low or high", in.GetDetail())
	}
	out := memory.Image{
		Width: int(
			requests.Between(c, field+".width", in.GetWidth(), 0, maxPixels),
		),
		Height: int(requests.Between(c, field+".height", in.GetHeight(), 0, maxPixels)),
		Detail: detail,
	}
	if (out.Width == 0) != (out.Height == 0) {
		c.Fault(field, "has a width or a height alone; give both or neither")
	}
	if out == (memory.Image{}) {
		return nil
	}
	return &out
}

func imageProto(i *memory.Image) *memoryv1.ImageSize {
	if i == nil {
		return nil
	}
	return &memoryv1.ImageSize{Width: int32(i.Width), Height: int32(i.Height), Detail: enums.ImageDetails.To(i.Detail)}
}

func uriFrom(c *requests.Checker, path string, in *memoryv1.Uri) memory.Part {
	c.Bytes(path+".uri", len(in.GetUri()), requests.MaxURIBytes)
	if in.GetUri() == "" || !requests.IsPrintable(in.GetUri()) {
		c.Fault(path+".uri", "must be a URI of printable characters")
	}
	return memory.Part{
		Kind:     memory.PartURI,
		MIMEType: c.Label(path+".mime_type", in.GetMimeType()),
		URI:      in.GetUri(),
		Image:    imageFrom(c, path+".image", in.GetImage()),
	}
}

// messageProto converts a message for a reply.
func messageProto(m memory.Message) *memoryv1.Message {
	out := &memoryv1.Message{
		Id: m.ID, Seq: m.Seq, TurnNo: m.TurnNo, Role: enums.Roles.To(m.Role), Name: m.Name, Parts: partsProto(m.Parts),
		Tags: m.Tags, Metadata: structProto(m.Metadata), CreateTime: timeProto(m.CreateTime), RecordTime: timeProto(m.RecordTime),
		Origin: enums.Origins.To(m.Origin), Extract: enums.ExtractModes.To(m.Extract), Pinned: m.Pinned, Hidden: m.Hidden,
		TokenCounts: &memoryv1.TokenCounts{O200KBase: m.Tokens.O200K, Cl100KBase: m.Tokens.CL100K},
	}
	if m.Original != nil {
		out.Original = &memoryv1.Original{Format: m.Original.Format, Data: m.Original.Data}
	}
	return out
}

func partsProto(parts []memory.Part) []*memoryv1.Part {
	out := make([]*memoryv1.Part, len(parts))
	for i, p := range parts {
		out[i] = partProto(p)
	}
	return out
}

func partProto(p memory.Part) *memoryv1.Part {
	//exhaustive:enforce
	switch p.Kind {
	case memory.PartText:
		return &memoryv1.Part{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: p.Text}}}
	case memory.PartReasoning:
		return &memoryv1.Part{
			Kind: &memoryv1.Part_Reasoning{Reasoning: &memoryv1.Reasoning{Text: p.Text, Signature: p.Signature, Encrypted: p.Data}},
		}
	case memory.PartToolCall:
		return &memoryv1.Part{Kind: &memoryv1.Part_ToolCall{ToolCall: &memoryv1.ToolCall{Id: p.CallID, Name: p.Name, Arguments: p.Arguments}}}
	case memory.PartToolResult:
		return &memoryv1.Part{
			Kind: &memoryv1.Part_ToolResult{ToolResult: &memoryv1.ToolResult{CallId: p.CallID, Parts: partsProto(p.Parts), IsError: p.IsError}},
		}
	case memory.PartBlob:
		return &memoryv1.Part{Kind: &memoryv1.Part_Blob{Blob: &memoryv1.Blob{MimeType: p.MIMEType, Data: p.Data, Image: imageProto(p.Image)}}}
	case memory.PartURI:
		return &memoryv1.Part{Kind: &memoryv1.Part_Uri{Uri: &memoryv1.Uri{MimeType: p.MIMEType, Uri: p.URI, Image: imageProto(p.Image)}}}
	case memory.PartOpaque:
		return &memoryv1.Part{Kind: &memoryv1.Part_Opaque{Opaque: &memoryv1.Opaque{Type: p.Type, Json: p.JSON}}}
	}
	return &memoryv1.Part{}
}

// structProto converts a stored object. What was stored was checked, so it decodes; a damaged one becomes nil rather
// than a failed reply.
func structProto(raw json.RawMessage) *structpb.Struct {
	if len(raw) == 0 {
		return nil
	}
	out := &structpb.Struct{}
	if out.UnmarshalJSON(raw) != nil {
		return nil
	}
	return out
}

func timeProto(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
