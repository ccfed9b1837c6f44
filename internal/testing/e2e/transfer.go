package e2e

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
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

func (h *Server) Export(t testing.TB, user string) (string, error) {
	t.Helper()
	stream, err := h.Users().ExportUser(h.Ctx, &memoryv1.ExportUserRequest{UserId: user})
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

// Imported imports a file in chunks of so many bytes.
func (h *Server) Imported(ctx context.Context, user, file string, size int) (*memoryv1.ImportUserResponse, error) {
	return h.Merged(ctx, user, file, size, memoryv1.OnConflict_ON_CONFLICT_UNSPECIFIED)
}

// Merged imports a file by a rule for a user who is there.
func (h *Server) Merged(ctx context.Context, user, file string, size int, rule memoryv1.OnConflict) (*memoryv1.ImportUserResponse, error) {
	stream, err := h.Users().ImportUser(ctx)
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

// FillPortable leaves a user with something of everything that is stored without a chat model, and everything said learnt and indexed.
func (h *Server) FillPortable(t *testing.T) {
	t.Helper()
	for s := range 3 {
		for i := range 8 {
			id := fmt.Sprintf("m%d-%d", s, i)
			Must(h.Record(h.Ctx, &memoryv1.RecordRequest{
				UserId: "ada", SessionId: fmt.Sprintf("s%d", s), RequestId: "r" + id,
				Messages: []*memoryv1.Message{
					{
						Id: id + "u", Role: memoryv1.Role_ROLE_USER, Text: fmt.Sprintf("My name is Ada and I live in Lisbon, house %d. <b>&\u2028말</b>", i),
						Original: &memoryv1.Original{Format: "openai", Data: []byte("{ \"role\":\"user\" }\xff")}, Tags: []string{"x"},
					},
					Assistant(id+"a", "Noted, Ada."),
				},
				StatePatch: Object("step", structpb.NewNumberValue(float64(i))),
			}))(t)
		}
	}
	Must(h.Users().UpdateUser(h.Ctx, &memoryv1.UpdateUserRequest{
		User: &memoryv1.User{UserId: "ada", Timezone: "Europe/Lisbon"}, StatePatch: Object("plan", structpb.NewStringValue("pro")),
	}))(t)
	made := Must(h.Facts().CreateFact(h.Ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: "ada", Text: "Is vegan."}}))(t).GetFact()
	Must(h.Facts().DeleteFact(h.Ctx, &memoryv1.DeleteFactRequest{UserId: "ada", FactId: made.GetFactId()}))(t)
	Must(h.Facts().CreateFact(h.Ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: "ada", Text: "Has two cats."}}))(t)
	Must(h.UpdateMessage(h.Ctx, &memoryv1.UpdateMessageRequest{
		UserId: "ada", SessionId: "s0", Message: &memoryv1.Message{Id: "m0-1u", Hidden: true}, UpdateMask: MaskOf("hidden"),
	}))(t)
	for s := range 3 {
		Eventually(t, "what was said is learnt and indexed", func() bool {
			return Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{
				UserId: "ada", SessionId: fmt.Sprintf("s%d", s), Timeout: durationpb.New(time.Second),
				Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED, memoryv1.Watermark_WATERMARK_INDEXED},
			}))(t).GetReached()
		})
	}
}

// StartSweeping is start with background work that looks at all that waits five times a second, as settled wants it.
func StartSweeping(t *testing.T) *Server {
	t.Helper()
	return StartWith(t, t.TempDir()+"/strata.db", app.Options{Sweep: 200 * time.Millisecond}, func(*config.Config) {})
}

// Settled exports the user once background work has nothing left to do, summaries too, which fillPortable does not wait for.
func (h *Server) Settled(t *testing.T, user string) string {
	t.Helper()
	Eventually(t, "the end of background work", func() bool { return !Working(t, h, memory.UserRef{Tenant: "default", UserID: user}) })
	return Must(h.Export(t, user))(t)
}

// Working reports whether background work has still to look at the user or at one of the sessions, as far as is known now: it puts off
// what it has looked at only once nothing was left to do.
func Working(t *testing.T, h *Server, user memory.UserRef) bool {
	t.Helper()
	now := time.Now()
	for _, ref := range Must(h.Store.WaitingSessions(h.Ctx, user, 1000))(t) {
		work := Must(h.Store.SessionWork(h.Ctx, ref))(t)
		if len(work.Jobs) > 0 || work.UnindexedFrom > 0 || !work.LookAt.After(now) {
			return true
		}
	}
	return slices.Contains(Must(h.Store.PendingPeriods(h.Ctx, now, 1000))(t), user)
}

func StartWithPatience(t *testing.T, patience time.Duration) *Server {
	t.Helper()
	return StartOn(t, t.TempDir()+"/strata.db", func(c *config.Config) { c.ReplyTimeout = patience })
}

// ExportVectors exports a user with vectors.
func (h *Server) ExportVectors(t *testing.T, user string) string {
	t.Helper()
	stream := Must(h.Users().ExportUser(h.Ctx, &memoryv1.ExportUserRequest{UserId: user, Vectors: true}))(t)
	var file bytes.Buffer
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return file.String()
		}
		file.Write(Must(m, err)(t).GetChunk())
	}
}

// Embedder is an endpoint that notes which texts it was asked for.
type Embedder struct {
	*llmtest.Server
	mu    sync.Mutex
	texts []string
}

func NewEmbedder(t *testing.T) *Embedder {
	e := &Embedder{}
	e.Server = llmtest.New(llmtest.Options{Dimension: 8, Embed: func(r llmtest.EmbedRequest) llmtest.EmbedReply {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.texts = append(e.texts, r.Texts...)
		return llmtest.EmbedReply{}
	}})
	t.Cleanup(e.Close)
	return e
}

// Asked returns the texts that were asked for since it was called last.
func (e *Embedder) Asked() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	texts := e.texts
	e.texts = nil
	return texts
}

const (
	Skip      = memoryv1.OnConflict_ON_CONFLICT_SKIP
	Overwrite = memoryv1.OnConflict_ON_CONFLICT_OVERWRITE
	NewIDs    = memoryv1.OnConflict_ON_CONFLICT_NEW_IDS
)
