package config

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func fileOf(text string) func(string) ([]byte, error) {
	return func(string) ([]byte, error) { return []byte(text), nil }
}

func load(t *testing.T, s Sources) Loaded {
	t.Helper()
	l, err := Load(s)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return l
}

func TestLoadGathersSettingsByRank(t *testing.T) {
	file := "data: file.db\nlisten: 127.0.0.1:1\nlog-level: warn\n"
	flags := Config{Data: "flag.db"}
	l := load(t, Sources{
		Flags: flags, FlagSet: map[string]bool{"data": true}, File: "s.yaml", ReadFile: fileOf(file),
		Environ: []string{"STRATA_DATA=env.db", "STRATA_LISTEN=127.0.0.1:2", "STRATA_TEST_ANYTHING=1", "HOME=/"},
	})
	want := []struct{ key, got, value, origin string }{
		{"data", l.Data, "flag.db", "flag --data"},
		{"listen", l.Listen, "127.0.0.1:2", "env STRATA_LISTEN"},
		{"log-level", l.LogLevel, "warn", "s.yaml:3"},
		{"log-format", l.LogFormat, "auto", "default"},
	}
	for _, w := range want {
		t.Run(w.key+" comes from "+w.origin, func(t *testing.T) {
			if w.got != w.value || l.Origin(w.key) != w.origin {
				t.Errorf("got %q from %q, want %q from %q", w.got, l.Origin(w.key), w.value, w.origin)
			}
		})
	}
}

