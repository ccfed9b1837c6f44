package dot

import (
	"runtime"
	"sync/atomic"

	"github.com/stratamem/strata/internal/memory/safegroup"
)

// Scan compares rows on several processors. Each takes the next few rows until none is left, so that one that begins late takes fewer
// and nobody waits for it.
type Scan struct {
	rows    int
	compare func(from, to int)
	next    atomic.Int64 // row that nobody took yet
	others  safegroup.Group
}

const (
	rowsAtOnce = 256
	minShare   = 2000 // for how many rows another goroutine is worth its start
)

// StartScan starts the other processors. The caller must call Finish, before which compare runs beside it.
func StartScan(rows int, compare func(from, to int)) *Scan {
	c := &Scan{rows: rows, compare: compare}
	for range min(runtime.GOMAXPROCS(0), (rows+minShare-1)/minShare) - 1 {
		c.others.Go(func() error {
			c.run()
			return nil
		})
	}
	return c
}

// Finish compares beside the others what is left, and waits for them. To call it again does nothing.
func (c *Scan) Finish() {
	c.run()
	safegroup.Must(c.others.Wait())
}

func (c *Scan) run() {
	for {
		from := int(c.next.Add(rowsAtOnce)) - rowsAtOnce
		if from >= c.rows {
			return
		}
		c.compare(from, min(from+rowsAtOnce, c.rows))
	}
}
