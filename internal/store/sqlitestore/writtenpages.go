package sqlitestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"os"
)

// The layout of the WAL is https://www.sqlite.org/fileformat2.html#the_write_ahead_log.
const (
	walHeader   = 32 // bytes; from 8 the size of a page, from 16 the salts, which change when the WAL is begun anew
	frameHeader = 24 // bytes before each page; from 0 its number, from 8 the salts of the WAL
)

// writtenPages notes which pages of the file are written. The frames of the WAL name them until the WAL is begun anew: only a
// commit after a checkpoint or a cut does that, so note must be called before a checkpoint and a cut, and after the first commit that
// follows one. Whoever has the writer's turn may use it.
type writtenPages struct {
	path  string   // of the WAL
	wal   *os.File // nil before the first commit
	salts uint64   // of the WAL that noted is about
	noted int64    // frames of it whose pages are in pages
	pages pageSet
	// behind is set while there are commits that were not noted yet. Where another program made a checkpoint meanwhile, their frames
	// may be gone.
	behind bool
	all    bool // any other page may have been written too
}

// note takes up the frames that were written since it was called last; frames is how many the WAL has.
func (p *writtenPages) note(frames int64) error {
	defer func() { p.behind = false }()
	if frames == 0 {
		p.all = p.all || p.behind
		return nil
	}
	err := p.read(frames)
	if err != nil {
		p.noted, p.all = frames, true
		return fmt.Errorf("read which pages were written from %s: %w", p.path, err)
	}
	return nil
}

func (p *writtenPages) read(frames int64) (err error) {
	if p.wal == nil {
		if p.wal, err = os.Open(p.path); err != nil {
			return err
		}
	}
	var header [walHeader]byte
	if _, err := p.wal.ReadAt(header[:], 0); err != nil {
		return err
	}
	if salts := binary.BigEndian.Uint64(header[16:]); salts != p.salts {
		p.salts, p.noted, p.all = salts, 0, p.all || p.behind
	}
	step := frameHeader + int64(binary.BigEndian.Uint32(header[8:]))
	for ; p.noted < frames; p.noted++ {
		frame := header[:frameHeader]
		if _, err := p.wal.ReadAt(frame, walHeader+p.noted*step); err != nil {
			return err
		}
		if binary.BigEndian.Uint64(frame[8:]) != p.salts {
			return errors.New("a frame is not of this log")
		}
		p.pages.add(int64(binary.BigEndian.Uint32(frame)))
	}
	return nil
}

// take returns the pages that were written since it was called last, of a file of so many pages: all of them at the first call, and
// after what was written could not be read.
func (p *writtenPages) take(last int64) pageSet {
	taken := p.pages
	for no := int64(1); p.all && no <= last; no++ {
		taken.add(no)
	}
	p.pages, p.all = nil, false
	return taken
}

func (p *writtenPages) close() error {
	if p.wal == nil {
		return nil
	}
	return p.wal.Close()
}

// pageSet is a set of page numbers: a bit for each up to the largest.
type pageSet []uint64

func (s *pageSet) add(no int64) {
	for int64(len(*s)) <= no/64 {
		*s = append(*s, 0)
	}
	(*s)[no/64] |= 1 << (no % 64)
}

// join adds the pages of another set.
func (s *pageSet) join(other pageSet) {
	if len(*s) < len(other) {
		*s = append(*s, make(pageSet, len(other)-len(*s))...)
	}
	for i, word := range other {
		(*s)[i] |= word
	}
}

func (s pageSet) len() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// each iterates over the pages in order.
func (s pageSet) each() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(int64(i*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}
