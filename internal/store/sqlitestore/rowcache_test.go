package sqlitestore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/testing/heaptest"
)

var bob = memory.UserRef{Tenant: "t", UserID: "bob"}

// summariesRead is all that can be read of a user's summaries.
type summariesRead struct {
	Top, ByID, Weeks []memory.SummaryNode
	Recent           []store.SessionSummary
}

func readSummaries(t *testing.T, s *sqlitestore.Store, user memory.UserRef) (out summariesRead) {
	t.Helper()
	var errs [4]error
	out.Top, errs[0] = s.TopNodes(t.Context(), user.Session("s"), 1<<20)
	out.ByID, errs[1] = s.Nodes(t.Context(), user, []string{"leaf", "week"})
	out.Weeks, errs[2] = s.Periods(t.Context(), store.PeriodQuery{User: user, Kind: memory.SummaryWeek, Limit: 9})
	out.Recent, errs[3] = s.RecentSessions(t.Context(), store.RecentQuery{User: user, Limit: 9})
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// twoUsersWithSummaries have a leaf and a week each, whose ids are the same.
func twoUsersWithSummaries(t *testing.T) *sqlitestore.Store {
	t.Helper()
	s := open(t, sqlitestore.Options{})
	for _, user := range []memory.UserRef{alice, bob} {
		if _, err := s.Append(t.Context(), benchTurn(user.Session("s"), 1, "words")); err != nil {
			t.Fatal(err)
		}
	}
	script(t, s, `UPDATE sessions SET covered_seq = 2, covered_time = 1000;
		INSERT INTO nodes (key, uid, sid, id, kind, level, from_no, to_no, generation, cumulative, appended, o200k, cl100k, create_time,
			from_time, to_time, period, period_start, period_end, previous, language, model, children, text, passed)
		SELECT uid << 32 | 1, uid, sid, 'leaf', 1, 0, 1, 2, 1, 0, 0, 5, 5, 1000, 1000, 2000, NULL, NULL, NULL, NULL, 'en', 'm',
			'["a","b","c"]', 'said ' || uid, '[{"From":1,"To":1}]' FROM sessions;
		INSERT INTO nodes (key, uid, sid, id, kind, level, from_no, to_no, generation, cumulative, appended, o200k, cl100k, create_time,
			from_time, to_time, period, period_start, period_end, previous, language, model, children, text)
		SELECT uid << 32 | 2, uid, NULL, 'week', 2, 0, 1, 2, 1, 0, 0, 5, 5, 1000, 1000, 2000, '2026-W47', 1000, 2000, NULL, 'en', 'm',
			'["leaf"]', 'week of ' || uid FROM users`)
	return s
}

func script(t *testing.T, s *sqlitestore.Store, sql string) {
	t.Helper()
	if err := s.Write(t.Context(), func(c *sqlitestore.Conn) error { return c.Script(sql) }); err != nil {
		t.Fatal(err)
	}
}

// Whatever statement changes a stored summary, the next read must return it as it is stored, though it is in memory as it was.
func TestSummariesInMemoryAreThoseOfTheFile(t *testing.T) {
	s := twoUsersWithSummaries(t)
	check := func(t *testing.T, what string) {
		t.Helper()
		warm := map[string]summariesRead{"alice": readSummaries(t, s, alice), "bob": readSummaries(t, s, bob)}
		s.ForgetRows()
		cold := map[string]summariesRead{"alice": readSummaries(t, s, alice), "bob": readSummaries(t, s, bob)}
		if diff := cmp.Diff(cold, warm); diff != "" {
			t.Errorf("after %s, memory holds other summaries than the file (-file +memory):\n%s", what, diff)
		}
	}
	check(t, "nothing")
	if got := readSummaries(t, s, alice); len(got.Top) != 1 || len(got.ByID) != 2 || len(got.Weeks) != 1 || len(got.Recent) != 1 {
		t.Fatalf("alice's summaries are not found: %+v", got)
	}
	of := func(id string) string {
		return ` WHERE id = '` + id + `' AND uid = (SELECT uid FROM users WHERE user_id = 'alice')`
	}
	for _, sql := range []string{
		`UPDATE nodes SET text = 'other words'` + of("leaf"),
		`UPDATE nodes SET text = '', appended = 0, o200k = 0, cl100k = 0` + of("leaf"),
		`UPDATE nodes SET text = 'another week'` + of("week"),
		`UPDATE nodes SET children = NULL` + of("leaf"),
		`UPDATE nodes SET children = '["x"]'` + of("week"),
		`UPDATE nodes SET passed = '[{"From":2,"To":2}]'` + of("leaf"),
		`UPDATE nodes SET rebuild = 1, generation = 2` + of("week"),
		`UPDATE nodes SET level = 1, cumulative = 1, from_no = 2` + of("leaf"),
		`UPDATE nodes SET previous = 'p', language = 'fr', model = 'other'` + of("leaf"),
		`UPDATE nodes SET from_time = 500, to_time = 1500, create_time = 500` + of("leaf"),
		`UPDATE nodes SET period = '2026-W46', period_start = 1, period_end = 2` + of("week"),
		`UPDATE sessions SET session_key = 'other' WHERE uid = (SELECT uid FROM users WHERE user_id = 'alice')`,
		`UPDATE nodes SET key = key + 10, text = 'moved'` + of("leaf"),
		// Another row at the place of one that is gone.
		`DELETE FROM nodes` + of("week") + `;
		INSERT INTO nodes (key, uid, id, kind, level, from_no, to_no, generation, cumulative, appended, o200k, cl100k, create_time, period,
			period_start, period_end, text)
		SELECT uid << 32 | 2, uid, 'week', 2, 0, 1, 2, 1, 0, 0, 5, 5, 1000, '2026-W47', 1000, 2000, 'a new week'
		FROM users WHERE user_id = 'alice'`,
		`DELETE FROM nodes` + of("week"),
		`DELETE FROM sessions WHERE uid = (SELECT uid FROM users WHERE user_id = 'alice')`,
	} {
		was := readSummaries(t, s, alice)
		script(t, s, sql)
		check(t, sql)
		if cmp.Equal(was, readSummaries(t, s, alice)) {
			t.Errorf("%s changes nothing that is read", sql)
		}
	}
}

// A week that goes to another user with an import is read as that user's, and no more as the import's.
func TestASummaryInMemoryGoesWithItsUser(t *testing.T) {
	s := twoUsersWithSummaries(t)
	readSummaries(t, s, alice)
	readSummaries(t, s, bob)
	script(t, s, `DELETE FROM nodes WHERE id = 'week' AND uid = (SELECT uid FROM users WHERE user_id = 'bob');
		UPDATE nodes SET uid = (SELECT uid FROM users WHERE user_id = 'bob')
		WHERE id = 'week' AND uid = (SELECT uid FROM users WHERE user_id = 'alice')`)
	if got := readSummaries(t, s, alice); len(got.Weeks) != 0 || len(got.ByID) != 1 {
		t.Errorf("alice still has %+v", got)
	}
	if got := readSummaries(t, s, bob); len(got.Weeks) != 1 || got.Weeks[0].Text != "week of 1" {
		t.Errorf("bob has %+v", got.Weeks)
	}
}

// A user's summaries in memory are not those of the next life under the same name.
func TestNoSummaryInMemoryOutlivesItsUser(t *testing.T) {
	s := twoUsersWithSummaries(t)
	readSummaries(t, s, alice)
	if _, err := s.BeginErasure(t.Context(), store.ErasureStart{ID: "e", Kind: memory.EraseUser, User: alice, Time: benchTime}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // before and after the rows are swept
		if got := readSummaries(t, s, alice); len(got.Top)+len(got.ByID)+len(got.Weeks)+len(got.Recent) > 0 {
			t.Errorf("an erased user has %+v", got)
		}
		if _, _, err := s.SweepErasure(t.Context(), "e", 1000); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Append(t.Context(), benchTurn(alice.Session("s"), 1, "words")); err != nil {
		t.Fatal(err)
	}
	if got := readSummaries(t, s, alice); len(got.Top)+len(got.ByID)+len(got.Weeks)+len(got.Recent) > 0 {
		t.Errorf("another life of the user has %+v", got)
	}
}

func TestRowsInMemoryWeighWhatTheyTake(t *testing.T) {
	const each = 1000
	build := func(make func() sqlitestore.HeldRows) func() sqlitestore.HeldRows {
		return func() sqlitestore.HeldRows {
			h := make()
			t.Cleanup(h.Close)
			return h
		}
	}
	for _, words := range []int{10, 100, 1000} {
		text := strings.Repeat("word ", words)
		t.Run(fmt.Sprintf("summaries of %d words", words), func(t *testing.T) {
			heaptest.Compare(t, 4, func(int) func() sqlitestore.HeldRows {
				return build(func() sqlitestore.HeldRows {
					nodes := make([]memory.SummaryNode, each)
					for i := range nodes {
						nodes[i] = memory.SummaryNode{
							ID: fmt.Sprintf("%024d", i), Session: memory.SessionKey(fmt.Sprintf("%032d", i)), SessionID: fmt.Sprintf("session-%04d", i),
							Text: strings.Clone(text), Language: strings.Clone("en"), Model: strings.Clone("builtin"),
							Children: []string{fmt.Sprintf("%023da", i), fmt.Sprintf("%023db", i), fmt.Sprintf("%023dc", i)},
							Passed:   []memory.SeqRange{{From: 1, To: 2}},
						}
					}
					return sqlitestore.HoldNodes(nodes)
				})
			})
		})
		t.Run(fmt.Sprintf("messages of %d words", words), func(t *testing.T) {
			heaptest.Compare(t, 4, func(int) func() sqlitestore.HeldRows {
				return build(func() sqlitestore.HeldRows {
					messages := make([]memory.Message, each)
					for i := range messages {
						messages[i] = memory.Message{
							ID: fmt.Sprintf("m-%08d", i), Name: strings.Clone("Grace"), Parts: []memory.Part{memory.TextPart(strings.Clone(text))},
						}
					}
					return sqlitestore.HoldMessages(messages, int64(len("m-12345678")+len("Grace")+len(text)))
				})
			})
		})
	}
}
