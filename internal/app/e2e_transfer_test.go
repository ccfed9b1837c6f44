package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/app"
	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/llm/llmtest"
	"github.com/stratamem/strata/internal/memory"
)

func (h *harness) export(t testing.TB, user string) (string, error) {
	t.Helper()
	stream, err := h.users().ExportUser(h.ctx, &memoryv1.ExportUserRequest{UserId: user})
	if err != nil {
		return "", err
	}
	var file bytes.Buffer
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return file.String(), nil
		}
		if err != nil {
			return "", err
		}
		if len(m.GetChunk()) > 1<<20 {
			t.Errorf("a chunk of %d bytes", len(m.GetChunk()))
		}
		file.Write(m.GetChunk())
	}
}

// imported imports a file in chunks of so many bytes.
func (h *harness) imported(ctx context.Context, user, file string, size int) (*memoryv1.ImportUserResponse, error) {
	return h.merged(ctx, user, file, size, memoryv1.OnConflict_ON_CONFLICT_UNSPECIFIED)
}

// merged imports a file by a rule for a user who is there.
func (h *harness) merged(ctx context.Context, user, file string, size int, rule memoryv1.OnConflict) (*memoryv1.ImportUserResponse, error) {
	stream, err := h.users().ImportUser(ctx)
	if err != nil {
		return nil, err
	}
	for first := true; first || len(file) > 0; first = false {
		n := min(size, len(file))
		err := stream.Send(&memoryv1.ImportUserRequest{UserId: user, OnConflict: rule, Chunk: []byte(file[:n])})
		if errors.Is(err, io.EOF) { // the reply says why
			break
		}
		if err != nil {
			return nil, err
		}
		file = file[n:]
	}
	return stream.CloseAndRecv()
}

// fillPortable leaves a user with something of everything that is stored without a chat model, and everything said learnt and indexed.
func (h *harness) fillPortable(t *testing.T) {
	t.Helper()
	for s := range 3 {
		for i := range 8 {
			id := fmt.Sprintf("m%d-%d", s, i)
			must(h.Record(h.ctx, &memoryv1.RecordRequest{
				UserId: "ada", SessionId: fmt.Sprintf("s%d", s), RequestId: "r" + id,
				Messages: []*memoryv1.Message{
					{
						Id: id + "u", Role: memoryv1.Role_ROLE_USER, Text: fmt.Sprintf("My name is Ada and I live in Lisbon, house %d. <b>&\u2028말</b>", i),
						Original: &memoryv1.Original{Format: "openai", Data: []byte("{ \"role\":\"user\" }\xff")}, Tags: []string{"x"},
					},
					assistant(id+"a", "Noted, Ada."),
				},
				StatePatch: object("step", structpb.NewNumberValue(float64(i))),
			}))(t)
		}
	}
	must(h.users().UpdateUser(h.ctx, &memoryv1.UpdateUserRequest{
		User: &memoryv1.User{UserId: "ada", Timezone: "Europe/Lisbon"}, StatePatch: object("plan", structpb.NewStringValue("pro")),
	}))(t)
	made := must(h.facts().CreateFact(h.ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: "ada", Text: "Is vegan."}}))(t).GetFact()
	must(h.facts().DeleteFact(h.ctx, &memoryv1.DeleteFactRequest{UserId: "ada", FactId: made.GetFactId()}))(t)
	must(h.facts().CreateFact(h.ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: "ada", Text: "Has two cats."}}))(t)
	must(h.UpdateMessage(h.ctx, &memoryv1.UpdateMessageRequest{
		UserId: "ada", SessionId: "s0", Message: &memoryv1.Message{Id: "m0-1u", Hidden: true}, UpdateMask: maskOf("hidden"),
	}))(t)
	for s := range 3 {
		eventually(t, "what was said is learnt and indexed", func() bool {
			return must(h.work().WaitForWatermark(h.ctx, &memoryv1.WaitForWatermarkRequest{
				UserId: "ada", SessionId: fmt.Sprintf("s%d", s), Timeout: durationpb.New(time.Second),
				Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED, memoryv1.Watermark_WATERMARK_INDEXED},
			}))(t).GetReached()
		})
	}
}

// startSweeping is start with background work that looks at all that waits five times a second, as settled wants it.
func startSweeping(t *testing.T) *harness {
	t.Helper()
	return startWith(t, t.TempDir()+"/strata.db", app.Options{Sweep: 200 * time.Millisecond}, func(*config.Config) {})
}

// settled exports the user once background work has nothing left to do, summaries too, which fillPortable does not wait for.
func (h *harness) settled(t *testing.T, user string) string {
	t.Helper()
	eventually(t, "the end of background work", func() bool { return !working(t, h, memory.UserRef{Tenant: "default", UserID: user}) })
	return must(h.export(t, user))(t)
}

// working reports whether background work has still to look at the user or at one of the sessions, as far as is known now: it puts off
// what it has looked at only once nothing was left to do.
func working(t *testing.T, h *harness, user memory.UserRef) bool {
	t.Helper()
	now := time.Now()
	for _, ref := range must(h.store.WaitingSessions(h.ctx, user, 1000))(t) {
		work := must(h.store.SessionWork(h.ctx, ref))(t)
		if len(work.Jobs) > 0 || work.UnindexedFrom > 0 || !work.LookAt.After(now) {
			return true
		}
	}
	return slices.Contains(must(h.store.PendingPeriods(h.ctx, now, 1000))(t), user)
}

func startWithPatience(t *testing.T, patience time.Duration) *harness {
	t.Helper()
	return startOn(t, t.TempDir()+"/strata.db", func(c *config.Config) { c.ReplyTimeout = patience })
}

// exportVectors exports a user with vectors.
func (h *harness) exportVectors(t *testing.T, user string) string {
	t.Helper()
	stream := must(h.users().ExportUser(h.ctx, &memoryv1.ExportUserRequest{UserId: user, Vectors: true}))(t)
	var file bytes.Buffer
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return file.String()
		}
		file.Write(must(m, err)(t).GetChunk())
	}
}

// embedder is an endpoint that notes which texts it was asked for.
type embedder struct {
	*llmtest.Server
	mu    sync.Mutex
	texts []string
}

func newEmbedder(t *testing.T) *embedder {
	e := &embedder{}
	e.Server = llmtest.New(llmtest.Options{Dimension: 8, Embed: func(r llmtest.EmbedRequest) llmtest.EmbedReply {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.texts = append(e.texts, r.Texts...)
		return llmtest.EmbedReply{}
	}})
	t.Cleanup(e.Close)
	return e
}

// asked returns the texts that were asked for since it was called last.
func (e *embedder) asked() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	texts := e.texts
	e.texts = nil
	return texts
}

const (
	skip      = memoryv1.OnConflict_ON_CONFLICT_SKIP
	overwrite = memoryv1.OnConflict_ON_CONFLICT_OVERWRITE
	newIDs    = memoryv1.OnConflict_ON_CONFLICT_NEW_IDS
)
