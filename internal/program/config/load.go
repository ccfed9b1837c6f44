package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/contexts/settingschema"
	"github.com/stratamem/strata/internal/memory/secret"
)

// Sources are where settings come from.
type Sources struct {
	Flags    Config                       // values of the flags in FlagSet
	FlagSet  map[string]bool              // the flags that the command line has, by name
	Environ  []string                     // as os.Environ gives it
	OtherEnv []string                     // variables of other parts of the program, which are no mistakes
	File     string                       // the YAML file; "" for the one that STRATA_CONFIG names, if any
	ReadFile func(string) ([]byte, error) // as os.ReadFile
}

// ConfigFlag is the name of the flag that names the YAML file; it is in no file itself.
const ConfigFlag = "config"

// Loaded is a configuration with the origin of every value.
type Loaded struct {
	Config
	File    string // the YAML file that was read; "" for none
	origins map[string]string
}

// Fault is one thing that is wrong with a configuration.
type Fault struct { //nolint:errname // a finding, of which one error joins several
	Key    string // the setting, such as profiles.brief.top-k
	Origin string // where it was set; "" when unknown
	Text   string // what is wrong, the limit and the fix
	number bool   // whether the value is none where one is due: check adds the limits
}

// Error names the setting, its origin and what is wrong.
func (f *Fault) Error() string {
	if f.Origin == "" {
		return f.Key + ": " + f.Text
	}
	return fmt.Sprintf("%s (%s): %s", f.Key, f.Origin, f.Text)
}

// Load gathers all settings: flags before environment before YAML file before default. The error joins every Fault
// that was found, in all sources.
func Load(s Sources) (Loaded, error) {
	l := loader{env: environ(s.Environ), Loaded: Loaded{Config: Default(), File: s.File, origins: map[string]string{}}}
	if l.File == "" {
		l.File = l.env[EnvName(ConfigFlag)]
	}
	l.readFile(s.ReadFile)
	l.readEnv(s.OtherEnv)
	l.readFlags(s.Flags, s.FlagSet)
	l.readStandardEnv()
	l.readKey(s.ReadFile, keySetting{"chat-api-key", &l.ChatAPIKey, l.ChatAPIKeyFile})
	l.readKey(s.ReadFile, keySetting{"embedding-api-key", &l.EmbeddingAPIKey, l.EmbeddingAPIKeyFile})
	l.readKey(s.ReadFile, keySetting{"rerank-api-key", &l.RerankAPIKey, l.RerankAPIKeyFile})
	l.check()
	return l.Loaded, errors.Join(l.faults...)
}

// Origin says where a setting's value comes from: flag --data, env STRATA_DATA, strata.yaml:3, or default.
func (l Loaded) Origin(key string) string {
	if o, ok := l.origins[key]; ok {
		return o
	}
	return "default"
}

// loader gathers settings and what is wrong with them.
type loader struct {
	Loaded
	env    map[string]string
	faults []error
}

func (l *loader) fault(key, origin, format string, args ...any) {
	l.faults = append(l.faults, &Fault{Key: key, Origin: origin, Text: fmt.Sprintf(format, args...)})
}

// faultOfText notes that a text is no value of a setting.
func (l *loader) faultOfText(key, origin string, err error) {
	_, number := errors.AsType[*numberError](err)
	l.faults = append(l.faults, &Fault{Key: key, Origin: origin, Text: err.Error(), number: number})
}

func (l *loader) field(s Setting) (reflect.Value, reflect.StructTag) {
	return reflect.ValueOf(&l.Config).Elem().Field(s.index), reflect.TypeFor[Config]().Field(s.index).Tag
}

func (l *loader) readEnv(other []string) {
	for _, s := range Settings() {
		if text, ok := l.env[s.Env]; ok && !s.FileOnly {
			l.setEnv(s, text)
		}
	}
	l.faults = append(l.faults, unknownEnv(l.env, other)...)
}

// CheckEnv refuses environment variables with the program's prefix that are neither settings nor among the others.
func CheckEnv(list, other []string) error {
	return errors.Join(unknownEnv(environ(list), other)...)
}

