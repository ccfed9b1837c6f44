package requests

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// Mask returns which fields an update changes: those named, all for *, those set when none is named.
func (c *Checker) Mask(mask *fieldmaskpb.FieldMask, set map[string]bool) map[string]bool {
	if len(mask.GetPaths()) == 0 {
		return set
	}
	out := map[string]bool{}
	for _, path := range mask.GetPaths() {
		if _, known := set[path]; !known && path != "*" {
			c.Fault("update_mask", "names a field that cannot be changed; it may name %s, or *", strings.Join(fields(set), ", "))
		}
		for name := range set {
			out[name] = out[name] || path == "*" || path == name
		}
	}
	return out
}

func fields(set map[string]bool) []string {
	var names []string
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Masked returns the value of a field that the mask changes, nil for another field.
func Masked[T any](mask map[string]bool, name string, v T) *T {
	if !mask[name] {
		return nil
	}
	return &v
}
