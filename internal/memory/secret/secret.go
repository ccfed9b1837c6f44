// Package secret is apart since the configuration, the commands and the clients of models share it: it holds values that never print
// themselves, such as keys of endpoints, passwords and addresses with passwords.
package secret

import "log/slog"

// Text is a value of which every way of printing, logging or encoding it says only whether it is set, also as a field of something
// that is printed, since what it holds is a pointer. The zero value is not set.
type Text struct{ value *string }

// New makes a Text; of "" one that is not set.
func New(value string) Text {
	if value == "" {
		return Text{}
	}
	return Text{&value}
}

// IsSet reports whether there is a value.
func (t Text) IsSet() bool { return t.value != nil }

// Reveal returns the value, for the one place that sends it; "" where none is set.
func (t Text) Reveal() string {
	if t.value == nil {
		return ""
	}
	return *t.value
}

// String says whether the value is set.
func (t Text) String() string {
	if !t.IsSet() {
		return ""
	}
	return "(set)"
}

// GoString is what %#v prints.
func (t Text) GoString() string { return t.String() }

// LogValue is what a log holds.
func (t Text) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText is what JSON and YAML hold.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText takes the value, as a configuration has it.
func (t *Text) UnmarshalText(value []byte) error {
	*t = New(string(value))
	return nil
}
