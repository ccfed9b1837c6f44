// Package llm holds the contract of chat models, and the decorators every model call goes through. Its subpackages
// hold the providers.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Operation is what a model call is for; it is a label of metrics.
type Operation string

// The operations.
const (
	OpSummarize Operation = "summarize"
	OpMerge     Operation = "merge"
	OpPeriod    Operation = "period"
	OpExtract   Operation = "extract"
	OpCompact   Operation = "compact" // by the own prompt of a context policy
)

// Chat completes prompts. Complete must return an *Error for everything that goes wrong with the model, and must return
// soon after ctx ends.
type Chat interface {
	Complete(ctx context.Context, p Prompt) (Answer, error)
}

// Prompt is one call of a model.
type Prompt struct {
	Operation Operation
	System    string
	User      string
	Schema    *Schema // what the answer must be; nil for prose
	MaxTokens int     // of the answer; 0 for the provider's default
	// Temperature goes before what the Chat has configured; nil leaves that.
	Temperature *float64
}

// Schema is a JSON schema with a name.
type Schema struct {
	Name string
	JSON json.RawMessage
}

// Finish is why a model stopped.
type Finish string

// The finish reasons.
const (
	FinishStop    Finish = "stop"
	FinishLength  Finish = "length" // cut off: nothing of it may be used
	FinishRefused Finish = "refused"
)

// Answer is a model's reply. It is journalled as JSON.
type Answer struct {
	Text   string            `json:"text"`
	Finish Finish            `json:"finish"`
	Model  string            `json:"model"` // builtin:… for what is built in
	Usage  memory.ModelUsage `json:"usage"`
	// Verbatim is set when code made the text of sentences of its input: the same question gets the same answer again.
	Verbatim bool `json:"verbatim,omitempty"`
}

// Class is what a failure of a model means for the work that needed it.
type Class string

// The classes.
const (
	ClassTransient Class = "transient"    // timeout, 5xx, connection: try again
	ClassLimited   Class = "rate_limited" // 429: try again after RetryAfter
	ClassTooLong   Class = "too_long"     // the input does not fit: split it
	ClassPermanent Class = "permanent"    // bad key, unknown model, bad request: a person must act
	ClassOpen      Class = "circuit_open" // not tried: the endpoint fails; RetryAfter says when it may be
	ClassBudget    Class = "over_budget"  // not tried: the tenant's budget is used up until RetryAfter; Code names the limit
)

// Error is a failed model call. It never holds content.
type Error struct {
	Class      Class
	Model      string            // that was asked; "" when none was named
	Status     int               // of HTTP; 0 without one
	Code       string            // what the endpoint calls the fault, or why it was not reached; "" where neither is known
	RetryAfter time.Duration     // 0 when the endpoint does not say
	Usage      memory.ModelUsage // what it cost all the same: one call, unless the circuit was open
	// Probe is set for a call that was let through an open circuit to test the endpoint, and failed: RetryAfter is when the
	// next one may be.
	Probe bool
	Err   error
}

// Error names the class and the cause.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("model call failed (%s, HTTP %d): %v", e.Class, e.Status, e.Err)
	}
	return fmt.Sprintf("model call failed (%s): %v", e.Class, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf is the class of an error: ClassTransient for one that is no *Error.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ClassTransient
}

// Call is what is known of a model call after it.
type Call struct {
	Operation Operation
	Model     string
	Outcome   string // a Finish, else a Class
	Usage     memory.ModelUsage
	Duration  time.Duration
}

// Meter counts model calls. It must not block.
type Meter interface {
	ModelCalled(ctx context.Context, c Call)
}
