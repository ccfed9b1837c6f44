package sessions

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/contexts/contentchecks"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// check mends the messages of a turn by the checks of its session, or has the turn refused. What is removed is taken out of
// the turn, and found again by its Findings. A message that is stored already was checked then.
func (s *Recorder) check(ctx context.Context, p RecordParams, turn *store.AppendParams, stored lookUp) error {
	rules, err := s.checksOf(ctx, p)
	if rules.Empty() || err != nil {
		return err
	}
	messages := make([]memory.Message, len(turn.Messages))
	for i, m := range turn.Messages {
		messages[i] = m.Message
	}
	results, err := rules.Each(ctx, messages)
	if err != nil {
		return contentchecks.NameMessages(err)
	}
	known, err := knownOf(ctx, p, results, stored)
	if err != nil {
		return err
	}
	all := turn.Messages
	turn.Messages = make([]store.NewMessage, 0, len(all))
	for i, m := range all {
		if known[p.Messages[i].ID] {
			turn.Messages = append(turn.Messages, m)
			continue
		}
		contentchecks.Count(s.meter, contentchecks.CallRecord, results[i].Findings)
		take(turn, i, m, results[i])
	}
	return nil
}

// take adds to a turn what checking left of a message.
func take(turn *store.AppendParams, index int, m store.NewMessage, r contentchecks.Result) {
	if r.Retry {
		turn.Refused = cmp.Or(turn.Refused, refusal(index, r.Findings)) // of several, the first
		return
	}
	turn.Findings = append(turn.Findings, checkFindings(index, r.Findings)...)
	for _, left := range r.Messages {
		if r.Changed {
			left.Tokens = tokens.CountMessage(left)
		}
		m.Message = left
		turn.Messages = append(turn.Messages, m)
	}
}

// checksOf are the checks of the profile of the session, or of the one that a new session will have.
func (s *Recorder) checksOf(ctx context.Context, p RecordParams) (*contentchecks.Set, error) {
	if !s.profiles.AnyChecks() || len(p.Messages) == 0 {
		return nil, nil
	}
	session, err := s.store.Session(ctx, p.Ref)
	if memory.IsGone(err) {
		return s.profiles.ChecksOf(p.Profile), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the session's profile: %w", err)
	}
	return s.profiles.ChecksOf(session.Profile), nil
}

// knownOf are the ids among those in which something was found that are stored already.
func knownOf(ctx context.Context, p RecordParams, results []contentchecks.Result, look lookUp) (map[string]bool, error) {
	var ids []string
	for i, r := range results {
		if id := p.Messages[i].ID; id != "" && len(r.Findings) > 0 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	stored, err := look(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("look up message ids: %w", err)
	}
	known := make(map[string]bool, len(stored))
	for _, id := range stored {
		known[id] = true
	}
	return known, nil
}

func checkFindings(index int, found []contentchecks.Finding) []memory.Finding {
	out := make([]memory.Finding, len(found))
	for i, f := range found {
		out[i] = memory.Finding{
			MessageID: f.MessageID, Kind: memory.FindingCheck, Index: index, Rule: f.Rule, Action: f.Action, Removed: f.Removed,
		}
	}
	return out
}

// refusal is the error of a message that should be written anew. Rule and hint are the configuration's words.
func refusal(index int, found []contentchecks.Finding) error {
	f := found[len(found)-1]
	field := fmt.Sprintf("messages[%d]", index)
	text := fmt.Sprintf("does not pass the check %s: %s", f.Rule, f.Hint)
	return &memory.Error{
		Kind: memory.KindInvalid, Reason: memory.ReasonCheckRefused, Message: field + ": " + text,
		Fields:   []memory.FieldError{{Field: field, Description: text}},
		Metadata: map[string]string{"field": field, "rule": f.Rule, "hint": f.Hint},
	}
}

// withRemoved puts the ids of messages that a check removed where they stood in the call. The findings say so in the
// order of the messages, and are stored with the turn, so that a replay returns the same.
func withRemoved(ids []string, findings []memory.Finding) []string {
	for _, f := range findings {
		if f.Removed {
			ids = slices.Insert(ids, min(f.Index, len(ids)), f.MessageID)
		}
	}
	return ids
}
