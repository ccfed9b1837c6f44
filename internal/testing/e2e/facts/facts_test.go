package facts_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	t.Run("a stated fact is complete, protected, and kept over a restart", func(t *testing.T) {
		h := e2e.Start(t)
		f := h.States(t, "Lives in Rome 👩\u200d🚀", "home_city")
		if f.GetFactId() == "" || f.GetCategory() != memoryv1.Category_CATEGORY_OTHER || f.GetSignificance() != 5 || f.GetConfidence() != 1 ||
			f.GetOrigin() != memoryv1.FactOrigin_FACT_ORIGIN_USER || !f.GetProtected() || f.GetRevision() != 1 || f.GetValidTo() != nil || f.GetValidFrom() == nil {
			t.Errorf("fact %v", f)
		}
		h.Stop()
		h = e2e.StartOn(t, h.Data, e2e.NoChange)
		got := e2e.Must(h.Facts().GetFact(h.Ctx, &memoryv1.GetFactRequest{UserId: "ada", FactId: f.GetFactId()}))(t).GetFact()
		if !proto.Equal(got, f) {
			t.Errorf("stored %v\nanswered %v", got, f)
		}
	})
	t.Run("a repeat of a request id returns the first fact", func(t *testing.T) {
		h := e2e.Start(t)
		req := &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: "ada", Text: "Likes tea"}, RequestId: "r1"}
		first, again := e2e.Must(h.Facts().CreateFact(h.Ctx, req))(t), e2e.Must(h.Facts().CreateFact(h.Ctx, req))(t)
		if !proto.Equal(first, again) || len(h.ListFacts(t, true)) != 1 {
			t.Errorf("first %v\nagain %v\nall %v", first, again, h.ListFacts(t, true))
		}
	})
	t.Run("a newer fact of the same property supersedes the older one, which can be restored", func(t *testing.T) {
		h := e2e.Start(t)
		rome, bern := h.States(t, "Lives in Rome", "home_city"), h.States(t, "Lives in Bern", "home_city")
		if got := e2e.Texts(h.ListFacts(t, false)); !slices.Equal(got, []string{"Lives in Bern"}) {
			t.Fatalf("current %v", got)
		}
		past := e2e.About(h.ListFacts(t, true), "Rome")
		if past.GetSupersededBy() != bern.GetFactId() || past.GetValidTo() == nil {
			t.Errorf("superseded %v", past)
		}
		r := e2e.Must(h.Facts().RestoreFact(h.Ctx, &memoryv1.RestoreFactRequest{UserId: "ada", FactId: rome.GetFactId()}))(t)
		if !slices.Equal(r.GetSupersededFactIds(), []string{bern.GetFactId()}) || r.GetFact().GetValidTo() != nil || r.GetFact().GetSupersededBy() != "" {
			t.Errorf("restored %v", r)
		}
		if got := e2e.Texts(h.ListFacts(t, false)); !slices.Equal(got, []string{"Lives in Rome"}) {
			t.Errorf("current %v", got)
		}
		revisions := e2e.Must(h.Facts().ListFactRevisions(h.Ctx, &memoryv1.ListFactRevisionsRequest{UserId: "ada", FactId: rome.GetFactId()}))(t).GetRevisions()
		var causes []memoryv1.FactCause
		for _, v := range revisions {
			causes = append(causes, v.GetCause())
		}
		if !slices.Equal(causes, []memoryv1.FactCause{memoryv1.FactCause_FACT_CAUSE_RESTORED, memoryv1.FactCause_FACT_CAUSE_SUPERSEDED, memoryv1.FactCause_FACT_CAUSE_CREATED}) {
			t.Errorf("causes %v", causes)
		}
	})
	t.Run("a restore brings back the words of a revision", func(t *testing.T) {
		h := e2e.Start(t)
		f := h.States(t, "Likes tea", "")
		edit := &memoryv1.UpdateFactRequest{Fact: &memoryv1.Fact{UserId: "ada", FactId: f.GetFactId(), Text: "Likes coffee"}}
		e2e.Must(h.Facts().UpdateFact(h.Ctx, edit))(t)
		r := e2e.Must(h.Facts().RestoreFact(h.Ctx, &memoryv1.RestoreFactRequest{UserId: "ada", FactId: f.GetFactId(), Revision: 1}))(t)
		if r.GetFact().GetText() != "Likes tea" || r.GetFact().GetRevision() != 3 {
			t.Errorf("restored %v", r.GetFact())
		}
		_, err := h.Facts().RestoreFact(h.Ctx, &memoryv1.RestoreFactRequest{UserId: "ada", FactId: f.GetFactId(), Revision: 9})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "revision")
	})
	t.Run("an update changes what its mask names and nothing else", func(t *testing.T) {
		h := e2e.Start(t)
		f := h.States(t, "Likes tea", "drink")
		to := &memoryv1.Fact{UserId: "ada", FactId: f.GetFactId(), Text: "Likes green tea", Significance: 9, Etag: f.GetEtag()}
		got := e2e.Must(h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: to, UpdateMask: e2e.MaskOf("text", "attribute")}))(t).GetFact()
		if got.GetText() != "Likes green tea" || got.GetAttribute() != "" || got.GetSignificance() != 5 || got.GetRevision() != 2 || got.GetEtag() == f.GetEtag() {
			t.Errorf("updated %v", got)
		}
		_, err := h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: to})
		e2e.Refused(t, err, codes.Aborted, "ETAG_MISMATCH", "")
	})
	t.Run("a fact ends with valid_to, and holds again without it", func(t *testing.T) {
		h := e2e.Start(t)
		f := h.States(t, "Works at Initech", "employer")
		to := &memoryv1.Fact{UserId: "ada", FactId: f.GetFactId(), ValidTo: timestamppb.Now()}
		e2e.Must(h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: to}))(t)
		if got := h.ListFacts(t, false); len(got) != 0 {
			t.Fatalf("current %v", got)
		}
		to.ValidTo = nil
		e2e.Must(h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: to, UpdateMask: e2e.MaskOf("valid_to")}))(t)
		if got := h.ListFacts(t, false); len(got) != 1 || got[0].GetValidTo() != nil {
			t.Errorf("current %v", got)
		}
	})
	t.Run("another user's fact is NOT_FOUND in every call", func(t *testing.T) {
		h := e2e.Start(t)
		id := h.States(t, "Likes tea", "").GetFactId()
		h.RecordAs(t, "eve")
		for name, call := range map[string]func() error{
			"get": func() error {
				_, err := h.Facts().GetFact(h.Ctx, &memoryv1.GetFactRequest{UserId: "eve", FactId: id})
				return err
			},
			"update": func() error {
				_, err := h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: &memoryv1.Fact{UserId: "eve", FactId: id, Text: "x"}})
				return err
			},
			"delete": func() error {
				_, err := h.Facts().DeleteFact(h.Ctx, &memoryv1.DeleteFactRequest{UserId: "eve", FactId: id})
				return err
			},
			"revisions": func() error {
				_, err := h.Facts().ListFactRevisions(h.Ctx, &memoryv1.ListFactRevisionsRequest{UserId: "eve", FactId: id})
				return err
			},
			"restore": func() error {
				_, err := h.Facts().RestoreFact(h.Ctx, &memoryv1.RestoreFactRequest{UserId: "eve", FactId: id})
				return err
			},
		} {
			t.Run(name, func(t *testing.T) { e2e.Refused(t, call(), codes.NotFound, "FACT_NOT_FOUND", "") })
		}
		if got := h.ListFacts(t, true); len(got) != 1 || got[0].GetRevision() != 1 {
			t.Errorf("ada's facts %v", got)
		}
	})
	t.Run("many writers at once lose nothing", func(t *testing.T) {
		h := e2e.Start(t)
		var wg sync.WaitGroup
		for w := range 16 {
			wg.Go(func() {
				for i := range 5 {
					req := &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: "ada", Text: fmt.Sprintf("Likes number %d of %d", i, w)}}
					if _, err := h.Facts().CreateFact(h.Ctx, req); err != nil {
						t.Errorf("create: %v", err)
					}
				}
			})
		}
		wg.Wait()
		if n := len(e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "ada", PageSize: 500}))(t).GetFacts()); n != 80 {
			t.Errorf("%d facts, want 80", n)
		}
	})
	t.Run("an unknown user has no facts", func(t *testing.T) {
		h := e2e.Start(t)
		list := e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "nobody"}))(t)
		found := e2e.Must(h.Facts().SearchFacts(h.Ctx, &memoryv1.SearchFactsRequest{UserId: "nobody", Query: "tea"}))(t)
		if len(list.GetFacts())+len(found.GetHits()) != 0 {
			t.Errorf("%v, %v", list, found)
		}
		_, err := h.Facts().ListQuarantined(h.Ctx, &memoryv1.ListQuarantinedRequest{UserId: "nobody"})
		e2e.Refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
	})
	t.Run("pages hold every fact once, and a token fits its query only", func(t *testing.T) {
		h := e2e.Start(t)
		for _, word := range strings.Fields("tea coffee wine beer juice") {
			h.States(t, "Likes "+word, "")
		}
		req, seen := &memoryv1.ListFactsRequest{UserId: "ada", PageSize: 2}, []string(nil)
		for range 3 {
			page := e2e.Must(h.Facts().ListFacts(h.Ctx, req))(t)
			seen = append(seen, e2e.Texts(page.GetFacts())...)
			req.PageToken = page.GetNextPageToken()
		}
		slices.Sort(seen)
		if req.GetPageToken() != "" || !slices.Equal(seen, []string{"Likes beer", "Likes coffee", "Likes juice", "Likes tea", "Likes wine"}) {
			t.Errorf("pages %q, token %q", seen, req.GetPageToken())
		}
		token := e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "ada", PageSize: 2}))(t).GetNextPageToken()
		_, err := h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "ada", IncludePast: true, PageToken: token})
		e2e.Refused(t, err, codes.InvalidArgument, "PAGE_TOKEN_INVALID", "page_token")
	})
	t.Run("a search ranks what the query names first, and says how it scored", func(t *testing.T) {
		h := e2e.Start(t)
		h.States(t, "Is allergic to peanuts", "")
		h.States(t, "Likes green tea", "")
		r := e2e.Must(h.Facts().SearchFacts(h.Ctx, &memoryv1.SearchFactsRequest{UserId: "ada", Query: "any allergy to peanuts?"}))(t)
		if len(r.GetHits()) == 0 || r.GetHits()[0].GetFact().GetText() != "Is allergic to peanuts" || r.GetHits()[0].GetScore().GetScore() <= 0 || len(r.GetHits()[0].GetScore().GetArms()) == 0 {
			t.Errorf("found %v", r)
		}
	})
}

