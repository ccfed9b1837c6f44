package measure

import (
	"fmt"
	"io"
	"time"
)

// Report collects figures and says of each whether it reaches its bar.
type Report struct {
	Out  io.Writer
	rows []row
}

type row struct {
	figure, measured, bar string
	ok                    bool
}

// Note prints a line that no bar belongs to.
func (r *Report) Note(format string, args ...any) { fmt.Fprintf(r.Out, format+"\n", args...) } //nolint:errcheck // a report to a terminal

// AtMost adds a duration that must not exceed its bar.
func (r *Report) AtMost(figure string, got, bar time.Duration) {
	r.Add(figure, Millis(got), "≤ "+Millis(bar), got <= bar)
}

// AtLeast adds a number that must reach its bar.
func (r *Report) AtLeast(figure string, got, bar float64, unit string) {
	r.Add(figure, fmt.Sprintf("%.4g%s", got, unit), fmt.Sprintf("≥ %.4g%s", bar, unit), got >= bar)
}

// Zero adds a count of faults, of which there must be none.
func (r *Report) Zero(figure string, got int) {
	r.Add(figure, fmt.Sprint(got), "0", got == 0)
}

// Add adds a figure that is judged already.
func (r *Report) Add(figure, measured, bar string, ok bool) {
	r.rows = append(r.rows, row{figure, measured, bar, ok})
	r.Note("%-10s %-62s %14s   bar %s", verdict(ok), figure, measured, bar)
}

func verdict(ok bool) string {
	if ok {
		return "PASS"
	}
	return "FALL-SHORT"
}

// Finish prints all figures together and returns an error when one falls short.
func (r *Report) Finish() error {
	short := 0
	r.Note("\nfigures, load average %s:", LoadAverage())
	for _, x := range r.rows {
		r.Note("  %-10s %-62s %14s   bar %s", verdict(x.ok), x.figure, x.measured, x.bar)
		if !x.ok {
			short++
		}
	}
	if short > 0 {
		return fmt.Errorf("%d of %d figures fall short of their bars", short, len(r.rows))
	}
	return nil
}

// Millis writes a duration in milliseconds.
func Millis(d time.Duration) string {
	return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond))
}

// Slowness is how much slower the machine is now than when idle, at least 1: bars of CPU time scale with it.
func Slowness(baseline time.Duration) float64 {
	return max(1, float64(baseline)/float64(IdleDotProducts))
}

// Scale multiplies a bar.
func Scale(bar time.Duration, by float64) time.Duration { return time.Duration(float64(bar) * by) }
