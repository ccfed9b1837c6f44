package openai

import "log/slog"

// Key is the secret that an endpoint asks for. It never prints itself: not by fmt, not as JSON, not in a log, and not
// as a field of something that is printed, since what it holds is a function.
type Key struct {
	reveal func() string
}

// NewKey makes a key; "" is none, as local servers want it.
func NewKey(secret string) Key {
	if secret == "" {
		return Key{}
	}
	return Key{reveal: func() string { return secret }}
}

// IsSet reports whether there is a key.
func (k Key) IsSet() bool { return k.reveal != nil }

// String reports only whether there is a key.
func (k Key) String() string {
	if k.IsSet() {
		return "[key]"
	}
	return "[no key]"
}

// GoString does the same for %#v.
func (k Key) GoString() string { return k.String() }

// MarshalText does the same for JSON and YAML.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// LogValue does the same for logs.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }
