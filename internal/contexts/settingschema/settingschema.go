// Package settingschema describes the settings of a type one by one: how each is called in the configuration and in the API, where
// its value is, and what it may be. Configuration, calls and help texts use the same descriptions. It is pure.
package settingschema

import (
	"cmp"
	"fmt"
)

// Field is one setting of a T.
type Field[T any] struct {
	Key string // its path in the configuration, such as facts.max
	API string // its path in the API, such as max_facts; "" where the API has none

	low, high any
	check     func(*T) (value any, ok bool) // nil for a setting without limits
	set       func(*T, any) bool
	counts    bool // the limits are of entries
}

// number is what can have limits.
type number interface{ ~int | ~int64 | ~float64 }

// Number describes a number from low to high, both included. NaN is out of all limits.
func Number[T any, N number](key, api string, at func(*T) *N, low, high N) Field[T] {
	return Field[T]{
		Key: key, API: api, low: low, high: high,
		check: func(t *T) (any, bool) {
			n := *at(t)
			return n, n >= low && n <= high
		},
		set: func(t *T, value any) bool {
			n, ok := as[N](value)
			if ok {
				*at(t) = n
			}
			return ok
		},
	}
}

// Value describes a setting that needs no limits.
func Value[T, V any](key, api string, at func(*T) *V) Field[T] {
	return Field[T]{Key: key, API: api, set: func(t *T, value any) bool {
		v, ok := value.(V)
		if ok {
			*at(t) = v
		}
		return ok
	}}
}

// as converts the types that numbers have in the API.
func as[N number](value any) (N, bool) {
	switch v := value.(type) {
	case N:
		return v, true
	case int:
		return N(v), true
	case int32:
		return N(v), true
	case int64:
		return N(v), true
	case float64:
		return N(v), true
	}
	return 0, false
}

// Set gives the setting a value. It reports false, and changes nothing, where the value is of another type.
func (f Field[T]) Set(t *T, value any) bool { return f.set(t, value) }

// Check finds whether the setting is out of its limits.
func (f Field[T]) Check(t *T) (Fault, bool) {
	if f.check == nil {
		return Fault{}, false
	}
	value, ok := f.check(t)
	if f.counts && !ok {
		return Fault{Key: f.Key, API: f.API, Text: fmt.Sprintf("has %v entries; the limit is %v", value, f.high)}, true
	}
	return Fault{Key: f.Key, API: f.API, Value: value, Low: f.low, High: f.high}, !ok
}

// Limits are the least and the greatest value, nil for a setting without limits.
func (f Field[T]) Limits() (low, high any) { return f.low, f.high }

// Fault is one thing that is wrong with a setting.
type Fault struct {
	Key string // the path in the configuration
	API string // the path in the API
	// Text says what is wrong; "" where Value is not from Low to High.
	Text             string
	Value, Low, High any
	// Other is the key of another setting, which Text names as what mends it; "" for none.
	Other string
}

// Faults gathers what is wrong with a T.
type Faults []Fault

// Add adds a fault with its text.
func (fs *Faults) Add(key, api, format string, args ...any) {
	*fs = append(*fs, Fault{Key: key, API: api, Text: fmt.Sprintf(format, args...)})
}

// Within adds a fault where a value is not from low to high.
func Within[N cmp.Ordered](fs *Faults, key, api string, value, low, high N) {
	if !(value >= low && value <= high) {
		*fs = append(*fs, Fault{Key: key, API: api, Value: value, Low: low, High: high})
	}
}

// Check adds a fault for every field that is out of its limits.
func Check[T any](fs *Faults, t *T, fields []Field[T]) {
	for _, f := range fields {
		if fault, wrong := f.Check(t); wrong {
			*fs = append(*fs, fault)
		}
	}
}

// Count describes how many entries a setting may have, which is all that is checked of it.
func Count[T any](key, api string, entries func(*T) int, most int) Field[T] {
	return Field[T]{
		Key: key, API: api, low: 0, high: most, counts: true,
		check: func(t *T) (any, bool) { n := entries(t); return n, n <= most },
		set:   func(*T, any) bool { return false },
	}
}
