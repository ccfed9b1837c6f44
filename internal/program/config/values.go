package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Value is one setting as it is in force.
type Value struct {
	Key    string `json:"key"` // such as listen or profiles.default.top-k
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// Values lists every setting in force, in the order of the reference, names sorted. Built-in windows are left out.
func (l Loaded) Values() []Value { return l.values(reflect.ValueOf(l.Config), "") }

func (l Loaded) values(v reflect.Value, key string) []Value {
	var all []Value
	switch {
	case isGroup(v.Type()):
		for _, f := range fieldsOf(v.Type()) {
			all = append(all, l.values(v.FieldByIndex(f.Index), join(key, f.Tag.Get("name")))...)
		}
	case v.Kind() == reflect.Map:
		names := v.MapKeys()
		slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, name := range names {
			all = append(all, l.values(v.MapIndex(name), join(key, name.String()))...)
		}
	case isNamed(v.Type()):
		for i := range v.Len() {
			all = append(all, l.values(v.Index(i), join(key, nameOf(v.Index(i))))...)
		}
	default:
		all = append(all, Value{Key: key, Value: textOf(v), Origin: l.Origin(key)})
	}
	return all
}

// textOf writes a value, or those of a list with commas between them.
func textOf(v reflect.Value) string {
	if v.Kind() != reflect.Slice {
		return valueText(v.Interface())
	}
	texts := make([]string, v.Len())
	for i := range texts {
		texts[i] = valueText(v.Index(i).Interface())
	}
	return strings.Join(texts, ", ")
}

// valueText writes a value as a person would in the file: a minute is 1m, not 1m0s, ninety days are 90d, and a million is 1000000.
func valueText(v any) string {
	if number, ok := v.(float64); ok {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	s := fmt.Sprint(v)
	d, ok := v.(time.Duration)
	switch {
	case !ok:
		return s
	case d != 0 && d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case strings.HasSuffix(s, "h0m0s"):
		return strings.TrimSuffix(s, "0m0s")
	case strings.HasSuffix(s, "m0s"):
		return strings.TrimSuffix(s, "0s")
	}
	return s
}
