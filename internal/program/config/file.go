package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/settingschema"
)

// readFile takes over what the YAML file says.
func (l *loader) readFile(read func(string) ([]byte, error)) {
	if l.File == "" {
		return
	}
	data, err := read(l.File)
	if err != nil {
		l.fault(ConfigFlag, l.File, "the file cannot be read: %v", err)
		return
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		l.fault(ConfigFlag, l.File, "the file is not YAML: %s", yaml.FormatError(err, false, false))
		return
	}
	if len(file.Docs) > 1 {
		l.fault(ConfigFlag, l.File, "the file has %d documents: keep one", len(file.Docs))
		return
	}
	if len(file.Docs) == 1 && file.Docs[0].Body != nil {
		l.decode(file.Docs[0].Body, reflect.ValueOf(&l.Config).Elem(), "", "")
	}
}

func (l *loader) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", l.File, n.GetToken().Position.Line)
}

// decode gives v the value of the node. Keys must be names of v's fields.
func (l *loader) decode(n ast.Node, v reflect.Value, path string, tag reflect.StructTag) {
	switch {
	case isGroup(v.Type()):
		l.decodeStruct(n, v, path)
	case v.Kind() == reflect.Map:
		l.decodeMap(n, v, path)
	case isNamed(v.Type()):
		l.decodeNamed(n, v, path)
	case kindOf(n) == listOfValues:
		l.decodeList(n, v, path)
	default:
		l.decodeScalar(n, v, path, tag)
	}
}

func (l *loader) decodeStruct(n ast.Node, v reflect.Value, path string) {
	fields := map[string]reflect.StructField{}
	for _, f := range fieldsOf(v.Type()) {
		fields[f.Tag.Get("name")] = f
	}
	for _, kv := range l.pairs(n, path) {
		name := kv.Key.GetToken().Value
		f, ok := fields[name]
		if !ok {
			l.fault(join(path, name), l.at(kv.Key), "there is no such setting%s", settingschema.DidYouMean(name, slices.Collect(maps.Keys(fields))))
			continue
		}
		l.origins[join(path, name)] = l.at(kv.Key)
		l.decode(kv.Value, v.FieldByIndex(f.Index), join(path, name), f.Tag)
	}
}

// decodeMap decodes named structs. The profile named default comes first, since the other profiles start from it; those
// that are always there start from it with their own changes. What v holds may be shared with other profiles: it is
// copied before it is added to.
func (l *loader) decodeMap(n ast.Node, v reflect.Value, path string) {
	pairs := l.pairs(n, path)
	v.Set(cloneMap(v))
	slices.SortStableFunc(pairs, func(a, b *ast.MappingValueNode) int { return isBuiltin(b) - isBuiltin(a) })
	for _, kv := range pairs {
		name := kv.Key.GetToken().Value
		one := reflect.New(v.Type().Elem()).Elem()
		setDefaults(one.Addr().Interface())
		all, profiles := v.Interface().(Profiles)
		if profiles {
			one.Set(reflect.ValueOf(all.base(name)))
		}
		l.origins[join(path, name)] = l.at(kv.Key)
		l.decode(kv.Value, one, join(path, name), "")
		v.SetMapIndex(reflect.ValueOf(name), one)
		if profiles && name == BuiltinProfile {
			all.derive()
		}
	}
}

// decodeNamed decodes a list of named structs, which then are in the order of their names: the file has no other. What v holds
// may be shared with other profiles: it is copied before it is added to.
func (l *loader) decodeNamed(n ast.Node, v reflect.Value, path string) {
	byName := map[string]reflect.Value{}
	for i := range v.Len() {
		byName[nameOf(v.Index(i))] = v.Index(i)
	}
	for _, kv := range l.pairs(n, path) {
		name := kv.Key.GetToken().Value
		one := reflect.New(v.Type().Elem()).Elem()
		setDefaults(one.Addr().Interface())
		one.FieldByIndex(nameField(one.Type()).Index).SetString(name)
		l.origins[join(path, name)] = l.at(kv.Key)
		l.decode(kv.Value, one, join(path, name), "")
		byName[name] = one
	}
	list := reflect.MakeSlice(v.Type(), 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = reflect.Append(list, byName[name])
	}
	v.Set(list)
}

// nameField is the field that holds the name of a struct in a list.
func nameField(t reflect.Type) reflect.StructField {
	for i := range t.NumField() {
		if _, ok := t.Field(i).Tag.Lookup("key"); ok {
			return t.Field(i)
		}
	}
	panic("config: " + t.String() + " has no field for its name")
}

func nameOf(v reflect.Value) string { return v.FieldByIndex(nameField(v.Type()).Index).String() }

// cloneMap is a map with the entries of another, which may be nil.
func cloneMap(m reflect.Value) reflect.Value {
	out := reflect.MakeMap(m.Type())
	for it := m.MapRange(); it.Next(); {
		out.SetMapIndex(it.Key(), it.Value())
	}
	return out
}

// base is the profile that one of that name starts from.
func (all Profiles) base(name string) contextprofile.Profile {
	if _, ok := readyMade()[name]; ok {
		return all[name]
	}
	return all[BuiltinProfile]
}

// derive makes the profiles that are always there from the one named default.
func (all Profiles) derive() {
	for name, change := range readyMade() {
		all[name] = change(all[BuiltinProfile])
	}
}

func isBuiltin(kv *ast.MappingValueNode) int {
	if kv.Key.GetToken().Value == BuiltinProfile {
		return 1
	}
	return 0
}

func (l *loader) decodeList(n ast.Node, v reflect.Value, path string) {
	if v.Kind() != reflect.Slice {
		l.fault(path, l.at(n), "it must be %s, not %s", singleValue, listOfValues)
		return
	}
	var values []string
	for _, one := range n.(*ast.SequenceNode).Values {
		s, ok := one.(ast.ScalarNode)
		if !ok || kindOf(one) != singleValue {
			l.fault(path, l.at(one), "each entry must be %s, not %s", singleValue, kindOf(one))
			return
		}
		values = append(values, fmt.Sprint(s.GetValue()))
	}
	if err := setList(v, values); err != nil {
		l.fault(path, l.at(n), "%v", err)
	}
}

func (l *loader) decodeScalar(n ast.Node, v reflect.Value, path string, tag reflect.StructTag) {
	s, ok := n.(ast.ScalarNode)
	if !ok || kindOf(n) != singleValue {
		l.fault(path, l.at(n), "it must be %s, not %s", singleValue, kindOf(n))
		return
	}
	if err := setText(v, fmt.Sprint(s.GetValue()), tag); err != nil {
		l.faultOfText(path, l.at(n), err)
	}
}

// pairs are the keys and values of a mapping.
func (l *loader) pairs(n ast.Node, path string) []*ast.MappingValueNode {
	switch m := n.(type) {
	case *ast.MappingNode:
		return slices.Clone(m.Values)
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}
	}
	if path == "" {
		path = ConfigFlag
	}
	l.fault(path, l.at(n), "it must be keys with values, not %s", kindOf(n))
	return nil
}

// Kinds of what a setting takes.
const (
	singleValue  = "a single value"
	listOfValues = "a list"
)

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys with values"
	case *ast.SequenceNode:
		return listOfValues
	case *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode, *ast.AliasNode:
		return "an anchor or alias"
	}
	return singleValue
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
