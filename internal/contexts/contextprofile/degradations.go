package contextprofile

import "github.com/stratamem/strata/internal/memory"

// Degradations says what a context lacks since its model is not known.
func (r Resolved) Degradations() []memory.Degradation {
	var out []memory.Degradation
	if r.Unknown {
		out = append(
			out,
			memory.Degradation{
				Tier:   memory.TierModel,
				Reason: "the model is not known: its tokens are estimated and the profile's budget holds; add it under windows in the server's configuration",
			},
		)
	}
	if r.Reserved > 0 && r.Available == 0 && r.Most > 0 {
		out = append(
			out,
			memory.Degradation{
				Tier:   memory.TierBudget,
				Reason: "as many tokens are reserved as the profile's budget has, which leaves none for memory: name a model whose window is known, or set overrides.budget_tokens",
			},
		)
	}
	return out
}
