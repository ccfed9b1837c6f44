package edge_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// BenchmarkEntrances prints, for each way to call, how long BuildContext over 2,000 messages and Record take until their reply has come,
// and the processor time of server and client, beside gRPC's in the same run. In each round every way calls some times, in another order.
// What clients make of a reply is not measured. On a machine that does other work the processor time says more.
func BenchmarkEntrances(b *testing.B) {
	h := e2e.StartOn(b, filepath.Join(b.TempDir(), "strata.db"), func(*config.Config) {})
	h.Ctx = b.Context()
	recordWalks(b, h)
	ways := rawEntrances(b, h)
	order := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // of calls
	measure := func(method string, request func(way string, round int) proto.Message) (round, show func()) {
		m := descriptorOf(b, "MemoryService."+method)
		took, processor := map[string][]time.Duration{}, map[string]time.Duration{}
		round = func() {
			for _, j := range order.Perm(len(ways)) {
				way := ways[j]
				before := processorTime(b)
				for range callsOfRound {
					call := way.prepare(m, request(way.name, len(took[way.name])))
					began := time.Now()
					if err := call(); err != nil {
						b.Fatalf("%s by %s: %v", method, way.name, err)
					}
					took[way.name] = append(took[way.name], time.Since(began))
				}
				processor[way.name] += processorTime(b) - before
			}
		}
		return round, func() {
			for _, way := range ways {
				slices.Sort(took[way.name])
			}
			first := ways[0].name
			for _, way := range ways {
				p50, of := e2e.Median(took[way.name]), e2e.Median(took[first])
				fmt.Printf("%-12s by %-20s p50 %8v × %.2f of gRPC, processor %8v × %.2f\n", method, way.name,
					p50.Round(time.Microsecond), float64(p50)/float64(of),
					(processor[way.name] / time.Duration(len(took[way.name]))).Round(time.Microsecond),
					float64(processor[way.name])/float64(processor[first]))
			}
		}
	}
	build, showBuilds := measure("BuildContext", func(_ string, round int) proto.Message {
		return &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s9", Query: fmt.Sprintf("How far did I walk on day %d?", round)}
	})
	record, showRecords := measure("Record", func(way string, round int) proto.Message {
		return &memoryv1.RecordRequest{UserId: "eve", SessionId: way, Messages: []*memoryv1.Message{e2e.User("", fmt.Sprintf("Turn %d.", round))}}
	})
	rounds := 0
	for b.Loop() {
		build()
		rounds++
	}
	showBuilds()
	for range rounds {
		record()
	}
	showRecords()
}

// callsOfRound are the calls of each way in one round of BenchmarkEntrances.
const callsOfRound = 4

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rawEntrance is a way to call that leaves the reply as it comes.
type rawEntrance struct {
	name    string
	prepare func(m protoreflect.MethodDescriptor, req proto.Message) (call func() error)
}

func rawEntrances(b *testing.B, h *e2e.Server) []rawEntrance {
	b.Helper()
	base := "http://" + h.Conn.Target()
	const buffer = 32 << 10 // as gRPC's client has it
	one := &http.Client{Transport: &http.Transport{ReadBufferSize: buffer}}
	two := &http.Client{Transport: &http.Transport{Protocols: e2e.UnencryptedHTTP2(), ReadBufferSize: buffer}}
	do := func(c *http.Client, r *http.Request, err error) func() error {
		return func() error {
			if err != nil {
				return err
			}
			res, err := c.Do(r)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				return errors.New(res.Status)
			}
			_, err = io.Copy(io.Discard, res.Body)
			return err
		}
	}
	type prepare = func(protoreflect.MethodDescriptor, proto.Message) func() error
	post := func(c *http.Client, kind string, encode func(proto.Message) ([]byte, error)) prepare {
		return func(m protoreflect.MethodDescriptor, req proto.Message) func() error {
			body, err := encode(req)
			if err != nil {
				b.Fatal(err)
			}
			r, err := http.NewRequestWithContext(h.Ctx, http.MethodPost, base+e2e.MethodPath(m), bytes.NewReader(body))
			if err == nil {
				r.Header.Set("Content-Type", kind)
				r.Header.Set("Connect-Protocol-Version", "1")
			}
			return do(c, r, err)
		}
	}
	framed := func(m proto.Message) ([]byte, error) {
		out, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, 5), m)
		if err == nil {
			binary.BigEndian.PutUint32(out[1:], uint32(len(out)-5))
		}
		return out, err
	}
	return []rawEntrance{
		{"gRPC", func(m protoreflect.MethodDescriptor, req proto.Message) func() error {
			body, err := proto.Marshal(req)
			if err != nil {
				b.Fatal(err)
			}
			var reply []byte
			return func() error {
				return h.Conn.Invoke(h.Ctx, e2e.MethodPath(m), &body, &reply, grpc.ForceCodec(e2e.RawCodec{}))
			}
		}},
		{"REST", func(m protoreflect.MethodDescriptor, req proto.Message) func() error {
			r, err := e2e.RestRequest(h.Ctx, base, m, req)
			return do(one, r, err)
		}},
		{"Connect with JSON", post(one, "application/json", protojson.Marshal)},
		{"Connect over HTTP/2", post(two, "application/proto", proto.Marshal)},
		{"gRPC-Web", post(one, "application/grpc-web+proto", framed)},
		{"gRPC-Web over HTTP/2", post(two, "application/grpc-web+proto", framed)},
	}
}

// recordWalks records 10 sessions of 200 messages, and waits until no background work is left.
func recordWalks(b *testing.B, h *e2e.Server) {
	b.Helper()
	const turnsOfSession = 100
	for s := range 10 {
		req := &memoryv1.RecordRequest{UserId: "ada", SessionId: fmt.Sprintf("s%d", s)}
		for turn := range turnsOfSession {
			day := s*turnsOfSession + turn
			req.Messages = append(req.Messages,
				e2e.User("", fmt.Sprintf("On day %d I walked %d km along the river and met Mia at the harbour.", day, day%9)),
				e2e.Assistant("", fmt.Sprintf("That sounds like a fine walk; day %d is noted.", day)))
		}
		if _, err := h.Record(h.Ctx, req); err != nil {
			b.Fatal(err)
		}
	}
	work, pause := memoryv1.NewWorkServiceClient(h.Conn), time.NewTicker(100*time.Millisecond)
	defer pause.Stop()
	states := []memoryv1.JobState{memoryv1.JobState_JOB_STATE_OPEN, memoryv1.JobState_JOB_STATE_ANSWERED}
	for left := 1; left > 0; <-pause.C {
		jobs, err := work.ListJobs(h.Ctx, &memoryv1.ListJobsRequest{PageSize: 1, States: states})
		if err != nil {
			b.Fatal(err)
		}
		left = len(jobs.GetJobs())
		for s := range 10 {
			r, err := work.WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{UserId: "ada", SessionId: fmt.Sprintf("s%d", s)})
			if err != nil {
				b.Fatal(err)
			}
			if !r.GetReached() {
				left++
			}
		}
	}
}
