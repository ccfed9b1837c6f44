package config

import "log/slog"

// Secret is a value that is never shown: every way of printing, logging or encoding it says only whether it is set.
type Secret string

// Reveal returns the value, for the one place that sends it.
func (s Secret) Reveal() string { return string(s) }

// String says whether the secret is set.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(set)"
}

// GoString is what %#v prints.
func (s Secret) GoString() string { return s.String() }

// LogValue is what a log holds.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is what JSON and YAML hold.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
