package compaction

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// compress replaces the older part of the list.
func (r *run) compress(ctx context.Context, ask func(Request) Answer, e *Effect) {
	c := r.policy.Compress
	if len(c.Triggers) > 0 && !toolcalls.AnyReached(c.Triggers, r.size(), r.history.Window) {
		return
	}
	e.Triggered = true
	units := r.units()
	d := divide(r.items, units, older(r.items, units, c, r.history.Window), c)
	if len(d.groups) == 0 && len(d.drop) == 0 && d.missing == nil {
		return
	}
	outcomes := r.outcomes(ctx, ask, units, d, e)
	if ctx.Err() == nil {
		r.apply(units, d, outcomes)
	}
}

// older are the units of the older part, without those that stay in any case.
func older(items list, units []unit, c Compress, window int64) []int {
	end := min(cutAt(items, units, c, window), unanswered(items, units, c))
	var out []int
	for i, u := range units {
		if u.to <= end && !u.standing() && !u.first {
			out = append(out, i)
		}
	}
	return out
}

// cutAt is the item from which on messages are kept.
func cutAt(items list, units []unit, c Compress, window int64) int {
	ends := make([]bool, len(items))
	for _, u := range units {
		ends[u.to-1] = true
	}
	return c.Keep.Cut(ends, items.tokens(), window)
}

// unanswered is the first item of what the model has still to go on from: the newest message, or the words of a user at
// the end. Without a keep the model's own last words are none of that.
func unanswered(items list, units []unit, c Compress) int {
	n := len(units)
	if n == 0 {
		return 0
	}
	newest := units[n-1]
	last := &items[newest.to-1].msg
	if c.Keep == (toolcalls.Keep{}) && (newest.summary || last.Role == memory.RoleAssistant && !newest.open) {
		return newest.to
	}
	from := n - 1
	for from > 0 && units[from].user && units[from-1].user {
		from--
	}
	return units[from].from
}

// division is what becomes of the units of the older part when all goes well.
type division struct {
	groups  [][]int        // each becomes one message
	before  []int          // earlier summaries, which the only group's message takes up and replaces
	drop    map[int]Reason // the rest of what goes
	missing []int          // what the fallback is for, where a filter selects nothing
}

// divide sorts the units of the older part by what the strategy does with them.
func divide(items list, units []unit, older []int, c Compress) division {
	d := division{drop: map[int]Reason{}}
	var fresh []int
	for _, u := range older {
		switch {
		case units[u].summary:
			d.before = append(d.before, u)
		case !isMaterial(items[units[u].from:units[u].to]):
			d.drop[u] = whyNoMaterial(items[units[u].from])
		default:
			fresh = append(fresh, u)
		}
	}
	if len(fresh) == 0 {
		return d
	}
	switch {
	case c.Strategy.IsCustom():
		d.filter(items, units, fresh, c)
	case c.Strategy == StrategyLastN:
		d.group(fresh, func(i int) bool { return count(units, fresh[i:]) < c.LastN+units[fresh[i]].to-units[fresh[i]].from }, ReasonDropped)
	case c.Strategy == StrategySince:
		d.group(fresh, func(i int) bool { return isSince(items[units[fresh[i]].from:units[fresh[i]].to], c.Since) }, ReasonDropped)
	case c.Strategy == StrategyChunked:
		d.before, d.groups = nil, chunks(units, fresh, c.ChunkMessages)
	default:
		d.groups = [][]int{fresh}
	}
	return d
}

// group makes one group of those that are in it; the others are dropped.
func (d *division) group(fresh []int, in func(i int) bool, why Reason) {
	var group []int
	for i, u := range fresh {
		if in(i) {
			group = append(group, u)
		} else {
			d.drop[u] = why
		}
	}
	if len(group) > 0 {
		d.groups = [][]int{group}
	}
}

// filter selects what stays verbatim, or with a prompt what the model is asked about.
func (d *division) filter(items list, units []unit, fresh []int, c Compress) {
	selected := func(i int) bool {
		u := units[fresh[i]]
		return slices.ContainsFunc(items[u.from:u.to], func(it *item) bool { return c.Filter.selects(it.msg) })
	}
	d.group(fresh, selected, ReasonFiltered)
	switch {
	case len(d.groups) == 0:
		for u, why := range d.drop {
			if why == ReasonFiltered {
				delete(d.drop, u)
			}
		}
		d.missing, d.before = fresh, nil
	case c.Prompt == "":
		d.groups, d.before = nil, nil
	}
}

func (f Filter) selects(m memory.Message) bool {
	said := ""
	if len(f.Contains) > 0 {
		said = strings.ToLower(m.PlainText())
	}
	return (len(f.Roles) == 0 || slices.Contains(f.Roles, m.Role)) &&
		(len(f.Names) == 0 || slices.Contains(f.Names, m.Name)) &&
		(len(f.Tags) == 0 || slices.ContainsFunc(m.Tags, func(t string) bool { return slices.Contains(f.Tags, t) })) &&
		(len(f.Contains) == 0 || slices.ContainsFunc(f.Contains, func(w string) bool { return strings.Contains(said, strings.ToLower(w)) }))
}

// isMaterial reports whether a unit's messages hold anything that a summariser could use.
func isMaterial(items []*item) bool {
	return slices.ContainsFunc(items, func(it *item) bool {
		return it.msg.Origin != memory.OriginRecalled && slices.ContainsFunc(it.msg.Parts, func(p memory.Part) bool {
			return toolcalls.Says(p) || p.Kind.IsTool()
		})
	})
}

