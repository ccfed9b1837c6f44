package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/stratamem/strata/internal/edge/admission"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// instrument is what the page of metrics must say of one.
type instrument struct {
	labels []string
	alerts []string // that read it
}

// TestThePageOfMetricsHasWhatIsRegistered: each instrument is a row of the page with its labels, its type and the alerts that read it, and
// each row is an instrument.
func TestThePageOfMetricsHasWhatIsRegistered(t *testing.T) {
	t.Parallel()
	r := watched(t)
	want, got := registered(t, r), rows(t)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		row, ok := got[name]
		if !ok {
			t.Errorf("docs/operate/monitoring.md has no row of %s", name)
			continue
		}
		if !slices.Equal(row.labels, want[name].labels) {
			t.Errorf("%s has the labels %v, and on the page %v", name, want[name].labels, row.labels)
		}
		if !slices.Equal(row.alerts, want[name].alerts) {
			t.Errorf("%s is read by the alerts %v, and on the page by %v", name, want[name].alerts, row.alerts)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("docs/operate/monitoring.md has a row of %s, which nothing registers", name)
	}
}

// TestThePageOfMetricsHasTheTypes of what a server shows.
func TestThePageOfMetricsHasTheTypes(t *testing.T) {
	t.Parallel()
	r := watched(t)
	r.Served("/memory.v1.MemoryService/Record", "OK", time.Millisecond)
	_, shown := get(t, serve(t, r, healthy), "/metrics")
	page := page(t)
	types := regexp.MustCompile(`(?m)^# TYPE (strata_\w+) (\w)\w*$`).FindAllStringSubmatch(shown, -1)
	if len(types) == 0 {
		t.Fatalf("a server shows no metrics:\n%s", shown)
	}
	for _, of := range types {
		if want := fmt.Sprintf("\n| `%s` | %s |", of[1], strings.ToUpper(of[2])); !strings.Contains(page, want) {
			t.Errorf("docs/operate/monitoring.md has no row that begins with %q", want[1:])
		}
	}
	for name, of := range registered(t, r) {
		isCounter := strings.Contains(page, fmt.Sprintf("\n| `%s` | C |", name))
		if isCounter != strings.HasSuffix(name, "_total") {
			t.Errorf("%s %v: a counter's name ends in _total, and no other's does", name, of.labels)
		}
	}
}

// watched is a Recorder to which every method that adds instruments was applied.
func watched(t *testing.T) *Recorder {
	t.Helper()
	erasures := func(context.Context) (int, time.Time, error) { return 0, noon, nil }
	add := map[string]func(*Recorder){
		"WatchCalls":             func(r *Recorder) { r.WatchCalls(func() admission.Stats { return admission.Stats{} }, none) },
		"WatchStoreLimit":        func(r *Recorder) { r.WatchStoreLimit(none) },
		"WatchReady":             func(r *Recorder) { r.WatchReady(healthy) },
		"WatchDisk":              func(r *Recorder) { r.WatchDisk(func() (uint64, error) { return 0, nil }) },
		"WatchViews":             func(r *Recorder) { r.WatchViews([]memory.View{memory.ViewVectors}) },
		"WatchPanics":            func(r *Recorder) { r.WatchPanics(none) },
		"WatchSequenceConflicts": func(r *Recorder) { r.WatchSequenceConflicts(none) },
		"WatchWork": func(r *Recorder) {
			r.WatchWork(WorkOptions{
				Work:     work{stats: store.WorkStats{Quarantined: map[string]int64{"subject": 1}}},
				Waiting:  func(context.Context) (int64, int64, error) { return 0, 0, nil },
				Erasures: erasures, Now: clock, Log: slog.New(slog.DiscardHandler),
			})
		},
	}
	r := New(Options{Providers: Providers{Summary: "builtin:extractive"}, Now: clock})
	for m := range reflect.TypeFor[*Recorder]().Methods() {
		if !strings.HasPrefix(m.Name, "Watch") {
			continue
		}
		if add[m.Name] == nil {
			t.Fatalf("%s is not among what this test adds to the registry", m.Name)
		}
		add[m.Name](r)
	}
	return r
}

func none() int64 { return 0 }

// registered are the instruments of a registry by name, without those of the Prometheus client.
func registered(t *testing.T, r *Recorder) map[string]instrument {
	t.Helper()
	described := make(chan *prometheus.Desc)
	go func() {
		defer close(described)
		r.registry.Describe(described)
	}()
	form := regexp.MustCompile(`^Desc\{fqName: "(\w+)", help: ".*", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)
	name := regexp.MustCompile(`\w+`)
	all := map[string]instrument{}
	for d := range described {
		parts := form.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("a descriptor has another form: %s", d)
		}
		if !strings.HasPrefix(parts[1], "strata_") {
			continue
		}
		labels := name.FindAllString(parts[3], -1)
		if constant, _, ok := strings.Cut(parts[2], "="); ok {
			labels = append(labels, constant)
		}
		slices.Sort(labels)
		all[parts[1]] = instrument{labels: labels, alerts: readers(t, parts[1])}
	}
	return all
}

// readers are the alerts whose expression reads the metric, in order.
func readers(t *testing.T, metric string) (names []string) {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/helm/strata/files/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	reads := regexp.MustCompile(`\b` + metric + `(_bucket|_count|_sum)?\b`)
	for _, g := range file.Groups {
		for _, rule := range g.Rules {
			if reads.MatchString(rule.Expr) {
				names = append(names, rule.Alert)
			}
		}
	}
	return names
}

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/operate/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rows are the instruments of the page by name.
func rows(t *testing.T) map[string]instrument {
	t.Helper()
	row := regexp.MustCompile("(?m)^\\| `(strata_\\w+)` \\| [CGH] \\|(.*)\\|.*\\|.*\\|(.*)\\|$")
	quoted := regexp.MustCompile("`(\\w+)`")
	all := map[string]instrument{}
	for _, m := range row.FindAllStringSubmatch(page(t), -1) {
		if _, ok := all[m[1]]; ok {
			t.Errorf("docs/operate/monitoring.md has two rows of %s", m[1])
		}
		var is instrument
		for label := range strings.SplitSeq(m[2], "; ") { // its name stands before its values
			if name := quoted.FindStringSubmatch(label); name != nil {
				is.labels = append(is.labels, name[1])
			}
		}
		for _, name := range quoted.FindAllStringSubmatch(m[3], -1) {
			is.alerts = append(is.alerts, name[1])
		}
		slices.Sort(is.labels)
		all[m[1]] = is
	}
	return all
}
