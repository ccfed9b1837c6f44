package openai

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync/atomic"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
)

// MaxChatBytes is the longest answer of a chat model that is read: far above what MaxTokens allows.
const MaxChatBytes = 4 << 20

// Options are what a Chat needs.
type Options struct {
	Endpoint        // MaxAnswerBytes 0 is MaxChatBytes
	Model    string // as the endpoint names it
}

// Chat implements llm.Chat. It makes one call for a prompt, or up to three while it learns which response format the
// endpoint supports. It does not retry.
type Chat struct {
	client  *Client
	options Options
	counter tokens.Counter
	format  atomic.Int32 // the best format that the endpoint did not refuse
}

// format is how the endpoint is given the form of the answer.
type format = int32

// The formats, the best one first. All but the first put the schema into the prompt.
const (
	formatSchema format = iota
	formatObject
	formatPrompt
)

// New makes a Chat. It does not call the endpoint.
func New(o Options) (*Chat, error) {
	if o.Model == "" {
		return nil, errors.New("a chat model needs its name")
	}
	if o.MaxAnswerBytes == 0 {
		o.MaxAnswerBytes = MaxChatBytes
	}
	client, err := NewClient(o.Endpoint)
	if err != nil {
		return nil, err
	}
	counter, err := tokens.ByName(tokens.O200K)
	if err != nil {
		return nil, fmt.Errorf("choose the counter of chat tokens: %w", err)
	}
	return &Chat{client: client, options: o, counter: counter}, nil
}

// Close closes the connections that are kept for later calls.
func (c *Chat) Close() { c.client.Close() }

// Complete implements llm.Chat. When the endpoint refuses the response format, the next lower one is tried, and it is
// remembered as long as the Chat lives once the endpoint took it. The usage covers all calls that were made.
func (c *Chat) Complete(ctx context.Context, p llm.Prompt) (llm.Answer, error) {
	if p.Schema == nil {
		a, err := c.ask(ctx, p, formatPrompt)
		return withSpent(a, err, memory.ModelUsage{})
	}
	var spent memory.ModelUsage
	known := c.format.Load()
	for f := known; ; f++ {
		a, err := c.ask(ctx, p, f)
		var refused *formatError
		if errors.As(err, &refused) && f < formatPrompt {
			spent = spent.Plus(refused.failure.Usage)
			continue
		}
		if err == nil {
			c.format.CompareAndSwap(known, f)
		}
		return withSpent(a, err, spent)
	}
}

// withSpent adds what was spent on calls before the last one.
func withSpent(a llm.Answer, err error, spent memory.ModelUsage) (llm.Answer, error) {
	var failed *llm.Error
	if errors.As(err, &failed) {
		failed.Usage = failed.Usage.Plus(spent)
		return llm.Answer{}, failed
	}
	a.Usage = a.Usage.Plus(spent)
	return a, nil
}

// formatError is a failure because of the response format.
type formatError struct{ failure *llm.Error }

func (e *formatError) Error() string { return e.failure.Error() }
func (e *formatError) Unwrap() error { return e.failure }

// ask makes one call.
func (c *Chat) ask(ctx context.Context, p llm.Prompt, f format) (llm.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.client.Timeout)
	defer cancel()
	request := c.request(p, f)
	reply, err := c.client.API.CreateChatCompletion(ctx, request)
	if err != nil {
		return c.failed(request, err, reply.Header())
	}
	if len(reply.Choices) == 0 {
		return llm.Answer{}, c.fault("the answer has no choices", c.usage(request, reply.Usage, ""))
	}
	choice := reply.Choices[0]
	text := choice.Message.Content
	return llm.Answer{Text: text, Finish: finish(choice), Model: c.options.Model, Usage: c.usage(request, reply.Usage, text)}, nil
}

// failed classifies the failures that have another meaning for a chat. Azure reports by an error what others report by the
// finish reason: that its filter refused the prompt.
func (c *Chat) failed(r sdk.ChatCompletionRequest, err error, h http.Header) (llm.Answer, error) {
	failure := Failure(c.options.Model, err, h)
	s, _ := hear(err)
	switch {
	case s.isFiltered():
		return llm.Answer{Finish: llm.FinishRefused, Model: c.options.Model, Usage: c.usage(r, sdk.Usage{}, "")}, nil
	case s.refusesFormat():
		return llm.Answer{}, &formatError{failure: failure}
	}
	return llm.Answer{}, failure
}

func (c *Chat) fault(what string, usage memory.ModelUsage) error {
	return &llm.Error{Class: llm.ClassTransient, Model: c.options.Model, Status: http.StatusOK, Usage: usage, Err: errors.New(what)}
}

// finish reads why the model stopped. Servers have many words for an ordinary end, some none.
func finish(choice sdk.ChatCompletionChoice) llm.Finish {
	switch {
	case choice.Message.Refusal != "", choice.FinishReason == sdk.FinishReasonContentFilter:
		return llm.FinishRefused
	case choice.FinishReason == sdk.FinishReasonLength:
		return llm.FinishLength
	}
	return llm.FinishStop
}

// usage is what the endpoint reports; what it leaves out is counted by o200k, so that no call looks free.
func (c *Chat) usage(r sdk.ChatCompletionRequest, u sdk.Usage, answer string) memory.ModelUsage {
	used := memory.ModelUsage{Calls: 1, InputTokens: int64(u.PromptTokens), OutputTokens: int64(u.CompletionTokens)}
	if used.InputTokens <= 0 {
		used.InputTokens = 0
		for _, m := range r.Messages {
			used.InputTokens += tokens.Tokens(c.counter, c.counter.Cost(m.Content))
		}
	}
	if used.OutputTokens <= 0 {
		used.OutputTokens = tokens.Tokens(c.counter, c.counter.Cost(answer))
	}
	return used
}

func (c *Chat) request(p llm.Prompt, f format) sdk.ChatCompletionRequest {
	r := sdk.ChatCompletionRequest{Model: c.options.Model, Temperature: temperature(p.Temperature)}
	system := p.System
	if p.Schema != nil {
		r.ResponseFormat = responseFormat(*p.Schema, f)
		if f != formatSchema {
			system = withSchema(system, *p.Schema)
		}
	}
	if system != "" {
		r.Messages = append(r.Messages, sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleSystem, Content: system})
	}
	r.Messages = append(r.Messages, sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleUser, Content: p.User})
	return limited(r, p.MaxTokens)
}

// limited sets how long the answer may be. Local servers know only the old name of that limit, some models of OpenAI only
// the new one: the client knows which.
func limited(r sdk.ChatCompletionRequest, n int) sdk.ChatCompletionRequest {
	old := r
	old.MaxTokens = n //nolint:staticcheck // SA1019: the new name is unknown to most servers but OpenAI's
	if errors.Is(sdk.NewReasoningValidator().Validate(old), sdk.ErrReasoningModelMaxTokensDeprecated) {
		r.MaxCompletionTokens = n
		return r
	}
	return old
}

// temperature is the client's form of a temperature. The client leaves out a plain 0, and the endpoint would take its
// default.
func temperature(t *float64) float32 {
	switch {
	case t == nil:
		return 0
	case *t == 0:
		return math.SmallestNonzeroFloat32
	default:
		return float32(*t)
	}
}
