package sharding

import "math"

const (
	rangeDigits     = 3  // 4,096 ranges
	sessionMessages = 50 // of a session on average; nobody has fewer sessions than one
	partitions      = 64 // of a collection in Milvus, as the schema in migrations/ has it
)

// World is users who have recorded messages.
type World struct {
	Messages int64 // of all
	Users    int
	Zipf     float64 // the user of rank r, from 1, has messages in proportion to 1/r^Zipf
	Seed     uint64
}

// Placement is where the rows of a world lie. A row stands for a message, whatever is made of it.
type Placement struct {
	Hottest   int64   // messages of the most active user
	BySession []int64 // turns: rows in each range of MongoDB's key space
	ByScope   []int64 // all that is sharded by scope
	Milvus    Spread  // rows in each partition
	Elastic   map[int]Spread
	moves     map[[2]int]int64
}

// Place draws a key for every user and session and counts where their rows lie, over each of the given numbers of shards in Elasticsearch.
func (w World) Place(shards []int) Placement {
	p := Placement{
		BySession: make([]int64, 1<<(4*rangeDigits)), ByScope: make([]int64, 1<<(4*rangeDigits)), Milvus: make(Spread, partitions),
		Elastic: map[int]Spread{}, moves: map[[2]int]int64{},
	}
	for _, n := range shards {
		p.Elastic[n] = make(Spread, n)
	}
	norm := 0.0
	for r := range w.Users {
		norm += math.Pow(float64(r+1), -w.Zipf)
	}
	scopes, sessions := NewKeys(w.Seed), NewKeys(w.Seed+1)
	var key [KeyLength]byte
	owed := 0.0 // what rounding left of the users before
	for r := range w.Users {
		owed += float64(w.Messages) * math.Pow(float64(r+1), -w.Zipf) / norm
		rows := int64(owed)
		owed -= float64(rows)
		p.Hottest = max(p.Hottest, rows)
		scopes.Next(&key)
		p.user(&key, rows, shards)
		for left := rows; left > 0; left -= sessionMessages {
			sessions.Next(&key)
			p.BySession[Range(&key, rangeDigits)] += min(left, sessionMessages)
		}
	}
	return p
}

func (p Placement) user(scope *[KeyLength]byte, rows int64, shards []int) {
	p.ByScope[Range(scope, rangeDigits)] += rows
	p.Milvus[MilvusPartition(scope, partitions)] += rows
	hash, before := ElasticHash(scope), -1
	for i, n := range shards {
		at := ElasticShard(hash, n)
		p.Elastic[n][at] += rows
		if i > 0 && at != before {
			p.moves[[2]int{shards[i-1], n}] += rows
		}
		before = at
	}
}

// Moved is how many rows of Elasticsearch lie on another shard when an index of one of the given numbers is made anew with the next.
func (p Placement) Moved(from, to int) int64 { return p.moves[[2]int{from, to}] }
