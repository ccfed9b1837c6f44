package main

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"time"

	"github.com/stratamem/strata/bench/internal/measure"
)

const barIdleBytes = 48 << 20

// settle is how long a server rests before its memory is read.
const settle = 3 * time.Second

func idleFigure(ctx context.Context, o options) error {
	data, err := o.path("idle.db")
	if err != nil {
		return err
	}
	s, err := measure.StartServer(ctx, measure.ServerOptions{Binary: o.binary, Data: data})
	if err != nil {
		return err
	}
	select {
	case <-time.After(settle):
	case <-ctx.Done():
	}
	rss, err := s.ResidentBytes()
	if err := errors.Join(err, s.Stop()); err != nil {
		return err
	}
	o.report.Add("idle server, resident memory", fmt.Sprintf("%.1f MiB", float64(rss)/(1<<20)), "≤ 48 MiB", rss <= barIdleBytes)
	static, err := isStatic(o.binary)
	if err != nil {
		return err
	}
	needs := 0
	if !static {
		needs = 1
	}
	o.report.Zero("binary: interpreters and libraries that it needs", needs)
	return nil
}

// isStatic reports whether the program runs without a dynamic linker.
func isStatic(path string) (bool, error) {
	f, err := elf.Open(path)
	if err != nil {
		return false, fmt.Errorf("read binary: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			return false, nil
		}
	}
	return true, nil
}
