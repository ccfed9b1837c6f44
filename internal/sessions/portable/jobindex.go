package portable

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// jobPlace is the key of an extraction, with the beginning of its id.
type jobPlace struct {
	id         uint64
	session    int32 // in Encoder.sessions
	level      int32
	generation int32
	from       int32
}

// jobIndex finds extractions by their ids. A user may have hundreds of thousands, so it keeps 24 bytes of each.
type jobIndex struct {
	blocks [][]jobPlace
	sorted bool
}

// jobsInBlock is how many are sorted together.
const jobsInBlock = 1 << 16

func (x *jobIndex) add(p jobPlace) {
	x.sorted = false
	last := len(x.blocks) - 1
	if last < 0 || len(x.blocks[last]) == jobsInBlock {
		x.blocks = append(x.blocks, nil)
		last++
	}
	x.blocks[last] = append(x.blocks[last], p)
}

// find returns the extraction whose id begins so and that is the one.
func (x *jobIndex) find(id uint64, is func(jobPlace) bool) (jobPlace, bool) {
	byID := func(a, b jobPlace) int { return cmp.Compare(a.id, b.id) }
	if !x.sorted {
		for _, b := range x.blocks {
			slices.SortFunc(b, byID)
		}
		x.sorted = true
	}
	for _, b := range x.blocks {
		for i, _ := slices.BinarySearchFunc(b, jobPlace{id: id}, byID); i < len(b) && b[i].id == id; i++ {
			if is(b[i]) {
				return b[i], true
			}
		}
	}
	return jobPlace{}, false
}

// beginning is the beginning of the id of a job; false for an id of another form.
func beginning(jobID string) (uint64, bool) {
	raw, err := hex.DecodeString(jobID)
	if err != nil || len(raw) < 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(raw), true
}

// jobKey is the key of the extraction.
func (e *Encoder) jobKey(p jobPlace) memory.JobKey {
	return memory.JobKey{
		Scope: e.scope, Session: e.keys[p.session], Kind: memory.JobExtract, Level: int(p.level), From: int64(p.from),
		Generation: int(p.generation),
	}
}
