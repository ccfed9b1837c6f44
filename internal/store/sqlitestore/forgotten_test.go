package sqlitestore

import (
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func TestAForgottenKeyOfBeforeHasNoTime(t *testing.T) {
	was := store.Forgotten{Key: memory.KeyedHash{1, 2, 3}, Time: time.Date(2026, 5, 6, 9, 0, 0, 0, time.UTC)}
	var is, old store.Forgotten
	decodeForgotten(encodeForgotten(was), &is)
	decodeForgotten(was.Key[:], &old)
	if is.Key != was.Key || !is.Time.Equal(was.Time) {
		t.Errorf("got %v, want %v", is, was)
	}
	if old.Key != was.Key || !old.Time.IsZero() {
		t.Errorf("of before: %v", old)
	}
}
