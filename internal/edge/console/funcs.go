package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// templateFuncs are what templates may call.
func (c *Console) templateFuncs() template.FuncMap {
	return template.FuncMap{
		"asset":          func(name string) string { return c.assets[name] },
		"date":           shownDate,
		"iso":            func(t *timestamppb.Timestamp) string { return t.AsTime().UTC().Format(time.RFC3339) },
		"to":             linkTo,
		"amount":         amount,
		"messageAddress": messageAddress,
		"n":              grouped,
		"score":          func(f float64) string { return strconv.FormatFloat(math.Round(f*1000)/1000, 'f', -1, 64) },
		"parts":          shownParts,
		"add64":          func(a, b int64) int64 { return a + b },
		"jobOf":          func(job *memoryv1.Job, of jobsData) listedJob { return listedJob{job, of} },
		"numbered":       func(number int, b built) numbered { return numbered{number, b} },
	}
}

// shownDate is a time in UTC, to the minute; "" for none.
func shownDate(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().UTC().Format("2006-01-02 15:04")
}

// linkTo is the address of a page with arguments, given as names and values; empty values are left out.
func linkTo(page string, arguments ...string) (string, error) {
	if len(arguments)%2 != 0 {
		return "", fmt.Errorf("a link to %s has a name without a value", page)
	}
	with := url.Values{}
	for i := 0; i < len(arguments); i += 2 {
		if arguments[i+1] != "" {
			with.Set(arguments[i], arguments[i+1])
		}
	}
	return address(page, with), nil
}

// grouped is a number with thin spaces between thousands, which all readers understand.
func grouped(number any) string {
	digits := fmt.Sprint(number)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}

// amount is a measured number: whole ones grouped, others to the thousandth.
func amount(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return grouped(int64(f))
	}
	return strconv.FormatFloat(math.Round(f*1000)/1000, 'f', -1, 64)
}

// messageAddress is where a message stands in its transcript: the transcript's first page for the seq 0.
func messageAddress(user, session string, seq int64) string {
	with := url.Values{"user": {user}, "session": {session}}
	if seq == 0 {
		return address("transcript", with)
	}
	with.Set("at", strconv.FormatInt(seq, 10))
	return address("transcript", with) + "#" + messagePart(seq)
}

// messagePart is the part of a transcript's page that is a message.
func messagePart(seq int64) string { return "m" + strconv.FormatInt(seq, 10) }

// numbered is a context with its number on the page, from 0.
type numbered struct {
	Number int
	Built  built
}

// part is a piece of a message as it is shown.
type part struct {
	Kind string // text, reasoning, call, result, fault or other
	Head string // beside the text: a tool's name, a media type
	Text string
}

// shownParts are the pieces of a message, those within tool results after them.
func shownParts(parts []*memoryv1.Part) (shown []part) {
	for _, p := range parts {
		switch k := p.GetKind().(type) {
		case *memoryv1.Part_Text:
			shown = append(shown, part{Kind: "text", Text: k.Text.GetText()})
		case *memoryv1.Part_Reasoning:
			shown = append(shown, part{Kind: "reasoning", Text: k.Reasoning.GetText()})
		case *memoryv1.Part_ToolCall:
			shown = append(shown, part{Kind: "call", Head: k.ToolCall.GetName(), Text: indented(k.ToolCall.GetArguments())})
		case *memoryv1.Part_ToolResult:
			kind := "result"
			if k.ToolResult.GetIsError() {
				kind = "fault"
			}
			shown = append(shown, part{Kind: kind, Head: k.ToolResult.GetCallId()})
			shown = append(shown, shownParts(k.ToolResult.GetParts())...)
		case *memoryv1.Part_Blob:
			shown = append(shown, part{Kind: "other", Head: k.Blob.GetMimeType(), Text: grouped(len(k.Blob.GetData())) + " B"})
		case *memoryv1.Part_Uri:
			shown = append(shown, part{Kind: "other", Head: k.Uri.GetMimeType(), Text: k.Uri.GetUri()})
		case *memoryv1.Part_Opaque:
			shown = append(shown, part{Kind: "other", Head: k.Opaque.GetType(), Text: indented(k.Opaque.GetJson())})
		}
	}
	return shown
}

// indented is JSON on lines of its own; what is none stays as it is.
func indented(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}