func TestDefaultsAreTheDocumentedOnes(t *testing.T) {
	l := load(t, Sources{})
	if l.RequestTimeout != 10*time.Second || l.RecallCache != 64<<20 || !l.Reflection || l.Insecure {
		t.Errorf("got %+v", l.Config)
	}
	want := Profile{BudgetTokens: 8000, RecentN: 10, TopK: 200, RecallShare: .3, Sections: Sections{true, true, true}, MemoryRole: "user", UserPrior: 1}
	if diff := cmp.Diff(want, l.Profiles["default"]); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironmentCanNameTheFile(t *testing.T) {
	l := load(t, Sources{Environ: []string{"STRATA_CONFIG=/etc/strata.yaml"}, ReadFile: fileOf("data: x.db")})
	if l.File != "/etc/strata.yaml" || l.Origin("data") != "/etc/strata.yaml:1" {
		t.Errorf("file %q, origin %q", l.File, l.Origin("data"))
	}
}

func TestProfilesStartFromTheDefaultOne(t *testing.T) {
	file := `
profiles:
  brief:
    budget-tokens: 1000
    sections: {recalled: false}
  default:
    recent-n: 4
windows:
  my/model:latest: {tokens: 4096}
`
	l := load(t, Sources{File: "s.yaml", ReadFile: fileOf(file)})
	brief := l.Profiles["brief"]
	if brief.BudgetTokens != 1000 || brief.RecentN != 4 || brief.Sections != (Sections{State: true, Recent: true}) {
		t.Errorf("brief is %+v", brief)
	}
	if d := l.Profiles["default"]; d.BudgetTokens != 8000 || d.RecentN != 4 {
		t.Errorf("default is %+v", d)
	}
	if w, ok := l.Window("my/model:latest"); !ok || w != (Window{4096, "estimate"}) {
		t.Errorf("window is %+v", w)
	}
	if o := l.Origin("profiles.brief.budget-tokens"); o != "s.yaml:4" {
		t.Errorf("origin is %q", o)
	}
}

func TestAWindowNamedDefaultIsAWindowLikeAnyOther(t *testing.T) {
	l := load(t, Sources{File: "s.yaml", ReadFile: fileOf("windows: {m: {tokens: 9}, default: {tokens: 5, counter: chars_4}}\n")})
	if w := l.Windows["m"]; w != (Window{9, "estimate"}) {
		t.Errorf("window is %+v", w)
	}
	_, err := Load(Sources{File: "s.yaml", ReadFile: fileOf("windows: {m: {counter: chars_4}, default: {tokens: 5}}\n")})
	if err == nil || !strings.Contains(err.Error(), "windows.m.tokens") {
		t.Errorf("a window without tokens is accepted: %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	cases := []struct {
		name, file string
		env        []string
		want       []string
	}{
		{"an unknown key, naming line and nearest", "data: x.db\nrequest_timeot: 1s\n", nil, []string{"request_timeot (s.yaml:2)", "did you mean request-timeout?"}},
		{"an unknown key of a profile", "profiles:\n  a:\n    topk: 3\n", nil, []string{"profiles.a.topk (s.yaml:3)", "did you mean top-k?"}},
		{"an unknown variable, naming the nearest", "", []string{"STRATA_LISEN=x"}, []string{"STRATA_LISEN (environment)", "did you mean STRATA_LISTEN?"}},
		{"a key given twice", "data: a\ndata: b\n", nil, []string{"s.yaml", "already defined"}},
		{"text that is not YAML", "data: [\n", nil, []string{"the file is not YAML"}},
		{"a list for a value", "data: [a]\n", nil, []string{"data (s.yaml:1): it must be a single value, not a list"}},
		{"an empty value", "data:\n", nil, []string{"data (s.yaml:1)", "not nothing"}},
		{"a list for the file", "- a\n", nil, []string{"it must be keys with values, not a list"}},
		{"two documents", "data: a\n---\ndata: b\n", nil, []string{"2 documents"}},
		{"an alias", "data: &a x\nlisten: *a\n", nil, []string{"anchor or alias"}},
		{"a word that is no level", "", []string{"STRATA_LOG_LEVEL=loud"}, []string{"log-level (env STRATA_LOG_LEVEL)", "debug, info, warn, error"}},
		{"a number that is no duration", "request-timeout: 10\n", nil, []string{"request-timeout (s.yaml:1)", "such as 10s"}},
		{"a size that is none", "recall-cache: much\n", nil, []string{"such as 64MiB"}},
		{"a deadline out of its limits", "request-timeout: 1ms\n", nil, []string{"from 100ms to 10m0s"}},
		{"an open door", "listen: 0.0.0.0:8081\n", nil, []string{"listen (s.yaml:1)", "127.0.0.1:8081", "set insecure"}},
		{"an open door without a host", "listen: :8081\n", nil, []string{"set insecure"}},
		{"an address without a port", "listen: localhost\n", nil, []string{"such as 127.0.0.1:8081"}},
		{"a default profile that is not there", "default-profile: brif\nprofiles: {brief: {top-k: 1}}\n", nil, []string{`no profile "brif"`, "did you mean brief?"}},
		{
			"limits of a profile, all at once", "profiles: {a: {top-k: 201, min-score: .nan, recall-share: 2, budget-tokens: 0}}\n", nil,
			[]string{"profiles.a.top-k", "from 0 to 200", "profiles.a.min-score", "profiles.a.recall-share", "profiles.a.budget-tokens"},
		},
		{"a window of no tokens", "windows: {m: {tokens: 0}}\n", nil, []string{"windows.m.tokens"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(Sources{File: "s.yaml", ReadFile: fileOf(c.file), Environ: c.env})
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error does not say %q:\n%v", w, err)
				}
			}
			if f, ok := errors.AsType[*Fault](err); !ok || f.Key == "" {
				t.Errorf("no Fault in %v", err)
			}
		})
	}
}

func TestInsecureOpensTheDoor(t *testing.T) {
	load(t, Sources{Environ: []string{"STRATA_LISTEN=0.0.0.0:8081", "STRATA_INSECURE=true"}})
}

func TestLoopbackAddressesNeedNoPermission(t *testing.T) {
	for _, listen := range []string{"localhost:0", "127.0.0.9:1", "[::1]:8081"} {
		load(t, Sources{Environ: []string{"STRATA_LISTEN=" + listen}})
	}
}

