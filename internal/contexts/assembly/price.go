package assembly

import (
	"fmt"

	"github.com/stratamem/strata/internal/contexts/assembly/render"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/language/prompttags"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

// seamTokens is kept free where a vocabulary counts: pieces of a text are counted one by one, and joining them may make a
// token more at a seam, while the blanks and line ends counted on their own nearly always make it fewer.
const seamTokens = 2

// pricer says what things take of a context, in the format that it is rendered in.
type pricer struct {
	in     *Input
	format render.Format
	tags   render.Tags
	meter  *render.Meter
	state  string      // as it is written between its tags; "" without one
	ended  func() bool // whether nobody waits any more: from then on nothing fits
}

func newPricer(in *Input, ended func() bool) *pricer {
	p := &pricer{in: in, format: formatOf(in), tags: render.TagsOf(in.Fence), meter: render.NewMeter(in.Counter), ended: ended}
	if in.Policy.Sections.State && len(in.State) > 0 {
		p.state = prompttags.DisarmJSON(string(in.State))
	}
	return p
}

// formatOf returns the format of a context. A structured context is priced as OpenAI takes it.
func formatOf(in *Input) render.Format {
	//exhaustive:enforce
	switch in.Render {
	case RenderText:
		return render.Text{}
	case RenderAnthropic:
		return render.Anthropic{Documents: in.Documents}
	case RenderResponses:
		return render.Responses{Documents: in.Documents}
	case RenderStructured, RenderOpenAI:
		return render.OpenAI{Documents: in.Documents}
	}
	panic(fmt.Sprintf("assembly: no format for the rendering %d", in.Render))
}

// isMessages reports whether the context is a list of messages, which cost more than their words.
func (p *pricer) isMessages() bool { return p.in.Render != RenderText }

// messageCost is what a message that is none of the conversation's takes beside its words.
func (p *pricer) messageCost() int64 {
	if p.isMessages() {
		return render.MessageTokens * p.in.Counter.Per()
	}
	return 0
}

// isAfter reports whether state and memory come after the history, before the last words of the user.
func (p *pricer) isAfter() bool { return p.in.Policy.MemoryPlace == contextprofile.MemoryAfter }

// opensAsUser reports whether state and memory are the user's words that a conversation begins with.
func (p *pricer) opensAsUser() bool {
	return p.in.Policy.MemoryRole == contextprofile.MemoryAsUser && !p.isAfter()
}

// noticeCost is what render.OpeningNotice takes where a context for Anthropic may need it, 0 where it cannot.
func (p *pricer) noticeCost() int64 {
	if p.in.Render == RenderAnthropic && (!p.opensAsUser() || p.state == "") {
		return p.messageCost() + p.meter.Cost(render.OpeningNotice)
	}
	return 0
}

// contextTagsCost is what the tags take that a text is in.
func (p *pricer) contextTagsCost() int64 {
	return p.meter.Cost(p.tags.ContextOpen) + p.meter.Cost(p.tags.ContextClose)
}

// memoryTagsCost is what the tags of memory take, less the opening notice where memory is a user's words: they open a
// conversation, and are longer.
func (p *pricer) memoryTagsCost() int64 {
	cost := p.meter.Cost(p.tags.MemoryOpen) + p.meter.Cost(render.MemoryNotice) + p.meter.Cost(p.tags.MemoryClose+tokens.Join)
	if p.state == "" || !p.isMessages() {
		cost += p.messageCost()
	}
	if p.opensAsUser() {
		cost -= p.noticeCost()
	}
	return cost
}

// beyondBudgets is a price that no budget holds, and that adds up without overflow.
const beyondBudgets = 1 << 40

// priceOf returns the price of a group of a conversation, which it finds out once.
func (p *pricer) priceOf(c *conversation, g *group) *price {
	if g.price.known {
		return &g.price
	}
	if p.ended() {
		return &price{space: space{tokens: beyondBudgets}}
	}
	g.price.known = true
	g.price.each = make([]int64, len(g.entries))
	for i, e := range g.entries {
		m := &c.entries[e].msg
		var counted memory.TokenCounts
		if g.isWhole(&c.entries[e]) {
			counted = m.Tokens
		}
		g.price.each[i] = p.meter.Price(p.format, m, g.blocks, counted)
		g.price.tokens += g.price.each[i]
	}
	if p.in.MaxBytes > 0 {
		g.price.bytes = groupBytes(p.in, c, g)
	}
	return &g.price
}

// isWhole reports whether a message of a group is passed on with all its parts, those that are never rendered too.
func (g *group) isWhole(e *entry) bool { return !e.altered && !g.light }
