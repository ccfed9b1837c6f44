package toolcalls

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
)

func TestTrigger(t *testing.T) {
	size := Size{Messages: 10, Tokens: 800}
	for name, c := range map[string]struct {
		trigger Trigger
		window  int64
		want    bool
	}{
		"messages at the value are enough":             {Trigger{Messages: 10}, 0, true},
		"messages below are not":                       {Trigger{Messages: 11}, 0, false},
		"tokens at the value are enough":               {Trigger{Tokens: 800}, 0, true},
		"tokens below are not":                         {Trigger{Tokens: 801}, 0, false},
		"a fraction at its share of the window is":     {Trigger{Fraction: .8}, 1000, true},
		"a fraction above is not":                      {Trigger{Fraction: .8}, 1002, false},
		"a fraction of an unknown window never is":     {Trigger{Fraction: .1}, 0, false},
		"all that is set must be reached":              {Trigger{Messages: 10, Tokens: 801}, 0, false},
		"all that is set and reached is enough":        {Trigger{Messages: 10, Tokens: 800, Fraction: .5}, 1000, true},
		"a trigger that sets nothing is never reached": {Trigger{}, 1000, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.trigger.Reached(size, c.window); got != c.want {
				t.Errorf("%+v at %+v: %v", c.trigger, size, got)
			}
		})
	}
	t.Run("one of several triggers is enough, and none is none", func(t *testing.T) {
		if !AnyReached([]Trigger{{Messages: 99}, {Tokens: 1}}, size, 0) || AnyReached(nil, size, 0) {
			t.Error("not so")
		}
	})
}

func TestKeep(t *testing.T) {
	sizes := []int64{10, 10, 10, 10, 10}
	free := []bool{true, true, true, true, true}
	tied := []bool{true, true, false, true, true} // no cut behind the third
	for name, c := range map[string]struct {
		keep Keep
		ends []bool
		want int
	}{
		"none set keeps nothing":                          {Keep{}, free, 5},
		"messages are counted from the end":               {Keep{Messages: 2}, free, 3},
		"more messages than there are keep all":           {Keep{Messages: 9}, free, 0},
		"tokens are filled and not exceeded":              {Keep{Tokens: 29}, free, 3},
		"a fraction is one of the window":                 {Keep{Fraction: .3}, free, 2},
		"the largest counts":                              {Keep{Messages: 1, Tokens: 40}, free, 1},
		"messages are widened to where a cut is allowed":  {Keep{Messages: 2}, tied, 2},
		"tokens are narrowed to where a cut is allowed":   {Keep{Tokens: 29}, tied, 4},
		"tokens that fit none of the messages keep none":  {Keep{Tokens: 9}, free, 5},
		"with both, the messages are kept in any case":    {Keep{Messages: 2, Tokens: 29}, tied, 2},
		"where a cut is allowed neither is moved further": {Keep{Messages: 3}, tied, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.keep.Cut(c.ends, sizes, 100); got != c.want {
				t.Errorf("from %d", got)
			}
		})
	}
}

// pairs pairs a script: c:x,y calls, r:x results, u anything else. Each answered call is written as call>result.
func pairs(script string) (string, *Pairing) {
	var p Pairing
	for i, word := range strings.Fields(script) {
		kind, ids, _ := strings.Cut(word, ":")
		for j, id := range strings.Split(ids, ",") {
			switch id = strings.Trim(id, "-"); kind {
			case "c":
				p.AddCall(Ref{i, j}, id)
			case "r":
				p.AddResult(Ref{i, j}, id)
			}
		}
	}
	p.Close()
	var out []string
	for _, c := range p.Calls {
		if c.Answered {
			out = append(out, fmt.Sprintf("%d.%d>%d.%d", c.At.Message, c.At.Part, c.Result.Message, c.Result.Part))
		}
	}
	return strings.Join(out, " "), &p
}

func TestPairing(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"a result answers the call of its id":                 {"c:x,y r:y r:x", "0.0>2.0 0.1>1.0"},
		"one message may answer several":                      {"c:x,y r:x,y", "0.0>1.0 0.1>1.1"},
		"an id that comes again means the latest call":        {"c:x c:x r:x", "1.0>2.0"},
		"calls without ids pair by order":                     {"c:-,-,- r:- r:-,-", "0.0>1.0 0.1>2.0 0.2>2.1"},
		"a result without an id means the latest message":     {"c:- u c:- r:-", "2.0>3.0"},
		"a result before its call answers it":                 {"r:x c:x", "1.0>0.0"},
		"a result before its call and its own are told apart": {"r:x c:x r:x", "1.0>2.0"},
		"a second result answers nothing":                     {"c:x r:x r:x", "0.0>1.0"},
		"a result of nothing answers nothing":                 {"r:x u", ""},
		"other ids between do not matter":                     {"c:x r:y c:y", "2.0>1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := pairs(c.script); got != c.want {
				t.Errorf("%s: %s, not %s", c.script, got, c.want)
			}
		})
	}
	t.Run("only an assistant's calls count", func(t *testing.T) {
		messages := []memory.Message{{Role: memory.RoleUser, Parts: []memory.Part{{Kind: memory.PartToolCall, CallID: "x"}}}}
		if p := Pair(1, func(i int) *memory.Message { return &messages[i] }, nil); len(p.Calls) != 0 {
			t.Errorf("%+v", p.Calls)
		}
	})
}

