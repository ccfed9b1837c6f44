package importing

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"

	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// importCounts are what an import has done so far.
type importCounts struct {
	Lines      int   `json:"lines"`
	Stored     int   `json:"messages_stored"`
	Skipped    int   `json:"messages_skipped"` // known already
	Failed     int   `json:"lines_failed"`
	Bytes      int64 `json:"bytes"`
	TotalBytes int64 `json:"total_bytes,omitempty"` // 0 when the size is not known
}

// importProgress shows how far an import is: a bar on a terminal, else one JSON line per second on stderr.
type importProgress struct {
	mu     sync.Mutex
	counts importCounts
	bar    *progress.Tracker
	stop   func()
}

// startProgress begins to show. Quiet shows nothing.
func startProgress(r *terminal.Run, total int64) *importProgress {
	p := &importProgress{counts: importCounts{TotalBytes: total}, stop: func() {}}
	switch {
	case r.Output == "quiet":
	case r.Env.StderrTerminal:
		p.startBar(r.Env.Stderr, total)
	default:
		p.startLines(r.Env.Stderr)
	}
	return p
}

func (p *importProgress) startBar(w io.Writer, total int64) {
	bars := progress.NewWriter()
	bars.SetOutputWriter(w)
	bars.SetAutoStop(true)
	bars.SetTrackerLength(30)
	bars.SetUpdateFrequency(100 * time.Millisecond)
	bars.SetStyle(progress.StyleBlocks)
	bars.Style().Visibility.ETA = true
	bars.Style().Visibility.Speed = true
	p.bar = &progress.Tracker{Message: "importing", Total: total, Units: progress.UnitsBytes}
	bars.AppendTracker(p.bar)
	done := make(chan struct{})
	safegroup.Go(func() error {
		bars.Render()
		return nil
	}, func(error) { close(done) }) // what cannot be shown does not stop the import
	p.stop = func() {
		p.bar.MarkAsDone()
		<-done
	}
}

func (p *importProgress) startLines(w io.Writer) {
	quit, done := make(chan struct{}), make(chan struct{})
	tick := time.NewTicker(time.Second)
	safegroup.Go(func() error {
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return nil
			case <-tick.C:
				p.writeLine(w)
			}
		}
	}, func(error) { close(done) })
	p.stop = func() {
		close(quit)
		<-done
	}
}

func (p *importProgress) writeLine(w io.Writer) {
	raw, err := json.Marshal(p.snapshot())
	if err == nil {
		fmt.Fprintf(w, "%s\n", raw)
	}
}

// add changes the counts.
func (p *importProgress) add(change func(c *importCounts)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.counts)
	if p.bar != nil {
		p.bar.SetValue(p.counts.Bytes)
		p.bar.UpdateMessage(fmt.Sprintf("%d stored, %d known", p.counts.Stored, p.counts.Skipped))
	}
}

func (p *importProgress) snapshot() importCounts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// sizeOf is the size of a regular file; 0 for anything else.
func sizeOf(f io.Reader) int64 {
	file, ok := f.(*os.File)
	if !ok {
		return 0
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}
