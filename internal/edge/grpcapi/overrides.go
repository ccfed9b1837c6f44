package grpcapi

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/settingschema"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
)

// overridesFrom converts what a call changes of its profile. Every field is found in contextprofile.Overridable by its name: a number or
// boolean needs nothing here; what has a type of its own is converted in given.
func overridesFrom(c *requests.Checker, in *memoryv1.ContextOverrides) contextprofile.Overrides {
	var out contextprofile.Overrides
	if in == nil {
		return out
	}
	switched := switchesFrom(c, in.GetSections())
	for _, f := range contextprofile.Overridable() {
		value := overrideFrom(c, in, f.API)
		if enabled, ok := switched[f.API]; ok {
			value = enabled
		}
		if value == nil {
			continue
		}
		var p contextprofile.Profile
		f.Set(&p, value)
		if fault, wrong := f.Check(&p); wrong {
			addFaults(c, "overrides", []settingschema.Fault{fault})
			continue
		}
		out = out.With(f.Key, value)
	}
	return out
}

// overrideFrom returns the value that the call has for a field of ContextOverrides, nil for none.
func overrideFrom(c *requests.Checker, in *memoryv1.ContextOverrides, field string) any {
	path := "overrides." + field
	switch field {
	case "memory_role":
		return orNone(requests.OneOf(c, path, enums.MemoryRoles, in.GetMemoryRole(), "system, developer or user"))
	case "memory_place":
		return orNone(requests.OneOf(c, path, enums.MemoryPlaces, in.GetMemoryPlace(), "before or after"))
	case "counter":
		return orNone(counterFrom(c, path, in.GetCounter()))
	case "categories":
		if categories := categoriesFrom(c, path, in.GetCategories()); categories != nil {
			return categories
		}
		return nil
	case "policy":
		return historyOverrideFrom(c, path, in.GetPolicy())
	case "previous_sessions.max_age":
		if age := in.GetPreviousSessions().GetMaxAge(); age != nil {
			return c.Timeout(path, age, 0)
		}
		return nil
	}
	return scalar(in.ProtoReflect(), strings.Split(field, "."))
}

// orNone is nil for the zero value, which leaves a setting as it is.
func orNone[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

// scalar is the value of an optional field, which may be in a message, nil where it is not set.
func scalar(m protoreflect.Message, path []string) any {
	f := m.Descriptor().Fields().ByName(protoreflect.Name(path[0]))
	if f == nil || !m.Has(f) || f.IsList() {
		return nil
	}
	if len(path) > 1 {
		return scalar(m.Get(f).Message(), path[1:])
	}
	return m.Get(f).Interface()
}

func historyOverrideFrom(c *requests.Checker, field string, in *memoryv1.ContextPolicy) any {
	p := contextPolicyFrom(c, field, in)
	if in.GetHide() != nil {
		c.Fault(field+".hide", "is set, but a session is hidden from by UpdateSession's context_start_seq "+
			"and UpdateMessage's hidden; leave it out")
	}
	if p == nil {
		return nil
	}
	return *p
}

// switchesFrom returns the sections that a call turns on or off, by their names in contextprofile.Overridable.
func switchesFrom(c *requests.Checker, in []*memoryv1.SectionSwitch) map[string]bool {
	out := map[string]bool{}
	for i, s := range in {
		name, ok := switchName(s.GetSection())
		if !ok {
			c.Fault(fmt.Sprintf("overrides.sections[%d].section", i), "cannot be switched; any section but instructions and pending can")
			continue
		}
		out[name] = s.GetEnabled()
	}
	return out
}

// switchName is what contextprofile.Overridable calls the switch of a section, false for one that has none.
func switchName(k memoryv1.SectionKind) (string, bool) {
	//exhaustive:enforce
	switch k {
	case memoryv1.SectionKind_SECTION_KIND_STATE:
		return "sections.state", true
	case memoryv1.SectionKind_SECTION_KIND_NOTES:
		return "sections.notes", true
	case memoryv1.SectionKind_SECTION_KIND_FACTS:
		return "sections.facts", true
	case memoryv1.SectionKind_SECTION_KIND_PERIODS:
		return "sections.periods", true
	case memoryv1.SectionKind_SECTION_KIND_PREVIOUS_SESSIONS:
		return "sections.previous_sessions", true
	case memoryv1.SectionKind_SECTION_KIND_SUMMARY:
		return "sections.summary", true
	case memoryv1.SectionKind_SECTION_KIND_RECALLED:
		return "sections.recalled", true
	case memoryv1.SectionKind_SECTION_KIND_SESSION_FACTS:
		return "sections.session_facts", true
	case memoryv1.SectionKind_SECTION_KIND_RECENT:
		return "sections.recent", true
	case memoryv1.SectionKind_SECTION_KIND_UNSPECIFIED, memoryv1.SectionKind_SECTION_KIND_INSTRUCTIONS,
		memoryv1.SectionKind_SECTION_KIND_PENDING:
	}
	return "", false
}
