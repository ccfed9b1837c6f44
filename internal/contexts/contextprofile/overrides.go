package contextprofile

import "fmt"

// Overrides is what one call changes of a profile; what it does not name stays as it is.
type Overrides struct {
	changes []change
}

// change is a setting with the value that a call gives it.
type change struct {
	field Field
	value any
}

// With returns the overrides with one more: a value of a setting of Overridable, by its key. A key that is not there and a value of
// another type are mistakes of the program, and panic.
func (o Overrides) With(key string, value any) Overrides {
	for _, f := range Overridable() {
		if f.Key == key {
			if !f.Set(new(Profile), value) {
				panic(fmt.Sprintf("contextprofile: %T is no value of %s", value, key))
			}
			return Overrides{append(o.changes[:len(o.changes):len(o.changes)], change{f, value})}
		}
	}
	panic("contextprofile: no call can override " + key)
}

// Has reports whether the overrides have a value of that setting.
func (o Overrides) Has(key string) bool {
	for _, c := range o.changes {
		if c.field.Key == key {
			return true
		}
	}
	return false
}

// apply changes a profile. Its maps and lists are replaced and not changed: profiles share them.
func (o Overrides) apply(p *Profile) {
	for _, c := range o.changes {
		c.field.Set(p, c.value)
	}
}
