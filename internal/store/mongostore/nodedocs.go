package mongostore

import (
	"cmp"
	"math"
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// nodeDoc is a summary as it is stored. Times are microseconds since 1970, null when unset.
type nodeDoc struct {
	Key         string             `bson:"_id"` // see nodeKey
	Scope       memory.ScopeKey    `bson:"scope"`
	ID          string             `bson:"id"`
	Kind        memory.SummaryKind `bson:"kind"`
	Leaf        bool               `bson:"leaf,omitempty"`
	Session     memory.SessionKey  `bson:"session,omitempty"`
	SessionID   string             `bson:"session_id,omitempty"`
	Level       int                `bson:"level"`
	From        int64              `bson:"from"`
	To          int64              `bson:"to"`
	Start       int64              `bson:"start"`           // the first message that it covers
	Under       int64              `bson:"under,omitempty"` // of a session's node: see nodeTop
	Generation  int                `bson:"generation"`
	Cumulative  bool               `bson:"cumulative"`
	Previous    string             `bson:"previous,omitempty"`
	Children    []string           `bson:"children"`
	Text        string             `bson:"text"`
	Appended    int                `bson:"appended"`
	O200K       int64              `bson:"o200k"`
	CL100K      int64              `bson:"cl100k"`
	Language    string             `bson:"language"`
	Model       string             `bson:"model"`
	FromTime    *int64             `bson:"from_time"`
	ToTime      *int64             `bson:"to_time"`
	Period      string             `bson:"period,omitempty"`
	PeriodStart *int64             `bson:"period_start,omitempty"`
	PeriodEnd   *int64             `bson:"period_end,omitempty"`
	CreateTime  int64              `bson:"create_time"`
	Passed      []rangeDoc         `bson:"passed,omitempty"`
	Rebuild     int                `bson:"rebuild,omitempty"`
}

// rangeDoc is a range of messages.
type rangeDoc struct {
	From int64 `bson:"f"`
	To   int64 `bson:"t"`
}

func newRangeDocs(ranges []memory.SeqRange) []rangeDoc {
	var out []rangeDoc
	for _, r := range ranges {
		out = append(out, rangeDoc{From: r.From, To: r.To})
	}
	return out
}

func rangesOf(docs []rangeDoc) []memory.SeqRange {
	var out []memory.SeqRange
	for _, d := range docs {
		out = append(out, memory.SeqRange{From: d.From, To: d.To})
	}
	return out
}

// nodeTop is Under of a node that no other node covers. Under of any other node is at most the lowest To of the nodes that
// cover it, or not recorded yet: readers use it to skip nodes, and decide nothing by it.
const nodeTop = math.MaxInt64

func nodeKey(scope memory.ScopeKey, id string) string { return string(scope) + "/" + id }

func newNodeDoc(scope memory.ScopeKey, n memory.SummaryNode) nodeDoc {
	d := nodeDoc{
		Key: nodeKey(scope, n.ID), Scope: scope, ID: n.ID, Kind: n.Kind, Session: n.Session, SessionID: n.SessionID,
		Level: n.Level, From: n.Range.From, To: n.Range.To, Start: n.Range.From, Generation: n.Generation,
		Cumulative: n.Cumulative, Previous: n.Previous, Children: n.Children, Text: n.Text, Appended: n.Appended,
		O200K: n.Tokens.O200K, CL100K: n.Tokens.CL100K, Language: n.Language, Model: n.Model,
		FromTime: optional(n.FromTime), ToTime: optional(n.ToTime), Period: n.Period.Name,
		PeriodStart: optional(n.Period.Start), PeriodEnd: optional(n.Period.End), CreateTime: micros(n.CreateTime),
		Passed: newRangeDocs(n.Passed), Rebuild: n.Rebuild,
	}
	if n.Kind == memory.SummarySession {
		d.Leaf, d.Under = n.Level == 0, nodeTop
	}
	if n.Cumulative {
		d.Start = 1
	}
	return d
}

func (d nodeDoc) node() memory.SummaryNode {
	return memory.SummaryNode{
		ID: d.ID, Kind: d.Kind, Session: d.Session, SessionID: d.SessionID, Level: d.Level,
		Range:      memory.SeqRange{From: d.From, To: d.To},
		Period:     memory.Period{Name: d.Period, Start: fromOptional(d.PeriodStart), End: fromOptional(d.PeriodEnd)},
		Generation: d.Generation, Cumulative: d.Cumulative, Previous: d.Previous, Children: d.Children, Text: d.Text,
		Appended: d.Appended, Tokens: memory.TokenCounts{O200K: d.O200K, CL100K: d.CL100K}, Language: d.Language, Model: d.Model,
		FromTime: fromOptional(d.FromTime), ToTime: fromOptional(d.ToTime), CreateTime: fromMicros(d.CreateTime),
		Passed: rangesOf(d.Passed), Rebuild: d.Rebuild,
	}
}

// outline is the node without its text and its sources.
func (d nodeDoc) outline() memory.SummaryNode {
	n := d.node()
	n.Previous, n.Children, n.Text = "", nil, ""
	return n
}

// topNodes returns the nodes that no other of them covers, oldest first. Nodes nest: of those that begin at the same
// message the first in this order covers the others, and all that end before it does.
func topNodes(docs []nodeDoc) (nodes []memory.SummaryNode) {
	slices.SortFunc(docs, func(a, b nodeDoc) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.To, a.To), cmp.Compare(b.Level, a.Level),
			cmp.Compare(b.Generation, a.Generation), cmp.Compare(a.ID, b.ID))
	})
	next := int64(1)
	for _, d := range docs {
		if d.Start >= next {
			nodes, next = append(nodes, d.node()), d.To+1
		}
	}
	return nodes
}
