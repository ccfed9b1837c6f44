package assembly

import (
	"fmt"

	"github.com/stratamem/strata/internal/contexts/assembly/render"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// required is what the parts take that a context must have, in units of the counter.
type required struct {
	instructions, state, pending, overhead int64
}

func (r required) total() int64 { return r.instructions + r.state + r.pending + r.overhead }

// require takes what a context must have, raises Available for it as far as it may, and returns the room left.
func require(p *pricer, c *conversation) (must required, left space, err error) {
	must, taken := requiredParts(p)
	pending := pendingSpace(p, c)
	if in := p.in; in.MaxBytes > 0 && taken.bytes+pending.bytes > in.MaxBytes {
		for i := range c.pending {
			c.pending[i] = c.pending[i].withoutBlobs()
		}
		pending = pendingSpace(p, c)
	}
	must.pending, taken = pending.tokens, taken.plus(pending)

	if need := tokens.Tokens(p.in.Counter, taken.tokens); need > p.in.Available && need <= p.in.Most {
		p.in.Available = need
	}
	room := available(p.in)
	if taken.tokens > room.tokens {
		return required{}, space{}, tooSmall(p.in, must)
	}
	if taken.bytes > room.bytes {
		return required{}, space{}, memory.InvalidField("pending",
			"instructions, state and pending messages would make a reply of about %d bytes; the limit is %d: send less", taken.bytes, room.bytes)
	}
	return must, room.less(taken), nil
}

// pendingSpace is what pending messages take, with the calls that they answer.
func pendingSpace(p *pricer, c *conversation) (taken space) {
	for i := range c.pending {
		taken = taken.plus(p.priceOf(c, &c.pending[i]).space)
	}
	return taken
}

// requiredParts is what the instructions, the state and the format itself take.
func requiredParts(p *pricer) (required, space) {
	in, meter := p.in, p.meter
	var r required
	if in.Instructions != "" {
		r.instructions = in.Counter.Cost(in.Instructions) + p.messageCost()
		if !p.isMessages() {
			r.instructions += meter.Cost(tokens.Join)
		}
	}
	if p.state != "" {
		r.state = meter.Cost(p.tags.StateOpen) + in.Counter.Cost(p.state) + meter.Cost("\n"+p.tags.StateClose+tokens.Join) + p.messageCost()
	}
	if p.isMessages() {
		r.overhead = render.ReplyTokens * in.Counter.Per()
	} else {
		r.overhead = p.contextTagsCost()
	}
	if in.Counter.Per() == 1 {
		r.overhead += seamTokens
	}
	r.overhead += p.noticeCost()
	bytes := 2*itemBytes + escapedBytes(in.Instructions) + escapedBytes(p.state) +
		len(p.tags.MemoryOpen) + len(render.MemoryNotice) + len(p.tags.MemoryClose) + 256
	return r, space{r.total(), bytes}
}

// tooSmall is the error of a budget that does not hold what a context must have.
func tooSmall(in *Input, must required) error {
	t := func(cost int64) int64 { return tokens.Tokens(in.Counter, cost) }
	need, most := t(must.total()), max(in.Available, in.Most)
	reserved := ""
	if in.Reserved != 0 {
		reserved = fmt.Sprintf(" beside the %d that are reserved for the answer and the tools", in.Reserved)
	}
	d := fmt.Sprintf("%d tokens are available%s, but the parts that cannot be left out need %d: instructions %d, state %d, "+
		"pending messages with the calls they answer %d, the form itself %d; raise it by at least %d, reserve less, or shorten them",
		most, reserved, need, t(must.instructions), t(must.state), t(must.pending), t(must.overhead), need-most)
	return &memory.Error{
		Kind: memory.KindInvalid, Reason: memory.ReasonBudgetTooSmall, Message: "overrides.budget_tokens: " + d,
		Fields: []memory.FieldError{{Field: "overrides.budget_tokens", Description: d}},
		Metadata: map[string]string{
			"available_tokens": fmt.Sprint(most), "needed_tokens": fmt.Sprint(need),
			"instructions_tokens": fmt.Sprint(t(must.instructions)), "state_tokens": fmt.Sprint(t(must.state)),
			"pending_tokens": fmt.Sprint(t(must.pending)), "overhead_tokens": fmt.Sprint(t(must.overhead)),
		},
	}
}