func TestFactsAndExtraction(t *testing.T) {
	t.Parallel()
	t.Run("what is said is learnt with its evidence, and listed by session", func(t *testing.T) {
		h := e2e.Start(t)
		h.Learn(t, "s", "I live in Rome.")
		f := e2e.About(h.ListFacts(t, false), "Rome")
		if f == nil || f.GetProtected() || f.GetOrigin() != memoryv1.FactOrigin_FACT_ORIGIN_EXTRACTED || len(f.GetEvidence()) != 1 || f.GetEvidence()[0].GetSessionId() != "s" || f.GetEvidence()[0].GetSeq() != 1 {
			t.Fatalf("learnt %v", f)
		}
		for session, want := range map[string]int{"s": len(h.ListFacts(t, false)), "other": 0} {
			got := e2e.Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "ada", SessionId: session}))(t).GetFacts()
			if len(got) != want {
				t.Errorf("facts of session %s: %v, want %d", session, got, want)
			}
		}
	})
	t.Run("what a person edited survives what is said later", func(t *testing.T) {
		h := e2e.Start(t)
		h.Learn(t, "s", "I live in Rome.")
		learnt := e2e.About(h.ListFacts(t, false), "Rome")
		edit := &memoryv1.Fact{UserId: "ada", FactId: learnt.GetFactId(), Text: "Lives in Florence, not Rome"}
		edited := e2e.Must(h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: edit}))(t).GetFact()
		h.Learn(t, "s2", "I live in Bern.")
		got := e2e.Must(h.Facts().GetFact(h.Ctx, &memoryv1.GetFactRequest{UserId: "ada", FactId: learnt.GetFactId()}))(t).GetFact()
		if !proto.Equal(got, edited) {
			t.Errorf("edited %v\nlater %v", edited, got)
		}
		if f := e2e.About(h.ListFacts(t, true), "Bern"); f != nil {
			t.Errorf("learnt beside what a person wrote: %v", f)
		}
		ops := e2e.Must(h.Facts().ListQuarantined(h.Ctx, &memoryv1.ListQuarantinedRequest{UserId: "ada"}))(t).GetOperations()
		if len(ops) != 1 || ops[0].GetReason() != "protected" || ops[0].GetSessionId() != "s2" || ops[0].GetJobId() == "" {
			t.Errorf("quarantined %v", ops)
		}
	})
	t.Run("what a person deleted is not learnt again from what was said before, in none of the wordings it had", func(t *testing.T) {
		h := e2e.Start(t)
		h.Learn(t, "s", "I live in Rome.")
		first := e2e.About(h.ListFacts(t, false), "Rome")
		id := first.GetFactId()
		e2e.Must(h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: &memoryv1.Fact{UserId: "ada", FactId: id, Text: "Lives in the capital of Italy."}}))(t)
		e2e.Must(h.Facts().DeleteFact(h.Ctx, &memoryv1.DeleteFactRequest{UserId: "ada", FactId: id}))(t)
		_, err := h.Facts().GetFact(h.Ctx, &memoryv1.GetFactRequest{UserId: "ada", FactId: id})
		e2e.Refused(t, err, codes.NotFound, "FACT_NOT_FOUND", "")
		old := e2e.User("", "I live in Rome.")
		old.CreateTime = first.GetCreateTime()
		h.RecordTurn(t, "s2", old, e2e.Assistant("", "I see."))
		h.CatchUp(t, "s2")
		if f := e2e.About(h.ListFacts(t, true), "Rome"); f != nil {
			t.Errorf("learnt again: %v", f)
		}
	})
	t.Run("nothing is learnt from a session or user that forbids it", func(t *testing.T) {
		h := e2e.Start(t)
		h.RecordAs(t, "ada")
		none := memoryv1.ExtractMode_EXTRACT_MODE_NONE
		got := e2e.Must(h.UpdateSession(h.Ctx, &memoryv1.UpdateSessionRequest{Session: &memoryv1.Session{UserId: "ada", SessionId: "s", Extract: none}}))(t)
		if got.GetSession().GetExtract() != none {
			t.Errorf("session %v", got)
		}
		h.Learn(t, "s", "I live in Rome.")
		e2e.Must(h.Users().UpdateUser(h.Ctx, &memoryv1.UpdateUserRequest{User: &memoryv1.User{UserId: "ada", Extract: none}}))(t)
		h.Learn(t, "s2", "I work at Initech.")
		if got := h.ListFacts(t, true); len(got) != 0 {
			t.Errorf("learnt %v", got)
		}
	})
}

