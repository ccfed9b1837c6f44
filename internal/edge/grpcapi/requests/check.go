// Package requests reads the fields that the requests of many calls share. It checks them against the limits of the API, gathers all
// faults of a request, and makes and reads page tokens.
package requests

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/memory"
)

// The limits of the API, checked before anything is read or written. They are also in the proto's comments.
const (
	MaxID           = 255
	MaxMessages     = 1000
	MaxPending      = 100
	MaxMessageBytes = 1 << 20
	MaxRecordBytes  = 2 << 20
	MaxParts        = 256
	MaxTags         = 32
	MaxTagBytes     = 64
	MaxObjectBytes  = 16 << 10
	MaxObjectDepth  = 32
	MaxURIBytes     = 8 << 10
	MaxQueryBytes   = 64 << 10
	MaxInstructions = 256 << 10
	MaxBudget       = contextprofile.MaxTokens
	MaxSessionIDs   = 100
	MaxFilters      = 100
	MaxReplyBytes   = 3 << 20
)

// Checker gathers what is wrong with a request, so that a caller learns of all of it at once.
type Checker struct {
	Faults []memory.FieldError
	// Anonymous allows calls and results without ids: histories that are not stored may have such.
	Anonymous bool
}

// maxFaults bounds the reply: a request of a thousand bad messages is as wrong as one of twenty.
const maxFaults = 20

// Fault adds a fault of a field. Beyond maxFaults it adds nothing.
func (c *Checker) Fault(field, format string, args ...any) {
	if len(c.Faults) < maxFaults {
		c.Faults = append(c.Faults, memory.FieldError{Field: field, Description: fmt.Sprintf(format, args...)})
	}
}

// Err is nil when nothing was found.
func (c *Checker) Err() error {
	if len(c.Faults) == 0 {
		return nil
	}
	lines := make([]string, len(c.Faults))
	for i, f := range c.Faults {
		lines[i] = f.Field + ": " + f.Description
	}
	return &memory.Error{
		Kind: memory.KindInvalid, Reason: memory.ReasonFieldInvalid, Message: strings.Join(lines, "; "),
		Fields: c.Faults, Metadata: map[string]string{"field": c.Faults[0].Field},
	}
}

// ID checks a required id.
func (c *Checker) ID(field, s string) string {
	if s == "" {
		c.Fault(field, "is required: 1 to %d bytes of printable UTF-8", MaxID)
		return s
	}
	return c.Label(field, s)
}

// CallID checks the id of a call, which only some histories may lack.
func (c *Checker) CallID(field, s string) string {
	if c.Anonymous {
		return c.Label(field, s)
	}
	return c.ID(field, s)
}

// Label checks an optional id.
func (c *Checker) Label(field, s string) string {
	return c.printable(field, s, IsPrintable)
}

// Name checks an optional name for people, in which emoji may be joined.
func (c *Checker) Name(field, s string) string {
	return c.printable(field, s, func(s string) bool { return IsPrintable(strings.ReplaceAll(s, ZeroWidthJoiner, "")) })
}

// ZeroWidthJoiner joins emoji in names.
const ZeroWidthJoiner = "\u200d"

func (c *Checker) printable(field, s string, ok func(string) bool) string {
	c.Bytes(field, len(s), MaxID)
	if !ok(s) {
		c.Fault(field, "has a character that is not printable; leave out control and invisible characters")
	}
	return s
}

// Bytes checks the size of a field in bytes.
func (c *Checker) Bytes(field string, got, limit int) {
	if got > limit {
		c.Fault(field, "has %d bytes; the limit is %d", got, limit)
	}
}

// Count checks how many entries a list has.
func (c *Checker) Count(field string, got, limit int) {
	if got > limit {
		c.Fault(field, "has %d entries; the limit is %d: split the call", got, limit)
	}
}

// OneOf converts an enum of the API: the zero value where none is set, and a fault where the API has no such value.
func OneOf[T comparable, P ~int32](c *Checker, field string, of enums.Enum[T, P], value P, names string) T {
	converted, ok := of.From(value)
	if !ok && value != 0 {
		c.Fault(field, "is %d; it must be %s", value, names)
	}
	return converted
}

