package contexts_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// setTimezone sets where ada lives.
func setTimezone(t *testing.T, h *e2e.Server, name string) {
	t.Helper()
	e2e.Must(h.Users().UpdateUser(h.Ctx, &memoryv1.UpdateUserRequest{
		User: &memoryv1.User{UserId: "ada", Timezone: name}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"timezone"}},
	}))(t)
}

func saidAt(m *memoryv1.Message, when time.Time) *memoryv1.Message {
	m.CreateTime = timestamppb.New(when)
	return m
}

func location(t *testing.T, name string) *time.Location {
	t.Helper()
	return e2e.Must(time.LoadLocation(name))(t)
}

// renderedOf is the text of ada's context in a new session.
func renderedOf(t *testing.T, h *e2e.Server, query string) string {
	t.Helper()
	return h.Context(t, &memoryv1.BuildContextRequest{
		SessionId: "new", Query: query, Render: memoryv1.Render_RENDER_TEXT,
	}).GetRendering()
}

// wantLine wants a line of the text that begins so, and has the words.
func wantLine(t *testing.T, text, begins, words string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, begins) && strings.Contains(line, words) {
			return
		}
	}
	t.Errorf("no line begins %q and has %q:\n%s", begins, words, text)
}

func TestDaysAreTheUsers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		zone, words, fact, day string
		said                   []int // year, month, day, hour, minute
	}{
		{"America/Los_Angeles", "I moved to Lisbon yesterday.", "on 30 October 2025", "[31 Oct 2025]", []int{2025, 10, 31, 20, 0}},
		{"America/Los_Angeles", "I moved to Lisbon yesterday.", "on 30 December 2024", "[31 Dec 2024]", []int{2024, 12, 31, 23, 30}},
		{"America/Los_Angeles", "I moved to Lisbon yesterday.", "on 8 March 2025", "[9 Mar 2025]", []int{2025, 3, 9, 23, 59}}, // of 23 hours
		{"Asia/Seoul", "나는 어제 부산으로 이사했어.", "2025년 11월 2일", "[3 Nov 2025]", []int{2025, 11, 3, 8, 0}},
		{"Asia/Seoul", "나는 어제 부산으로 이사했어.", "2024년 12월 31일", "[1 Jan 2025]", []int{2025, 1, 1, 0, 30}},
		{"Europe/Berlin", "I moved to Lisbon yesterday.", "on 25 October 2025", "[26 Oct 2025]", []int{2025, 10, 26, 0, 15}}, // of 25 hours
	} {
		t.Run(tc.zone+" "+tc.day, func(t *testing.T) {
			t.Parallel()
			h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
				old := c.Profiles[config.BuiltinProfile]
				old.Facts.MinScore = 0 // what was said long ago scores little
				c.Profiles[config.BuiltinProfile] = old
			})
			setTimezone(t, h, tc.zone)
			when := time.Date(tc.said[0], time.Month(tc.said[1]), tc.said[2], tc.said[3], tc.said[4], 0, 0, location(t, tc.zone))
			h.RecordTurn(t, "old", saidAt(e2e.User("moved", tc.words), when), saidAt(e2e.Assistant("ok", "I see."), when))
			h.Extracted(t, "old")
			text := renderedOf(t, h, tc.words)
			wantLine(t, text, tc.day, tc.words) // the message as it was said
			wantLine(t, text, tc.day, tc.fact)  // what was learnt, on the same day, and the day that it names
		})
	}
	t.Run("a week is shown from its Monday to its Sunday, a message of Sunday evening in it", func(t *testing.T) {
		t.Parallel()
		for zone, sunday := range map[string][2]string{
			"America/Los_Angeles": {"2026-W09", "[23 Feb 2026 to 1 Mar 2026]"},
			"Asia/Seoul":          {"2026-W09", "[23 Feb 2026 to 1 Mar 2026]"},
		} {
			h := e2e.Start(t)
			setTimezone(t, h, zone)
			when := time.Date(2026, 3, 1, 20, 0, 0, 0, location(t, zone))
			h.RecordTurn(t, "old", saidAt(e2e.User("", "On Saturday we visited the castle of Prague with my sister Grace."), when), saidAt(e2e.Assistant("", "A castle in Prague!"), when))
			h.Summarize(t, "old")
			h.Stop()
			h = e2e.StartOn(t, h.Data, e2e.NoChange) // the sweep at the start finds what a later one would
			week := memoryv1.SummaryKind_SUMMARY_KIND_WEEK
			e2e.Eventually(t, "the week", func() bool {
				_, err := h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", Kind: week, Name: sunday[0]})
				return err == nil
			})
			r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "new", Query: "castle", Render: memoryv1.Render_RENDER_TEXT, Overrides: &memoryv1.ContextOverrides{
				Sections: []*memoryv1.SectionSwitch{{Section: memoryv1.SectionKind_SECTION_KIND_PREVIOUS_SESSIONS}},
			}})
			wantLine(t, r.GetRendering(), sunday[1], "castle")
		}
	})
}

func TestAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	far := time.Date(9999, 12, 30, 12, 0, 0, 0, time.UTC)
	for promise, next := range map[string]time.Time{"a right clock": {}, "a clock that is behind": time.Now().Add(-5 * time.Second)} {
		t.Run("a fact of the year 9999 is superseded by what is said later in the session by "+promise, func(t *testing.T) {
			t.Parallel()
			h := e2e.Start(t)
			h.RecordTurn(t, "s", saidAt(e2e.User("far", "I live in Bern."), far), saidAt(e2e.Assistant("ok", "I see."), far))
			h.Extracted(t, "s")
			later := e2e.User("now", "I live in Lisbon.")
			if !next.IsZero() {
				later = saidAt(later, next)
			}
			h.RecordTurn(t, "s", later, e2e.Assistant("ok2", "I see."))
			h.Extracted(t, "s")
			if got := e2e.Texts(h.ListFacts(t, false)); len(got) != 1 || !strings.Contains(got[0], "Lisbon") {
				t.Errorf("what holds: %q", got)
			}
			if m := h.Transcript(t, "s")[0]; !m.GetCreateTime().AsTime().Equal(far) {
				t.Errorf("the client's time is kept: %v", m)
			}
		})
	}
	t.Run("what it says is found among what was said today, shown so, and not of that year", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		begin := time.Now()
		h.RecordTurn(t, "old", saidAt(e2e.User("far", "The blue kayak leaks."), far), saidAt(e2e.Assistant("ok", "I see."), far))
		end := time.Now()
		h.Extracted(t, "old")
		search := func(from, to time.Time) []string {
			req := &memoryv1.SearchMessagesRequest{UserId: "ada", Query: "kayak", StartTime: timestamppb.New(from), EndTime: timestamppb.New(to)}
			var out []string
			for _, hit := range e2e.Must(h.SearchMessages(h.Ctx, req))(t).GetHits() {
				out = append(out, hit.GetMessage().GetId())
			}
			return out
		}
		if got := search(begin, begin.Add(time.Hour)); !slices.Equal(got, []string{"far"}) {
			t.Errorf("of today: %v", got)
		}
		if got := search(begin.Add(time.Hour), far.Add(24*time.Hour)); len(got) != 0 {
			t.Errorf("of later: %v", got)
		}
		text, day := renderedOf(t, h, "kayak"), begin.UTC().Format("[2 Jan 2006]")
		if later := end.UTC().Format("[2 Jan 2006]"); strings.Contains(text, later) {
			day = later // midnight passed meanwhile
		}
		wantLine(t, text, day, "kayak")
	})
	t.Run("its session is no newer than one that is recorded later, and is among the previous ones", func(t *testing.T) {
		t.Parallel()
		h := e2e.Start(t)
		begin := time.Now().Add(-time.Hour)
		for i, session := range []string{"ahead", "right"} {
			when := []time.Time{far, {}}[i]
			m, a := e2e.User("", "We visited the castle of Prague with my sister Grace, "+session+"."), e2e.Assistant("", "A castle in Prague, "+session+"!")
			if !when.IsZero() {
				m, a = saidAt(m, when), saidAt(a, when)
			} else {
				m, a = saidAt(m, time.Now().Add(2*time.Minute)), saidAt(a, time.Now().Add(2*time.Minute))
			}
			h.RecordTurn(t, session, m, a)
			h.Summarize(t, session)
		}
		listed := e2e.Must(h.Summaries().ListSummaries(h.Ctx, &memoryv1.ListSummariesRequest{UserId: "ada"}))(t).GetSummaries()
		if len(listed) != 2 || listed[0].GetSessionId() != "right" {
			t.Errorf("sessions, the latest first: %v", listed)
		}
		for _, s := range listed {
			if end := s.GetEndTime().AsTime(); end.Before(begin) || end.After(time.Now().Add(2*time.Minute)) {
				t.Errorf("%s ended at %v", s.GetSessionId(), end)
			}
		}
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "new", Query: "castle", AsOf: timestamppb.New(time.Now().Add(3 * time.Minute))})
		if got := e2e.Section(r, memoryv1.SectionKind_SECTION_KIND_PREVIOUS_SESSIONS).GetItems(); len(got) != 2 {
			t.Errorf("previous sessions %v", got)
		}
	})
}