func TestResultsOf(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   []int
	}{
		"come in the order of the calls":           {"c:x,y r:y r:x", []int{2, 1}},
		"name a message with several of them once": {"c:x,y r:x,y", []int{1}},
		"leave out what answers another message":   {"c:x c:y r:y r:x", []int{3}},
		"leave out what is not answered":           {"c:x,y r:y", []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			_, p := pairs(c.script)
			if got := p.ResultsOf(0); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	t.Run("leave out the calling message and any that calls too", func(t *testing.T) {
		var p Pairing
		p.AddCall(Ref{0, 0}, "x")
		p.AddCall(Ref{0, 1}, "y")
		p.AddResult(Ref{0, 2}, "x")
		p.AddResult(Ref{1, 0}, "y")
		p.AddCall(Ref{1, 1}, "z")
		p.AddResult(Ref{2, 0}, "z")
		p.Close()
		if got := p.ResultsOf(0); len(got) > 0 {
			t.Errorf("%v", got)
		}
		if got := p.ResultsOf(1); !slices.Equal(got, []int{2}) {
			t.Errorf("%v", got)
		}
	})
}

func TestCallsAreFoundByTheirPartAndTheirResult(t *testing.T) {
	_, p := pairs("c:x,y r:y u")
	at, ok := p.CallAt(Ref{0, 1})
	of, answers := p.CallOf(Ref{1, 0})
	if !ok || !answers || at != of || at.At != (Ref{0, 1}) || at.Result != (Ref{1, 0}) {
		t.Errorf("by its part %+v, by its result %+v", at, of)
	}
	if c, ok := p.CallAt(Ref{0, 0}); !ok || c.Answered {
		t.Errorf("an unanswered call: %+v", c)
	}
	if _, ok := p.CallAt(Ref{1, 0}); ok {
		t.Error("a result is taken for a call")
	}
	if _, ok := p.CallOf(Ref{2, 0}); ok {
		t.Error("what is no result answers a call")
	}
}

func TestPairingEndsWhenNobodyWaits(t *testing.T) {
	calling := memory.Message{Role: memory.RoleAssistant, Parts: []memory.Part{{Kind: memory.PartToolCall, CallID: "x"}}}
	looks, asked := 0, 0
	Pair(200_000, func(int) *memory.Message {
		asked++
		return &calling
	}, func() bool {
		looks++
		return looks > 3
	})
	if asked == 0 || asked > 4*MessagesBetweenLooks {
		t.Errorf("%d messages were looked at after nobody waited", asked)
	}
}

func TestCutsNeverDivideACallFromItsResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "messages")
		var words []string
		for range n {
			words = append(words, rapid.SampledFrom([]string{"u", "c:x", "c:x,y", "c:-,-", "r:x", "r:y,x", "r:-", "r:z"}).Draw(t, "word"))
		}
		_, p := pairs(strings.Join(words, " "))
		ends := Ends(p.Reach(n))
		for _, c := range p.Calls {
			first, last := min(c.At.Message, c.Result.Message), max(c.At.Message, c.Result.Message)
			if c.Answered && slices.Contains(ends[first:last], true) {
				t.Fatalf("a cut between %+v and %+v in %v", c.At, c.Result, words)
			}
		}
		at := rapid.IntRange(0, n).Draw(t, "cut")
		for _, to := range []int{Back(ends, at), Forward(ends, at)} {
			if to > 0 && to < n && !ends[to-1] {
				t.Fatalf("%d moved to %d in %v", at, to, ends)
			}
		}
	})
}

// BenchmarkPair prints how many times longer ten times as many results before their calls take: ten where time is linear.
func BenchmarkPair(b *testing.B) {
	early := func(n int) []memory.Message {
		all := make([]memory.Message, 2*n)
		for i := range n {
			id := fmt.Sprint(i)
			all[i] = memory.Message{Role: memory.RoleTool, Parts: []memory.Part{{Kind: memory.PartToolResult, CallID: id}}}
			all[n+i] = memory.Message{Role: memory.RoleAssistant, Parts: []memory.Part{{Kind: memory.PartToolCall, CallID: id}}}
		}
		return all
	}
	few, many := early(1_000), early(10_000)
	took := func(all []memory.Message) float64 {
		start := b.Elapsed()
		Pair(len(all), func(i int) *memory.Message { return &all[i] }, nil)
		return float64(b.Elapsed() - start)
	}
	var short, long float64
	for b.Loop() {
		short += took(few)
		long += took(many)
	}
	b.ReportMetric(long/short, "10000/1000")
}
