package measure

import (
	"errors"
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
	fault                 bool // not ok means wrong, not slow
}

// ErrShort says that figures fall short of their bars and nothing is wrong besides: a busy machine can cause it.
var ErrShort = errors.New("figures fall short of their bars")

// Note prints a line that no bar belongs to.
func (r *Report) Note(format string, args ...any) { fmt.Fprintf(r.Out, format+"\n", args...) }

// AtMost adds a duration that must not exceed its bar.
func (r *Report) AtMost(figure string, got, bar time.Duration) {
	r.Add(figure, Millis(got), "≤ "+Millis(bar), got <= bar)
}

// AtLeast adds a number that must reach its bar.
func (r *Report) AtLeast(figure string, got, bar float64, unit string) {
	r.Add(figure, fmt.Sprintf("%.4g%s", got, unit), fmt.Sprintf("≥ %.4g%s", bar, unit), got >= bar)
}

// NoMore adds a number that must not exceed its bar.
func (r *Report) NoMore(figure string, got, bar float64, unit string) {
	r.Add(figure, fmt.Sprintf("%.4g%s", got, unit), fmt.Sprintf("≤ %.4g%s", bar, unit), got <= bar)
}

// Zero adds a count of faults, of which there must be none.
func (r *Report) Zero(figure string, got int) {
	r.add(row{figure, fmt.Sprint(got), "0", got == 0, true})
}

// Add adds a figure that is judged already.
func (r *Report) Add(figure, measured, bar string, ok bool) {
	r.add(row{figure, measured, bar, ok, false})
}

func (r *Report) add(x row) {
	r.rows = append(r.rows, x)
	r.print(x)
}

func (r *Report) print(x row) {
	r.Note("%-10s %-68s %14s   bar %s", verdict(x.ok), x.figure, x.measured, x.bar)
}

func verdict(ok bool) string {
	if ok {
		return "PASS"
	}
	return "FALL-SHORT"
}

// Finish prints all figures together. Its error is ErrShort when only speed or size is missing, another when
// something is wrong.
func (r *Report) Finish() error {
	short, wrong := 0, 0
	r.Note("\nall figures, load average %s:", LoadAverage())
	for _, x := range r.rows {
		r.print(x)
		switch {
		case x.ok:
		case x.fault:
			wrong++
		default:
			short++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d figures show a fault", wrong, len(r.rows))
	}
	if short > 0 {
		return fmt.Errorf("%d of %d: %w", short, len(r.rows), ErrShort)
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
