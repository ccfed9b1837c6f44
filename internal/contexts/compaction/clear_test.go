package compaction_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/toolcalls"
)

// clearing applies a policy to three tool uses, whose results are long.
func clearing(t *testing.T, c compaction.Clear, script string) compaction.Result {
	t.Helper()
	c.Enabled = true
	got, err := apply(compaction.History{Messages: talk(script), Counter: counterOf(t, tokens.Chars4), Window: 1000}, compaction.Policy{Clear: c}, scripted)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// clearedCalls are the ids of the calls that were cleared.
func clearedCalls(r compaction.Result) string {
	var out []string
	for _, c := range r.Cleared {
		out = append(out, c.CallID)
	}
	return strings.Join(out, " ")
}

func TestClear(t *testing.T) {
	const three = "u c:x r:x c:y r:y c:z r:z a"
	for name, c := range map[string]struct {
		clear  compaction.Clear
		script string
		want   string
	}{
		"all but the latest uses are cleared":                     {compaction.Clear{Keep: 1}, three, "x y"},
		"as many as are kept stay as they are":                    {compaction.Clear{Keep: 3}, three, ""},
		"below the trigger nothing is":                            {compaction.Clear{Triggers: []toolcalls.Trigger{{Tokens: 1000}}}, three, ""},
		"at the trigger they are":                                 {compaction.Clear{Triggers: []toolcalls.Trigger{{Tokens: 1000}, {Messages: 8}}}, three, "x y z"},
		"a share of the window is a trigger":                      {compaction.Clear{Triggers: []toolcalls.Trigger{{Fraction: .2}}}, three, "x y z"},
		"where too little can be won nothing is":                  {compaction.Clear{ClearAtLeast: 1000}, three, ""},
		"where enough can be won they are":                        {compaction.Clear{ClearAtLeast: 100}, three, "x y z"},
		"excluded tools stay":                                     {compaction.Clear{ExcludeTools: []string{"search"}}, three, ""},
		"pinned results stay":                                     {compaction.Clear{}, "u c:x r:x! c:y r:y a", "y"},
		"calls that may still be answered are no uses yet":        {compaction.Clear{Keep: 1}, "u c:x r:x c:y", ""},
		"parallel calls are cleared one by one":                   {compaction.Clear{Keep: 1}, "u c:x,y,z r:x r:y r:z a", "x y"},
		"results as one message of a user are cleared in it":      {compaction.Clear{Keep: 1}, "u c:x,y,z U:x,y,z a", "x y"},
		"a conversation without tools is left as it is":           {compaction.Clear{}, "u a u a", ""},
		"the trigger counts all messages, not those with results": {compaction.Clear{Triggers: []toolcalls.Trigger{{Messages: 9}}}, three, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := clearing(t, c.clear, c.script)
			if clearedCalls(got) != c.want || got.Changed != (c.want != "") {
				t.Errorf("cleared %q, not %q", clearedCalls(got), c.want)
			}
		})
	}
}

func TestWhatClearingLeaves(t *testing.T) {
	const script = "u c:x,y U:x,y c:z r:z a"
	got := clearing(t, compaction.Clear{Keep: 1, ClearInputs: true, Placeholder: "[gone]"}, script)
	t.Run("the pairs stay with a placeholder", func(t *testing.T) {
		if len(got.Messages) != 6 || len(got.Omitted) != 0 {
			t.Fatalf("%s, omitted %+v", shape(got), got.Omitted)
		}
		for i, p := range got.Messages[2].Parts {
			if p.CallID != []string{"x", "y"}[i] || len(p.Parts) != 1 || p.Parts[0].Text != "[gone]" {
				t.Errorf("%+v", p)
			}
		}
	})
	t.Run("arguments go too where that is asked for", func(t *testing.T) {
		if p := got.Messages[1].Parts[0]; p.Arguments != compaction.ClearedInput || p.Name != "search" {
			t.Errorf("%+v", p)
		}
	})
	t.Run("what is kept is untouched", func(t *testing.T) {
		if diff := cmp.Diff(talk(script)[3:], got.Messages[3:]); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("each use is reported with its message, its tool and what it gave free", func(t *testing.T) {
		var sum int64
		for i, c := range got.Cleared {
			sum += c.Tokens
			if c.Index != 2 || c.MessageID != "U2" || c.Tool != "search" || !c.Input || c.CallID != []string{"x", "y"}[i] {
				t.Errorf("%+v", c)
			}
		}
		if won := got.Before.Tokens - got.After.Tokens; sum < won-2 || sum > won+2 { // each count is rounded
			t.Errorf("%d tokens by use, %d in all", sum, won)
		}
	})
	t.Run("an error stays one", func(t *testing.T) {
		messages := talk("u c:x r:x a")
		messages[2].Parts[0].IsError = true
		got, err := apply(compaction.History{Messages: messages, Counter: counterOf(t, tokens.Chars4)}, compaction.Policy{Clear: compaction.Clear{Enabled: true}}, scripted)
		if err != nil || !got.Messages[2].Parts[0].IsError {
			t.Errorf("%v, %+v", err, got.Messages)
		}
	})
	t.Run("stored counts of a cleared message are gone", func(t *testing.T) {
		messages := talk("u c:x r:x a")
		messages[2].Tokens = memory.TokenCounts{O200K: 5000}
		got, err := apply(compaction.History{Messages: messages, Counter: counterOf(t, tokens.O200K)}, compaction.Policy{Clear: compaction.Clear{Enabled: true}}, scripted)
		if err != nil || got.Messages[2].Tokens != (memory.TokenCounts{}) || got.Cleared[0].Tokens < 4900 {
			t.Errorf("%v, %+v", err, got.Cleared)
		}
	})
}
