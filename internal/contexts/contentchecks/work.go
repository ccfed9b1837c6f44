package contentchecks

import (
	"context"
	"errors"
	"fmt"

	"github.com/stratamem/strata/internal/memory"
)

// MaxSteps bounds what judging the messages of a call may take, summed over rules and messages. A step takes about ten
// nanoseconds of one processor (BenchmarkSteps prints it for each kind of rule), so a call within the bound returns within
// two or three seconds.
const MaxSteps = 200_000_000

// The weights of what is done, in steps.
const (
	stepsOfText    = 10 // for a character that an expression reads, beside its size
	stepsOfLetter  = 3  // for a letter that is folded
	stepsOfLookup  = 8  // for a letter that is looked up among the stop words
	stepsOfCount   = 20 // for a byte whose tokens are counted
	stepsOfDecode  = 10 // for a byte of JSON that is read
	stepsOfVisit   = 50 // for a value that a schema's object looks at
	stepsOfMember  = 10 // for a member or item that is gone through
	stepsOfCompare = 50 // for a value that is compared
)

// stepsBetweenLooks is how many steps are done before the context is looked at again.
const stepsBetweenLooks = 500_000

// TooMuch is the error of judging that takes more than MaxSteps. Its text holds nothing of the rule or of the messages.
type TooMuch struct { //nolint:errname // named for what it says
	Rule  int    // its index
	Name  string // of the rule
	Field string // the test's field, such as patterns
}

// Error returns what is too much, and what helps.
func (e *TooMuch) Error() string {
	return fmt.Sprintf(
		"to judge the messages takes more than %d steps with it, a step being an instruction of an expression for a character of a text, "+
			"or the like: send fewer or shorter messages in one call, or write smaller rules",
		MaxSteps,
	)
}

// work counts the steps that judging takes. Where they are too many, or nobody waits any more, it ends by an error.
type work struct {
	ctx    context.Context
	left   int64 // steps that may still be done
	unseen int64 // steps that were done since the context was looked at
}

func newWork(ctx context.Context, most int64) *work { return &work{ctx: ctx, left: most} }

// errSpent is the error of work that takes more steps than it may.
var errSpent = fmt.Errorf("judging takes too many steps")

// spend takes steps before they are done.
func (w *work) spend(steps int64) error {
	if steps > w.left {
		w.left = 0
		return errSpent
	}
	w.left -= steps
	if w.unseen += steps; w.unseen < stepsBetweenLooks {
		return nil
	}
	w.unseen = 0
	if err := w.ctx.Err(); err != nil {
		return fmt.Errorf("judge words: %w", err)
	}
	return nil
}

// NameMessages names the messages where judging them by a profile's rules takes too much: the caller can mend nothing else.
func NameMessages(err error) error {
	if e, ok := errors.AsType[*TooMuch](err); ok {
		return memory.InvalidField("messages", "of the profile's check %s: %s", e.Name, e.Error())
	}
	return err
}
