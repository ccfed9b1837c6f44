package app_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/config"
)

// BenchmarkEntrances prints, for each way to call, the median of BuildContext over 2,000 messages and of Record, beside gRPC's in the
// same run: in each round every way calls once, in another order, after background work.
func BenchmarkEntrances(b *testing.B) {
	h := startOn(b, filepath.Join(b.TempDir(), "strata.db"), func(*config.Config) {})
	h.ctx = b.Context()
	h.recordWalks(b)
	entrances := h.entrances()
	order := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // of calls
	measure := func(method string, request func(e entrance, round int) proto.Message) {
		m := descriptorOf(b, "MemoryService."+method)
		took := map[string][]time.Duration{}
		for round := range roundsOfIteration * b.N {
			for _, j := range order.Perm(len(entrances)) {
				e, reply := entrances[j], dynamicpb.NewMessage(m.Output())
				req := request(e, round)
				began := time.Now()
				if err := e.call(h.ctx, m, req, reply); err != nil {
					b.Fatal(err)
				}
				took[e.name] = append(took[e.name], time.Since(began))
			}
		}
		for _, e := range entrances {
			slices.Sort(took[e.name])
		}
		grpc := median(took["gRPC"])
		for _, e := range entrances {
			p50 := median(took[e.name])
			fmt.Printf("%-12s by %-20s p50 %8v, × %.2f of gRPC\n", method, e.name, p50.Round(time.Microsecond), float64(p50)/float64(grpc))
		}
	}
	b.ResetTimer()
	measure("BuildContext", func(_ entrance, round int) proto.Message {
		return &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s9", Query: fmt.Sprintf("How far did I walk on day %d?", round)}
	})
	measure("Record", func(e entrance, round int) proto.Message {
		return &memoryv1.RecordRequest{UserId: "eve", SessionId: e.name, Messages: []*memoryv1.Message{user("", fmt.Sprintf("Turn %d.", round))}}
	})
}

// roundsOfIteration are the calls of each way in one iteration of BenchmarkEntrances.
const roundsOfIteration = 4

// recordWalks records 10 sessions of 200 messages, and waits until no background work is left.
func (h *harness) recordWalks(b *testing.B) {
	b.Helper()
	const turnsOfSession = 100
	for s := range 10 {
		req := &memoryv1.RecordRequest{UserId: "ada", SessionId: fmt.Sprintf("s%d", s)}
		for turn := range turnsOfSession {
			day := s*turnsOfSession + turn
			req.Messages = append(req.Messages,
				user("", fmt.Sprintf("On day %d I walked %d km along the river and met Mia at the harbour.", day, day%9)),
				assistant("", fmt.Sprintf("That sounds like a fine walk; day %d is noted.", day)))
		}
		if _, err := h.Record(h.ctx, req); err != nil {
			b.Fatal(err)
		}
	}
	work, pause := memoryv1.NewWorkServiceClient(h.conn), time.NewTicker(100*time.Millisecond)
	defer pause.Stop()
	states := []memoryv1.JobState{memoryv1.JobState_JOB_STATE_OPEN, memoryv1.JobState_JOB_STATE_ANSWERED}
	for left := 1; left > 0; <-pause.C {
		jobs, err := work.ListJobs(h.ctx, &memoryv1.ListJobsRequest{PageSize: 1, States: states})
		if err != nil {
			b.Fatal(err)
		}
		left = len(jobs.GetJobs())
		for s := range 10 {
			r, err := work.WaitForWatermark(h.ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: fmt.Sprintf("s%d", s)})
			if err != nil {
				b.Fatal(err)
			}
			if !r.GetReached() {
				left++
			}
		}
	}
}

// median of sorted durations.
func median(sorted []time.Duration) time.Duration { return sorted[len(sorted)/2] }
