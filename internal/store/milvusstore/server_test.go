package milvusstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"
	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/milvusstore"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
	"github.com/stratamem/strata/internal/testing/storetest/memview"
)

const alice, bob = memory.ScopeKey("a11ce"), memory.ScopeKey("b0b")

// prepared opens a view with one space of 32 numbers, and beside it the bare client.
func prepared(t *testing.T) (*milvusstore.View, store.VectorSpace, client.Client, string) {
	t.Helper()
	prefix := newPrefix()
	v, space := openAs(t, prefix), store.VectorSpace{View: memory.ViewVectors, Build: 1, Version: 1, Dimension: 32}
	if err := v.Prepare(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Drop(context.WithoutCancel(t.Context()), space) })
	return v, space, bare(t), prefix + "_facts_s1_v1_b1"
}

func bare(t testing.TB) client.Client {
	t.Helper()
	c, err := client.NewClient(t.Context(), client.Config{Address: backend.Milvus(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func someRows(scope memory.ScopeKey, n int) []store.VectorRow {
	random := rand.New(rand.NewPCG(3, 4))
	rows := make([]store.VectorRow, n)
	for i := range rows {
		rows[i] = store.VectorRow{
			Scope: scope, FactID: fmt.Sprintf("fact-%06d", i), Revision: 1, Vector: numbers(random, 32),
			Significance: 1 + i%10, Category: memory.Category(1 + i%6),
		}
	}
	return rows
}

func numbers(random *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(random.NormFloat64())
	}
	return out
}

func mustPut(t *testing.T, v store.VectorView, space store.VectorSpace, rows []store.VectorRow) {
	t.Helper()
	if err := v.Put(t.Context(), space, rows); err != nil {
		t.Fatal(err)
	}
}

func rowsOf(t *testing.T, v store.VectorView, space store.VectorSpace, scope memory.ScopeKey) []store.RowState {
	t.Helper()
	rows, err := v.Rows(t.Context(), store.RowQuery[store.VectorSpace]{Space: space, Scope: scope, Limit: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// agrees waits until the view returns what an exact scan of the same rows returns, with filters and without.
func agrees(t *testing.T, v store.VectorView, exact store.VectorView, space store.VectorSpace) {
	t.Helper()
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 20 {
		q := store.VectorSearch{Space: space, Scope: alice, Vector: numbers(random, 32), Limit: 50, MinSignificance: i % 3 * 4}
		want, err := exact.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		until(t, func() string {
			got, err := v.Search(t.Context(), q)
			if err != nil {
				return err.Error()
			}
			return cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-5))
		})
	}
}

// until waits until there is no difference.
func until(t testing.TB, diff func() string) {
	t.Helper()
	untilWithin(t, 3*time.Minute, diff)
}

// untilWithin asks less often the longer it may take: each question is work for the server.
func untilWithin(t testing.TB, limit time.Duration, diff func() string) {
	t.Helper()
	tick := time.NewTicker(max(20*time.Millisecond, limit/3600))
	defer tick.Stop()
	late := time.After(limit)
	for d := diff(); d != ""; d = diff() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("in time (-want +got):\n%s", d)
		}
	}
}

func TestTenThousandRowsOfAUserAreRankedAsByAnExactScan(t *testing.T) {
	v, space, _, _ := prepared(t)
	exact := memview.NewVectors()
	exact.Prepare(t.Context(), space)
	for _, rows := range [][]store.VectorRow{someRows(alice, 10_000), someRows(bob, 100)} {
		mustPut(t, v, space, rows)
		mustPut(t, exact, space, rows)
	}
	agrees(t, v, exact, space)
	if n := len(rowsOf(t, v, space, alice)); n != 10_000 {
		t.Errorf("%d rows", n)
	}
}

func TestRowsThatTheServerHasSealedAre(t *testing.T) {
	v, space, c, name := prepared(t)
	exact := memview.NewVectors()
	exact.Prepare(t.Context(), space)
	rows := someRows(alice, 3000)
	mustPut(t, v, space, rows)
	mustPut(t, exact, space, rows)
	if err := c.Flush(t.Context(), name, false); err != nil { // the product never does
		t.Fatal(err)
	}
	t.Run("ranked as by an exact scan", func(t *testing.T) { agrees(t, v, exact, space) })
	t.Run("replaced", func(t *testing.T) {
		again := someRows(alice, 1000)
		for i := range again {
			again[i].Revision, again[i].Vector = 2, rows[2999-i].Vector
		}
		mustPut(t, v, space, again)
		mustPut(t, exact, space, again)
		agrees(t, v, exact, space)
		if diff := cmp.Diff(rowsOf(t, exact, space, alice), rowsOf(t, v, space, alice), cmpopts.IgnoreFields(store.RowState{}, "Cursor")); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
	})
	t.Run("erased", func(t *testing.T) {
		if n, err := v.EraseScope(t.Context(), alice); err != nil || n != 3000 {
			t.Errorf("erased %d, %v", n, err)
		}
		if n := len(rowsOf(t, v, space, alice)); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// A client that repeats an insert whose response was lost, or two replicas that put a fact at once, leave two rows.
func TestARowThatIsThereTwiceIs(t *testing.T) {
	v, space, c, name := prepared(t)
	rows := someRows(alice, 30)
	mustPut(t, v, space, rows[:29])
	for i := range 20 {
		insertBeside(t, c, name, rows[i])
	}
	mustPut(t, v, space, rows[29:]) // once it is seen, so is all that came before
	t.Run("returned once by Search", func(t *testing.T) {
		until(t, func() string {
			hits, err := v.Search(t.Context(), store.VectorSearch{Space: space, Scope: alice, Vector: rows[29].Vector, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, h := range hits {
				ids = append(ids, h.FactID)
			}
			slices.Sort(ids)
			return cmp.Diff(factIDs(rows), ids)
		})
	})
	t.Run("returned once by Rows, whatever the page", func(t *testing.T) {
		for _, limit := range []int{7, 25} {
			if diff := cmp.Diff(factIDs(rows), paged(t, v, space, limit)); diff != "" {
				t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
			}
		}
	})
	t.Run("replaced by one row", func(t *testing.T) {
		rows[0].Revision = 3
		mustPut(t, v, space, rows[:1])
		if got := rowsOf(t, v, space, alice)[0]; got.FactID != rows[0].FactID || got.Revision != 3 {
			t.Errorf("the row is %+v", got)
		}
	})
	t.Run("erased", func(t *testing.T) {
		if n, err := v.EraseScope(t.Context(), alice); err != nil || n != 30 {
			t.Errorf("erased %d, %v", n, err)
		}
		if n := len(rowsOf(t, v, space, alice)); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// insertBeside adds a row of the next revision and leaves the fact's other one.
func insertBeside(t *testing.T, c client.Client, name string, r store.VectorRow) {
	t.Helper()
	_, err := c.Insert(t.Context(), name, "",
		entity.NewColumnVarChar("key", []string{string(r.Scope) + ":" + r.FactID}), entity.NewColumnVarChar("scope", []string{string(r.Scope)}),
		entity.NewColumnVarChar("fact_id", []string{r.FactID}), entity.NewColumnFloatVector("vector", 32, [][]float32{r.Vector}),
		entity.NewColumnInt64("revision", []int64{r.Revision + 1}),
		entity.NewColumnInt8("significance", []int8{int8(r.Significance)}), entity.NewColumnInt8("category", []int8{int8(r.Category)}),
		entity.NewColumnVarChar("session", []string{""}), entity.NewColumnInt64("valid_from", []int64{0}), entity.NewColumnInt64("valid_to", []int64{0}))
	if err != nil {
		t.Fatal(err)
	}
}

func factIDs(rows []store.VectorRow) []string {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.FactID
	}
	return ids
}

func paged(t *testing.T, v store.VectorView, space store.VectorSpace, limit int) []string {
	t.Helper()
	var ids []string
	q := store.RowQuery[store.VectorSpace]{Space: space, Scope: alice, Limit: limit}
	for {
		page, err := v.Rows(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			ids = append(ids, r.FactID)
			q.After = r.Cursor
		}
		if len(page) < limit {
			return ids
		}
	}
}

func TestOpenRefusesCollectionsOfANewerSchema(t *testing.T) {
	prefix, c := newPrefix(), bare(t)
	name := prefix + "_facts_s2_v1_b1"
	newer := entity.NewSchema().WithName(name).
		WithField(entity.NewField().WithName("key").WithDataType(entity.FieldTypeInt64).WithIsPrimaryKey(true)).
		WithField(entity.NewField().WithName("vector").WithDataType(entity.FieldTypeFloatVector).WithDim(2))
	if err := c.CreateCollection(t.Context(), newer, 1); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.DropCollection(context.WithoutCancel(t.Context()), name) })
	_, err := milvusstore.Open(t.Context(), milvusstore.Options{Address: backend.Milvus(t), Prefix: prefix})
	if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "run the newer version") {
		t.Errorf("the error is %v", err)
	}
	openAs(t, prefix+"_x") // collections of another prefix do not matter
}

func TestAPrefixCountsOnlyItsOwnCollections(t *testing.T) {
	v, space, _, name := prepared(t)
	mustPut(t, v, space, someRows(alice, 3))
	other := openAs(t, strings.TrimSuffix(name, "_facts_s1_v1_b1")+"_facts_s1_v1_b1") // a prefix that looks like the other's collection
	if n, err := other.EraseScope(t.Context(), alice); err != nil || n != 0 {
		t.Errorf("erased %d, %v", n, err)
	}
	if spaces, err := other.Spaces(t.Context()); err != nil || len(spaces) != 0 {
		t.Errorf("spaces: %v, %v", spaces, err)
	}
	if n := len(rowsOf(t, v, space, alice)); n != 3 {
		t.Errorf("%d rows", n)
	}
}

// A replica that died between making a collection and loading it must not keep anybody's rows from being erased.
func TestEraseScopeLoadsWhatIsNotLoaded(t *testing.T) {
	v, space, c, name := prepared(t)
	mustPut(t, v, space, someRows(alice, 5))
	if err := c.ReleaseCollection(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if n, err := v.EraseScope(t.Context(), alice); err != nil || n != 5 {
		t.Errorf("erased %d, %v", n, err)
	}
}

func TestOpenRefusesBadOptions(t *testing.T) {
	for _, o := range []milvusstore.Options{
		{Address: "127.0.0.1:1"},
		{Address: "127.0.0.1:1", Prefix: "a-b"},
		{Address: "127.0.0.1:1", Prefix: "1a"},
		{Address: "127.0.0.1:1", Prefix: strings.Repeat("a", 65)},
		{Prefix: "strata"},
	} {
		if _, err := milvusstore.Open(t.Context(), o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestOpenGivesUpInTime(t *testing.T) {
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, c := range map[string]struct {
		address string
		want    error
	}{
		"on a server that refuses":      {"127.0.0.1:1", milvusstore.ErrUnreachable},
		"on a server that says nothing": {silent.Addr().String(), context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			defer func() { goleak.VerifyNone(t, before) }() // a server that is away is tried again and again
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			_, err := milvusstore.Open(ctx, milvusstore.Options{Address: c.address, Prefix: "strata"})
			if !errors.Is(err, c.want) {
				t.Errorf("the error is %v", err)
			}
			if took := time.Since(start); took > 30*time.Second { // far above the deadline, also on a machine that does other work
				t.Errorf("it took %v", took)
			}
		})
	}
}
