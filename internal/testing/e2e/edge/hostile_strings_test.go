package edge_test

import (
	"testing"

	"github.com/stratamem/strata/internal/testing/e2e"
)

func TestThereAreHostileStringsEnough(t *testing.T) {
	if n := len(e2e.HostileStrings()); n < 200 {
		t.Errorf("%d strings", n)
	}
}
