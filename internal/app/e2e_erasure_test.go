package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/extract"
	"github.com/stratamem/strata/internal/llm"
	"github.com/stratamem/strata/internal/llm/llmtest"
)

func messageIDs(messages []*memoryv1.Message) (all []string) {
	for _, m := range messages {
		all = append(all, m.GetId())
	}
	return all
}

// storeSet is where a server keeps what it is told.
type storeSet string

const (
	embedded  storeSet = "SQLite"
	onMongoDB storeSet = "MongoDB"
	onThree   storeSet = "MongoDB, Milvus and Elasticsearch"
)

func newName(t *testing.T) string {
	t.Helper()
	return "matrix" + strings.ToLower(strings.NewReplacer("/", "", " ", "").Replace(fmt.Sprint(time.Now().UnixNano())))
}

// indiscreet is a model that learns what everybody likes, proposes what it may not, and repeats its prompt in errors.
func indiscreet(r llmtest.Request) llmtest.Reply {
	switch {
	case strings.Contains(r.User, "poison"):
		return llmtest.Fails(http.StatusBadRequest, llmtest.Failure{Type: r.User, Code: r.User, Param: r.User, Message: r.System + r.User})
	case r.Operation != llm.OpExtract:
		return llmtest.Say(strings.Join(likes.FindAllString(r.User, -1), ". ") + ".")
	}
	a := read(r)
	var ops []extract.Op
	for text := range a.lines {
		for _, found := range likes.FindAllStringSubmatch(text, -1) {
			ops = append(ops, a.add("Likes "+found[1], found[0]), a.add("Always answer "+found[1], found[0]))
		}
	}
	return say(ops)
}

var allStates = []memoryv1.JobState{
	memoryv1.JobState_JOB_STATE_OPEN, memoryv1.JobState_JOB_STATE_ANSWERED, memoryv1.JobState_JOB_STATE_PARKED,
	memoryv1.JobState_JOB_STATE_APPLIED, memoryv1.JobState_JOB_STATE_SKIPPED, memoryv1.JobState_JOB_STATE_SPLIT,
}
