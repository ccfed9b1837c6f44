package compaction

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
)

// nothingFound is why the fallback is taken where there are no facts, or a filter selects nothing.
const nothingFound = "nothing_found"

// summariser has groups of messages summarised.
type summariser struct {
	ask      func(Request) Answer
	compress Compress
	counter  tokens.Counter
	location *time.Location
	extract  bool // by the built-in summariser
}

// failureEnded is the failure of an answer that came after the context had ended, or did not come because of that.
const failureEnded = "ended"

// outcomes returns what becomes of each group. Once ctx has ended it asks nothing more, and its result is meaningless.
func (r *run) outcomes(ctx context.Context, ask func(Request) Answer, units []unit, d division, e *Effect) []outcome {
	t := summariser{ask: ask, compress: r.policy.Compress, counter: r.history.Counter, location: r.history.Location}
	if d.missing != nil {
		e.Fallback = nothingFound
		return []outcome{t.fallBack(ctx, r.material(units, d.missing, nil))}
	}
	var out []outcome
	for _, group := range d.groups {
		if ctx.Err() != nil {
			return nil
		}
		m := r.material(units, group, d.before)
		o, failure := t.outcome(ctx, m)
		if failure != "" {
			e.Fallback = failure
			o = t.fallBack(ctx, m)
		}
		out = append(out, o)
	}
	return out
}

// fallBack is what the fallback makes of a group.
func (t summariser) fallBack(ctx context.Context, m material) outcome {
	switch t.compress.Fallback {
	case FallbackDrop:
		return outcome{drop: true}
	case FallbackWhole, FallbackExtract:
		t.extract = t.compress.Fallback == FallbackExtract
		t.compress.Strategy, t.compress.Prompt = StrategyWhole, ""
		o, failure := t.outcome(ctx, m)
		if failure == "" {
			o.fallback = true
			return o
		}
	}
	return outcome{}
}

// material is what a model reads of a group.
type material struct {
	previous string // the summaries that the answer takes up
	lines    []line
}

// line is what a summariser sees of a message, of its words or of its calls and results, or a piece of that.
type line struct {
	summary.SourceText
	source int
	tokens int64
}

func (r *run) material(units []unit, group, before []int) material {
	var m material
	for _, u := range before {
		for _, it := range r.items[units[u].from:units[u].to] {
			m.previous = strings.TrimSpace(m.previous + "\n" + r.policy.unprefixed(it.msg.SaidText()))
		}
	}
	for _, u := range group {
		for _, it := range r.items[units[u].from:units[u].to] {
			m.lines = append(m.lines, linesOf(it, r.history.Counter)...)
		}
	}
	return m
}

// linesOf are the lines of a message, which take what it takes: counted apart only where there are several.
func linesOf(it *item, counter tokens.Counter) []line {
	seen := summary.Lines([]memory.Message{it.msg}, summary.SourceLimits{})
	out := make([]line, len(seen))
	for i, l := range seen {
		out[i] = line{SourceText: l, source: it.source, tokens: it.tokens}
		if len(seen) > 1 {
			out[i].tokens = countText(l.Text, counter)
		}
	}
	return out
}

// unprefixed returns the text of a summary after its prefix.
func (p Policy) unprefixed(said string) string {
	for _, prefix := range []string{p.prefix(), DefaultPrefix} {
		if prefix = strings.TrimSpace(prefix); prefix != "" && strings.HasPrefix(said, prefix) {
			return strings.TrimSpace(said[len(prefix):])
		}
	}
	return strings.TrimSpace(said)
}

// outcome asks the model about a group as the strategy says.
func (t summariser) outcome(ctx context.Context, m material) (o outcome, failure string) {
	if t.compress.Strategy == StrategyFacts {
		return t.facts(ctx, m)
	}
	return t.summarise(ctx, m)
}

// summarise folds a group into one summary, a chunk at a time. Each answer replaces the one before, so that only the model
// can lose anything.
func (t summariser) summarise(ctx context.Context, m material) (o outcome, failure string) {
	o.reason = ReasonSummarised
	if t.compress.Lossy && t.compress.ChunkTokens > 0 {
		m.lines, o.lossy = t.newest(m.lines)
	}
	o.text = m.previous
	for _, chunk := range t.chunks(m.lines) {
		if ctx.Err() != nil {
			return outcome{}, failureEnded
		}
		request := t.request(o.text, chunk)
		answer := t.ask(request)
		if o.text, failure = t.accept(ctx, request, answer); failure != "" {
			return outcome{}, failure
		}
		o.model = answer.Model
	}
	return o, ""
}

