package record_test

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
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// TestADataFileOfAnEarlierVersionKeepsEveryAnswer opens a data file that the server of commit 5cda990 wrote, and compares what is read
// from it with what that server returned: messages with their originals' places and times, facts with evidence and revisions, what was
// hidden, edited and deleted, summaries of sessions, weeks and months, sessions and users. A reply may say more than it did then.
func TestADataFileOfAnEarlierVersionKeepsEveryAnswer(t *testing.T) {
	t.Parallel()
	const file = "testdata/upgrade/5cda990"
	var was map[string]any
	if err := json.Unmarshal(e2e.Must(os.ReadFile(file+".json"))(t), &was); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "strata.db")
	unpack(t, file+".db.gz", path)
	h := e2e.StartOn(t, path, func(c *config.Config) { c.Workers = 1 })
	for round, when := range []string{"migrated", "opened again"} {
		if round > 0 {
			h.Stop()
			h = e2e.StartOn(t, path, func(*config.Config) {})
		}
		for name, reply := range answersOf(t, h) {
			t.Run(name+", "+when, func(t *testing.T) {
				var now any
				if err := json.Unmarshal(e2e.Must(protojson.MarshalOptions{UseProtoNames: true}.Marshal(reply))(t), &now); err != nil {
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
		known := e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "mira", SessionId: "garden"}))(t).GetMessages()
		for _, m := range known {
			m.Seq, m.RecordTime = 0, nil
		}
		got := e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "mira", SessionId: "garden", Messages: known}))(t)
		if len(got.GetDeduplicatedIds()) != len(known) {
			t.Errorf("of %d messages %v were known", len(known), got.GetDeduplicatedIds())
		}
	})
}

// ofHidden is a session of which a message was hidden after it was summarised: its summaries are written anew, without the message, and
// are not compared.
const ofHidden = "kitchen"

// answersOf asks what the earlier version was asked, by the names of its answers.
func answersOf(t *testing.T, h *e2e.Server) map[string]proto.Message {
	t.Helper()
	all := map[string]proto.Message{}
	for _, s := range []string{"kitchen", "garden", "moving", "walk"} {
		all["messages_"+s] = e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "mira", SessionId: s, PageSize: 100}))(t)
		all["session_"+s] = e2e.Must(h.GetSession(h.Ctx, &memoryv1.GetSessionRequest{UserId: "mira", SessionId: s}))(t).GetSession()
		if s != ofHidden {
			summary := e2e.Must(h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "mira", SessionId: s}))(t)
			all["summary_"+s] = summary.GetSummary()
		}
	}
	all["messages_cafe"] = e2e.Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "joon", SessionId: "café"}))(t)
	sessions := e2e.Must(h.ListSessions(h.Ctx, &memoryv1.ListSessionsRequest{UserId: "mira"}))(t)
	slices.SortFunc(sessions.GetSessions(), func(a, b *memoryv1.Session) int { // the order of lists is another one since
		return strings.Compare(a.GetSessionId(), b.GetSessionId())
	})
	all["sessions"] = sessions
	for _, u := range []string{"mira", "joon"} {
		all["facts_"+u] = e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: u}))(t)
	}
	all["fact"] = e2e.Must(h.Facts().GetFact(h.Ctx, &memoryv1.GetFactRequest{UserId: "mira", FactId: "7d6488edfc0b45c26fe38eb2681218d5"}))(t).GetFact()
	all["history"] = e2e.Must(h.Facts().ListFactRevisions(h.Ctx, &memoryv1.ListFactRevisionsRequest{
		UserId: "mira", FactId: "99d6247b3736b92800d4fff0f10d6ce6",
	}))(t)
	for name, kind := range map[string]memoryv1.SummaryKind{
		"weeks": memoryv1.SummaryKind_SUMMARY_KIND_WEEK, "months": memoryv1.SummaryKind_SUMMARY_KIND_MONTH,
	} {
		r := e2e.Must(h.Summaries().ListSummaries(h.Ctx, &memoryv1.ListSummariesRequest{UserId: "mira", Kind: kind}))(t)
		r.Summaries = slices.DeleteFunc(r.GetSummaries(), func(s *memoryv1.Summary) bool {
			return s.GetName() == "2026-W32" || s.GetName() == "2026-08" // of ofHidden
		})
		all[name] = r
	}
	all["user_mira"] = e2e.Must(h.Users().GetUser(h.Ctx, &memoryv1.GetUserRequest{UserId: "mira"}))(t).GetUser()
	all["users"] = e2e.Must(h.Users().ListUsers(h.Ctx, &memoryv1.ListUsersRequest{}))(t)
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
	in := e2e.Must(os.Open(from))(t)
	defer func() { _ = in.Close() }()
	data := e2e.Must(io.ReadAll(e2e.Must(gzip.NewReader(in))(t)))(t)
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