func TestWeeksAreMadeAnew(t *testing.T) {
	t.Parallel()
	week := memoryv1.SummaryKind_SUMMARY_KIND_WEEK
	begin := func(t *testing.T) *e2e.Server {
		h := e2e.Start(t)
		setTimezone(t, h, "America/Los_Angeles")
		sunday := time.Date(2026, 3, 1, 20, 0, 0, 0, location(t, "America/Los_Angeles")) // Monday in Seoul
		h.RecordTurn(t, "old", saidAt(e2e.User("castle", "On Saturday we visited the castle of Prague with my sister Grace."), sunday), saidAt(e2e.Assistant("ok", "A castle in Prague!"), sunday))
		h.Summarize(t, "old")
		h.Stop()
		h = e2e.StartOn(t, h.Data, e2e.NoChange)
		e2e.Eventually(t, "the week", func() bool { return slices.Equal(weeks(t, h), []string{"2026-W09"}) })
		return h
	}
	shown := func(t *testing.T, h *e2e.Server) string {
		r := h.Context(t, &memoryv1.BuildContextRequest{SessionId: "new", Query: "castle", Render: memoryv1.Render_RENDER_TEXT, Overrides: &memoryv1.ContextOverrides{
			Sections: []*memoryv1.SectionSwitch{{Section: memoryv1.SectionKind_SECTION_KIND_PREVIOUS_SESSIONS}},
		}})
		var out []string
		for line := range strings.Lines(r.GetRendering()) {
			if strings.Contains(line, "] 2026-W") { // the month comes a little later
				out = append(out, line)
			}
		}
		return strings.Join(out, "")
	}
	t.Run("what another timezone moves to the next week is in that one alone", func(t *testing.T) {
		t.Parallel()
		h := begin(t)
		setTimezone(t, h, "Asia/Seoul")
		if got := weeks(t, h); slices.Contains(got, "2026-W09") {
			t.Errorf("weeks at once: %v", got)
		}
		h.Stop()
		h = e2e.StartOn(t, h.Data, e2e.NoChange)
		e2e.Eventually(t, "the next week", func() bool { return slices.Equal(weeks(t, h), []string{"2026-W10"}) })
		if n := strings.Count(shown(t, h), "castle"); n != 1 {
			t.Errorf("shown %d times: %q", n, shown(t, h))
		}
		_, err := h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", Kind: week, Name: "2026-W09"})
		e2e.Refused(t, err, codes.NotFound, "SUMMARY_NOT_FOUND", "")
	})
	t.Run("a week that tells of a hidden message stands in no context, and again when it is shown", func(t *testing.T) {
		t.Parallel()
		h := begin(t).Again(t, e2e.Hanging(t)) // else a week of what is left may be written between two calls
		before := shown(t, h)
		if !strings.Contains(before, "castle") {
			t.Fatalf("shown %q", before)
		}
		h.Hide(t, "old", "castle", true)
		if got := shown(t, h); got != "" {
			t.Errorf("hidden, shown %q", got)
		}
		h.Hide(t, "old", "castle", false)
		if got := shown(t, h); got != before {
			t.Errorf("shown again, shown %q, want %q", got, before)
		}
		h.StartAt(t, "old", 3)
		if got := shown(t, h); got != "" {
			t.Errorf("before the start, shown %q", got)
		}
	})
}

// weeks are the names of ada's weeks, the latest first.
func weeks(t *testing.T, h *e2e.Server) []string {
	t.Helper()
	req := &memoryv1.ListSummariesRequest{UserId: "ada", Kind: memoryv1.SummaryKind_SUMMARY_KIND_WEEK}
	var out []string
	for _, s := range e2e.Must(h.Summaries().ListSummaries(h.Ctx, req))(t).GetSummaries() {
		out = append(out, s.GetName())
	}
	return out
}

func TestRelativeTimesOfASearchCountFromAsOf(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	for _, day := range []int{3, 10, 17} { // Mondays of March
		at := time.Date(2025, 3, day, 12, 0, 0, 0, time.UTC)
		h.RecordTurn(t, at.Format(time.DateOnly), saidAt(e2e.User("dinner", "We had dinner with Tom."), at))
	}
	search := func(asOf time.Time) (*memoryv1.SearchMessagesResponse, error) {
		return h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{
			UserId: "ada", Query: "Tom's dinner last week", AsOf: timestamppb.New(asOf), Explain: true,
		})
	}
	for _, day := range []int{10, 17, 24} {
		asOf := time.Date(2025, 3, day+2, 9, 0, 0, 0, time.UTC)
		t.Run("last week of "+asOf.Format(time.DateOnly), func(t *testing.T) {
			hits := e2e.Must(search(asOf))(t).GetHits()
			if want := asOf.AddDate(0, 0, -9).Format(time.DateOnly); len(hits) != 3 || hits[0].GetSessionId() != want {
				t.Errorf("the first of %d hits is of %s, want %s", len(hits), hits[0].GetSessionId(), want)
			}
		})
	}
	t.Run("a year before 1970 is refused by name", func(t *testing.T) {
		_, err := search(time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC))
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "as_of")
	})
}