// request asks for a summary of a chunk.
func (t summariser) request(previous string, chunk []line) Request {
	request := Request{
		Kind: RequestSummary, Model: t.compress.Model, Extract: t.extract,
		MaxTokens: cmp.Or(t.compress.MaxTokens, DefaultSummaryTokens), Messages: sources(chunk),
	}
	request.Task = summary.Task{
		Kind: memory.SummarySession, Previous: previous, Rewrite: previous != "", MaxTokens: request.MaxTokens, Location: t.location,
	}
	for _, l := range chunk {
		request.Task.Lines = append(request.Task.Lines, l.SourceText)
	}
	if t.compress.Prompt != "" && !t.extract {
		request.Prompt = fillPrompt(t.compress.Prompt, previous, chunk)
	}
	return request
}

// sources returns the messages that the lines belong to. Pieces of one message are adjacent.
func sources(lines []line) []int {
	var out []int
	for _, l := range lines {
		if n := len(out); l.source >= 0 && (n == 0 || out[n-1] != l.source) {
			out = append(out, l.source)
		}
	}
	return out
}

// accept returns the text of a summary that passes the checks, or why it does not. Answers to Strata's own prompt are
// checked as those of background work are; other answers only must not be empty. Whole sentences are cut from what is too
// long.
func (t summariser) accept(ctx context.Context, request Request, answer Answer) (text, failure string) {
	text = strings.TrimSpace(answer.Text)
	switch {
	case answer.Failure != "":
		return "", answer.Failure
	case answer.Refused:
		return "", string(summary.RefusalModel)
	case answer.Cut:
		return "", string(summary.RefusalCut)
	case text == "":
		return "", string(summary.RefusalEmpty)
	case request.Prompt == "":
		checked, refused, err := summary.CheckWithin(ctx, request.Task, summary.Answer{Text: text, Verbatim: answer.Verbatim})
		switch {
		case err != nil:
			return "", failureEnded
		case refused != "":
			return "", string(refused)
		}
		text = checked.Text
	}
	if text, _ = summary.Fit(text, request.MaxTokens, t.count); text == "" {
		return "", string(summary.RefusalLong)
	}
	return text, ""
}

func (t summariser) count(s string) int64 { return countText(s, t.counter) }

// chunks are lines in chunks of at most ChunkTokens.
func (t summariser) chunks(lines []line) [][]line {
	limit := t.compress.ChunkTokens
	if limit <= 0 {
		return [][]line{lines}
	}
	var out [][]line
	size := limit
	for _, whole := range lines {
		for _, l := range t.pieces(whole, limit) {
			if size+l.tokens > limit {
				out, size = append(out, nil), 0
			}
			out[len(out)-1] = append(out[len(out)-1], l)
			size += l.tokens
		}
	}
	return out
}

// pieces are a line in pieces of at most limit tokens, cut at blanks where there are any. No token is shorter than a
// byte.
func (t summariser) pieces(l line, limit int64) []line {
	if l.tokens <= limit {
		return []line{l}
	}
	var out []line
	for rest := l.Text; rest != ""; {
		end := pieceEnd(rest, int(limit))
		piece := l
		piece.Text, rest = strings.TrimSpace(rest[:end]), rest[end:]
		if piece.Text == "" {
			continue
		}
		piece.tokens = min(limit, t.count(piece.Text))
		out = append(out, piece)
	}
	return out
}

// pieceEnd is where the first piece of at most that many bytes ends: behind its last blank, or at the end of a
// character. It is above 0.
func pieceEnd(s string, most int) int {
	if len(s) <= most {
		return len(s)
	}
	end := 0
	for i, r := range s {
		if next := i + len(string(r)); next > most && end > 0 {
			break
		} else {
			end = next
		}
	}
	if blank := strings.LastIndexAny(s[:end], " \n\t"); blank > 0 {
		return blank + 1
	}
	return end
}

// newest are the newest lines that fit one chunk, from a user's words on where they hold any, as LangChain trims what
// it summarises; and the messages that are not, or not as a whole, among them.
func (t summariser) newest(lines []line) (kept []line, lossy map[int]bool) {
	limit := t.compress.ChunkTokens
	from, size := len(lines), int64(0)
	for from > 0 && size+lines[from-1].tokens <= limit {
		from--
		size += lines[from].tokens
	}
	kept = lines[from:]
	if user := slices.IndexFunc(kept, func(l line) bool { return l.Role == memory.RoleUser }); user > 0 {
		kept = kept[user:]
	}
	if len(kept) == 0 && len(lines) > 0 {
		pieces := t.pieces(lines[len(lines)-1], limit)
		kept = pieces[len(pieces)-1:]
	}
	lossy = map[int]bool{}
	for _, l := range lines[:len(lines)-len(kept)] {
		lossy[l.source] = true
	}
	if from == len(lines) && len(kept) > 0 {
		lossy[kept[0].source] = true
	}
	return kept, lossy
}
