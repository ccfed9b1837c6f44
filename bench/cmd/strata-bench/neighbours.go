package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/testing/conversations"
)

// barNeighbours is how much slower the median may be beside other users.
const barNeighbours = 1.20

// neighboursFigure asks the same of one user alone in a file and beside many others in a copy of it. Two servers
// answer by turns, so that the load of the machine meets both alike.
func neighboursFigure(ctx context.Context, o options) error {
	shape := o.share("W", conversations.W())
	aloneFile, err := o.path("alone.db")
	if err != nil {
		return err
	}
	besideFile, err := o.path("beside.db")
	if err != nil {
		return err
	}
	if err := prepareFile(ctx, o, aloneFile, shape); err != nil {
		return err
	}
	if err := copyFile(besideFile, aloneFile); err != nil {
		return err
	}
	if err := seed(ctx, o, besideFile); err != nil {
		return fmt.Errorf("seed other users: %w", err)
	}
	alone, beside, err := askByTurns(ctx, o, aloneFile, besideFile, shape)
	if err != nil {
		return err
	}
	reportNeighbours(o, alone, beside)
	return nil
}

// copyFile copies the file of a stopped server, whose log is empty.
func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copy data file: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("copy data file: %w", err)
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func askByTurns(ctx context.Context, o options, aloneFile, besideFile string, shape conversations.Shape) (
	alone, beside asked, err error,
) {
	a, err := start(ctx, o.binary, aloneFile)
	if err != nil {
		return alone, beside, err
	}
	defer func() { err = errors.Join(err, a.stop()) }()
	b, err := start(ctx, o.binary, besideFile)
	if err != nil {
		return alone, beside, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	if err := errors.Join(warm(ctx, a, shape), warm(ctx, b, shape)); err != nil {
		return alone, beside, err
	}
	o.baseline()
	for _, q := range shape.Queries(o.calls) {
		req := contextRequest(shape, q)
		if err := errors.Join(alone.one(ctx, a, req), beside.one(ctx, b, req)); err != nil {
			return alone, beside, err
		}
	}
	o.baseline()
	return alone, beside, nil
}

func reportNeighbours(o options, alone, beside asked) {
	others := o.neighbours * neighbourMessages()
	differ := 0
	for i := range alone.replies {
		if !bytes.Equal(alone.replies[i], beside.replies[i]) {
			differ++
		}
	}
	ratio := float64(beside.handler.P50()) / float64(alone.handler.P50())
	o.report.Note(
		"   %d calls by turns: handler p50 alone %s, beside %d messages of others %s; p99 %s, %s",
		len(alone.replies),
		measure.Millis(
			alone.handler.P50(),
		),
		others,
		measure.Millis(beside.handler.P50()),
		measure.Millis(alone.handler.P99()),
		measure.Millis(beside.handler.P99()),
	)
	o.report.Add(fmt.Sprintf("BuildContext on W beside %d messages of others, p50 ratio", others),
		fmt.Sprintf("%.3f", ratio), fmt.Sprintf("≤ %.2f", barNeighbours), ratio <= barNeighbours)
	o.report.Zero("BuildContext on W beside others, replies that differ", differ)
}
