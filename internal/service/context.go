package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stratamem/strata/internal/assembly"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/policy"
	"github.com/stratamem/strata/internal/rank"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/text"
	"github.com/stratamem/strata/internal/tokens"
)

// ContextParams asks for the context of the next model call, checked.
type ContextParams struct {
	Ref          memory.SessionRef
	Query        string // "" for the last words of the user
	Pending      []memory.Message
	Instructions string
	Policy       policy.Call
	Render       assembly.Render
	AsOf         time.Time // zero for now
	Explain      bool
	MaxBytes     int // the most bytes the reply may take
}

// ContextResult is a context with what is to be said about it.
type ContextResult struct {
	assembly.Result
	Policy         policy.Resolved
	AsOf           time.Time
	Recorded       int64 // the session's last seq
	Indexed        int64 // every message up to this seq is indexed
	StepsSinceUser int
	Found          Found
	Recalled       []rank.Hit // what assembly.Item.Rank counts in
	Ranks          []int      // the rank of each of them, from 1
}

// gathered is what a context is decided from.
type gathered struct {
	session memory.Session
	tail    []memory.Message // oldest first
	found   Found
}

// BuildContext gathers the session's latest messages and what recall finds, and lets assembly decide. An unknown user
// or session has an empty context; a store that cannot be reached fails the call, so that unavailable never looks
// like empty.
func (s *Service) BuildContext(ctx context.Context, p ContextParams) (ContextResult, error) {
	session, err := s.store.Session(ctx, p.Ref)
	if err != nil && !isNotFound(err) {
		return ContextResult{}, fmt.Errorf("read session: %w", err)
	}
	session.Ref = p.Ref
	p.Policy.SessionProfile = session.Profile
	resolved, err := s.policies.Resolve(p.Policy)
	if err != nil {
		return ContextResult{}, err
	}
	counter, err := tokens.ByName(resolved.Counter)
	if err != nil {
		return ContextResult{}, err
	}
	g, err := s.gather(ctx, p, session, resolved)
	if err != nil {
		return ContextResult{}, err
	}
	return s.decide(ctx, p, g, resolved, counter)
}

// gather reads the tail and searches. Both run at once where the query does not depend on the tail.
func (s *Service) gather(ctx context.Context, p ContextParams, session memory.Session, r policy.Resolved) (gathered, error) {
	g := gathered{session: session}
	readTail := func(ctx context.Context) (err error) {
		g.tail, err = s.tail(ctx, session, r)
		return err
	}
	search := func(ctx context.Context, query string) (err error) {
		g.found, err = s.recall(ctx, session, query, r, p.Explain)
		return err
	}
	query := p.Query
	if query == "" {
		query = lastWords(p.Pending)
	}
	if query == "" {
		if err := readTail(ctx); err != nil {
			return g, err
		}
		query, err := s.recordedWords(ctx, session, g.tail)
		if err != nil {
			return g, err
		}
		err = search(ctx, query) // before g is copied into the result: the order of the two is not defined
		return g, err
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return readTail(ctx) })
	both.Go(func() error { return search(ctx, query) })
	err := both.Wait()
	return g, err
}

// maxQueryBytes is how much of a message serves as a query.
const maxQueryBytes = 64 << 10

// lastWords are the first words of the last message of a user, as many as a query may have.
func lastWords(messages []memory.Message) string {
	for _, m := range slices.Backward(messages) {
		if words := m.PlainText(); m.Role == memory.RoleUser && words != "" {
			return strings.ToValidUTF8(words[:min(len(words), maxQueryBytes)], "")
		}
	}
	return ""
}

// recordedWords are the lastWords of the tail, else of what lies before it: an agent may have gone many steps since
// the user spoke.
func (s *Service) recordedWords(ctx context.Context, session memory.Session, tail []memory.Message) (string, error) {
	before := session.LastSeq + 1
	for {
		if words := lastWords(tail); words != "" {
			return words, nil
		}
		if len(tail) > 0 {
			before = tail[0].Seq
		}
		if before <= 1 {
			return "", nil
		}
		var err error
		tail, err = s.before(ctx, store.MessageQuery{Ref: session.Ref, Before: before, Limit: 200})
		if err != nil || len(tail) == 0 {
			return "", err
		}
	}
}

// Bounds of what one call holds in memory, far above what a reply can show.
const (
	maxTail        = 100_000  // messages
	maxTailBytes   = 16 << 20 // of messages read, as stored
	maxRecallBytes = 16 << 20
)

// tail reads as many of the latest messages as could fit the budget, oldest first. It is read even where the section
// is off: pending tool results need their calls.
func (s *Service) tail(ctx context.Context, session memory.Session, r policy.Resolved) ([]memory.Message, error) {
	if session.LastSeq == 0 {
		return nil, nil
	}
	return s.before(ctx, store.MessageQuery{
		Ref: session.Ref, Before: session.LastSeq + 1, Limit: maxTail,
		MaxTokens: max(r.Available*slack(r.Counter), 1), MinMessages: r.RecentN,
	})
}

