package policy_test

import (
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
)

func policies() policy.Policies {
	return policy.Policies{
		Default: "default",
		Profiles: map[string]policy.Profile{
			"default": {BudgetTokens: 8000, RecentN: 10, Counter: "o200k_base", Recent: true},
			"small":   {BudgetTokens: 1000, RecentN: 2, Counter: "chars_4"},
		},
		Window: func(model string) (policy.Window, bool) {
			return policy.Window{Tokens: 4000, Counter: "cl100k_base"}, model == "tiny"
		},
	}
}

func resolve(t *testing.T, c policy.Call) policy.Resolved {
	t.Helper()
	r, err := policies().Resolve(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestResolve(t *testing.T) {
	budget, off := int64(500), false
	t.Run("the call's profile goes before the session's, that before the default", func(t *testing.T) {
		if r := resolve(t, policy.Call{}); r.Available != 8000 {
			t.Errorf("default: %d", r.Available)
		}
		if r := resolve(t, policy.Call{SessionProfile: "small"}); r.Available != 1000 {
			t.Errorf("the session's: %d", r.Available)
		}
		if r := resolve(t, policy.Call{Profile: "default", SessionProfile: "small"}); r.Available != 8000 {
			t.Errorf("the call's: %d", r.Available)
		}
	})
	t.Run("a session whose profile was taken out of the configuration gets the default", func(t *testing.T) {
		if r := resolve(t, policy.Call{SessionProfile: "gone"}); r.Available != 8000 {
			t.Errorf("available %d", r.Available)
		}
	})
	t.Run("an unknown profile in the call is refused", func(t *testing.T) {
		_, err := policies().Resolve(policy.Call{Profile: "gone"})
		if memory.ReasonOf(err) != memory.ReasonProfileUnknown {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a model caps the budget by its window and gives its counter", func(t *testing.T) {
		r := resolve(t, policy.Call{Model: "tiny", ReserveOutputTokens: 1000, ToolSchemaTokens: 500})
		if r.Available != 2500 || r.Counter != "cl100k_base" {
			t.Errorf("available %d by %s", r.Available, r.Counter)
		}
	})
	t.Run("an unknown model is refused", func(t *testing.T) {
		_, err := policies().Resolve(policy.Call{Model: "big"})
		if memory.ReasonOf(err) != memory.ReasonModelUnknown {
			t.Errorf("error %v", err)
		}
	})
	t.Run("overrides change only what they set", func(t *testing.T) {
		r := resolve(t, policy.Call{Overrides: policy.Overrides{BudgetTokens: &budget, Recent: &off, Counter: "estimate"}})
		if r.Available != 500 || r.Recent || r.Counter != "estimate" || r.RecentN != 10 {
			t.Errorf("resolved %+v", r)
		}
	})
}
