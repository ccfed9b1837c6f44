package contextprofile_test

import (
	"testing"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/memory"
)

func policies() contextprofile.Set {
	return contextprofile.Set{
		Default: "default",
		Profiles: map[string]contextprofile.Profile{
			"default": {BudgetTokens: 8000, RecentN: 10, Counter: "o200k_base", Sections: contextprofile.Sections{Recent: true}},
			"small":   {BudgetTokens: 1000, RecentN: 2, Counter: "chars_4"},
			"half":    {BudgetTokens: 8000, BudgetShare: .5, Counter: "o200k_base"},
		},
		Window: func(model string) (contextprofile.Window, bool) {
			w, ok := map[string]contextprofile.Window{"tiny": {Tokens: 4000, Counter: "cl100k_base"}, "large": {Tokens: 200_000, Counter: "estimate", Documents: true}}[model]
			return w, ok
		},
	}
}

func resolve(t *testing.T, c contextprofile.Call) contextprofile.Resolved {
	t.Helper()
	r, err := policies().Resolve(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResolve(t *testing.T) {
	budget := int64(500)
	t.Run("the call's profile goes before the session's, that before the default", func(t *testing.T) {
		if r := resolve(t, contextprofile.Call{}); r.Available != 8000 {
			t.Errorf("default: %d", r.Available)
		}
		if r := resolve(t, contextprofile.Call{SessionProfile: "small"}); r.Available != 1000 {
			t.Errorf("the session's: %d", r.Available)
		}
		if r := resolve(t, contextprofile.Call{Profile: "default", SessionProfile: "small"}); r.Available != 8000 {
			t.Errorf("the call's: %d", r.Available)
		}
	})
	t.Run("a session whose profile was taken out of the configuration gets the default", func(t *testing.T) {
		if r := resolve(t, contextprofile.Call{SessionProfile: "gone"}); r.Available != 8000 {
			t.Errorf("available %d", r.Available)
		}
	})
	t.Run("an unknown profile in the call is refused", func(t *testing.T) {
		_, err := policies().Resolve(contextprofile.Call{Profile: "gone"})
		if memory.ReasonOf(err) != memory.ReasonProfileUnknown {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a model caps the budget by its window and gives its counter", func(t *testing.T) {
		r := resolve(t, contextprofile.Call{Model: "tiny", ReserveOutputTokens: 1000, ToolSchemaTokens: 500})
		if r.Available != 2500 || r.Counter != "cl100k_base" {
			t.Errorf("available %d by %s", r.Available, r.Counter)
		}
	})
	t.Run("a model of which nothing is known has the profile's budget and an estimate, and is called unknown", func(t *testing.T) {
		r := resolve(t, contextprofile.Call{Model: "nobody-knows"})
		if !r.Unknown || r.Available != 8000 || r.Counter != "estimate" || r.Window != 0 || r.Documents {
			t.Errorf("resolved %+v", r)
		}
		if r := resolve(t, contextprofile.Call{Model: "large"}); r.Unknown || !r.Documents || r.Window != 200_000 {
			t.Errorf("known: %+v", r)
		}
	})
	t.Run("the counter is there by its name, and an unknown name is refused", func(t *testing.T) {
		for model, want := range map[string]string{"": "o200k_base", "tiny": "cl100k_base", "nobody-knows": "estimate"} {
			if r := resolve(t, contextprofile.Call{Model: model}); r.TokenCounter.Name() != want || r.Counter != want {
				t.Errorf("%q: counted by %s, named %s, want %s", model, r.TokenCounter.Name(), r.Counter, want)
			}
		}
		_, err := policies().Resolve(contextprofile.Call{Overrides: contextprofile.Overrides{}.With("counter", "abacus")})
		if memory.ReasonOf(err) != memory.ReasonFieldInvalid {
			t.Errorf("error %v", err)
		}
	})
	t.Run("the profile's budget may be raised as far as the window leaves, one of the call may not", func(t *testing.T) {
		for _, c := range []struct {
			name            string
			call            contextprofile.Call
			available, most int64
		}{
			{"no model", contextprofile.Call{}, 8000, 10_000_000},
			{"no model, more reserved than the budget", contextprofile.Call{ReserveOutputTokens: 9000}, 0, 10_000_000 - 9000},
			{"a large window", contextprofile.Call{Model: "large"}, 8000, 200_000},
			{"a large window, more reserved than the budget", contextprofile.Call{Model: "large", ReserveOutputTokens: 9000, ToolSchemaTokens: 1000}, 8000, 190_000},
			{"a small window", contextprofile.Call{Model: "tiny", ReserveOutputTokens: 1000}, 3000, 3000},
			{"a window that is all reserved", contextprofile.Call{Model: "tiny", ReserveOutputTokens: 9000}, 0, 0},
			{"a budget of the call", contextprofile.Call{Model: "large", ReserveOutputTokens: 100, Overrides: contextprofile.Overrides{}.With("budget-tokens", budget)}, 400, 400},
			{"a budget of the call that is all reserved", contextprofile.Call{ReserveOutputTokens: 900, Overrides: contextprofile.Overrides{}.With("budget-tokens", budget)}, 0, 0},
		} {
			if r := resolve(t, c.call); r.Available != c.available || r.Most != c.most {
				t.Errorf("%s: available %d, at most %d; want %d and %d", c.name, r.Available, r.Most, c.available, c.most)
			}
		}
	})
	t.Run("a profile's budget may be a share of the window, where that is known", func(t *testing.T) {
		for model, want := range map[string]int64{"": 8000, "nobody-knows": 8000, "large": 100_000, "tiny": 2000} {
			if r := resolve(t, contextprofile.Call{Profile: "half", Model: model}); r.Available != want || r.BudgetTokens != want {
				t.Errorf("%q: available %d of %d, want %d", model, r.Available, r.BudgetTokens, want)
			}
		}
		if r := resolve(t, contextprofile.Call{Profile: "half", Model: "large", Overrides: contextprofile.Overrides{}.With("budget-tokens", budget)}); r.Available != 500 {
			t.Errorf("the call's budget: %d", r.Available)
		}
	})
	t.Run("overrides change only what they set", func(t *testing.T) {
		r := resolve(t, contextprofile.Call{Overrides: contextprofile.Overrides{}.With("budget-tokens", budget).With("sections.recent", false).With("counter", "estimate")})
		if r.Available != 500 || r.Sections.Recent || r.Counter != "estimate" || r.RecentN != 10 {
			t.Errorf("resolved %+v", r)
		}
	})
}
