package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/testing/hostilerequests"
)

const (
	hostileClients = 16
	hostileStalled = 64
	// the longest call: some hostile requests name no deadline and wait for what never comes
	hostileTimeout = "2s"

	barHostileBytes = 1 << 30
)

// hostileFigure sends requests that nobody of good will sends, at each way into one server.
func hostileFigure(ctx context.Context, o options) error {
	data, err := o.path("hostile.db")
	if err != nil {
		return err
	}
	metrics, err := measure.FreeAddr(ctx)
	if err != nil {
		return err
	}
	s, err := start(ctx, o.binary, data, "--request-timeout", hostileTimeout, "--metrics-listen", metrics)
	if err != nil {
		return err
	}
	return errors.Join(hostileOn(ctx, o, s, metrics), s.stop())
}

func hostileOn(ctx context.Context, o options, s *running, metrics string) error {
	select {
	case <-time.After(settle):
	case <-ctx.Done():
	}
	idle, err := s.ResidentBytes()
	if err != nil {
		return err
	}
	for _, p := range hostilerequests.Protocols() {
		began := time.Now()
		got, err := hostilerequests.Run(ctx, hostilerequests.Options{
			Address: s.Addr, Protocol: p, Seed: o.seed, Requests: o.hostile, Clients: hostileClients, Stalled: hostileStalled,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		peak, err := s.PeakBytes()
		if err != nil {
			return err
		}
		o.report.Note("   %s: %d requests in %s, peak memory until here %d MiB above idle", p, o.hostile, time.Since(began).Round(time.Second), (peak-idle)>>20)
		for _, kind := range slices.Sorted(maps.Keys(got.Replies)) {
			o.report.Note("     %7d × %s", got.Replies[kind], kind)
		}
		for _, fault := range got.Faults {
			o.report.Note("     FAULT %s", fault)
		}
		o.report.Zero(fmt.Sprintf("hostile requests, %s: replies that call it the server's fault, or never come", p), got.Faulty)
		if err := rightCalls(ctx, s, p); err != nil {
			return fmt.Errorf("a right call after the hostile ones of %s: %w", p, err)
		}
	}
	panics, err := metric(ctx, metrics, "strata_panics_total")
	if err != nil {
		return err
	}
	o.report.Zero("hostile requests: panics", int(panics))
	peak, err := s.PeakBytes()
	if err != nil {
		return err
	}
	o.report.Add("hostile requests: peak memory above idle", fmt.Sprintf("%d MiB", (peak-idle)>>20),
		fmt.Sprintf("≤ %d MiB", barHostileBytes>>20), peak-idle <= barHostileBytes)
	return nil
}

// rightCalls records over gRPC and reads it back over REST.
func rightCalls(ctx context.Context, s *running, p hostilerequests.Protocol) error {
	session := "after-" + string(p)
	_, err := s.Record(ctx, &memoryv1.RecordRequest{UserId: figureUser, SessionId: session, Messages: []*memoryv1.Message{
		{Role: memoryv1.Role_ROLE_USER, Text: "I live in Porto."},
	}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr+"/v1/users/"+figureUser+"/sessions/"+session, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	if err := res.Body.Close(); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("it is answered with %s", res.Status)
	}
	return nil
}
