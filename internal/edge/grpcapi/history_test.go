package grpcapi

import (
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

func TestEveryTokenCounterHasAName(t *testing.T) {
	values := memoryv1.TokenCounter_name
	names := map[string]bool{}
	for n := range values {
		c := &checker{}
		names[counterFrom(c, "counter", memoryv1.TokenCounter(n))] = true
		if c.err() != nil {
			t.Error(c.err())
		}
	}
	if len(names) != len(values) {
		t.Errorf("%d values are %d names", len(values), len(names))
	}
}
