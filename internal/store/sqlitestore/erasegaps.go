package sqlitestore

import (
	"context"
	"encoding/binary"
	"slices"
)

// A page of a b-tree has room between its list of cells and the cells themselves. When SQLite moves cells to other pages, copies of them
// may stay in that room until others are written over them; secure_delete overwrites what is deleted where it is then, and knows
// nothing of the copies (sqlite3.c: rebuildPage). So a sweep ends with the rooms of the whole file, after all rows are deleted.
// The layout is https://www.sqlite.org/fileformat2.html#b_tree_pages; sqlite_dbpage reads and writes pages.
const (
	pagesRead    = 512     // looked at in one read
	pagesWritten = 64      // in one write, so that writes of others wait for some milliseconds
	firstHeader  = 100     // bytes before the first page's own header
	mostPages    = 1 << 24 // a larger file has pages of other kinds that begin as a b-tree's do: its rooms are left as they are
)

// clearGaps overwrites the room between the cells of every page that is not zero.
func (s *core) clearGaps(ctx context.Context) error {
	for next, last := int64(1), int64(1); next <= last; next += pagesRead {
		var dirty []int64
		err := s.read(ctx, "look at pages", func(c *conn) (err error) {
			if last, err = pageCount(c); err != nil || last >= mostPages {
				return err
			}
			for no := next; no < next+pagesRead && no <= last; no++ {
				used, err := isGapUsed(c, no)
				if err != nil {
					return err
				}
				if used {
					dirty = append(dirty, no)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if last >= mostPages {
			return nil
		}
		for some := range slices.Chunk(dirty, pagesWritten) {
			if err := s.write(ctx, "overwrite rooms of pages", func(c *conn) error { return clearPages(c, some) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// clearPages overwrites the rooms of pages as they are now.
func clearPages(c *conn, pages []int64) error {
	for _, no := range pages {
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

func pageCount(c *conn) (n int64, err error) {
	err = c.query(`PRAGMA page_count`, func(r row) error {
		n = r.int(0)
		return nil
	})
	return n, err
}

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
