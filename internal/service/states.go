package service

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/assembly"
	"github.com/stratamem/strata/internal/contextprofile"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/prompttags"
	"github.com/stratamem/strata/internal/template"
)

// states are what a context shows of the states of its session and user.
type states struct {
	instructions string          // with the values of the template
	state        json.RawMessage // of the session, without its notes
	notes        []assembly.Note
}

// gatherStates takes from the states of the session and the user what stands in the context, and fills the template. The
// user is read only where somebody asks for it.
func (s *ContextBuilder) gatherStates(
	ctx context.Context, p ContextParams, r contextprofile.Resolved, session json.RawMessage, id prompttags.ID,
) (out states, err error) {
	var notes []memory.Note
	out.instructions = p.Instructions
	out.state, notes = memory.SplitNotes(session)
	out.notes = notesOf(notes)
	if !r.Sections.Notes && p.Template == "" {
		return out, nil
	}
	user, err := s.store.User(ctx, p.Ref.UserRef)
	if err != nil && !memory.IsGone(err) {
		return out, fmt.Errorf("read the user's state: %w", err)
	}
	_, notes = memory.SplitNotes(user.State)
	ofUser := notesOf(notes)
	for i := range ofUser {
		ofUser[i].OfUser = true
	}
	out.notes = append(out.notes, ofUser...)
	if p.Template == "" {
		return out, nil
	}
	user.Ref = p.Ref.UserRef
	out.instructions, err = instructions(p, user, session, id)
	return out, err
}

// notesOf are the notes of a session as a context shows them.
func notesOf(notes []memory.Note) []assembly.Note {
	out := make([]assembly.Note, len(notes))
	for i, n := range notes {
		n.Time = n.Time.UTC()
		out[i] = assembly.Note{Note: n}
	}
	return out
}

// templateField is the request's field for the template of instructions.
const templateField = "instructions_template"

// instructions fills the template of a call.
func instructions(p ContextParams, user memory.User, state json.RawMessage, id prompttags.ID) (string, error) {
	who, err := memory.EncodeJSON(struct {
		ID       string          `json:"id"`
		Timezone string          `json:"timezone"`
		Language string          `json:"language,omitempty"`
		State    json.RawMessage `json:"state,omitempty"`
	}{user.Ref.UserID, cmp.Or(user.Timezone, time.UTC.String()), user.Language, memory.PlainState(user.State)})
	if err != nil {
		return "", fmt.Errorf("encode the user for a template: %w", err)
	}
	return template.Fill(p.Template, template.Options{
		Field: templateField, Fence: assembly.FencedValue(id),
		Values: template.Values{"state": memory.PlainState(state), "vars": p.Variables, "user": who},
	})
}

// notesDegradation says that notes had no room.
func notesDegradation(left int) []memory.Degradation {
	if left == 0 {
		return nil
	}
	return []memory.Degradation{{Tier: memory.TierNotes, Reason: fmt.Sprintf("%d notes had no room: raise the profile's notes-share or the budget, or delete some", left)}}
}