func (l *loader) setEnv(s Setting, text string) {
	v, tag := l.field(s)
	origin := "env " + s.Env
	if err := setText(v, text, tag); err != nil {
		l.faultOfText(s.Name, origin, err)
		return
	}
	l.origins[s.Name] = origin
}

// unknownEnv finds misspelt variables.
func unknownEnv(env map[string]string, other []string) []error {
	known := append([]string{EnvName(ConfigFlag)}, other...)
	for _, s := range Settings() {
		if !s.FileOnly {
			known = append(known, s.Env)
		}
	}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if strings.HasPrefix(name, EnvPrefix) && !forTests(name) && !slices.Contains(known, name) {
			faults = append(faults, &Fault{Key: name, Origin: "environment", Text: "there is no such variable" + settingschema.DidYouMean(name, known)})
		}
	}
	return faults
}

// forTests reports variables of the project's tests, of the scripts that start their servers, and of tests of agents: the clients
// find the program by STRATA_BINARY.
func forTests(name string) bool {
	return strings.HasPrefix(name, EnvPrefix+"TEST_") || name == EnvPrefix+"BACKENDS_DIR" || name == EnvPrefix+"BINARY"
}

func (l *loader) readFlags(flags Config, set map[string]bool) {
	for _, s := range Settings() {
		if s.FileOnly || !set[s.Name] {
			continue
		}
		v, _ := l.field(s)
		v.Set(reflect.ValueOf(flags).Field(s.index))
		l.origins[s.Name] = "flag --" + s.Name
	}
}

// standardEndpoint is OpenTelemetry's own variable for where traces go.
const standardEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"

// readStandardEnv takes the endpoint of traces from OpenTelemetry's own variable where no setting names one.
func (l *loader) readStandardEnv() {
	if _, set := l.origins["otlp-endpoint"]; set || l.env[standardEndpoint] == "" {
		return
	}
	l.OTLPEndpoint = l.env[standardEndpoint]
	l.origins["otlp-endpoint"] = "env " + standardEndpoint
}

// keySetting is a key with the file that may hold it instead.
type keySetting struct {
	name string
	key  *secret.Text
	file string
}

// readKey takes over a key from its file.
func (l *loader) readKey(read func(string) ([]byte, error), s keySetting) {
	if s.file == "" {
		return
	}
	origin := l.Origin(s.name + "-file")
	if s.key.IsSet() {
		l.fault(s.name+"-file", origin, "%s is set too (%s): keep one of them", s.name, l.Origin(s.name))
		return
	}
	data, err := read(s.file)
	if err != nil {
		l.fault(s.name+"-file", origin, "the file cannot be read: %v", err)
		return
	}
	*s.key = secret.New(strings.TrimSpace(string(data)))
	l.origins[s.name] = s.file
	if !s.key.IsSet() {
		l.fault(s.name+"-file", origin, "%s holds no key", s.file)
	}
}

// check adds what Validate finds, with the origin of each value, and their limits to texts that are no numbers. What a profile took over
// from the one named default is said of that one alone.
func (l *loader) check() {
	checked := l.Config.faults()
	for _, err := range l.faults {
		if f, ok := errors.AsType[*Fault](err); ok && f.number {
			if limits := checked.limitsOf(f.Key); limits != "" {
				f.Text += ", " + limits
			}
		}
	}
	for _, f := range checked.all {
		if _, set := l.origins[f.Key]; !set && isTakenOver(f, checked.all) {
			continue
		}
		f.Origin = l.Origin(f.Key)
		l.faults = append(l.faults, f)
	}
}

// isTakenOver reports whether a fault of a profile is one of the profile named default too, from which each starts.
func isTakenOver(f *Fault, all []*Fault) bool {
	const profiles = "profiles."
	name, key, _ := strings.Cut(strings.TrimPrefix(f.Key, profiles), ".")
	if !strings.HasPrefix(f.Key, profiles) || name == BuiltinProfile {
		return false
	}
	text := strings.ReplaceAll(f.Text, profiles+name+".", profiles+BuiltinProfile+".")
	return slices.ContainsFunc(all, func(other *Fault) bool {
		return other.Key == profiles+BuiltinProfile+"."+key && other.Text == text
	})
}

func environ(list []string) map[string]string {
	env := map[string]string{}
	for _, kv := range list {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	return env
}
