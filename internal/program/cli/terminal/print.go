package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Palette colours text, or leaves it as it is.
type Palette struct{ On bool }

func (p Palette) paint(code, s string) string {
	if !p.On || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bold returns the text in bold.
func (p Palette) Bold(s string) string { return p.paint("1", s) }

// Dim returns the text dimmed.
func (p Palette) Dim(s string) string { return p.paint("2", s) }

// Red returns the text in red.
func (p Palette) Red(s string) string { return p.paint("31", s) }

// Green returns the text in green.
func (p Palette) Green(s string) string { return p.paint("32", s) }

// Yellow returns the text in yellow.
func (p Palette) Yellow(s string) string { return p.paint("33", s) }

// Cyan returns the text in cyan.
func (p Palette) Cyan(s string) string { return p.paint("36", s) }

// Printer prints what a command found, in the form that its options ask for.
type Printer struct {
	Env Env
	Options
}

// Palette returns the colours of the standard output.
func (p *Printer) Palette() Palette { return p.Env.Color(p.Env.StdoutTerminal) }

// Views are the forms of one result for people and for scripts.
type Views struct {
	Table func(w io.Writer)
	Quiet func(w io.Writer)
}

// Show prints a reply on stdout in the form that was asked for.
func (p *Printer) Show(reply proto.Message, v Views) error {
	switch p.Output {
	case "json":
		return p.ShowJSON(reply)
	case "quiet":
		v.Quiet(p.Env.Stdout)
	default:
		v.Table(p.Env.Stdout)
	}
	return nil
}

// ShowJSON prints a reply as protobuf's JSON with the names of the proto files.
func (p *Printer) ShowJSON(reply proto.Message) error {
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(reply)
	if err != nil {
		return fmt.Errorf("encode reply: %w", err)
	}
	return p.showRaw(raw)
}

// ShowValue prints a value of the program's own as JSON.
func (p *Printer) ShowValue(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	return p.showRaw(raw)
}

func (p *Printer) showRaw(raw []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return fmt.Errorf("indent JSON: %w", err)
	}
	b.WriteByte('\n')
	_, err := p.Env.Stdout.Write(b.Bytes())
	return err
}

// Clean makes text of others safe for a terminal: control characters, which could move the cursor or set the title, and those that
// have what follows read in another direction, become visible. Newlines and tabs stay.
func Clean(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' || turnsText(c) {
			return '�'
		}
		return c
	}, s)
}

// turnsText reports whether a character embeds, overrides or isolates a direction of writing (Unicode UAX #9): with one of them a
// text can look like another, such as the name that a person is to type before something is erased.
func turnsText(c rune) bool { return c >= '\u202a' && c <= '\u202e' || c >= '\u2066' && c <= '\u2069' }

// OneLine is clean text without line breaks.
func OneLine(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Clock writes a time as people read it, in UTC.
func Clock(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format("2006-01-02 15:04")
}

// Instant is a time on the command line.
type Instant struct{ time.Time }

// UnmarshalText reads RFC 3339, or a date, which means its first moment in UTC.
func (i *Instant) UnmarshalText(b []byte) error {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, string(b)); err == nil {
			i.Time = t
			return nil
		}
	}
	return fmt.Errorf("%q is not a time: write 2026-03-12 or 2026-03-12T18:30:00Z", b)
}

// Proto is the time as a message has it; nil when it is not set.
func (i Instant) Proto() *timestamppb.Timestamp {
	if i.IsZero() {
		return nil
	}
	return timestamppb.New(i.Time)
}

// More prints on stderr that a limit cut the list.
func More(r *Run, token string) {
	if token != "" {
		fmt.Fprintln(r.Env.Stderr, "there is more: raise --limit")
	}
}