func TestAFileThatIsMissingIsAFault(t *testing.T) {
	_, err := Load(Sources{File: "gone.yaml", ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist }})
	if err == nil || !strings.Contains(err.Error(), "gone.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestWindowIsFoundByTheLongestName(t *testing.T) {
	cases := []struct {
		model  string
		tokens int64
	}{
		{"gpt-4", 8_192},
		{"gpt-4-0613", 8_192},
		{"gpt-4-turbo-2024-04-09", 128_000},
		{"gpt-4o-mini", 128_000},
		{"gpt-4.1-nano", 1_047_576},
		{"o1-mini-2024-09-12", 128_000},
		{"claude-3-5-sonnet@20240620", 200_000},
		{"claude-sonnet-4-5-20250929", 200_000},
		{"gemini-2.5-flash-lite", 1_048_576},
		{"gpt-4.5", 0},
		{"gpt", 0},
		{"", 0},
		{"llama-3", 0},
	}
	for _, c := range cases {
		t.Run(c.model, func(t *testing.T) {
			w, ok := Default().Window(c.model)
			if w.Tokens != c.tokens || ok != (c.tokens > 0) {
				t.Errorf("got %+v, %v; want %d tokens", w, ok, c.tokens)
			}
		})
	}
}

func TestTheFilesWindowsWinOverBuiltInOnes(t *testing.T) {
	c := Default()
	c.Windows["gpt-4o"] = Window{Tokens: 5, Counter: "chars_4"}
	if w, _ := c.Window("gpt-4o-mini"); w.Tokens != 5 {
		t.Errorf("got %+v", w)
	}
}

func TestBytesAreReadAndWritten(t *testing.T) {
	for text, want := range map[string]Bytes{"64MiB": 64 << 20, "1 gib": 1 << 30, "1.5KiB": 1536, "2MB": 2e6, "7": 7, "7B": 7, "0": 0} {
		var b, again Bytes
		if err := b.UnmarshalText([]byte(text)); err != nil || b != want {
			t.Errorf("%s: got %d, %v; want %d", text, b, err, want)
		}
		if err := again.UnmarshalText([]byte(b.String())); err != nil || again != b {
			t.Errorf("%s: %s does not come back", text, b)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "NaN", "1e30", "9999999999GiB", "1TB"} {
		if err := new(Bytes).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestValuesNameEverySettingWithItsOrigin(t *testing.T) {
	l := load(t, Sources{Environ: []string{"STRATA_DRAIN_TIMEOUT=1m"}})
	got := map[string]Value{}
	for _, v := range l.Values() {
		got[v.Key] = v
	}
	if v := got["drain-timeout"]; v.Value != "1m" || v.Origin != "env STRATA_DRAIN_TIMEOUT" {
		t.Errorf("got %+v", v)
	}
	if v := got["profiles.default.sections.recent"]; v.Value != "true" || v.Origin != "default" {
		t.Errorf("got %+v", v)
	}
}

var update = flag.Bool("update", false, "rewrite golden files")

func TestReferenceIsTheGoldenFile(t *testing.T) {
	const golden = "testdata/reference.md"
	if *update {
		if err := os.WriteFile(golden, []byte(Reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), Reference()); diff != "" {
		t.Errorf("run go test ./internal/config -update if this is wanted:\n%s", diff)
	}
}

func TestCheckEnvKnowsSettingsAndTheOthersItIsTold(t *testing.T) {
	known := []string{"STRATA_DATA=x", "STRATA_CONFIG=y", "STRATA_SERVER=z", "STRATA_TEST_MONGODB_URI=u", "PATH=/"}
	if err := CheckEnv(known, []string{"STRATA_SERVER"}); err != nil {
		t.Error(err)
	}
	if err := CheckEnv(known, nil); err == nil || !strings.Contains(err.Error(), "STRATA_SERVER") {
		t.Errorf("got %v", err)
	}
}
