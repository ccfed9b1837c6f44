package service

import (
	"context"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/rank"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/text"
)

// SearchParams asks for a page of messages by their words.
type SearchParams struct {
	User       memory.UserRef
	Query      string
	SessionIDs []string // only these; nil for all
	From, To   time.Time
	Offset     int
	Limit      int
	MaxBytes   int // the page may end early once it holds so much content
	Explain    bool
}

// MessageHit is a message that was found.
type MessageHit struct {
	memory.PlacedMessage
	Hit        rank.Hit
	Rank       int // from 1, over all pages
	Snippet    string
	Highlights []text.Span // bytes of Snippet
}

// SearchResult is a page of hits.
type SearchResult struct {
	Hits     []MessageHit
	More     bool
	Next     int // the offset of the next page, where More is set
	Degraded []Degradation
}

// SearchMessages finds messages by the ranking of BuildContext. Replies are asked for here as much as the user's own
// words, so nothing is preferred for its role.
func (s *Service) SearchMessages(ctx context.Context, p SearchParams) (SearchResult, error) {
	sessions, err := s.sessionKeys(ctx, p)
	if err != nil {
		return SearchResult{}, err
	}
	query := rank.Query{
		Terms: text.Terms(p.Query), Sessions: sessions, From: p.From, To: p.To,
		Limit: p.Offset + p.Limit + 1, Explain: p.Explain,
	}
	found, err := s.lexicon.Search(ctx, memory.SessionRef{UserRef: p.User}, query)
	if err != nil {
		return SearchResult{}, err
	}
	out := SearchResult{Degraded: lexicalDegradation(found), Next: p.Offset + p.Limit, More: len(found.Hits) > p.Offset+p.Limit}
	page := found.Hits[min(p.Offset, len(found.Hits)):min(p.Offset+p.Limit, len(found.Hits))]
	return s.readPage(ctx, p, page, out, query.Terms)
}

// readAtOnce is how many hits are read from the truth at once: messages may be a mebibyte each.
const readAtOnce = 20

// readPage verifies hits until the page is full or holds MaxBytes of content.
func (s *Service) readPage(ctx context.Context, p SearchParams, page []rank.Hit, out SearchResult, terms []string) (SearchResult, error) {
	size := 0
	for start := 0; start < len(page); start += readAtOnce {
		hits := page[start:min(start+readAtOnce, len(page))]
		placed, err := s.verify(ctx, p.User, hits, 0)
		if err != nil {
			return SearchResult{}, err
		}
		for i, h := range hits {
			if m, ok := placed[h.Place]; ok {
				out.Hits = append(out.Hits, messageHit(m, h, p.Offset+start+i+1, terms))
				size += m.Message.ContentBytes()
			}
		}
		if next := start + len(hits); size > p.MaxBytes && next < len(page) {
			out.More, out.Next = true, p.Offset+next
			return out, nil
		}
	}
	return out, nil
}

// sessionKeys answers the keys of the sessions to search, nil for all. A session that does not exist has no messages.
func (s *Service) sessionKeys(ctx context.Context, p SearchParams) (map[memory.SessionKey]bool, error) {
	if len(p.SessionIDs) == 0 {
		return nil, nil
	}
	keys := map[memory.SessionKey]bool{}
	for _, id := range p.SessionIDs {
		session, err := s.store.Session(ctx, p.User.Session(id))
		if isNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read session: %w", err)
		}
		keys[session.Key] = true
	}
	return keys, nil
}

func isNotFound(err error) bool {
	reason := memory.ReasonOf(err)
	return reason == memory.ReasonUserNotFound || reason == memory.ReasonSessionNotFound
}

// verify reads hits from the truth under the caller's scope: what is not there, or not the caller's, is left out, and
// so are the last ones beyond maxBytes, 0 for no limit.
func (s *Service) verify(ctx context.Context, user memory.UserRef, hits []rank.Hit, maxBytes int64) (map[memory.Place]memory.PlacedMessage, error) {
	if len(hits) == 0 {
		return nil, nil
	}
	places := make([]memory.Place, len(hits))
	for i, h := range hits {
		places[i] = h.Place
	}
	messages, err := s.store.MessagesAt(ctx, store.PlacesQuery{User: user, Places: places, MaxBytes: maxBytes})
	if err != nil {
		return nil, fmt.Errorf("read messages that were found: %w", err)
	}
	out := make(map[memory.Place]memory.PlacedMessage, len(messages))
	for _, m := range messages {
		out[m.Place] = m
	}
	return out, nil
}

func messageHit(m memory.PlacedMessage, h rank.Hit, at int, terms []string) MessageHit {
	snippet := passage(m.Message.PlainText(), h.Passage)
	return MessageHit{PlacedMessage: m, Hit: h, Rank: at, Snippet: snippet, Highlights: highlights(snippet, terms)}
}

// passage cuts a span out of words. An index that does not fit the words any more must not break a reply.
func passage(words string, span text.Span) string {
	if span.Start < 0 || span.End > len(words) || span.Start > span.End {
		return words
	}
	return span.Of(words)
}

// highlights answers where the query's terms stand in a snippet; spans that touch become one.
func highlights(snippet string, terms []string) []text.Span {
	wanted := make(map[string]bool, len(terms))
	for _, t := range terms {
		wanted[t] = true
	}
	var out []text.Span
	for _, t := range text.Tokens(snippet) {
		if !wanted[t.Term] {
			continue
		}
		if n := len(out); n > 0 && t.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, t.End)
			continue
		}
		out = append(out, text.Span{Start: t.Start, End: t.End})
	}
	return out
}
