package sqlitestore

import (
	"errors"
	"fmt"
	"os"
)

const (
	// roomFrom is how many pages the WAL has before its file is made longer than what is in it: a store that is hardly written to
	// needs no room.
	roomFrom = 128
	// roomAhead is how many pages longer it is made then. Half of them hold what is usually committed until the WAL is looked at again.
	roomAhead = 1024
	roomChunk = 1 << 20 // bytes that are written at once
)

// walRoom makes the file of the WAL longer than what is in it, by zeros, which SQLite takes for the end of the log. A commit waits
// until its pages are on the disk; where they make the file longer, it waits for the file system too, which has to note that: see
// BenchmarkRoomOfTheWAL. Space that is allocated but not written to would have to be noted as well.
type walRoom struct {
	path    string
	givenUp bool // the disk had no room for it
}

// isShort reports whether the file of a WAL of so many pages has to be made longer.
func (r *walRoom) isShort(pages int64) bool {
	if r.givenUp || pages < roomFrom {
		return false
	}
	info, err := os.Stat(r.path)
	return err == nil && info.Size() < roomOf(pages+roomAhead/2)
}

// extend makes the file of a WAL of so many pages longer. The caller must have SQLite's lock for writing: nobody may commit or cut the
// WAL meanwhile.
func (r *walRoom) extend(pages int64) error {
	if err := r.writeZeros(roomOf(pages + roomAhead)); err != nil {
		r.givenUp = true
		return fmt.Errorf("make %s longer ahead of what is written to it: %w", r.path, err)
	}
	return nil
}

// writeZeros makes the file so long. Where the disk has no room for that, the file stays as it was.
func (r *walRoom) writeZeros(length int64) (err error) {
	f, err := os.OpenFile(r.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	zeros := make([]byte, roomChunk)
	for at := info.Size(); at < length; at += roomChunk {
		if _, err := f.WriteAt(zeros[:min(roomChunk, length-at)], at); err != nil {
			return errors.Join(err, f.Truncate(info.Size()))
		}
	}
	return f.Sync()
}

// roomOf is how long the file of a WAL of so many pages is, and at most what SQLite leaves of it when it begins it anew.
func roomOf(pages int64) int64 { return min(walHeader+pages*(frameHeader+pageSize), keptOfWAL) }
