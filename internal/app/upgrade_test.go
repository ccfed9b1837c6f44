package app_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/config"
)

// TestADataFileOfAnEarlierVersionKeepsEveryAnswer opens a data file that the server of commit 5cda990 wrote, and compares what is read
// from it with what that server returned: messages with their originals' places and times, facts with evidence and revisions, what was
// hidden, edited and deleted, summaries of sessions, weeks and months, sessions and users. A reply may say more than it did then.
func TestADataFileOfAnEarlierVersionKeepsEveryAnswer(t *testing.T) {
	t.Parallel()
	const file = "testdata/upgrade/5cda990"
	var was map[string]any
	if err := json.Unmarshal(must(os.ReadFile(file+".json"))(t), &was); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "strata.db")
	unpack(t, file+".db.gz", path)
	h := startOn(t, path, func(c *config.Config) { c.Workers = 1 })
	for round, when := range []string{"migrated", "opened again"} {
		if round > 0 {
			h.stop()
			h = startOn(t, path, func(*config.Config) {})
		}
		for name, reply := range answersOf(t, h) {
			t.Run(name+", "+when, func(t *testing.T) {
				var now any
				if err := json.Unmarshal(must(protojson.MarshalOptions{UseProtoNames: true}.Marshal(reply))(t), &now); err != nil {
					t.Fatal(err)
				}
				if was[name] == nil {
					t.Fatal("the earlier version was not asked for it")
				}
				lacks(t, "", was[name], now)
			})
		}
	}
	t.Run("what was recorded before is known", func(t *testing.T) {
		known := must(h.ListMessages(h.ctx, &memoryv1.ListMessagesRequest{UserId: "mira", SessionId: "garden"}))(t).GetMessages()
		for _, m := range known {
			m.Seq, m.RecordTime = 0, nil
		}
		got := must(h.Record(h.ctx, &memoryv1.RecordRequest{UserId: "mira", SessionId: "garden", Messages: known}))(t)
		if len(got.GetDeduplicatedIds()) != len(known) {
			t.Errorf("of %d messages %v were known", len(known), got.GetDeduplicatedIds())
		}
	})
}

// ofHidden is a session of which a message was hidden after it was summarised: its summaries are written anew, without the message, and
// are not compared.
const ofHidden = "kitchen"

// answersOf asks what the earlier version was asked, by the names of its answers.
func answersOf(t *testing.T, h *harness) map[string]proto.Message {
	t.Helper()
	all := map[string]proto.Message{}
	for _, s := range []string{"kitchen", "garden", "moving", "walk"} {
		all["messages_"+s] = must(h.ListMessages(h.ctx, &memoryv1.ListMessagesRequest{UserId: "mira", SessionId: s, PageSize: 100}))(t)
		all["session_"+s] = must(h.GetSession(h.ctx, &memoryv1.GetSessionRequest{UserId: "mira", SessionId: s}))(t).GetSession()
		if s != ofHidden {
			summary := must(h.summaries().GetSummary(h.ctx, &memoryv1.GetSummaryRequest{UserId: "mira", SessionId: s}))(t)
			all["summary_"+s] = summary.GetSummary()
		}
	}
	all["messages_cafe"] = must(h.ListMessages(h.ctx, &memoryv1.ListMessagesRequest{UserId: "joon", SessionId: "café"}))(t)
	sessions := must(h.ListSessions(h.ctx, &memoryv1.ListSessionsRequest{UserId: "mira"}))(t)
	slices.SortFunc(sessions.GetSessions(), func(a, b *memoryv1.Session) int { // the order of lists is another one since
		return strings.Compare(a.GetSessionId(), b.GetSessionId())
	})
	all["sessions"] = sessions
	for _, u := range []string{"mira", "joon"} {
		all["facts_"+u] = must(h.facts().ListFacts(h.ctx, &memoryv1.ListFactsRequest{UserId: u}))(t)
	}
	all["fact"] = must(h.facts().GetFact(h.ctx, &memoryv1.GetFactRequest{UserId: "mira", FactId: "7d6488edfc0b45c26fe38eb2681218d5"}))(t).GetFact()
	all["history"] = must(h.facts().ListFactRevisions(h.ctx, &memoryv1.ListFactRevisionsRequest{
		UserId: "mira", FactId: "99d6247b3736b92800d4fff0f10d6ce6",
	}))(t)
	for name, kind := range map[string]memoryv1.SummaryKind{
		"weeks": memoryv1.SummaryKind_SUMMARY_KIND_WEEK, "months": memoryv1.SummaryKind_SUMMARY_KIND_MONTH,
	} {
		r := must(h.summaries().ListSummaries(h.ctx, &memoryv1.ListSummariesRequest{UserId: "mira", Kind: kind}))(t)
		r.Summaries = slices.DeleteFunc(r.GetSummaries(), func(s *memoryv1.Summary) bool {
			return s.GetName() == "2026-W32" || s.GetName() == "2026-08" // of ofHidden
		})
		all[name] = r
	}
	all["user_mira"] = must(h.users().GetUser(h.ctx, &memoryv1.GetUserRequest{UserId: "mira"}))(t).GetUser()
	all["users"] = must(h.users().ListUsers(h.ctx, &memoryv1.ListUsersRequest{}))(t)
	return all
}

// lacks reports what a value of JSON had and has no more, by its path.
func lacks(t *testing.T, path string, was, now any) {
	t.Helper()
	switch was := was.(type) {
	case map[string]any:
		has, ok := now.(map[string]any)
		if !ok {
			t.Errorf("%s is %v, and was an object", path, now)
			return
		}
		for key, value := range was {
			lacks(t, path+"."+key, value, has[key])
		}
	case []any:
		has, _ := now.([]any)
		if len(has) != len(was) {
			t.Errorf("%s has %d elements, and had %d", path, len(has), len(was))
			return
		}
		for i, value := range was {
			lacks(t, fmt.Sprintf("%s[%d]", path, i), value, has[i])
		}
	default:
		if !reflect.DeepEqual(was, now) {
			t.Errorf("%s is %v, and was %v", path, now, was)
		}
	}
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	in := must(os.Open(from))(t)
	defer func() { _ = in.Close() }()
	data := must(io.ReadAll(must(gzip.NewReader(in))(t)))(t)
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
