package remote

import (
	"bytes"
	"strings"
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

func TestUsageNamesWhatIsMissingAmongTheVerbatimMessages(t *testing.T) {
	var out bytes.Buffer
	printUsage(&out, &memoryv1.BuildContextResponse{
		Watermarks: &memoryv1.Watermarks{Recorded: 9},
		Coverage: &memoryv1.Coverage{RawFrom: 3, Gaps: []*memoryv1.SeqRange{
			{FromSeq: 1, ToSeq: 2}, {FromSeq: 4, ToSeq: 4}, {FromSeq: 6, ToSeq: 7},
		}},
	})
	if want := "; messages 3 to 9 verbatim but for 4, 6 to 7\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %q", out.String())
	}
}

func TestAContextShowsFactsAndSummariesWithTheirAuthors(t *testing.T) {
	reply := &memoryv1.BuildContextResponse{Sections: []*memoryv1.Section{
		{Kind: memoryv1.SectionKind_SECTION_KIND_FACTS, Items: []*memoryv1.ContextItem{{
			Fact: &memoryv1.Fact{FactId: "f1", Text: "Is vegan"}, Model: "builtin:rules", Tokens: 3,
			FactScore: &memoryv1.FactScore{Score: .5, Relevance: 1, Significance: .7, Recency: .25, Arms: []*memoryv1.ArmScore{{Arm: "lexical", Rank: 1}}},
		}}},
		{Kind: memoryv1.SectionKind_SECTION_KIND_SUMMARY, Items: []*memoryv1.ContextItem{{
			SessionId: "s1", Text: "They met.", Model: "m", Tokens: 4, Summary: &memoryv1.SummaryItem{FromSeq: 1, ToSeq: 6},
		}}},
	}}
	rows := itemRows(reply)
	if got := strings.Join(rows[0], "|"); got != "facts|||builtin:rules|3|Is vegan" {
		t.Errorf("a fact is %s", got)
	}
	if got := strings.Join(rows[1], "|"); got != "summary|s1|1 to 6|m|4|They met." {
		t.Errorf("a summary is %s", got)
	}
	if got := strings.Join(factScoreRows(reply)[0], "|"); got != "0.50|1.00|0.70|0.25|lexical #1|f1|Is vegan" {
		t.Errorf("a score is %s", got)
	}
}