// AllOf converts a list of enums, each of which must be set. nil means that the caller leaves the choice to the service.
func AllOf[T comparable, P ~int32](c *Checker, field string, of enums.Enum[T, P], values []P, names string) []T {
	c.Count(field, len(values), MaxFilters)
	var out []T
	for i, v := range values {
		converted, ok := of.From(v)
		if !ok {
			c.Fault(fmt.Sprintf("%s[%d]", field, i), "is %d; it must be %s", v, names)
		}
		out = append(out, converted)
	}
	return out
}

// Between checks a number; a NaN is outside every range.
func Between[N int32 | int64 | float64](c *Checker, field string, got, low, high N) N {
	if !(got >= low && got <= high) {
		c.Fault(field, "is %v; it must be from %v to %v", got, low, high)
	}
	return got
}

// Page returns a page size: the default for 0, the maximum for more.
func (c *Checker) Page(size, byDefault, most int32) int {
	if size < 0 {
		c.Fault("page_size", "is %d; it must not be negative: 0 means %d, the most is %d", size, byDefault, most)
	}
	if size == 0 {
		return int(byDefault)
	}
	return int(min(size, most))
}

var (
	minTime = time.Unix(0, 0).UTC()
	maxTime = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Time returns a time to the microsecond, the zero time when it is not set.
func (c *Checker) Time(field string, ts *timestamppb.Timestamp) time.Time {
	if ts == nil {
		return time.Time{}
	}
	t := ts.AsTime()
	if !ts.IsValid() || t.Before(minTime) || !t.Before(maxTime) {
		c.Fault(field, "is out of range; it must lie in the years 1970 to 9999")
		return time.Time{}
	}
	return t.Truncate(time.Microsecond)
}

// Object returns a struct as compact JSON with sorted keys, nil when it is empty.
func (c *Checker) Object(field string, s *structpb.Struct, limit int) json.RawMessage {
	if len(s.GetFields()) == 0 {
		return nil
	}
	before := len(c.Faults)
	c.Fields(field, s, 1)
	if len(c.Faults) > before {
		return nil
	}
	out, err := memory.EncodeJSON(s.AsMap())
	if err != nil {
		c.Fault(field, "cannot be written as JSON")
		return nil
	}
	c.Bytes(field, len(out), limit)
	return out
}

// Fields checks the keys and values of a struct; depth is 1 for the outermost one.
func (c *Checker) Fields(field string, s *structpb.Struct, depth int) {
	for k, v := range s.GetFields() {
		if !IsPrintable(k) {
			c.Fault(field, "has a key with a character that is not printable")
		}
		c.value(field, v, depth)
	}
}

func (c *Checker) value(field string, v *structpb.Value, depth int) {
	if depth > MaxObjectDepth {
		c.Fault(field, "is nested deeper than %d levels", MaxObjectDepth)
		return
	}
	switch k := v.GetKind().(type) {
	case nil:
		c.Fault(field, "has a value of no kind; send null_value for null")
	case *structpb.Value_NumberValue:
		if math.IsNaN(k.NumberValue) || math.IsInf(k.NumberValue, 0) {
			c.Fault(field, "has a number that is not finite; JSON has no such number")
		}
	case *structpb.Value_StructValue:
		c.Fields(field, k.StructValue, depth+1)
	case *structpb.Value_ListValue:
		for _, e := range k.ListValue.GetValues() {
			c.value(field, e, depth+1)
		}
	}
}

// IsPrintable reports whether all characters are printable.
func IsPrintable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// Span returns a duration within its limits, 0 where none is set.
func (c *Checker) Span(field string, d *durationpb.Duration, least, most time.Duration) time.Duration {
	if d == nil {
		return 0
	}
	if !d.IsValid() || d.AsDuration() < least || d.AsDuration() > most {
		c.Fault(field, "must be a duration from %v to %v", least, most)
	}
	return d.AsDuration()
}

// Timeout returns how long to wait. The call's own deadline ends every wait, so a long one is not refused.
func (c *Checker) Timeout(field string, d *durationpb.Duration, byDefault time.Duration) time.Duration {
	if d == nil {
		return byDefault
	}
	if !d.IsValid() || d.AsDuration() < 0 {
		c.Fault(field, "must be a duration that is not negative; leave it out for %v", byDefault)
	}
	return d.AsDuration()
}
