package grpcapi

import (
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
)

func TestEveryTokenCounterHasAName(t *testing.T) {
	values := memoryv1.TokenCounter_name
	names := map[string]bool{}
	for n := range values {
		c := &requests.Checker{}
		names[counterFrom(c, "counter", memoryv1.TokenCounter(n))] = true
		if c.Err() != nil {
			t.Error(c.Err())
		}
	}
	if len(names) != len(values) {
		t.Errorf("%d values are %d names", len(values), len(names))
	}
}
