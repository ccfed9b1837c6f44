package rank

import (
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/text/synonyms"
	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/memory"
)

// Query asks for the messages that match best. Filters restrict the hits, never the statistics, so that a score means
// the same under any filter.
type Query struct {
	Terms []string // of text.Terms; repeated ones count once

	Sessions map[memory.SessionKey]bool // only these; nil for all
	Roles    []memory.Role              // only these; nil for all
	From, To time.Time                  // create time from From to before To; zero for no limit; one of the same millisecond may pass
	Exclude  func(memory.Place) bool    // called by several goroutines at once; nil for none

	// Faint are those of Terms that name the times or the order. They count faintShare of their idf: the times rank by
	// themselves, and "last week" is in many messages of other weeks. nil for none.
	Faint map[string]bool

	// Attached are, for each term, the messages from which a fact with that term was learnt, one entry for each fact. What
	// a fact says counts as if its message said it: see Weights.Fact.
	Attached map[string][]memory.Place

	// Near returns the words near to a term, the nearest first: they count in the fields as the term itself does, but less.
	// See Weights.Near. nil for none.
	Near func(term string) []synonyms.Word

	AsksWhen bool              // the query asks when something was: see Weights.MentionsTime
	Times    []when.Mention    // the times that the query names: see Weights.InTime and Index.SearchTimes
	Order    when.Order        // the order that the query asks for: see Index.SearchTimes
	Current  memory.SessionKey // the session that is held, which is no latest talk; "" for none

	Limit        int     // the most hits; 0 for all
	MinRelevance float64 // the least Hit.Relevance, 0 to 1

	// UserPrior lifts what the user said over what the assistant said: in assistant chats a message of role user counts
	// 1 + UserPrior times as much as one of any other role. Its score is multiplied by the root of that, theirs divided by
	// it, so that chats between people keep their place between the two. At least 0; see SearchUserPrior; 0 where replies
	// are asked for.
	UserPrior float64

	Explain bool // fill Hit.Terms and Hit.Factors

	Done <-chan struct{} // closed when nobody waits for the result any more; nil for never
}

// Result is what Search found.
type Result struct {
	Hits []Hit // the best first; see Search for the order
	// Candidates are the messages that match and pass all filters: where Query.Explain is set, before Limit, else those within.
	Candidates int
}

// Hit is one message that was found.
type Hit struct {
	memory.Place
	Role       memory.Role
	CreateTime time.Time // when it was said (memory.Message.SaidTime), in UTC, to the millisecond
	Passage    text.Span // its best passage, bytes of memory.Message.SaidText
	Whole      bool      // the passage is the message's only one
	Fill       FillStep  // why Index.Fill returned it; 0 where it was found
	Score      float64
	Relevance  float64 // the share of the query's idf that the best passage matches, 0 to 1
	Kind       Kind
	Retrievers []RetrieverScore // its rank and score in each retriever, where Fuse had several; nil where only the index was asked
	Why        *Explanation     // where Query.Explain is set, nil elsewhere: a search makes hundreds of hits
}

// Explanation is what a hit scores by: Score, or after Fuse and Rerank that of the retriever lexical, is the sum of Terms times the
// product of Factors.
type Explanation struct {
	Terms   []TermScore
	Factors []Factor
}

// TermScore is what one term of the query adds.
type TermScore struct {
	Term       string
	WeightedTF float64  // how often it counts in the passage's field, the words near to it included
	Near       []string // the words near to it that count in the field, the nearest first
	IDF        float64
	Score      float64
}

// Factor multiplies a score.
type Factor struct {
	Name  string
	Value float64
}

// The names of factors.
const (
	FactorUserPrior    = "user_prior"
	FactorNamedSpeaker = "named_speaker"
	FactorMentionsTime = "tells_time"
	FactorInTime       = "in_time"
)

// RetrieverScore is the rank and the score of a message or a fact in one retriever, which is one source of a ranking.
type RetrieverScore struct {
	Name   string
	Rank   int // from 1
	Score  float64
	Weight float64 // of a message after Fuse: what the retriever counts; the hit's score is the sum of Weight / (10 + Rank)
}

// The retrievers that find messages and facts.
const (
	RetrieverLexical       = "lexical"       // the words, in the user's own index
	RetrieverDense         = "dense"         // the meaning
	RetrieverDenseFacts    = "dense_facts"   // the meaning of the facts that were learnt from a message
	RetrieverElasticsearch = "elasticsearch" // the words, in a full-text view
	RetrieverStanding      = "standing"      // what the user asks for in every answer
	RetrieverTime          = "time"          // the times that the query names
)
