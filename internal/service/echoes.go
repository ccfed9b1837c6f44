package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/prompttags"
	"github.com/stratamem/strata/internal/store"
)

// fencesOf are the ids of a user's fences, the one for new contexts first. The scope is read where it is not known: ""
// for a user of whom nothing was read. A user of whom nothing is stored has the id that is derived from the user's own.
func fencesOf(ctx context.Context, users userReader, secret []byte, ref memory.UserRef, scope memory.ScopeKey) ([]prompttags.ID, error) {
	unknown := prompttags.IDOfUnknown(secret, ref)
	if scope == "" {
		user, err := users.User(ctx, ref)
		if memory.IsGone(err) {
			return []prompttags.ID{unknown}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the user: %w", err)
		}
		scope = user.Scope
	}
	return []prompttags.ID{prompttags.IDOf(secret, scope), unknown}, nil
}

// markEchoes marks what the messages of a turn repeat of what was rendered for the user. Only messages that may hold a
// fence cost a look at the user.
func (s *Recorder) markEchoes(ctx context.Context, ref memory.SessionRef, messages []store.NewMessage) error {
	if !slices.ContainsFunc(messages, func(m store.NewMessage) bool { return mayEcho(m.Parts) }) {
		return nil
	}
	ids, err := fencesOf(ctx, s.store, s.secret, ref.UserRef, "")
	if err != nil {
		return err
	}
	known := &knownWords{ctx: ctx, store: s.store, ref: ref, turn: messages}
	for i := range messages {
		m := &messages[i]
		known.self = i
		m.Parts = marked(m.Parts, ids, known.has)
	}
	return known.err
}

func mayEcho(parts []memory.Part) bool {
	return slices.ContainsFunc(parts, func(p memory.Part) bool {
		return prompttags.MayHold(p.Text) || prompttags.MayHold(p.Arguments) || mayEcho(p.Parts)
	})
}

// withEchoes are the messages with their echoes marked.
func withEchoes(messages []memory.Message, ids []prompttags.ID) []memory.Message {
	out := slices.Clone(messages)
	for i := range out {
		if mayEcho(out[i].Parts) {
			out[i].Parts = marked(out[i].Parts, ids, nil)
		}
	}
	return out
}

// marked are the parts with their echoes marked: of texts, of what tools are called with, and of what they answer.
func marked(parts []memory.Part, ids []prompttags.ID, recorded func(words string) bool) []memory.Part {
	out := slices.Clone(parts)
	for i := range out {
		p := &out[i]
		switch p.Kind {
		case memory.PartText:
			p.Echoes = prompttags.Echoes(p.Text, ids, recorded)
		case memory.PartToolCall:
			p.Echoes = prompttags.Echoes(p.Arguments, ids, recorded)
		case memory.PartToolResult:
			p.Parts = marked(p.Parts, ids, recorded)
		}
	}
	return out
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
	store messageStore
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
