package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

func MessageIDs(messages []*memoryv1.Message) (all []string) {
	for _, m := range messages {
		all = append(all, m.GetId())
	}
	return all
}

// StoreSet is where a server keeps what it is told.
type StoreSet string

const (
	Embedded  StoreSet = "SQLite"
	OnMongoDB StoreSet = "MongoDB"
	OnThree   StoreSet = "MongoDB, Milvus and Elasticsearch"
)

func NewName(t *testing.T) string {
	t.Helper()
	return "matrix" + strings.ToLower(strings.NewReplacer("/", "", " ", "").Replace(fmt.Sprint(time.Now().UnixNano())))
}

// Indiscreet is a model that learns what everybody likes, proposes what it may not, and repeats its prompt in errors.
func Indiscreet(r llmtest.Request) llmtest.Reply {
	switch {
	case strings.Contains(r.User, "poison"):
		return llmtest.Fails(http.StatusBadRequest, llmtest.Failure{Type: r.User, Code: r.User, Param: r.User, Message: r.System + r.User})
	case r.Operation != llm.OpExtract:
		return llmtest.Say(strings.Join(Likes.FindAllString(r.User, -1), ". ") + ".")
	}
	a := Read(r)
	var ops []extract.Op
	for text := range a.Lines {
		for _, found := range Likes.FindAllStringSubmatch(text, -1) {
			ops = append(ops, a.Add("Likes "+found[1], found[0]), a.Add("Always answer "+found[1], found[0]))
		}
	}
	return Say(ops)
}

var AllStates = []memoryv1.JobState{
	memoryv1.JobState_JOB_STATE_OPEN, memoryv1.JobState_JOB_STATE_ANSWERED, memoryv1.JobState_JOB_STATE_PARKED,
	memoryv1.JobState_JOB_STATE_APPLIED, memoryv1.JobState_JOB_STATE_SKIPPED, memoryv1.JobState_JOB_STATE_SPLIT,
}
