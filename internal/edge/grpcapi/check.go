package grpcapi

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
	"github.com/stratamem/strata/internal/memory"
)

// The limits of the API, checked before anything is read or written. They are also in the proto's comments.
const (
	maxID           = 255
	maxMessages     = 1000
	maxPending      = 100
	maxMessageBytes = 1 << 20
	maxRecordBytes  = 2 << 20
	maxParts        = 256
	maxTags         = 32
	maxTagBytes     = 64
	maxObjectBytes  = 16 << 10
	maxObjectDepth  = 32
	maxURIBytes     = 8 << 10
	maxQueryBytes   = 64 << 10
	maxInstructions = 256 << 10
	maxBudget       = contextprofile.MaxTokens
	maxSessionIDs   = 100
	maxFilters      = 100
	maxReplyBytes   = 3 << 20
)

// checker gathers what is wrong with a request, so that a caller learns of all of it at once.
type checker struct {
	faults []memory.FieldError
	// anonymous allows calls and results without ids: histories that are not stored may have such.
	anonymous bool
}

// maxFaults bounds the reply: a request of a thousand bad messages is as wrong as one of twenty.
const maxFaults = 20

func (c *checker) fault(field, format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, memory.FieldError{Field: field, Description: fmt.Sprintf(format, args...)})
	}
}

// err is nil when nothing was found.
func (c *checker) err() error {
	if len(c.faults) == 0 {
		return nil
	}
	lines := make([]string, len(c.faults))
	for i, f := range c.faults {
		lines[i] = f.Field + ": " + f.Description
	}
	return &memory.Error{
		Kind: memory.KindInvalid, Reason: memory.ReasonFieldInvalid, Message: strings.Join(lines, "; "),
		Fields: c.faults, Metadata: map[string]string{"field": c.faults[0].Field},
	}
}

// id checks a required id.
func (c *checker) id(field, s string) string {
	if s == "" {
		c.fault(field, "is required: 1 to %d bytes of printable UTF-8", maxID)
		return s
	}
	return c.label(field, s)
}

// callID checks the id of a call, which only some histories may lack.
func (c *checker) callID(field, s string) string {
	if c.anonymous {
		return c.label(field, s)
	}
	return c.id(field, s)
}

// label checks an optional id.
func (c *checker) label(field, s string) string {
	return c.printable(field, s, isPrintable)
}

// name checks an optional name for people, in which emoji may be joined.
func (c *checker) name(field, s string) string {
	return c.printable(field, s, func(s string) bool { return isPrintable(strings.ReplaceAll(s, zeroWidthJoiner, "")) })
}

const zeroWidthJoiner = "\u200d"

func (c *checker) printable(field, s string, ok func(string) bool) string {
	c.bytes(field, len(s), maxID)
	if !ok(s) {
		c.fault(field, "has a character that is not printable; leave out control and invisible characters")
	}
	return s
}

func (c *checker) bytes(field string, got, limit int) {
	if got > limit {
		c.fault(field, "has %d bytes; the limit is %d", got, limit)
	}
}

func (c *checker) count(field string, got, limit int) {
	if got > limit {
		c.fault(field, "has %d entries; the limit is %d: split the call", got, limit)
	}
}

// oneOf converts an enum of the API: the zero value where none is set, and a fault where the API has no such value.
func oneOf[T comparable, P ~int32](c *checker, field string, of enum[T, P], value P, names string) T {
	converted, ok := of.from(value)
	if !ok && value != 0 {
		c.fault(field, "is %d; it must be %s", value, names)
	}
	return converted
}

// allOf converts a list of enums, each of which must be set. nil means that the caller leaves the choice to the service.
func allOf[T comparable, P ~int32](c *checker, field string, of enum[T, P], values []P, names string) []T {
	c.count(field, len(values), maxFilters)
	var out []T
	for i, v := range values {
		converted, ok := of.from(v)
		if !ok {
			c.fault(fmt.Sprintf("%s[%d]", field, i), "is %d; it must be %s", v, names)
		}
		out = append(out, converted)
	}
	return out
}

// between checks a number; a NaN is outside every range.
func between[N int32 | int64 | float64](c *checker, field string, got, low, high N) N {
	if !(got >= low && got <= high) {
		c.fault(field, "is %v; it must be from %v to %v", got, low, high)
	}
	return got
}

// page returns a page size: the default for 0, the maximum for more.
func (c *checker) page(size, byDefault, most int32) int {
	if size < 0 {
		c.fault("page_size", "is %d; it must not be negative: 0 means %d, the most is %d", size, byDefault, most)
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

// time returns a time to the microsecond, the zero time when it is not set.
func (c *checker) time(field string, ts *timestamppb.Timestamp) time.Time {
	if ts == nil {
		return time.Time{}
	}
	t := ts.AsTime()
	if !ts.IsValid() || t.Before(minTime) || !t.Before(maxTime) {
		c.fault(field, "is out of range; it must lie in the years 1970 to 9999")
		return time.Time{}
	}
	return t.Truncate(time.Microsecond)
}

// object returns a struct as compact JSON with sorted keys, nil when it is empty.
func (c *checker) object(field string, s *structpb.Struct, limit int) json.RawMessage {
	if len(s.GetFields()) == 0 {
		return nil
	}
	before := len(c.faults)
	c.fields(field, s, 1)
	if len(c.faults) > before {
		return nil
	}
	out, err := memory.EncodeJSON(s.AsMap())
	if err != nil {
		c.fault(field, "cannot be written as JSON")
		return nil
	}
	c.bytes(field, len(out), limit)
	return out
}

func (c *checker) fields(field string, s *structpb.Struct, depth int) {
	for k, v := range s.GetFields() {
		if !isPrintable(k) {
			c.fault(field, "has a key with a character that is not printable")
		}
		c.value(field, v, depth)
	}
}

func (c *checker) value(field string, v *structpb.Value, depth int) {
	if depth > maxObjectDepth {
		c.fault(field, "is nested deeper than %d levels", maxObjectDepth)
		return
	}
	switch k := v.GetKind().(type) {
	case nil:
		c.fault(field, "has a value of no kind; send null_value for null")
	case *structpb.Value_NumberValue:
		if math.IsNaN(k.NumberValue) || math.IsInf(k.NumberValue, 0) {
			c.fault(field, "has a number that is not finite; JSON has no such number")
		}
	case *structpb.Value_StructValue:
		c.fields(field, k.StructValue, depth+1)
	case *structpb.Value_ListValue:
		for _, e := range k.ListValue.GetValues() {
			c.value(field, e, depth+1)
		}
	}
}

func isPrintable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// span returns a duration within its limits, 0 where none is set.
func (c *checker) span(field string, d *durationpb.Duration, least, most time.Duration) time.Duration {
	if d == nil {
		return 0
	}
	if !d.IsValid() || d.AsDuration() < least || d.AsDuration() > most {
		c.fault(field, "must be a duration from %v to %v", least, most)
	}
	return d.AsDuration()
}

// timeout returns how long to wait. The call's own deadline ends every wait, so a long one is not refused.
func (c *checker) timeout(field string, d *durationpb.Duration, byDefault time.Duration) time.Duration {
	if d == nil {
		return byDefault
	}
	if !d.IsValid() || d.AsDuration() < 0 {
		c.fault(field, "must be a duration that is not negative; leave it out for %v", byDefault)
	}
	return d.AsDuration()
}
