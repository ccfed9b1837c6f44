package sharding_test

import (
	"testing"

	"github.com/stratamem/strata/bench/internal/sharding"
	"github.com/stratamem/strata/internal/store"
)

func TestKeys(t *testing.T) {
	t.Run("they have the form of minted ones, differ, and follow from their seed", func(t *testing.T) {
		var a, b, again [sharding.KeyLength]byte
		keys := sharding.NewKeys(1)
		keys.Next(&a)
		keys.Next(&b)
		sharding.NewKeys(1).Next(&again)
		if len(store.MintKey()) != len(a) || !store.MintedKey(string(a[:])) || a == b || a != again {
			t.Errorf("keys %s, %s, again %s", a, b, again)
		}
	})
	t.Run("ranges follow the order of the keys", func(t *testing.T) {
		for text, want := range map[string]int{
			"00000000000000000000000000000000": 0, "fffaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": 4095, "0a0aaaaaaaaaaaaaaaaaaaaaaaaaaaaa": 160,
		} {
			key := [sharding.KeyLength]byte([]byte(text))
			if got := sharding.Range(&key, 3); got != want {
				t.Errorf("%s is in range %d, want %d", text, got, want)
			}
		}
	})
}

func TestBalance(t *testing.T) {
	t.Run("equal ranges are divided evenly, and a new shard takes its share and no more", func(t *testing.T) {
		holds := make([]int64, 4000)
		for i := range holds {
			holds[i] = 100
		}
		r := sharding.Divide(holds, 4)
		if got := r.Spread(4).Largest(); got != 1 {
			t.Errorf("the largest of four has %v times the mean", got)
		}
		moved := r.Rebalance(5)
		if share := float64(moved) / 400_000; share < .19 || share > .2 || r.Spread(5).Largest() > 1.01 {
			t.Errorf("%v of all moved, the largest has %v times the mean", share, r.Spread(5).Largest())
		}
	})
	t.Run("a shard that holds one large range keeps the others from nothing", func(t *testing.T) {
		holds := []int64{9000}
		for range 90 {
			holds = append(holds, 100)
		}
		r := sharding.Divide(holds, 2)
		r.Rebalance(3)
		if s := r.Spread(3); s[0] != 9000 || s[1] < 4200 || s[1] > 4800 {
			t.Errorf("shards hold %v", s)
		}
	})
	t.Run("a range as large as all others stays whole", func(t *testing.T) {
		r := sharding.Divide([]int64{1000, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100}, 1)
		r.Rebalance(4)
		if s := r.Spread(4); s.Largest() != 2 {
			t.Errorf("shards hold %v", s)
		}
	})
}

func TestWorld(t *testing.T) {
	w := sharding.World{Messages: 1_000_000, Users: 10_000, Zipf: 0.8, Seed: 1}
	p := w.Place([]int{4, 8})
	t.Run("every message lies in one place of each store", func(t *testing.T) {
		for name, s := range map[string]sharding.Spread{
			"turns": p.BySession, "by scope": p.ByScope, "Milvus": p.Milvus, "Elasticsearch": p.Elastic[4], "Elasticsearch, more shards": p.Elastic[8],
		} {
			sum := int64(0)
			for _, n := range s {
				sum += n
			}
			if sum < w.Messages-1 || sum > w.Messages {
				t.Errorf("%s: %d messages", name, sum)
			}
		}
	})
	t.Run("twice the shards leave about half of the rows where they were", func(t *testing.T) {
		if share := float64(p.Moved(4, 8)) / float64(w.Messages); share < .4 || share > .95 {
			t.Errorf("%v of the rows lie elsewhere", share)
		}
	})
}
