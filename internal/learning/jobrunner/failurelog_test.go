package jobrunner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/store"
)

// lines are what is logged, line by line.
type lines struct {
	mu  sync.Mutex
	log bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

// of are the logged lines of a message, as JSON.
func (l *lines) of(t *testing.T, message string) (out []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.log.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if fields["msg"] == message {
			out = append(out, fields)
		}
	}
	return out
}

func TestAFailedJobIsLoggedWithoutContent(t *testing.T) {
	ref := ada.Session("s")
	for promise, c := range map[string]struct {
		failure *llm.Error
		message string
		want    map[string]any
	}{
		"that is tried again": {
			&llm.Error{Class: llm.ClassTransient, Status: 503, Code: "overloaded"}, "background work failed and is tried again",
			map[string]any{"kind": "extract", "reason": "transient (HTTP 503, overloaded)", "attempts": 1.0, "level": "WARN"},
		},
		"that a person has to look at": {
			&llm.Error{Class: llm.ClassPermanent, Status: 401, Code: "invalid_api_key"}, "background work is parked",
			map[string]any{"kind": "extract", "reason": "permanent (HTTP 401, invalid_api_key)", "attempts": 1.0, "level": "WARN"},
		},
	} {
		inBubble(t, promise, func(t *testing.T, r *rig) {
			l := &lines{}
			r.options.Log = slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
			r.learner.script = func(_ context.Context, _ int, task extract.Task) (llm.Answer, error) {
				failed := *c.failure
				failed.Err = errors.New("the endpoint repeats: " + task.Lines[0].Text)
				return llm.Answer{}, &failed
			}
			r.start()
			r.chat(ref, "I live in Lisbon.")
			pass(time.Second)
			logged := l.of(t, c.message)
			if len(logged) == 0 {
				t.Fatalf("nothing was logged: %s", l.log.String())
			}
			got := map[string]any{}
			for key := range c.want {
				got[key] = logged[0][key]
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			jobs := r.jobs(store.JobQuery{})
			if len(jobs) != 1 || logged[0]["job"] != jobs[0].ID() || logged[0]["scope"] != string(jobs[0].Scope[:8]) {
				t.Errorf("the line %v does not name the job %+v", logged[0], jobs)
			}
			if strings.Contains(l.log.String(), "Lisbon") || strings.Contains(l.log.String(), string(jobs[0].Scope)) {
				t.Errorf("the log has content or the user's whole key: %s", l.log.String())
			}
		})
	}
}
