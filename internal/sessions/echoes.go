package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/language/prompttags"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// markEchoes marks what the messages of a turn repeat of what was rendered for the user. Only messages that may hold a
// fence cost a look at the user.
func (s *Recorder) markEchoes(ctx context.Context, ref memory.SessionRef, messages []store.NewMessage) error {
	if !slices.ContainsFunc(messages, func(m store.NewMessage) bool { return prompttags.MayEcho(m.Parts) }) {
		return nil
	}
	ids, err := s.fences.Of(ctx, ref.UserRef, "")
	if err != nil {
		return err
	}
	known := &knownWords{ctx: ctx, store: s.store, ref: ref, turn: messages}
	for i := range messages {
		m := &messages[i]
		known.self = i
		m.Parts = prompttags.Marked(m.Parts, ids, known.has)
	}
	return known.err
}

// How many of a session's latest messages, and bytes of them, are looked at for words that a recorded request repeats: an
// agent records a request when it has made it.
const (
	knownMessages = 50
	knownBytes    = 4 << 20
)

// knownWords returns which words a session's latest messages say already, or another message of the same turn. They are read
// when the first is asked for.
type knownWords struct {
	ctx   context.Context
	store RecorderStore
	ref   memory.SessionRef
	turn  []store.NewMessage
	self  int // the message of the turn that is looked at
	said  map[string]bool
	err   error
}

func (k *knownWords) has(words string) bool {
	words = strings.TrimSpace(words)
	for i := range k.turn {
		if i != k.self && strings.TrimSpace(k.turn[i].PlainText()) == words {
			return true
		}
	}
	if k.said == nil && k.err == nil {
		k.read()
	}
	return k.said[words]
}

func (k *knownWords) read() {
	latest, err := k.store.Messages(k.ctx, store.MessageQuery{Ref: k.ref, NewestFirst: true, Limit: knownMessages, MaxBytes: knownBytes})
	if err != nil && !memory.IsGone(err) {
		k.err = fmt.Errorf("read the latest messages: %w", err)
		return
	}
	k.said = make(map[string]bool, 2*len(latest))
	for _, m := range latest {
		words := strings.TrimSpace(m.PlainText())
		k.said[words] = true
		if m.Name != "" { // renderings have people's names
			k.said[m.Name+": "+words] = true
		}
	}
}
