package dot

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

type product func(row []int8, query []int16) int32

// The sum of products in 64 bits is what every way must give.
func TestEveryWayGivesTheSameProduct(t *testing.T) {
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := Block * rapid.IntRange(0, 70).Draw(t, "blocks")
				// Vectors may begin anywhere: what lies before and behind them must not count.
				before := rapid.IntRange(0, 5).Draw(t, "before")
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
				row, query := make([]int8, before+n+Block), make([]int16, before+n+Block)
				most := MostSteps(n)
				extreme := rapid.SampledFrom([]int{0, 1, -1}).Draw(t, "extreme")
				for i := range row {
					row[i], query[i] = int8(r.IntN(256)-128), int16(r.IntN(2*most+1)-most)
					if extreme != 0 {
						row[i], query[i] = -128, int16(extreme*most)
					}
				}
				row, query = row[before:before+n], query[before:before+n]
				want := int64(0)
				for i := range row {
					want += int64(row[i]) * int64(query[i])
				}
				if got := way(row, query); int64(got) != want {
					t.Fatalf("%d numbers: got %d, want %d", n, got, want)
				}
			})
		})
	}
}

func TestVectorsOfDifferentLengthsAreRefused(t *testing.T) {
	for _, lengths := range [][2]int{{Block, 2 * Block}, {Block - 1, Block - 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("lengths %v pass", lengths)
				}
			}()
			Int8(make([]int8, lengths[0]), make([]int16, lengths[1]))
		}()
	}
}

// BenchmarkInt8 compares 10,000 rows with a query.
func BenchmarkInt8(b *testing.B) {
	for _, dim := range []int{384, 1536} {
		const rows = 10_000
		r := rand.New(rand.NewPCG(1, 1))
		all, query := make([]int8, rows*dim), make([]int16, dim)
		for i := range all {
			all[i] = int8(r.IntN(255) - 127)
		}
		for i := range query {
			query[i] = int16(r.IntN(2001) - 1000)
		}
		for name, way := range ways() {
			b.Run(fmt.Sprintf("dim=%d/%s", dim, name), func(b *testing.B) {
				sum := int32(0)
				for b.Loop() {
					for at := 0; at < len(all); at += dim {
						sum += way(all[at:at+dim], query)
					}
				}
				runtimeSink = sum
			})
		}
	}
}

var runtimeSink int32
