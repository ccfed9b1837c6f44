package rank

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/memory"
)

// What the retriever of times counts. Source: measured on the project's own chats in five languages, and on LoCoMo and BEAM, whose
// questions name times less often and seldom well.
const (
	timeWeight         = 2. // in the fusion, where few messages fit: the times are mostly what a question knows best
	timePerson         = .5 // of that between people, whose lines live from those around them
	leastTimes         = .1 // of that where so many fit that a time says little
	fewTimes           = 15 // messages that fit make the retriever count in full, four times as many half
	manyTimes          = 60 // so many messages, when they are more than half of all, are no choice
	substanceShare     = .5 // how much a message says, beside how well it has the query's other words, which is at most 1
	substanceFew       = 20 // messages among which that counts in full: of more, words decide better
	halfSubstanceWords = 8  // words that make a message say half of what any can
	questionSubstance  = .6 // of that for a question
	replySubstance     = .6 // of that for an assistant's reply
	shareAfterwards    = .3 // what was said soon after a time
	leastMentioned     = .2 // the least part of a mentioned time that must lie in the query's
	leastFit           = .5 // what is then counted at least: a day that is mentioned is of each of its hours
	laterIsBetter      = .3 // what the latest gains where a query asks for the latest of a time
	nearLatest         = .5 // the least score, as part of the best, of what can be the latest that was meant
)

// timeRetriever is what fits the times of a query, the best first, of so many messages that do.
func timeRetriever(found []Match, of int) RetrieverHits {
	w := timeWeight * max(leastTimes, min(1, math.Sqrt(fewTimes/float64(max(of, 1)))))
	return RetrieverHits{RetrieverTime, RetrieverWeights{w * timePerson, w}, found}
}

// fit is how well a message fits the times of a query, above 0 to 1.
type fit struct {
	message int32
	share   float64
}

// SearchTimes returns the messages of the times that the query names, or of the talk or the order that it asks for, those
// first that say most and have most of its other words, as many as are fused. A message is of a time when it was said then,
// or mentions it: "yesterday" in a message is the day before it was said, in the zone of the query's times. There are none
// where the query names no time.
func (x *Index) SearchTimes(q Query) RetrieverHits {
	q.Times = slices.DeleteFunc(slices.Clone(q.Times), locatesNothing)
	q.Limit, q.MinRelevance, q.Explain = FuseDepth, 0, false
	s := x.scratch.Get().(*scratch)
	r := x.newRanking(s, &q)
	fits := r.fits()
	x.scratch.Put(s)
	switch {
	case len(fits) > manyTimes && 2*len(fits) > len(x.messages):
		return RetrieverHits{}
	case len(fits) > 0:
		return timeRetriever(r.bySubstance(fits), len(fits))
	case q.Order == when.Latest && len(q.Times) == 0:
		return timeRetriever(r.latest(), 1)
	}
	return RetrieverHits{}
}

// locatesNothing reports whether a time says too little of where to look: a year or more does, and so does the bound of another
// time.
func locatesNothing(m when.Mention) bool { return m.Bounds || m.To.Sub(m.From) >= yearLong }

// fits are the messages that fit the query's times or its talk, and pass its filters, in the order of the index.
func (r *ranking) fits() []fit {
	var of []float64
	switch {
	case len(r.q.Times) > 0:
		of = r.timeShares()
	case r.q.Order == when.FirstTalk || r.q.Order == when.LatestTalk:
		of = r.talkShares()
	}
	var out []fit
	for no, share := range of {
		if m := &r.x.messages[no]; share > 0 && m.first < m.last && r.admits(m) {
			out = append(out, fit{int32(no), share})
		}
	}
	return out
}

// timeShares are how well each message fits the times: by when it was said or by what it mentions.
func (r *ranking) timeShares() []float64 {
	x := r.x
	out := make([]float64, len(x.messages))
	for no := range x.messages {
		for _, n := range r.times {
			out[no] = max(out[no], n.saidIn(x.messages[no].create))
		}
	}
	zone := r.q.Times[0].From.Location()
	first, last := r.reach()
	var mentioned []when.Stretch
	for _, t := range x.mentions {
		if r.stopped() {
			return nil
		}
		said := time.UnixMilli(x.messages[t.message].create).In(zone)
		mentioned = t.times.At(mentioned[:0], said, first, last)
		for _, of := range mentioned {
			for i := range r.q.Times {
				out[t.message] = max(out[t.message], mentionedIn(&r.q.Times[i], r.times[i], of))
			}
		}
	}
	return out
}

// reach is from the first to the last time that is named, to come or not.
func (r *ranking) reach() (from, to time.Time) {
	for i, t := range r.q.Times {
		if t.Yearless {
			t.From = t.From.AddDate(-maxYears, 0, 0)
		}
		if t.NextTo.After(t.To) {
			t.To = t.NextTo
		}
		if i == 0 || t.From.Before(from) {
			from = t.From
		}
		if i == 0 || t.To.After(to) {
			to = t.To
		}
	}
	return from, to
}

// saidIn is 1 for what was said in the stretch.
func (n NamedTime) saidIn(millis int64) float64 {
	switch share := n.share(millis); share {
	case shareWithin, shareYear:
		return 1
	case shareSoon:
		return shareAfterwards
	default:
		return 0
	}
}