// TestBadFacts holds a row for every way a call of FactService can be wrong.
func TestBadFacts(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	long := strings.Repeat("x", 256)
	fact := func(change func(*memoryv1.Fact)) *memoryv1.Fact {
		f := &memoryv1.Fact{UserId: "ada", FactId: "f", Text: "Likes tea"}
		change(f)
		return f
	}
	rows := map[string]struct {
		change func(*memoryv1.Fact)
		field  string
	}{
		"no user":                     {func(f *memoryv1.Fact) { f.UserId = "" }, "fact.user_id"},
		"an over-long text":           {func(f *memoryv1.Fact) { f.Text = strings.Repeat("x", 1001) }, "fact.text"},
		"a line break in the text":    {func(f *memoryv1.Fact) { f.Text = "a\nb" }, "fact.text"},
		"an unknown category":         {func(f *memoryv1.Fact) { f.Category = 99 }, "fact.category"},
		"a significance above ten":    {func(f *memoryv1.Fact) { f.Significance = 11 }, "fact.significance"},
		"a negative significance":     {func(f *memoryv1.Fact) { f.Significance = -1 }, "fact.significance"},
		"an over-long subject":        {func(f *memoryv1.Fact) { f.Subject = long }, "fact.subject"},
		"an attribute in upper case":  {func(f *memoryv1.Fact) { f.Attribute = "Home" }, "fact.attribute"},
		"an over-long attribute":      {func(f *memoryv1.Fact) { f.Attribute = strings.Repeat("a", 65) }, "fact.attribute"},
		"too many tags":               {func(f *memoryv1.Fact) { f.Tags = strings.Split(strings.Repeat("t ", 32)+"t", " ") }, "fact.tags"},
		"an over-long tag":            {func(f *memoryv1.Fact) { f.Tags = []string{strings.Repeat("t", 65)} }, "fact.tags[0]"},
		"a language that is none":     {func(f *memoryv1.Fact) { f.Language = "not a language" }, "fact.language"},
		"a time before 1970":          {func(f *memoryv1.Fact) { f.ValidFrom = &timestamppb.Timestamp{Seconds: -1} }, "fact.valid_from"},
		"an end with bad nanoseconds": {func(f *memoryv1.Fact) { f.ValidTo = &timestamppb.Timestamp{Seconds: 1, Nanos: -5} }, "fact.valid_to"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			_, err := h.Facts().CreateFact(h.Ctx, &memoryv1.CreateFactRequest{Fact: fact(row.change)})
			e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", row.field)
			_, err = h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: fact(row.change)})
			e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", row.field)
		})
	}
	calls := map[string]struct {
		call  func() error
		field string
	}{
		"no fact at all": {func() error { _, err := h.Facts().CreateFact(h.Ctx, &memoryv1.CreateFactRequest{}); return err }, "fact.user_id"},
		"a fact that says nothing": {func() error {
			_, err := h.Facts().CreateFact(h.Ctx, &memoryv1.CreateFactRequest{Fact: fact(func(f *memoryv1.Fact) { f.Text = "  " })})
			return err
		}, "fact.text"},
		"an over-long request id": {func() error {
			_, err := h.Facts().CreateFact(h.Ctx, &memoryv1.CreateFactRequest{Fact: fact(func(*memoryv1.Fact) {}), RequestId: long})
			return err
		}, "request_id"},
		"a get without an id": {func() error { _, err := h.Facts().GetFact(h.Ctx, &memoryv1.GetFactRequest{UserId: "ada"}); return err }, "fact_id"},
		"an update without an id": {func() error {
			_, err := h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: fact(func(f *memoryv1.Fact) { f.FactId = "" })})
			return err
		}, "fact.fact_id"},
		"an update of the evidence": {func() error {
			_, err := h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: fact(func(*memoryv1.Fact) {}), UpdateMask: e2e.MaskOf("evidence")})
			return err
		}, "update_mask"},
		"an update that takes the text away": {func() error {
			_, err := h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: fact(func(f *memoryv1.Fact) { f.Text = "" }), UpdateMask: e2e.MaskOf("text")})
			return err
		}, "fact.text"},
		"an update that takes the beginning away": {func() error {
			_, err := h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: fact(func(*memoryv1.Fact) {}), UpdateMask: e2e.MaskOf("valid_from")})
			return err
		}, "fact.valid_from"},
		"a category that is not set": {func() error {
			_, err := h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "ada", Categories: []memoryv1.Category{0}})
			return err
		}, "categories[0]"},
		"a negative page size": {func() error {
			_, err := h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "ada", PageSize: -1})
			return err
		}, "page_size"},
		"a search for nothing": {func() error {
			_, err := h.Facts().SearchFacts(h.Ctx, &memoryv1.SearchFactsRequest{UserId: "ada"})
			return err
		}, "query"},
		"a search above every score": {func() error {
			_, err := h.Facts().SearchFacts(h.Ctx, &memoryv1.SearchFactsRequest{UserId: "ada", Query: "x", MinScore: 1.5})
			return err
		}, "min_score"},
		"a negative revision": {func() error {
			_, err := h.Facts().RestoreFact(h.Ctx, &memoryv1.RestoreFactRequest{UserId: "ada", FactId: "f", Revision: -1})
			return err
		}, "revision"},
	}
	for name, row := range calls {
		t.Run(name, func(t *testing.T) { e2e.Refused(t, row.call(), codes.InvalidArgument, "FIELD_INVALID", row.field) })
	}
	t.Run("an end before the beginning, and one in the future", func(t *testing.T) {
		id := h.States(t, "Likes tea", "").GetFactId()
		for _, end := range []time.Time{time.Unix(1, 0), time.Now().AddDate(1, 0, 0)} {
			_, err := h.Facts().UpdateFact(h.Ctx, &memoryv1.UpdateFactRequest{Fact: &memoryv1.Fact{UserId: "ada", FactId: id, ValidTo: timestamppb.New(end)}})
			e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "fact.valid_to")
		}
	})
	t.Run("nothing of the content reached the log", func(t *testing.T) {
		if strings.Contains(h.Log.String(), "xxxx") || strings.Contains(h.Log.String(), "Likes tea") {
			t.Error("the log holds content")
		}
	})
}
