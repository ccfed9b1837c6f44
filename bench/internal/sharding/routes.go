// Package sharding reckons how the rows of many users spread over the shards of MongoDB, Elasticsearch and Milvus: by the keys that this
// project gives them and by the functions with which those servers place a key. It talks to none of them.
package sharding

import (
	"encoding/hex"
	"hash/crc32"
	"math/bits"
	"math/rand/v2"

	"github.com/twmb/murmur3"
)

// Keys draws keys as store.MintKey makes them, 128 random bits in lower-case hex, from a seed.
type Keys struct{ rng *rand.Rand }

// NewKeys makes the keys of a seed.
func NewKeys(seed uint64) Keys { return Keys{rand.New(rand.NewPCG(seed, 0x6b6579))} } //nolint:gosec // guards nothing

// KeyLength is how many bytes a key has.
const KeyLength = 32

// Next writes the next key.
func (k Keys) Next(key *[KeyLength]byte) {
	var b [KeyLength / 2]byte
	for i := range b {
		if i%8 == 0 {
			x := k.rng.Uint64()
			for j := range 8 {
				b[i+j] = byte(x >> (8 * j))
			}
		}
	}
	hex.Encode(key[:], b[:])
}

// Range is the range of MongoDB's key space that a key falls into, where 16^digits ranges divide it evenly.
func Range(key *[KeyLength]byte, digits int) int {
	n := 0
	for _, c := range key[:digits] {
		n = n<<4 | nibble(c)
	}
	return n
}

func nibble(hex byte) int {
	if hex >= 'a' {
		return int(hex-'a') + 10
	}
	return int(hex - '0')
}

// MilvusPartition is the partition that Milvus gives a partition key: CRC-32 modulo their number.
func MilvusPartition(key *[KeyLength]byte, partitions int) int {
	return int(crc32.ChecksumIEEE(key[:]) % uint32(partitions)) //nolint:gosec // some tens
}

// ElasticHash is what Elasticsearch 7 makes of a routing value: Murmur3 of its UTF-16, least byte first.
func ElasticHash(key *[KeyLength]byte) uint32 {
	var utf16 [2 * KeyLength]byte
	for i, c := range key {
		utf16[2*i] = c
	}
	return murmur3.Sum32(utf16[:])
}

// mostSplits is how often Elasticsearch 7 lets an index of one shard be split in two.
const mostSplits = 10

// ElasticShard is the shard of an index to which Elasticsearch 7 takes a hash. It counts by more shards than there are, so that each can be
// split.
func ElasticShard(hash uint32, shards int) int {
	splits := max(1, mostSplits-bits.Len(uint(shards-1))) //nolint:gosec // at least 1 shard
	factor := 1 << splits
	routed := int64(shards * factor)
	at := int64(int32(hash)) % routed //nolint:gosec // Java's int is signed
	if at < 0 {
		at += routed
	}
	return int(at) / factor
}
