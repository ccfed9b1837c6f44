package history

import (
	"context"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/contentchecks"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// CheckParams is what to check, by which rules.
type CheckParams struct {
	Messages []memory.Message
	Profile  string               // whose checks are used where there are no Rules; "" for the default
	Rules    []contentchecks.Rule // nil for the profile's
	Model    string               // gives the counter; "" for none
	Counter  string               // where no model is given; "" for the profile's
}

// Checked is what checking came to.
type Checked struct {
	contentchecks.Result
	Counter string
}

// CheckMessages checks messages and stores nothing. One without an id gets the one that a history gives it.
func (s *Histories) CheckMessages(ctx context.Context, p CheckParams) (Checked, error) {
	resolved, err := s.profiles.Resolve(countedFor(p.Profile, p.Model, p.Counter))
	if err != nil {
		return Checked{}, err
	}
	counter := resolved.TokenCounter
	if len(p.Rules) > 0 {
		counter = tokens.Within(ctx, counter)
	}
	rules, err := rulesOf(p, resolved.Rules, counter)
	if err != nil {
		return Checked{}, err
	}
	result, err := rules.Messages(ctx, compaction.EnsureIDs(p.Messages))
	if len(p.Rules) == 0 {
		err = contentchecks.NameMessages(err)
	}
	contentchecks.Count(s.meter, contentchecks.CallCheck, result.Findings)
	return Checked{result, resolved.Counter}, err
}

func rulesOf(p CheckParams, ofProfile *contentchecks.Set, counter tokens.Counter) (*contentchecks.Set, error) {
	if len(p.Rules) > 0 {
		return contentchecks.Compile(p.Rules, counter)
	}
	return ofProfile.By(counter)
}