// whyNoMaterial returns why a unit that begins with an item and is without anything for a summariser is left out.
func whyNoMaterial(first *item) Reason {
	if first.msg.Origin == memory.OriginRecalled {
		return ReasonRecalled
	}
	return ReasonEmpty
}

// isSince reports whether any message of a unit is from the strategy's time or later.
func isSince(items []*item, since time.Time) bool {
	return slices.ContainsFunc(items, func(it *item) bool {
		return it.msg.CreateTime.IsZero() || !it.msg.SaidTime().Before(since)
	})
}

// count is how many messages units have.
func count(units []unit, of []int) int {
	n := 0
	for _, u := range of {
		n += units[u].to - units[u].from
	}
	return n
}

// chunks are groups of at most n messages, or of one unit that has more.
func chunks(units []unit, fresh []int, n int) [][]int {
	var out [][]int
	size := n
	for _, u := range fresh {
		more := units[u].to - units[u].from
		if size+more > n {
			out, size = append(out, nil), 0
		}
		out[len(out)-1] = append(out[len(out)-1], u)
		size += more
	}
	return out
}

// outcome is what became of a group.
type outcome struct {
	text     string // "" when the group stays or goes
	model    string
	fallback bool // the fallback wrote it
	drop     bool // the fallback drops it
	reason   Reason
	lossy    map[int]bool // messages of the history that the summariser was not given
}

// fate is what becomes of a unit: the number of the group whose message replaces it, or one of these.
type fate int

const (
	stays fate = -1 - iota
	goes
)

// apply makes the list that a division and the outcomes of its groups come to.
func (r *run) apply(units []unit, d division, outcomes []outcome) {
	fates := slices.Repeat([]fate{stays}, len(units))
	why := map[int]Reason{}
	changes := len(outcomes) == 0
	for g, o := range outcomes {
		changes = changes || o.text != "" || o.drop
		for _, u := range d.all()[g] {
			switch {
			case o.text != "":
				fates[u] = fate(g)
			case o.drop:
				fates[u], why[u] = goes, ReasonDropped
			}
		}
	}
	if !changes {
		return
	}
	for u, reason := range d.drop {
		fates[u], why[u] = goes, reason
	}
	if len(outcomes) > 0 && outcomes[0].text != "" {
		for _, u := range d.before {
			fates[u] = 0
		}
	}
	keepLead(r.items, units, fates)
	r.rewrite(units, fates, why, outcomes)
}

// all are the groups, or what the fallback is for.
func (d division) all() [][]int {
	if d.missing != nil {
		return [][]int{d.missing}
	}
	return d.groups
}

// keepLead lets a user's words stay where the list would begin with the model's otherwise.
func keepLead(items list, units []unit, fates []fate) {
	keep := make([]bool, len(units))
	after := slices.Clone(units)
	for i, f := range fates {
		keep[i] = f != goes
		after[i].summary = after[i].summary || f >= 0
	}
	items.keepLead(after, keep)
	for i := range fates {
		if keep[i] && fates[i] == goes {
			fates[i] = stays
		}
	}
}

// rewrite writes the list. Each group's message takes the place of the first message that it replaces.
func (r *run) rewrite(units []unit, fates []fate, why map[int]Reason, outcomes []outcome) {
	before := r.items
	r.items = nil
	written := make([]Written, len(outcomes))
	at := map[fate]int{}
	for i, u := range units {
		f, group := fates[i], before[u.from:u.to]
		switch f {
		case stays:
			r.items = append(r.items, group...)
			continue
		case goes:
			r.drop(group, func(int) Reason { return why[i] })
			continue
		}
		if _, begun := at[f]; !begun {
			at[f] = len(r.items)
			r.items = append(r.items, &item{source: -1, summary: true})
		}
		r.replace(r.items[at[f]], &written[f], group, outcomes[f])
	}
	ids := newMinter("summary", r.items.messages())
	for g, o := range outcomes {
		if i, begun := at[fate(g)]; begun {
			r.write(r.items[i], &written[g], o, ids)
			r.written = append(r.written, written[g])
		}
	}
}

// drop notes items that are gone.
func (r *run) drop(group []*item, why func(source int) Reason) {
	r.acted = true
	for i := range group {
		r.omit(group[i], StageCompress, why(group[i].source))
	}
}

// replace records the items that a message replaces. Its time is that of the last of them.
func (r *run) replace(into *item, w *Written, group []*item, o outcome) {
	r.drop(group, func(source int) Reason {
		if o.lossy[source] {
			return ReasonLossy
		}
		return o.reason
	})
	for i := range group {
		if group[i].source >= 0 {
			w.Replaces = append(w.Replaces, group[i].source)
		}
		if t := group[i].msg.SaidTime(); t.After(into.msg.CreateTime) {
			into.msg.CreateTime = t
		}
	}
}

// write gives a message its words and an id that depends on them.
func (r *run) write(it *item, w *Written, o outcome, ids *minter) {
	it.msg.Role = cmp.Or(r.policy.Compress.Role, memory.RoleUser)
	it.msg.Origin, it.msg.Extract, it.msg.Tags = memory.OriginSystem, memory.ExtractNone, []string{SummaryTag}
	it.msg.Parts = []memory.Part{memory.TextPart(r.policy.prefix() + o.text)}
	it.tokens = MessageTokens(it.msg, r.history.Counter)
	it.msg.ID = ids.mint(it.msg)
	w.ID, w.Tokens, w.Model, w.Fallback = it.msg.ID, it.tokens, o.model, o.fallback
}
