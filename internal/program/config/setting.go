package config

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/contexts/settingschema"
	"github.com/stratamem/strata/internal/memory"
)

// Setting describes one field of Config.
type Setting struct {
	Name     string // of the flag and the YAML key
	Env      string // the environment variable; "" for settings of the file only
	Default  string
	Help     string
	FileOnly bool
	index    int // the field of Config
}

// Settings lists every setting, in the order of Config's fields.
func Settings() []Setting {
	t := reflect.TypeFor[Config]()
	var all []Setting
	for i := range t.NumField() {
		all = append(all, settingOf(t.Field(i), i))
	}
	return all
}

func settingOf(f reflect.StructField, index int) Setting {
	s := Setting{
		Name: f.Tag.Get("name"), Default: f.Tag.Get("default"), Help: f.Tag.Get("help"),
		FileOnly: f.Tag.Get("kong") == "-", index: index,
	}
	if !s.FileOnly {
		s.Env = EnvName(s.Name)
	}
	return s
}

// EnvName is the environment variable of a flag.
func EnvName(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setDefaults gives every field of the struct the value of its default tag.
func setDefaults(ptr any) {
	v := reflect.ValueOf(ptr).Elem()
	for _, f := range fieldsOf(v.Type()) {
		if isGroup(f.Type) {
			setDefaults(v.FieldByIndex(f.Index).Addr().Interface())
		} else if d := f.Tag.Get("default"); d != "" {
			if err := setText(v.FieldByIndex(f.Index), d, f.Tag); err != nil {
				panic(fmt.Sprintf("config: default of %s: %v", f.Name, err))
			}
		}
	}
}

// fieldsOf lists the settings of a group in their order. The settings of a struct without a name stand among those of the
// group, and a field named - is no setting.
func fieldsOf(group reflect.Type) []reflect.StructField {
	var all []reflect.StructField
	for i := range group.NumField() {
		f := group.Field(i)
		switch name := f.Tag.Get("name"); {
		case name == "-", !f.IsExported():
		case name != "":
			all = append(all, f)
		default:
			for _, inner := range fieldsOf(f.Type) {
				inner.Index = append([]int{i}, inner.Index...)
				all = append(all, inner)
			}
		}
	}
	return all
}

// isGroup reports whether a type is a group of settings: a struct that is not written as one text.
func isGroup(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// isNamed reports whether a type holds groups by name: a map, or a list of groups that have a field for their name.
func isNamed(t reflect.Type) bool {
	return t.Kind() == reflect.Map || t.Kind() == reflect.Slice && isGroup(t.Elem())
}

// setText gives a field the value that the text names.
func setText(v reflect.Value, text string, tag reflect.StructTag) error {
	if enum, ok := tag.Lookup("enum"); ok && !slices.Contains(strings.Split(enum, ","), text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(strings.Split(strings.TrimPrefix(enum, ","), ","), ", "))
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch to := v.Addr().Interface().(type) {
	case *time.Duration:
		return setDuration(v, text)
	case *memory.Role:
		role, err := roleNamed(text)
		*to = role
		return err
	}
	if v.Kind() == reflect.Slice {
		return setList(v, strings.Split(text, ","))
	}
	return setScalar(v, text, tag.Get("default"))
}

// setList gives a list the values that texts name, without the empty ones. It takes over all of them, or none and says
// what is wrong.
func setList(v reflect.Value, texts []string) error {
	list := reflect.Zero(v.Type())
	for _, text := range texts {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		one := reflect.New(v.Type().Elem()).Elem()
		if err := setText(one, text, ""); err != nil {
			return err
		}
		list = reflect.Append(list, one)
	}
	v.Set(list)
	return nil
}

// roleNamed is the role that is written so.
func roleNamed(text string) (memory.Role, error) {
	var known []string
	for r := memory.RoleSystem; r <= memory.RoleTool; r++ {
		if r.String() == text {
			return r, nil
		}
		known = append(known, r.String())
	}
	return 0, fmt.Errorf("there is no role %q%s", text, settingschema.DidYouMean(text, known))
}

func setDuration(v reflect.Value, text string) error {
	d, err := parseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a duration: write a number with ms, s, m, h or d, such as 10s", text)
	}
	v.SetInt(int64(d))
	return nil
}

const day = 24 * time.Hour

// parseDuration reads what time.ParseDuration does, and days, such as 90d.
func parseDuration(text string) (time.Duration, error) {
	days, ok := strings.CutSuffix(text, "d")
	if !ok {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseInt(days, 10, 32)
	if err != nil {
		return 0, err
	}
	if most := int64(math.MaxInt64 / day); n > most || n < -most {
		return 0, strconv.ErrRange
	}
	return time.Duration(n) * day, nil
}

// setScalar gives a field the value that the text names; example is one that it takes, "" where none is known.
func setScalar(v reflect.Value, text, example string) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return &numberError{fmt.Sprintf("%q is not a whole number%s", text, suchAs(example))}
		}
		v.SetInt(n)
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return &numberError{fmt.Sprintf("%q is not a number%s", text, suchAs(example))}
		}
		v.SetFloat(n)
	default:
		return fmt.Errorf("a %s cannot be written as text", v.Type())
	}
	return nil
}

func suchAs(example string) string {
	if example == "" {
		return ""
	}
	return ": write one such as " + example
}

// numberError is the error of a text that should be a number.
type numberError struct{ text string }

func (e *numberError) Error() string { return e.text }
