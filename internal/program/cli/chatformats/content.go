package chatformats

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// content reads what a message says: a text, or a list of texts and blocks. The error begins with the place in it.
func content(raw json.RawMessage) ([]*memoryv1.Part, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" {
			return nil, nil
		}
		return []*memoryv1.Part{textPart(text)}, nil
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return nil, errors.New(": it must be a text or a list of blocks, each with a type")
	}
	var parts []*memoryv1.Part
	for i, b := range blocks {
		p, err := block(b)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if p != nil {
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// source is where a block's image or document is.
type source struct {
	Type      string
	MediaType string `json:"media_type"`
	Data      string
	URL       string
}

// known are the fields of blocks, in all their forms.
type known struct {
	Type      string
	Text      string
	Thinking  string
	Signature string
	Data      string
	Refusal   string
	ID        string
	Name      string
	Input     json.RawMessage
	ToolUseID string `json:"tool_use_id"`
	Content   json.RawMessage
	IsError   bool            `json:"is_error"`
	ImageURL  json.RawMessage `json:"image_url"`
	Detail    string
	Source    *source
}

// block reads one piece of a content; nil where it is empty. A kind that has no form of its own here is kept as it is.
func block(raw json.RawMessage) (*memoryv1.Part, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return nonEmpty(text), nil
	}
	var b known
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, errors.New("it must be a text or an object with a type")
	}
	switch b.Type {
	case "text", "input_text", "output_text", "summary_text":
		return nonEmpty(b.Text), nil
	case "refusal":
		return nonEmpty(b.Refusal), nil
	case "thinking":
		return &memoryv1.Part{Kind: &memoryv1.Part_Reasoning{Reasoning: &memoryv1.Reasoning{Text: b.Thinking, Signature: b.Signature}}}, nil
	case "redacted_thinking":
		return &memoryv1.Part{Kind: &memoryv1.Part_Reasoning{Reasoning: &memoryv1.Reasoning{Encrypted: []byte(b.Data)}}}, nil
	case "tool_use":
		return callPart(b.ID, b.Name, string(b.Input)), nil
	case "tool_result":
		return toolResult(b)
	case "image_url", "input_image":
		return imageURL(b)
	case "image", "document":
		return sourced(b, raw), nil
	case "":
		return nil, errors.New("it has no type")
	}
	return opaque(b.Type, raw), nil
}

func nonEmpty(text string) *memoryv1.Part {
	if text == "" {
		return nil
	}
	return textPart(text)
}

func toolResult(b known) (*memoryv1.Part, error) {
	result := &memoryv1.ToolResult{CallId: b.ToolUseID, IsError: b.IsError}
	if len(b.Content) > 0 && string(b.Content) != "null" {
		var err error
		if result.Parts, err = content(b.Content); err != nil {
			return nil, fmt.Errorf("content%w", err)
		}
	}
	return &memoryv1.Part{Kind: &memoryv1.Part_ToolResult{ToolResult: result}}, nil
}

// imageURL reads an image of OpenAI's, whose address stands in an object or alone.
func imageURL(b known) (*memoryv1.Part, error) {
	in := struct{ URL, Detail string }{Detail: b.Detail}
	if json.Unmarshal(b.ImageURL, &in) != nil {
		in.URL = unquoted(b.ImageURL)
	}
	if in.URL == "" {
		return nil, errors.New("image_url: it has no url")
	}
	return located(in.URL, "", imageSize(in.Detail))
}

func imageSize(detail string) *memoryv1.ImageSize {
	switch detail {
	case "low":
		return &memoryv1.ImageSize{Detail: memoryv1.ImageDetail_IMAGE_DETAIL_LOW}
	case "high":
		return &memoryv1.ImageSize{Detail: memoryv1.ImageDetail_IMAGE_DETAIL_HIGH}
	}
	return nil
}

// sourced reads an image or a document of Anthropic's.
func sourced(b known, raw json.RawMessage) *memoryv1.Part {
	if b.Source == nil {
		return opaque(b.Type, raw)
	}
	switch b.Source.Type {
	case "base64":
		data, err := base64.StdEncoding.DecodeString(b.Source.Data)
		if err == nil && len(data) > 0 {
			return &memoryv1.Part{Kind: &memoryv1.Part_Blob{Blob: &memoryv1.Blob{MimeType: b.Source.MediaType, Data: data}}}
		}
	case "url":
		return &memoryv1.Part{Kind: &memoryv1.Part_Uri{Uri: &memoryv1.Uri{MimeType: b.Source.MediaType, Uri: b.Source.URL}}}
	case "text":
		if b.Source.Data != "" {
			return textPart(b.Source.Data)
		}
	}
	return opaque(b.Type, raw)
}

// located is content at an address, or inline where it is a data URL. Source: RFC 2397.
func located(url, mime string, image *memoryv1.ImageSize) (*memoryv1.Part, error) {
	rest, isData := strings.CutPrefix(url, "data:")
	if !isData {
		return &memoryv1.Part{Kind: &memoryv1.Part_Uri{Uri: &memoryv1.Uri{MimeType: mime, Uri: url, Image: image}}}, nil
	}
	head, body, ok := strings.Cut(rest, ",")
	kind, isBase64 := strings.CutSuffix(head, ";base64")
	if !ok || !isBase64 {
		return nil, errors.New("its data URL is not in base64")
	}
	data, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		return nil, errors.New("its data URL is not in base64")
	}
	return &memoryv1.Part{Kind: &memoryv1.Part_Blob{Blob: &memoryv1.Blob{MimeType: kind, Data: data, Image: image}}}, nil
}

func textPart(s string) *memoryv1.Part {
	return &memoryv1.Part{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: s}}}
}

func callPart(id, name, arguments string) *memoryv1.Part {
	return &memoryv1.Part{Kind: &memoryv1.Part_ToolCall{ToolCall: &memoryv1.ToolCall{Id: id, Name: name, Arguments: arguments}}}
}

func opaque(kind string, raw json.RawMessage) *memoryv1.Part {
	return &memoryv1.Part{Kind: &memoryv1.Part_Opaque{Opaque: &memoryv1.Opaque{Type: kind, Json: string(raw)}}}
}
