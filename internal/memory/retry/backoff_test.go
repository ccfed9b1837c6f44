package retry_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory/retry"
)

func TestTheWaitDoublesUpToTheLast(t *testing.T) {
	e := retry.Exponential{First: time.Second, Last: 5 * time.Second}
	var got []time.Duration
	for _, failures := range []int{1, 2, 3, 4, 1000} {
		got = append(got, e.After(failures))
	}
	if want := []time.Duration{1e9, 2e9, 4e9, 5e9, 5e9}; !slices.Equal(got, want) {
		t.Errorf("waits %v, want %v", got, want)
	}
}
