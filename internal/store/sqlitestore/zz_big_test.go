package sqlitestore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/sqlitestore"
	"github.com/stratamem/strata/internal/summary"
)

func TestBig(t *testing.T) {
	ctx := context.Background()
	st, err := sqlitestore.Open(ctx, sqlitestore.Options{Path: filepath.Join(t.TempDir(), "x.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	now := time.Now().UTC().Truncate(time.Microsecond)
	ref := memory.UserRef{Tenant: "t", UserID: "u"}.Session("s")
	for i := range 500 {
		var ms []store.NewMessage
		for j := range 100 {
			ms = append(ms, store.NewMessage{Message: memory.Message{ID: fmt.Sprint(i, "-", j), Role: memory.RoleUser, Parts: []memory.Part{memory.TextPart("x")}, CreateTime: now}})
		}
		if _, err := st.Append(ctx, store.AppendParams{Ref: ref, Messages: ms, Time: now}); err != nil {
			t.Fatal(err)
		}
	}
	w, err := st.SessionWork(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("The user went to Prague with Grace. ", 60)
	put := func(kind memory.SlotKind, level int, from, to int64) {
		key := memory.SlotKey{Scope: w.Session.ScopeKey, Session: w.Session.Key, Kind: kind, Level: level, From: from, Generation: 1}
		if _, err := st.OpenSlot(ctx, store.SlotOpening{SlotKey: key, User: ref.UserRef, To: to, Time: now}); err != nil {
			t.Fatal(err)
		}
		n := memory.SummaryNode{ID: memory.EffectID(key.ID(), 0), Kind: memory.SummarySession, Session: w.Session.Key, SessionID: "s", Level: level, Range: memory.SeqRange{From: from, To: to}, Generation: 1, Text: text, FromTime: now, ToTime: now, CreateTime: now, Model: "m"}
		if err := st.PutNode(ctx, store.NodeWrite{User: ref.UserRef, Scope: w.Session.ScopeKey, SlotID: key.ID(), Node: n, Time: now}); err != nil {
			t.Fatal(err)
		}
	}
	for from := int64(1); from+5 <= 50000; from += 6 {
		put(memory.SlotLeaf, 0, from, from+5)
	}
	for l, size := 1, int64(24); size < 50000; l, size = l+1, size*4 {
		for from := int64(1); from+size-1 <= 49998; from += size {
			put(memory.SlotMerge, l, from, from+size-1)
		}
	}
	for range 3 {
		b := time.Now()
		nodes, err := st.SessionNodes(ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		read := time.Since(b)
		b = time.Now()
		at := summary.Boundary(nodes, 50000, 8)
		f := summary.Frontier(nodes, at)
		front := time.Since(b)
		b = time.Now()
		summary.PlanMerge(nodes, 4)
		t.Log(len(nodes), "nodes read", read, "boundary+frontier", front, len(f), "planmerge", time.Since(b))
	}
}
