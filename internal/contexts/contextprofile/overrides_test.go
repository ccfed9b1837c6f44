package contextprofile_test

import (
	"testing"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
)

func TestOverridesAreOfTheirCall(t *testing.T) {
	t.Run("what two calls add to the same overrides stays apart", func(t *testing.T) {
		both := contextprofile.Overrides{}.With("recent-n", 7)
		one, other := both.With("top-k", 1), both.With("top-k", 2)
		for want, o := range map[int]contextprofile.Overrides{1: one, 2: other} {
			if r := resolve(t, contextprofile.Call{Overrides: o}); r.TopK != want || r.RecentN != 7 {
				t.Errorf("top-k %d, recent-n %d, want %d and 7", r.TopK, r.RecentN, want)
			}
		}
	})
	t.Run("a history takes the place of the whole one", func(t *testing.T) {
		r := resolve(t, contextprofile.Call{Overrides: contextprofile.Overrides{}.With(contextprofile.History, compaction.Policy{Trim: compaction.Trim{Tokens: 5}})})
		if r.History.Trim.Tokens != 5 || r.History.Compresses() {
			t.Errorf("%+v", r.History)
		}
	})
	for key, value := range map[string]any{"no-such-setting": 1, "top-k": "many", "recall-share": .5} {
		t.Run("a mistake of the program panics: "+key, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			contextprofile.Overrides{}.With(key, value)
		})
	}
}