// mentionedIn is the share of a mentioned time that lies in a time that is named. What is said about a day is of each of its hours
// too, if less.
func mentionedIn(asked *when.Mention, n NamedTime, mentioned when.Stretch) float64 {
	of := newStretch(mentioned.From, mentioned.To)
	best := of.shareIn(newStretch(asked.From, asked.To))
	if !asked.NextFrom.IsZero() {
		best = max(best, of.shareIn(newStretch(asked.NextFrom, asked.NextTo)))
	}
	at := int((n[0].from - of.from) / perYear)
	last := len(n) - 1
	for i := min(max(at-1, 0), last); i <= min(max(at+1, 0), last); i++ {
		best = max(best, of.shareIn(n[i]))
	}
	return best
}

func (s stretch) shareIn(asked stretch) float64 {
	both := min(s.to, asked.to) - max(s.from, asked.from)
	if both <= 0 || s.to <= s.from {
		return 0
	}
	if share := float64(both) / float64(s.to-s.from); share >= leastMentioned {
		return max(share, leastFit)
	}
	return 0
}

// talkShares are 1 for the messages of the first or the latest talk, the one that is held excluded.
func (r *ranking) talkShares() []float64 {
	x := r.x
	var talk *session
	begins := func(s *session) int64 { return x.messages[s.messages[0]].create }
	for _, s := range x.bySession {
		if len(s.messages) == 0 || s.key == r.q.Current {
			continue
		}
		if talk == nil {
			talk = s
			continue
		}
		order := cmp.Or(cmp.Compare(begins(s), begins(talk)), cmp.Compare(s.key, talk.key))
		if order < 0 == (r.q.Order == when.FirstTalk) {
			talk = s
		}
	}
	out := make([]float64, len(x.messages))
	if talk != nil {
		for _, no := range talk.messages {
			out[no] = 1
		}
	}
	return out
}

// bySubstance ranks what fits by the query's other words and by how much it says.
func (r *ranking) bySubstance(fits []fit) []Match {
	x, q := r.x, *r.q
	in := make(map[memory.Place]int, len(fits))
	for i, f := range fits {
		m := &x.messages[f.message]
		in[memory.Place{Session: r.sessionOf(m), Seq: m.seq}] = i
	}
	q.Exclude = func(p memory.Place) bool {
		_, ok := in[p]
		return !ok
	}
	q.Times = nil
	scores := make([]float64, len(fits))
	words := x.Search(q).Hits
	for _, h := range words {
		scores[in[h.Place]] = h.Score / words[0].Score
	}
	says := substanceShare
	if len(words) > 0 {
		says *= min(1, substanceFew/float64(len(fits)))
	}
	out := make([]candidate, 0, len(fits))
	first, last := timesOf(x.messages, fits)
	for i, f := range fits {
		m := &x.messages[f.message]
		score := (scores[i] + says*r.substance(m)) * f.share
		if r.q.Order == when.Latest && last > first {
			score *= 1 + laterIsBetter*float64(m.create-first)/float64(last-first)
		}
		out = append(out, candidate{score: score, message: f.message})
	}
	slices.SortFunc(out, r.compare)
	return r.asMatches(out[:min(len(out), FuseDepth)])
}

// timesOf are when the first and the last of the messages were said.
func timesOf(messages []message, fits []fit) (first, last int64) {
	first, last = math.MaxInt64, math.MinInt64
	for _, f := range fits {
		first, last = min(first, messages[f.message].create), max(last, messages[f.message].create)
	}
	return first, last
}

// asMatches are candidates without their passages.
func (r *ranking) asMatches(all []candidate) []Match {
	out := make([]Match, len(all))
	for i, c := range all {
		m := &r.x.messages[c.message]
		out[i] = Match{Place: memory.Place{Session: r.sessionOf(m), Seq: m.seq}, Score: c.score, Kind: m.kind.kind()}
	}
	return out
}

// substance is how much a message says, 0 to 1: by its words, and less for a question and a reply.
func (r *ranking) substance(m *message) float64 {
	words := float64(m.words)
	out := words / (words + halfSubstanceWords)
	if m.disclosure == promptinjection.DisclosesNothing {
		return 0
	}
	if m.question {
		out *= questionSubstance
	}
	if m.kind == kindAssistantChat && memory.Role(m.role) != memory.RoleUser {
		out *= replySubstance
	}
	return out
}

// latest are the messages that fit the query's words best, the latest first.
func (r *ranking) latest() []Match {
	q := *r.q
	hits := r.x.Search(q).Hits
	if len(hits) == 0 {
		return nil
	}
	least := nearLatest * hits[0].Score
	fit := slices.DeleteFunc(hits, func(h Hit) bool { return h.Score < least })
	slices.SortStableFunc(fit, func(a, b Hit) int { return b.CreateTime.Compare(a.CreateTime) })
	out := make([]Match, len(fit))
	for i, h := range fit {
		out[i] = Match{Place: h.Place, Score: h.Score, Kind: h.Kind}
	}
	return out
}

// mentions are the times that a message mentions.
type mentions struct {
	message int32
	times   when.Mentions
}