// before reads messages backwards and answers them oldest first.
func (s *Service) before(ctx context.Context, q store.MessageQuery) ([]memory.Message, error) {
	q.NewestFirst, q.MaxBytes = true, maxTailBytes
	messages, err := s.store.Messages(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read latest messages: %w", err)
	}
	slices.Reverse(messages)
	return messages, nil
}

// slack is how many o200k tokens of stored counts may come to one token of the counter: four characters are one
// token of chars_4, and may be four of o200k in scripts without blanks. The other counters count about as much, or more.
func slack(counter string) int64 {
	if counter == tokens.Chars4 {
		return 4
	}
	return 1
}

// recall searches the user's messages. The last recent_n mostly stand in the context anyway, so as many hits more are
// asked for. Where recall is off, only the watermark is read.
func (s *Service) recall(ctx context.Context, session memory.Session, query string, r policy.Resolved, explain bool) (Found, error) {
	q := rank.Query{Limit: r.TopK + r.RecentN, MinRelevance: r.MinScore, UserPrior: r.UserPrior, Explain: explain}
	if r.Recalled && r.TopK > 0 {
		q.Terms = text.Terms(query)
	}
	return s.lexicon.Search(ctx, session.Ref, q)
}

// decide assembles; recalled messages are read from the truth when it is known how many can find room.
func (s *Service) decide(ctx context.Context, p ContextParams, g gathered, r policy.Resolved, counter tokens.Counter) (ContextResult, error) {
	out := ContextResult{
		Policy: r, AsOf: p.AsOf, Found: g.found, Recorded: g.session.LastSeq, Indexed: indexedThrough(g),
		StepsSinceUser: stepsSinceUser(g.session.StepsSinceUser, p.Pending),
	}
	if out.AsOf.IsZero() {
		out.AsOf = s.now().UTC().Truncate(time.Microsecond)
	}
	in := assembly.Input{
		Instructions: p.Instructions, State: g.session.State, Session: g.session.Key, SessionID: p.Ref.SessionID,
		Tail: g.tail, LastSeq: g.session.LastSeq, Pending: p.Pending, Available: r.Available, MaxBytes: p.MaxBytes,
		Counter: counter, Render: p.Render,
		Policy: assembly.Policy{
			RecentN: r.RecentN, TopK: r.TopK, RecallShare: r.RecallShare, State: r.State, Recalled: r.Profile.Recalled,
			Recent: r.Recent, MemoryRole: r.MemoryRole,
		},
		Recall: func(room int64) ([]assembly.Recalled, error) {
			return s.readHits(ctx, p.Ref.UserRef, worthReading(g.found.Hits, room, r.Counter), &out)
		},
	}
	var err error
	out.Result, err = assembly.Assemble(in)
	return out, err
}

// readHits reads hits from the truth and keeps in out which ones they were, for explain.
func (s *Service) readHits(ctx context.Context, user memory.UserRef, hits []rank.Hit, out *ContextResult) ([]assembly.Recalled, error) {
	placed, err := s.verify(ctx, user, hits, maxRecallBytes)
	if err != nil {
		return nil, err
	}
	var recalled []assembly.Recalled
	for i, h := range hits {
		if m, ok := placed[h.Place]; ok {
			recalled = append(recalled, assembly.Recalled{PlacedMessage: m, Span: cut(h)})
			out.Recalled, out.Ranks = append(out.Recalled, h), append(out.Ranks, i+1)
		}
	}
	return recalled, nil
}

// cut is the passage of a long message to show; the zero Span shows all of it.
func cut(h rank.Hit) assembly.Span {
	if h.Whole {
		return assembly.Span{}
	}
	return assembly.Span(h.Passage)
}

// Least tokens that a recalled line takes beside its words, and most bytes of words in a token: with them worthReading
// reads some hits too many rather than one too few. Four characters of three bytes are one token of chars_4.
const (
	leastLineTokens = 6
	mostTokenBytes  = 8
	mostChars4Bytes = 12
)

// worthReading answers the hits that could find room, were each as short as it can be.
func worthReading(hits []rank.Hit, room int64, counter string) []rank.Hit {
	perToken := mostTokenBytes
	if counter == tokens.Chars4 {
		perToken = mostChars4Bytes
	}
	for i, h := range hits {
		if room <= 0 {
			return hits[:i]
		}
		room -= int64(leastLineTokens + (h.Passage.End-h.Passage.Start)/perToken)
	}
	return hits
}

// indexedThrough is the seq before the session's first turn that is not indexed.
func indexedThrough(g gathered) int64 {
	if g.found.PendingFrom > 0 {
		return g.found.PendingFrom - 1
	}
	return g.session.LastSeq
}

// stepsSinceUser counts assistant messages on from what is recorded.
func stepsSinceUser(recorded int, pending []memory.Message) int {
	steps := recorded
	for _, m := range pending {
		switch m.Role {
		case memory.RoleUser:
			steps = 0
		case memory.RoleAssistant:
			steps++
		}
	}
	return steps
}
