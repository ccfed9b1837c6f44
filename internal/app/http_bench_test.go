package app_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/config"
)

// BenchmarkEntrances prints, for each way to call, the median of BuildContext over 2,000 messages and of Record, beside gRPC's in the
// same run: calls of all ways take turns.
func BenchmarkEntrances(b *testing.B) {
	h := startOn(b, filepath.Join(b.TempDir(), "strata.db"), func(*config.Config) {})
	h.ctx = b.Context()
	for turn := range 1000 {
		_, err := h.Record(h.ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: fmt.Sprintf("s%d", turn/100), Messages: []*memoryv1.Message{
			user("", fmt.Sprintf("On day %d I walked %d km along the river and met Mia at the harbour.", turn, turn%9)),
			assistant("", fmt.Sprintf("That sounds like a fine walk; day %d is noted.", turn)),
		}})
		if err != nil {
			b.Fatal(err)
		}
	}
	entrances := h.entrances()
	took := map[string][]time.Duration{}
	for _, session := range []string{"s0", "s9"} {
		wait := &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: session, Of: []memoryv1.Watermark{
			memoryv1.Watermark_WATERMARK_INDEXED, memoryv1.Watermark_WATERMARK_EXTRACTED, memoryv1.Watermark_WATERMARK_SUMMARISED,
		}, Timeout: durationpb.New(20 * time.Second)}
		if _, err := memoryv1.NewWorkServiceClient(h.conn).WaitForWatermark(h.ctx, wait); err != nil {
			b.Fatal(err)
		}
	}
	for i := range b.N {
		for j := range entrances {
			e := entrances[(i+j)%len(entrances)] // each is the first as often as any other
			for _, c := range []struct {
				method     string
				req, reply proto.Message
			}{
				{
					"BuildContext",
					&memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s9", Query: fmt.Sprintf("How far did I walk on day %d%d?", i, j)},
					&memoryv1.BuildContextResponse{},
				},
				{
					"Record",
					&memoryv1.RecordRequest{UserId: "eve", SessionId: e.name, Messages: []*memoryv1.Message{user("", fmt.Sprintf("Turn %d.", i))}},
					&memoryv1.RecordResponse{},
				},
			} {
				m := descriptorOf(b, "MemoryService."+c.method)
				began := time.Now()
				if err := e.call(h.ctx, m, c.req, c.reply); err != nil {
					b.Fatal(err)
				}
				took[c.method+" by "+e.name] = append(took[c.method+" by "+e.name], time.Since(began))
			}
		}
	}
	median := func(what string) time.Duration {
		slices.Sort(took[what])
		return took[what][len(took[what])/2]
	}
	for _, method := range []string{"BuildContext", "Record"} {
		grpc := median(method + " by gRPC")
		for _, e := range entrances {
			p50 := median(method + " by " + e.name)
			b.Logf("%s by %s: p50 %v, × %.2f of gRPC", method, e.name, p50.Round(time.Microsecond), float64(p50)/float64(grpc))
		}
	}
}
