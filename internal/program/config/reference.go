package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
)

// Reference describes every setting as Markdown, derived from Config.
func Reference() string {
	var b strings.Builder
	b.WriteString(
		"# Settings\n\nA flag wins over an environment variable, that over the YAML file (`--config PATH` or `" + EnvName(ConfigFlag) + "`), " +
			"that over the default.\nUnknown keys and unknown `" + EnvPrefix + "` variables are refused.\n\n" +
			"| flag and key | environment | default | meaning |\n|---|---|---|---|\n",
	)
	for _, s := range Settings() {
		if !s.FileOnly {
			fmt.Fprintf(&b, "| `%s` | `%s` | `%s` | %s |\n", s.Name, s.Env, s.Default, s.Help)
		}
	}
	b.WriteString("\nIn the file only:\n\n| key | default | meaning |\n|---|---|---|\n")
	writeFileOnly(&b)
	b.WriteString("\nBuilt-in windows:\n\n| model | tokens | counter | documents |\n|---|---|---|---|\n")
	windows := builtinWindows()
	for _, name := range slices.Sorted(maps.Keys(windows)) {
		fmt.Fprintf(&b, "| `%s` | %d | `%s` | %t |\n", name, windows[name].Tokens, windows[name].Counter, windows[name].Documents)
	}
	return b.String()
}

func writeFileOnly(b *strings.Builder) {
	t := reflect.TypeFor[Config]()
	for _, s := range Settings() {
		if s.FileOnly {
			fmt.Fprintf(b, "| `%s` | | %s |\n", s.Name, s.Help)
			writeKeys(b, t.Field(s.index).Type.Elem(), s.Name+".NAME")
		}
	}
}

func writeKeys(b *strings.Builder, t reflect.Type, path string) {
	for _, f := range fieldsOf(t) {
		key := join(path, f.Tag.Get("name"))
		if isGroup(f.Type) {
			writeKeys(b, f.Type, key)
			continue
		}
		if isNamed(f.Type) {
			fmt.Fprintf(b, "| `%s` | | %s |\n", key, helpOf(key, f.Tag))
			writeKeys(b, f.Type.Elem(), key+".NAME")
			continue
		}
		value := ""
		if d := f.Tag.Get("default"); d != "" {
			value = "`" + d + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", key, value, helpOf(key, f.Tag))
	}
}

// helpOf is a setting's help, with the limits of a profile's in their places.
func helpOf(key string, tag reflect.StructTag) string {
	low, high, ok := contextprofile.Limits(strings.TrimPrefix(key, "profiles.NAME."))
	if !ok {
		return tag.Get("help")
	}
	from, to := valueText(low), valueText(high)
	return strings.NewReplacer("{limits}", from+" to "+to, "{high}", to).Replace(tag.Get("help"))
}
