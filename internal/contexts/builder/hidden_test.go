package builder_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// forgetful is a primary store that does not say beforehand what is hidden: a message is hidden only after all was gathered.
type forgetful struct{ truth }

func (f forgetful) Hidden(context.Context, memory.UserRef) (memory.Hidden, error) {
	return memory.Hidden{}, nil
}

// careless is a primary store that never says what is hidden.
type careless struct{ forgetful }

func (c careless) MessagesAt(ctx context.Context, q store.PlacesQuery) ([]memory.PlacedMessage, error) {
	found, err := c.truth.MessagesAt(ctx, q)
	for i := range found {
		found[i].ContextStart, found[i].Message.Hidden = 0, false
	}
	return found, err
}

// hides hides the session's n-th message.
func (r *rig) hides(ref memory.SessionRef, n int64) {
	r.t.Helper()
	messages, err := r.truth.Messages(r.t.Context(), store.MessageQuery{Ref: ref, After: n - 1, Limit: 1})
	r.must(err)
	hidden := true
	_, err = r.truth.UpdateMessage(r.t.Context(), store.MessageUpdate{Ref: ref, MessageID: messages[0].ID, Hidden: &hidden})
	r.must(err)
}

func TestNothingHiddenIsRecalledFromAnyIndex(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.says(ada, "one", "Roses grow behind the shed.")
	r.says(ada, "one", "Roses grow behind the house.")
	r.says(ada, "two", "The dentist called.")
	r.says(ada, "three", "The plumber called.")
	for _, session := range []string{"one", "two", "three"} {
		r.feedMessages(ada.Session(session), "zebra") // a word that only the view finds
	}
	r.hides(ada.Session("one"), 1)
	r.hides(ada.Session("two"), 1)
	start := int64(2)
	_, err := r.truth.UpdateSession(t.Context(), store.SessionUpdate{Ref: ada.Session("three"), ContextStart: &start, Time: r.now})
	r.must(err)
	recalls := func(s services) string {
		var out []string
		for _, query := range []string{"roses", "zebra"} {
			for _, section := range r.ask(s, query).context.Sections {
				for _, item := range section.Items {
					out = append(out, fmt.Sprintf("%s %s %d", query, item.SessionID, item.Seq))
				}
			}
		}
		return strings.Join(out, ", ")
	}
	t.Run("neither from the own index nor from a view that was made before", func(t *testing.T) {
		if got := recalls(r.service(wiring{texts: r.texts})); got != "roses one 2, zebra one 2" {
			t.Errorf("recalled %s", got)
		}
	})
	t.Run("nor when it was hidden while the context was made", func(t *testing.T) {
		if got := recalls(r.service(wiring{texts: r.texts, truth: forgetful{r.truth}})); got != "roses one 2, zebra one 2" {
			t.Errorf("recalled %s", got)
		}
	})
	t.Run("this test sees what is hidden when the primary store does not say so", func(t *testing.T) {
		got := recalls(r.service(wiring{texts: r.texts, truth: careless{forgetful{r.truth}}}))
		for _, want := range []string{"roses one 1", "zebra two 1", "zebra three 1"} {
			if !strings.Contains(got, want) {
				t.Errorf("recalled %s", got)
			}
		}
	})
	t.Run("a search finds all of it, and says what is hidden", func(t *testing.T) {
		hidden := map[string]bool{}
		for _, h := range r.ask(r.service(wiring{texts: r.texts}), "zebra roses").messages.Hits {
			hidden[fmt.Sprintf("%s %d", h.SessionID, h.Seq)] = h.IsHidden()
		}
		if want := map[string]bool{"one 1": true, "one 2": false, "two 1": true, "three 1": true}; fmt.Sprint(hidden) != fmt.Sprint(want) {
			t.Errorf("found %v", hidden)
		}
	})
}
