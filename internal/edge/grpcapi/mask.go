package grpcapi

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// mask returns which fields an update changes: those named, all for *, those set when none is named.
func (c *checker) mask(mask *fieldmaskpb.FieldMask, set map[string]bool) map[string]bool {
	if len(mask.GetPaths()) == 0 {
		return set
	}
	out := map[string]bool{}
	for _, path := range mask.GetPaths() {
		if _, known := set[path]; !known && path != "*" {
			c.fault("update_mask", "names a field that cannot be changed; it may name %s, or *", strings.Join(fields(set), ", "))
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

func masked[T any](mask map[string]bool, name string, v T) *T {
	if !mask[name] {
		return nil
	}
	return &v
}
