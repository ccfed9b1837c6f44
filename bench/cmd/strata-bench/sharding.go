package main

import (
	"context"
	"fmt"
	"time"

	"github.com/stratamem/strata/bench/internal/sharding"
)

const (
	shardedMessages = 1_000_000_000
	shardedUsers    = 10_000_000
	turnsShards     = 16 // at which the bars are

	barTurnsBalance = 1.05 // the largest shard against the mean
	barMoved        = 1.10 // what moves to one more shard against the least that must
)

// shardingFigure reckons where a billion messages lie, by the keys that this project makes and the functions of the servers.
func shardingFigure(_ context.Context, o options) error {
	for _, exponent := range []float64{0.8, 1} {
		begin := time.Now()
		w := sharding.World{Messages: shardedMessages, Users: shardedUsers, Zipf: exponent, Seed: o.seed}
		shards := []int{4, 8, 16, 32, 64}
		p := w.Place(shards)
		o.report.Note("   %d messages of %d users, activity by Zipf with exponent %g, the hottest has %.3f %% of all; reckoned in %s",
			w.Messages, w.Users, w.Zipf, 100*float64(p.Hottest)/float64(w.Messages), time.Since(begin).Round(100*time.Millisecond))
		o.report.Note("   the fullest shard against the mean; what moves to one more shard, to twice as many, as a share of all (the least that must):")
		o.report.Note("   %6s | %-35s | %-35s | %s", "shards", "MongoDB, turns by session", "MongoDB, the rest by scope", "Elasticsearch by scope; elsewhere with twice as many")
		for i, n := range shards {
			elastic := fmt.Sprintf("%.3f", p.Elastic[n].Largest())
			if i+1 < len(shards) {
				elastic += fmt.Sprintf("; %.3f", float64(p.Moved(n, 2*n))/float64(w.Messages))
			}
			o.report.Note("   %6d | %-35s | %-35s | %s", n, mongoShards(p.BySession, n), mongoShards(p.ByScope, n), elastic)
		}
		o.report.Note("   Milvus: the fullest of %d partitions has %.3f times the mean", len(p.Milvus), p.Milvus.Largest())
		judgeSharding(o, p, exponent)
	}
	return nil
}

// mongoShards describes a collection that is sharded by ranges, and what the balancer moves when there are more shards.
func mongoShards(holds []int64, n int) string {
	return fmt.Sprintf("%.3f; %.3f (%.3f), %.3f (%.3f)", sharding.Divide(holds, n).Spread(n).Largest(),
		moved(holds, n, n+1), 1-float64(n)/float64(n+1), moved(holds, n, 2*n), 0.5)
}

// moved is the share of all that moves when there are more shards.
func moved(holds []int64, from, to int) float64 {
	total := int64(0)
	for _, n := range holds {
		total += n
	}
	return float64(sharding.Divide(holds, from).Rebalance(to)) / float64(total)
}

func judgeSharding(o options, p sharding.Placement, exponent float64) {
	n := turnsShards
	largest := sharding.Divide(p.BySession, n).Spread(n).Largest()
	o.report.NoMore(fmt.Sprintf("10⁹ messages, exponent %g, %d shards: turns, the fullest against the mean", exponent, n), largest, barTurnsBalance, "")
	least := 1 - float64(n)/float64(n+1)
	o.report.NoMore(fmt.Sprintf("10⁹ messages, exponent %g, a %dth shard: turns that move against the least", exponent, n+1),
		moved(p.BySession, n, n+1)/least, barMoved, "")
}
