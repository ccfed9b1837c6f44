package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/testing/backendtest"
)

const hangingSlices = 10

// hangingFigure runs Record at an open rate while Milvus and Elasticsearch answer and while they hang, in turns.
func hangingFigure(ctx context.Context, o options) (err error) {
	b, err := backendtest.NewBackends()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Drop()) }()
	milvus, err := backendtest.NewProxy(backendtest.HostOf(b.Milvus))
	if err != nil {
		return err
	}
	defer milvus.Close()
	elastic, err := backendtest.NewProxy(backendtest.HostOf(b.Elasticsearch))
	if err != nil {
		return err
	}
	defer elastic.Close()
	through := b
	through.Milvus, through.Elasticsearch = milvus.In(b.Milvus), elastic.In(b.Elasticsearch)
	s, err := startWith(ctx, measure.ServerOptions{Binary: o.binary, Env: through.Env()})
	if err != nil {
		return err
	}
	err = recordWhileHanging(ctx, o, s, []*backendtest.Proxy{milvus, elastic})
	return errors.Join(err, s.stop())
}

func recordWhileHanging(ctx context.Context, o options, s *running, proxies []*backendtest.Proxy) error {
	texts, turn := manyTexts(), 0
	slice := func(of time.Duration) (measure.Samples, error) {
		var all measure.Samples
		for range int(of / time.Second) {
			got, err := openLoop(ctx, turn, func(ctx context.Context, n int) error {
				_, err := s.Record(ctx, turnRequest(fmt.Sprintf("open-%02d", n%sessionsOfOpen), texts[n%len(texts)]))
				return err
			})
			if err != nil {
				return nil, err
			}
			turn += openRate
			all = append(all, got...)
		}
		return all, nil
	}
	if _, err := slice(3 * time.Second); err != nil { // connections and caches are warm from here on
		return err
	}
	var healthy, hanging measure.Samples
	for range hangingSlices {
		got, err := slice(o.duration / hangingSlices)
		if err != nil {
			return err
		}
		healthy = append(healthy, got...)
		for _, p := range proxies {
			if err := p.Break(backendtest.Hanging); err != nil {
				return err
			}
		}
		if got, err = slice(o.duration / hangingSlices); err != nil {
			return err
		}
		hanging = append(hanging, got...)
		for _, p := range proxies {
			if err := p.Heal(); err != nil {
				return err
			}
		}
	}
	o.report.Note("   open loop %d/s, %d samples each: both views answer p50 %s p99 %s; both hang p50 %s p99 %s", openRate, len(healthy),
		measure.Millis(healthy.P50()), measure.Millis(healthy.P99()), measure.Millis(hanging.P50()), measure.Millis(hanging.P99()))
	o.report.NoMore(
		"Record p99 with Milvus and Elasticsearch hanging, beside both answering",
		float64(hanging.P99())/float64(healthy.P99()),
		1.2,
		" ×",
	)
	return nil
}
