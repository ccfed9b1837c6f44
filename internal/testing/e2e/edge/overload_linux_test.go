package edge_test

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// niceTruth notes at which nice value a call reads the session.
type niceTruth struct {
	store.PrimaryStore
	nice atomic.Int64
}

func (n *niceTruth) SessionHead(ctx context.Context, ref memory.SessionRef) (memory.Session, memory.User, error) {
	if ref.SessionID == "asked" {
		n.nice.Store(int64(threadNice()))
	}
	return n.PrimaryStore.SessionHead(ctx, ref)
}

// threadNice is the nice value of the thread that runs the caller; 20, which none has, where it is not known.
func threadNice() int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	priority, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return 20
	}
	return 20 - priority
}

func TestACallThatIsHeavyComputesAfterSmallOnes(t *testing.T) {
	t.Parallel()
	usual := threadNice()
	if usual > 9 {
		t.Skip("the test itself runs at a priority that leaves no lower one")
	}
	n := &niceTruth{}
	h := e2e.StartWith(t, filepath.Join(t.TempDir(), "strata.db"), app.Options{Hooks: app.Hooks{Wrap: func(truth store.PrimaryStore) store.PrimaryStore {
		n.PrimaryStore = truth
		return n
	}}}, func(*config.Config) {})
	for _, call := range []struct {
		promise string
		pending int // bytes
		nice    int
	}{
		{"a small one runs as ever", 100, usual},
		{"a large one runs after others", 200 << 10, usual + 10},
		{"and the next small one as ever", 100, usual},
	} {
		h.Context(t, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "asked", Pending: []*memoryv1.Message{
			e2e.User("", strings.Repeat("a word ", call.pending/7)),
		}})
		if got := int(n.nice.Load()); got != call.nice {
			t.Errorf("%s: nice %d, want %d", call.promise, got, call.nice)
		}
	}
}
