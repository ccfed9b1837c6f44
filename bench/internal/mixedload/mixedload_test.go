package mixedload_test

import (
	"testing"
	"time"

	"github.com/stratamem/strata/bench/internal/mixedload"
)

func TestZipf(t *testing.T) {
	z := mixedload.NewZipf(1000, 0.8)
	t.Run("weights fall by the law and sum to one", func(t *testing.T) {
		sum := 0.0
		for r := range z.Users() {
			sum += z.Weight(r)
		}
		if sum < 0.999 || sum > 1.001 {
			t.Errorf("weights sum to %v", sum)
		}
		if r := z.Weight(0) / z.Weight(31); r < 15.9 || r > 16.1 { // 32^0.8 = 16
			t.Errorf("the first weighs %v times the 32nd, want 16", r)
		}
	})
	t.Run("every part of all activity belongs to a user", func(t *testing.T) {
		if first, last := z.Rank(0), z.Rank(0.9999999999); first != 0 || last != 999 {
			t.Errorf("the ends belong to users %d and %d", first, last)
		}
	})
	t.Run("shares sum to the total, none is above the most, none is empty", func(t *testing.T) {
		shares := z.Shares(100_000, 500)
		sum := 0
		for r, n := range shares {
			if sum += n; n < 1 || n > 500 || r > 0 && n > shares[r-1] {
				t.Fatalf("user %d has %d", r, n)
			}
		}
		if sum < 100_000 || sum > 101_000 || shares[0] != 500 {
			t.Errorf("shares sum to %d, the first has %d", sum, shares[0])
		}
	})
}

func TestPlan(t *testing.T) {
	t.Run("the same plan has the same calls, in the parts of its mix", func(t *testing.T) {
		mix, err := mixedload.ParseMix("Record=3,ListMessages=1")
		if err != nil {
			t.Fatal(err)
		}
		p := mixedload.Plan{Seed: 5, Mix: mix, Users: mixedload.NewZipf(10, 1)}
		count := map[mixedload.Kind]int{}
		for n := range 4000 {
			c := p.Call(n)
			if c != p.Call(n) {
				t.Fatalf("call %d differs", n)
			}
			count[c.Kind]++
		}
		if count[mixedload.Record] < 2900 || count[mixedload.Record] > 3100 || len(count) != 2 {
			t.Errorf("of 4,000 calls: %v", count)
		}
	})
	for name, mix := range map[string]string{
		"an unknown call is refused": "Forget=1", "a part that is no number is refused": "Record=x",
		"a negative part is refused": "Record=-1", "a mix without calls is refused": "Record=0",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := mixedload.ParseMix(mix); err == nil {
				t.Error("it was accepted")
			}
		})
	}
}

func TestLedger(t *testing.T) {
	name := mixedload.SessionName{User: "u", Session: "s"}
	has := func(ids ...string) (out []mixedload.Placed) {
		for i, id := range ids {
			if id != "" {
				out = append(out, mixedload.Placed{ID: id, Seq: int64(i + 1)})
			}
		}
		return out
	}
	for _, c := range []struct {
		name string
		has  []mixedload.Placed
		want mixedload.Toll
	}{
		{"all is there: nothing is wrong", has("a", "b", "c", "d"), mixedload.Toll{Messages: 4}},
		{"a message that is not there is lost", has("a", "", "c", "d"), mixedload.Toll{Messages: 4, Lost: 1}},
		{"a message that is there twice is doubled", has("a", "b", "c", "d", "a"), mixedload.Toll{Messages: 4, Doubled: 1}},
		{"messages at each other's place are out of order", has("b", "a", "c", "d"), mixedload.Toll{Messages: 4, Disordered: 2}},
		{"a message that was taken away and is there is back", has("a", "b", "c", "d", "gone"), mixedload.Toll{Messages: 4, Back: 1}},
		{"a message whose Record failed may be there", has("a", "b", "c", "d", "unsure"), mixedload.Toll{Messages: 4}},
		{"a message that nobody sent is foreign", has("a", "b", "c", "d", "x"), mixedload.Toll{Messages: 4, Foreign: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := mixedload.NewLedger()
			l.Acknowledged(name, []string{"a", "b"}, 1, l.Sent(name))
			l.Acknowledged(name, []string{"c", "d", "gone"}, 3, l.Sent(name))
			l.Popped(name, []string{"gone"})
			l.Failed(name, []string{"unsure"})
			if got := l.Compare(name, c.has); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
	t.Run("a place that is not behind what was acknowledged before is out of order", func(t *testing.T) {
		l := mixedload.NewLedger()
		l.Acknowledged(name, []string{"a"}, 5, l.Sent(name))
		l.Acknowledged(name, []string{"b"}, 4, l.Sent(name))
		if l.Disordered().Disordered != 1 {
			t.Error("it was not counted")
		}
	})
	t.Run("a pop whose reply was lost excuses as many messages", func(t *testing.T) {
		l := mixedload.NewLedger()
		l.Acknowledged(name, []string{"a", "b", "c"}, 1, l.Sent(name))
		l.MayBePopped(name, 1)
		if got := l.Compare(name, has("a")); got.Lost != 1 {
			t.Errorf("of two that are missing %d are lost, want 1", got.Lost)
		}
	})
}

func TestTimeline(t *testing.T) {
	t.Run("memory that grows by 2 MiB a minute has that slope, whatever it did before", func(t *testing.T) {
		samples := []mixedload.Sample{{At: 0, Memory: 900 << 20}}
		for i := range 100 {
			at := 10*time.Second + time.Duration(i)*time.Second
			samples = append(samples, mixedload.Sample{At: at, Memory: 100<<20 + int64(at.Minutes()*2*(1<<20))})
		}
		if got := mixedload.MemoryGrowth(samples, 10*time.Second); got < 1.99 || got > 2.01 {
			t.Errorf("the slope is %v MiB a minute", got)
		}
	})
	t.Run("the file grows by what each byte of text took, whatever the log does", func(t *testing.T) {
		samples := []mixedload.Sample{{At: 0, File: 1000, Log: 500}, {At: time.Minute, File: 4000, Log: 900, Written: 1000}}
		if got := mixedload.FileGrowth(samples, time.Second, 2*time.Minute); got != 3 {
			t.Errorf("got %v bytes for each", got)
		}
	})
	t.Run("a call that failed has no time and is counted", func(t *testing.T) {
		all := []mixedload.Outcome{{Kind: mixedload.Record, Took: 5}, {Kind: mixedload.Record, At: time.Second, Took: 7, Failed: true}}
		if got := mixedload.Times(all, mixedload.Record); len(got) != 1 || mixedload.Failures(mixedload.Between(all, 1, time.Minute)) != 1 {
			t.Errorf("times %v", got)
		}
	})
}

func TestProgress(t *testing.T) {
	second := time.Second
	all := []mixedload.Outcome{
		{At: 0, Took: second / 2},                    // returned before the part
		{At: second / 2, Took: second},               // in it
		{At: second, Took: second / 4, Failed: true}, // in it
		{At: 3 * second / 2, Took: second},           // after it
	}
	got := mixedload.ProgressOf(all, 5, second, 2*second)
	if want := (mixedload.Progress{Rate: 1, Failed: 1, P50: second, P99: second, Open: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, c := range []struct {
		before time.Duration
		due    int
	}{{0, 0}, {1, 1}, {second, 2}, {second + 1, 3}, {time.Hour, 6}} {
		if due := mixedload.Due(2, c.before, 3*second); due != c.due {
			t.Errorf("%d calls are due before %s, want %d", due, c.before, c.due)
		}
	}
}
