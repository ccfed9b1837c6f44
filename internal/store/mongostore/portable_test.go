package mongostore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/mongostore"
	"github.com/stratamem/strata/internal/testing/storetest"
)

// filled is a store with something of everything, of which alice has most, and her records.
func filled(t *testing.T) (*mongostore.Store, []store.Record) {
	t.Helper()
	s := open(t, database(t))
	storetest.Fill(t, s)
	return s, exported(t, s)
}

func exported(t *testing.T, s *mongostore.Store) (records []store.Record) {
	t.Helper()
	if err := s.Export(t.Context(), alice, func(r store.Record) error { records = append(records, r); return nil }); err != nil {
		t.Fatal(err)
	}
	return records
}

func wantReason(t *testing.T, err error, want memory.Reason) {
	t.Helper()
	if memory.ReasonOf(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func wantRecords(t *testing.T, s *mongostore.Store, want []store.Record) {
	t.Helper()
	if diff := cmp.Diff(want, exported(t, s)); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

func mustImport(t *testing.T, s *mongostore.Store, records ...store.Record) {
	t.Helper()
	if err := s.Import(t.Context(), alice, records); err != nil {
		t.Fatalf("Import: %v", err)
	}
}

// emptyTarget has the versions of the source and nothing else.
func emptyTarget(t *testing.T, from *mongostore.Store) (*mongostore.Store, string) {
	t.Helper()
	versions, err := from.Embeddings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	name := database(t)
	to := open(t, name)
	if err := to.ImportEmbeddings(t.Context(), versions, nil); err != nil {
		t.Fatal(err)
	}
	return to, name
}

func TestImportAgainIsHarmless(t *testing.T) {
	from, records := filled(t)
	if len(records) < 15 {
		t.Fatalf("only %d records", len(records))
	}
	t.Run("in whole", func(t *testing.T) {
		to, _ := emptyTarget(t, from)
		mustImport(t, to, records...)
		mustImport(t, to, records...)
		wantRecords(t, to, records)
	})
	t.Run("in part, one record a call, each twice and in the order that they come", func(t *testing.T) {
		to, _ := emptyTarget(t, from)
		for _, r := range records {
			mustImport(t, to, r)
			mustImport(t, to, r)
		}
		for _, r := range records {
			mustImport(t, to, r)
		}
		wantRecords(t, to, records)
	})
	t.Run("an older state is replaced", func(t *testing.T) {
		to, _ := emptyTarget(t, from)
		for _, r := range records {
			if r.Session != nil {
				older := *r.Session
				older.Title, older.LastSeq, older.State = "older", 1, nil
				mustImport(t, to, records[0], store.Record{Session: &older})
			}
		}
		mustImport(t, to, records...)
		wantRecords(t, to, records)
	})
}

func TestAnImportIsServedFromItsEndOn(t *testing.T) {
	from, records := filled(t)
	to, _ := emptyTarget(t, from)
	mustImport(t, to, records...)
	_, err := to.User(t.Context(), alice)
	wantReason(t, err, memory.ReasonStoreUnavailable)
	for range 2 {
		if err := to.EndImport(t.Context(), alice); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := to.User(t.Context(), alice); err != nil {
		t.Error(err)
	}
	if err := to.Import(t.Context(), alice, records); err == nil {
		t.Error("a user who is served was imported over")
	}
	wantRecords(t, to, records)
}

func TestRecordsWithoutTheirUserAreRefused(t *testing.T) {
	from, records := filled(t)
	to, _ := emptyTarget(t, from)
	wantReason(t, to.Import(t.Context(), alice, records[1:]), memory.ReasonUserNotFound)
	wantReason(t, to.EndImport(t.Context(), alice), memory.ReasonUserNotFound)
}

func TestImportNotesWhatEveryNodeIsUnderAsStoringItDoes(t *testing.T) {
	source := database(t)
	from := open(t, source)
	storetest.Fill(t, from)
	addNodes(t, from)
	to, target := emptyTarget(t, from)
	mustImport(t, to, exported(t, from)...)
	if err := to.EndImport(t.Context(), alice); err != nil {
		t.Fatal(err)
	}
	want := under(t, source)
	if diff := cmp.Diff(want, under(t, target)); diff != "" || len(want) < 10 {
		t.Errorf("%d nodes are under (-want +got):\n%s", len(want), diff)
	}
}

// addNodes stores three levels of nodes, each node before those that it is under, of which one was built twice.
func addNodes(t *testing.T, s *mongostore.Store) {
	t.Helper()
	head := mustSession(t, s, alice.Session("s"))
	for level, width := range []int64{2, 4, 8} {
		for from := int64(9); from+width <= 25; from += width {
			for generation := 1; generation <= 2-level%2; generation++ {
				putNode(t, s, head, memory.SummaryNode{
					Level: level, Range: memory.SeqRange{From: from, To: from + width - 1}, Generation: generation, Cumulative: level == 2,
				})
			}
		}
	}
}

func putNode(t *testing.T, s *mongostore.Store, head memory.Session, n memory.SummaryNode) {
	t.Helper()
	job, err := s.OpenJob(t.Context(), store.JobOpening{User: alice, To: n.Range.To, Time: noon, JobKey: memory.JobKey{
		Scope: head.ScopeKey, Session: head.Key, Kind: memory.JobMerge, Level: n.Level, From: n.Range.From, Generation: n.Generation,
	}})
	if err != nil {
		t.Fatal(err)
	}
	n.ID, n.Kind, n.Session, n.CreateTime = job.ID(), memory.SummarySession, head.Key, noon
	if err := s.PutNode(t.Context(), store.NodeWrite{User: alice, Scope: head.ScopeKey, JobID: job.ID(), Node: n, Time: noon}); err != nil {
		t.Fatal(err)
	}
}

// under is what is noted in each node.
func under(t *testing.T, name string) map[string]int64 {
	t.Helper()
	cursor, err := client(t).Database(name).Collection("nodes").Find(t.Context(), bson.D{{Key: "kind", Value: memory.SummarySession}})
	if err != nil {
		t.Fatal(err)
	}
	var docs []struct {
		ID    string `bson:"id"`
		Under int64  `bson:"under"`
	}
	if err := cursor.All(t.Context(), &docs); err != nil {
		t.Fatal(err)
	}
	noted := map[string]int64{}
	for _, d := range docs {
		noted[d.ID] = d.Under
	}
	return noted
}

func TestEmbeddingVersionsThatClashAreRefused(t *testing.T) {
	e := memory.Embedding{Version: 1, Model: "m", Dimension: 2, Metric: "cosine", Active: true, CreateTime: noon}
	other := e
	other.Model = "other"
	second := memory.Embedding{Version: 2, Model: "m", Dimension: 3, Metric: "cosine", CreateTime: noon}
	activeSecond, passive := second, e
	activeSecond.Active, passive.Active = true, false
	cases := map[string][]memory.Embedding{
		"another model has the number":         {other},
		"one is there that the source has not": nil,
		"another one is active":                {passive, activeSecond},
	}
	for name, versions := range cases {
		t.Run(name, func(t *testing.T) {
			s := open(t, database(t))
			for range 2 {
				if err := s.ImportEmbeddings(t.Context(), []memory.Embedding{e}, map[string]int64{"malformed": 3}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.ImportEmbeddings(t.Context(), versions, nil); err == nil {
				t.Error("it was not refused")
			}
			all, err := s.Embeddings(t.Context())
			if diff := cmp.Diff([]memory.Embedding{e}, all); diff != "" || err != nil {
				t.Errorf("versions (-want +got), %v:\n%s", err, diff)
			}
			counts, err := s.QuarantineCounts(t.Context())
			if err != nil || counts["malformed"] != 3 {
				t.Errorf("counts %v, %v", counts, err)
			}
		})
	}
}
