package app_test

import (
	"testing"
)

func TestThereAreHostileStringsEnough(t *testing.T) {
	if n := len(hostileStrings()); n < 200 {
		t.Errorf("%d strings", n)
	}
}
