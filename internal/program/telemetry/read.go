package telemetry

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Sample is one value of what /metrics shows.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64 // of a counter or gauge; of a histogram the number of observations
	// Buckets are a histogram's, ascending; the last one is for all observations.
	Buckets []Bucket
}

// Bucket counts the observations up to a value.
type Bucket struct {
	UpTo  float64 // the last one's is infinite
	Count uint64
}

// Samples are what /metrics shows of the program's own, by name.
func (r *Recorder) Samples() ([]Sample, error) {
	families, err := r.registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("gather metrics: %w", err)
	}
	var all []Sample
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if strings.HasPrefix(f.GetName(), "strata_") {
				all = append(all, Sample{Name: f.GetName(), Labels: labelsOf(m), Value: valueOf(m), Buckets: bucketsOf(m)})
			}
		}
	}
	return all, nil
}

func bucketsOf(m *dto.Metric) (all []Bucket) {
	h := m.GetHistogram()
	if h == nil {
		return nil
	}
	for _, b := range h.GetBucket() {
		all = append(all, Bucket{b.GetUpperBound(), b.GetCumulativeCount()})
	}
	return append(all, Bucket{math.Inf(1), h.GetSampleCount()})
}

// Read reads what /metrics shows, by name.
func Read(r io.Reader) ([]Sample, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	var all []Sample
	for _, name := range slices.Sorted(maps.Keys(families)) {
		for _, m := range families[name].GetMetric() {
			all = append(all, Sample{Name: name, Labels: labelsOf(m), Value: valueOf(m), Buckets: bucketsOf(m)})
		}
	}
	return all, nil
}

func labelsOf(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}

func valueOf(m *dto.Metric) float64 {
	switch {
	case m.GetCounter() != nil:
		return m.GetCounter().GetValue()
	case m.GetHistogram() != nil:
		return float64(m.GetHistogram().GetSampleCount())
	case m.GetUntyped() != nil:
		return m.GetUntyped().GetValue()
	}
	return m.GetGauge().GetValue()
}
