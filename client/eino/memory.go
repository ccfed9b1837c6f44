// Package eino gives agents and graphs of eino (github.com/cloudwego/eino) a memory: what Strata knows about the user comes before
// their words in each call of the model, and each turn is recorded when the model has answered.
//
// Middleware is for agents of the ADK, ChatModel for graphs, chains and flows. Tools are for models that ask for memory by themselves,
// Messages and Append for programs that keep a session's messages.
package eino

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"
	"google.golang.org/grpc/codes"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/client"
)

// Scope is whose memory it is. Both ids are 1 to 255 bytes of printable UTF-8.
type Scope struct {
	UserID    string
	SessionID string
}

type scopeKey struct{}

// With returns a context for runs of a user and a session. What is empty in it is that of Options.
func With(ctx context.Context, scope Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, scope)
}

// History says who has the earlier messages of the session.
type History int

const (
	// HistoryStored is for programs that run an agent with what is new, such as Runner.Query: the session's earlier messages, as many as
	// the budget of the profile holds, or the summary in their place, come before those of the call.
	HistoryStored History = iota
	// HistoryGiven is for programs that run an agent with all messages of the session: only what these do not say comes before the
	// user's last words.
	HistoryGiven
)

// Options are what a memory is made of. The zero value is for a program that names user and session by With.
type Options struct {
	// Scope is whose memory it is where the context does not say it.
	Scope Scope
	// History says who has the earlier messages of the session.
	History History
	// Profile is the policy profile of new sessions and of contexts; the server's default where it is empty.
	Profile string
	// OnError takes the failure of a call to Strata, and the model is called without memory, or the turn is not recorded; where it is
	// nil the run fails.
	OnError func(context.Context, error)
}

// Memory is the memory of agents and graphs. Any number of goroutines may share it.
type Memory struct {
	client  *client.Client
	options Options
}

// New returns a memory over a client, which the caller closes.
func New(c *client.Client, options Options) *Memory {
	return &Memory{client: c, options: options}
}

// Messages returns the session's messages as they were recorded, in their order, without hidden ones. What others recorded, such as a
// client of another framework, is made of its parts. Of a session that does not exist there are none.
func (m *Memory) Messages(ctx context.Context) ([]*schema.Message, error) {
	scope, err := m.scope(ctx)
	if err != nil {
		return nil, err
	}
	request := &memoryv1.ListMessagesRequest{UserId: scope.UserID, SessionId: scope.SessionID, VisibleOnly: true, IncludeOriginal: true}
	var kept []*memoryv1.Message
	for message, err := range m.client.Messages(ctx, request) {
		if client.Code(err) == codes.NotFound { // no such user or session yet
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list the messages of a session: %w", err)
		}
		kept = append(kept, message)
	}
	return Write(kept), nil
}

// Append records messages as one turn, all of them or none: at most 1,000 and 2 MiB. Turns of Middleware and ChatModel are recorded
// without it.
func (m *Memory) Append(ctx context.Context, messages ...*schema.Message) error {
	scope, err := m.scope(ctx)
	if err != nil || len(messages) == 0 {
		return err
	}
	turn, err := ReadAll(messages)
	if err != nil {
		return err
	}
	return m.recordOne(ctx, scope, turn)
}

func (m *Memory) scope(ctx context.Context) (Scope, error) {
	given, _ := ctx.Value(scopeKey{}).(Scope)
	scope := Scope{
		UserID: cmp.Or(given.UserID, m.options.Scope.UserID), SessionID: cmp.Or(given.SessionID, m.options.Scope.SessionID),
	}
	if scope.UserID == "" || scope.SessionID == "" {
		return Scope{}, errors.New("memory needs a user and a session: give both to eino.With for the context of the run, or to eino.Options")
	}
	return scope, nil
}

// before returns the messages of a call with memory among them.
func (m *Memory) before(ctx context.Context, messages []*schema.Message) ([]*schema.Message, error) {
	scope, err := m.scope(ctx)
	if err != nil {
		return nil, err
	}
	own := withoutMemory(messages)
	at, query := question(own)
	var memory []*schema.Message
	switch m.options.History {
	case HistoryGiven:
		memory, err = m.recall(ctx, scope, query, own)
	case HistoryStored:
		memory, err = m.context(ctx, scope, query)
		at = instructions(own)
	}
	if err != nil {
		return own, m.failed(ctx, fmt.Errorf("recall for a call of the model: %w", err))
	}
	return slices.Concat(own[:at], marked(memory), own[at:]), nil
}

// recall returns what the messages do not say, as one message.
func (m *Memory) recall(ctx context.Context, scope Scope, query string, own []*schema.Message) ([]*schema.Message, error) {
	beside, err := ReadAll(own)
	if err != nil {
		return nil, err
	}
	block, err := m.client.Recall(ctx, client.RecallRequest{
		UserID: scope.UserID, SessionID: scope.SessionID, Query: query, Beside: beside, Profile: m.options.Profile,
	})
	if err != nil || block == "" {
		return nil, err
	}
	return []*schema.Message{schema.UserMessage(block)}, nil
}

// context returns what is known and the session's earlier messages, within the budget of the profile.
func (m *Memory) context(ctx context.Context, scope Scope, query string) ([]*schema.Message, error) {
	reply, err := m.client.Memory.BuildContext(ctx, &memoryv1.BuildContextRequest{
		UserId: scope.UserID, SessionId: scope.SessionID, Query: query, Profile: m.options.Profile, Render: memoryv1.Render_RENDER_OPENAI,
	})
	if err != nil {
		return nil, err
	}
	return fromOpenAI(reply.GetRendering())
}

// after records a turn that ends with what was said last. One that goes on, since the model called tools, is recorded when it ends.
func (m *Memory) after(ctx context.Context, messages []*schema.Message) error {
	own := withoutMemory(messages)
	if len(own) == 0 || len(own[len(own)-1].ToolCalls) > 0 {
		return nil
	}
	scope, err := m.scope(ctx)
	if err != nil {
		return err
	}
	turn, err := m.turn(own)
	if err != nil {
		return m.failed(ctx, err)
	}
	for call := range calls(turn) {
		if err := m.recordOne(ctx, scope, call); err != nil {
			return m.failed(ctx, err)
		}
	}
	return nil
}

// turn returns what a turn said. Where the messages are all of the session's, each has an id by all that was said up to it, so that
// messages that are sent again are recorded once.
func (m *Memory) turn(own []*schema.Message) ([]*memoryv1.Message, error) {
	first := turnStart(own)
	turn, err := ReadAll(own[first:])
	if err != nil || m.options.History != HistoryGiven {
		return turn, err
	}
	ids, err := idsOf(own)
	if err != nil {
		return nil, err
	}
	for n, message := range turn[:len(turn)-1] { // what was said last is new
		message.Id = ids[first+n]
	}
	return turn, nil
}

func (m *Memory) recordOne(ctx context.Context, scope Scope, turn []*memoryv1.Message) error {
	_, err := m.client.Memory.Record(ctx, &memoryv1.RecordRequest{
		UserId: scope.UserID, SessionId: scope.SessionID, Profile: m.options.Profile, Messages: turn,
	})
	if err != nil {
		return fmt.Errorf("record a turn: %w", err)
	}
	return nil
}

// failed hands an error to OnError; without one it returns it.
func (m *Memory) failed(ctx context.Context, err error) error {
	if m.options.OnError == nil {
		return err
	}
	m.options.OnError(ctx, err)
	return nil
}
