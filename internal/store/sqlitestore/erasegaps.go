package sqlitestore

import (
	"context"
	"encoding/binary"
	"iter"
	"slices"
	"sync/atomic"
)

// A page of a b-tree has room between its list of cells and the cells themselves. When SQLite moves cells to other pages, copies of them
// may stay in that room until others are written over them (sqlite3.c: rebuildPage); secure_delete overwrites what is deleted where it is
// then, and knows nothing of the copies. So erasures end with a pass over the rooms, after their rows are deleted.
//
// A pass looks at the pages that were written since the one before, whoever wrote them: a copy may lie wherever the row was once. That is
// enough, since whatever puts a copy into a room, or brings a room to a page of another number (balance_nonroot), writes that page, and of
// a deleted row no further copies are made. The first pass after the file was opened looks at every page.
//
// The layout is https://www.sqlite.org/fileformat2.html#b_tree_pages; sqlite_dbpage reads and writes pages.
const (
	pagesRead    = 512     // looked at in one read
	pagesWritten = 64      // in one write, so that writes of others wait for some milliseconds
	firstHeader  = 100     // bytes before the first page's own header
	mostPages    = 1 << 24 // a larger file has pages of other kinds that begin as a b-tree's do: its rooms are left as they are
	mostRounds   = 8       // of a pass; in each fewer pages are left
)

// purgePasses are the passes that end erasures.
type purgePasses struct {
	asked   atomic.Int64  // calls of purge
	running chan struct{} // full while a pass runs, which has what follows
	served  int64         // of asked, those whose rows were deleted before the last pass began
	gone    bool          // whether that pass cut the WAL
	left    pageSet       // what passes took up and did not look at yet
}

// markUnpurged notes that bytes of a row that is deleted here may be left. Erasures need no such note: they are done after a pass.
func markUnpurged(c *conn) error {
	return c.run(`INSERT INTO unpurged (id, deletions) VALUES (1, 1) ON CONFLICT DO UPDATE SET deletions = deletions + 1`)
}

// Purge implements store.Erasures.
func (s *erasureStore) Purge(ctx context.Context) error {
	deletions := int64(0)
	err := s.read(ctx, "look for deletions whose bytes may be left", func(c *conn) (err error) {
		deletions, err = c.number(`SELECT deletions FROM unpurged WHERE id = 1`)
		return err
	})
	if err != nil || deletions == 0 {
		return err
	}
	if done, err := s.purge(ctx); err != nil || !done {
		return err
	}
	return s.write(ctx, "note that what was deleted is overwritten", func(c *conn) error {
		return c.run(`DELETE FROM unpurged WHERE id = 1 AND deletions = ?`, deletions)
	})
}

// purge overwrites what deleted rows left behind in the file and its WAL. It reports false while readers are in the way. One pass serves
// all calls that wait when it begins.
func (s *core) purge(ctx context.Context) (done bool, err error) {
	p := &s.purgePasses
	mine := p.asked.Add(1)
	select {
	case p.running <- struct{}{}:
	case <-ctx.Done():
		return false, fault("overwrite what was deleted", ctx.Err())
	}
	defer func() { <-p.running }()
	if p.served >= mine {
		return p.gone, nil
	}
	all := p.asked.Load()
	if err := s.clearGaps(ctx); err != nil {
		return false, err
	}
	if done, err = s.cutWAL(ctx); err != nil {
		return false, err
	}
	p.served, p.gone = all, done
	return done, nil
}

// clearGaps overwrites the room between the cells of every page that is not zero. It looks at many pages beside the writes of others, and
// then at those that were written meanwhile; at the last ones in a transaction that nothing is written beside, so that no room can be
// brought to a page that was looked at before.
func (s *core) clearGaps(ctx context.Context) error {
	left := &s.purgePasses.left
	for round := 1; ; round++ {
		var last bool
		err := s.writeFirst(ctx, "overwrite rooms of pages", func(c *conn) error {
			pages, err := pageCount(c)
			if err != nil {
				return err
			}
			left.join(s.writer.written.take(pages))
			if pages >= mostPages {
				*left = nil
			}
			if last = left.len() <= pagesWritten || round == mostRounds; !last {
				return nil
			}
			return clearPages(c, left.each())
		})
		if err == nil && !last {
			err = s.clearBeside(ctx, slices.Collect(left.each()))
		}
		if err != nil {
			return err
		}
		*left = nil
		if last {
			return nil
		}
	}
}

// clearBeside overwrites the rooms of pages in short transactions.
func (s *core) clearBeside(ctx context.Context, pages []int64) error {
	for some := range slices.Chunk(pages, pagesRead) {
		var used []int64
		err := s.read(ctx, "look at pages", func(c *conn) error {
			for _, no := range some {
				is, err := isGapUsed(c, no)
				if err != nil {
					return err
				}
				if is {
					used = append(used, no)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for few := range slices.Chunk(used, pagesWritten) {
			err := s.write(ctx, "overwrite rooms of pages", func(c *conn) error { return clearPages(c, slices.Values(few)) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// clearPages overwrites the rooms of pages as they are now, where something is in them.
func clearPages(c *conn, pages iter.Seq[int64]) error {
	for no := range pages {
		used, err := isGapUsed(c, no)
		if err != nil {
			return err
		}
		if !used {
			continue
		}
		page, err := filePage(c, no)
		if err != nil {
			return err
		}
		clear(gapOf(no, page))
		if err := c.run(`UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?`, page, no); err != nil {
			return err
		}
	}
	return nil
}

func pageCount(c *conn) (int64, error) { return c.number(`PRAGMA page_count`) }

// isGapUsed reports whether the room of a page has something in it. It keeps no copy of the page: a sweep looks at all there are.
func isGapUsed(c *conn, no int64) (used bool, err error) {
	err = lookAtPage(c, no, func(page []byte) {
		used = slices.ContainsFunc(gapOf(no, page), func(b byte) bool { return b != 0 })
	})
	return used, err
}

// filePage returns a copy of a page; nil where the file has become shorter.
func filePage(c *conn, no int64) (page []byte, err error) {
	err = lookAtPage(c, no, func(read []byte) { page = slices.Clone(read) })
	return page, err
}

// lookAtPage calls look with a page, which look must not keep; not where the file has become shorter.
func lookAtPage(c *conn, no int64, look func(page []byte)) error {
	_, err := c.first(`SELECT data FROM sqlite_dbpage WHERE pgno = ?`, func(r row) error {
		look(r.blob(0))
		return nil
	}, no)
	return err
}

// gapOf is the room between the cells' list and the cells of a b-tree's page; nil of every other page: those begin with the number of
// another page, whose first byte is 0 where there are less than mostPages.
func gapOf(no int64, page []byte) []byte {
	start := 0
	if no == 1 {
		start = firstHeader
	}
	if len(page) < start+12 {
		return nil
	}
	head := page[start:]
	size := 8
	switch head[0] {
	case 2, 5: // inner pages of an index, of a table
		size = 12
	case 10, 13: // their leaves
	default:
		return nil
	}
	from := start + size + 2*int(binary.BigEndian.Uint16(head[3:]))
	to := int(binary.BigEndian.Uint16(head[5:]))
	if to == 0 {
		to = 1 << 16
	}
	if from > to || to > len(page) {
		return nil
	}
	return page[from:to]
}
