package ledger_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/erasure/ledger"
	"github.com/stratamem/strata/internal/memory"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestLedger(t *testing.T) {
	messages := memory.Erasure{
		ID: "e1", Kind: memory.EraseMessages, Tenant: "t", Scope: "scope", Session: "key",
		Seqs: []memory.SeqRange{{From: 2, To: 4}, {From: 9, To: 9}}, CreateTime: noon,
	}
	t.Run("returns what was appended, in order, from a file that only its owner reads", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ledger")
		want := []ledger.Entry{ledger.OfErasure(messages), ledger.OfFact("scope", "f1", noon)}
		for _, e := range want {
			add(t, path, e)
		}
		if got := entries(t, path); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("the file is %v, error %v", st, err)
		}
	})
	t.Run("has an entry once, also when another process appends it again", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ledger")
		for range 2 {
			add(t, path, ledger.OfErasure(messages))
		}
		if got := entries(t, path); len(got) != 1 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("is empty before anything is erased, and makes no file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ledger")
		if got := entries(t, path); len(got) > 0 {
			t.Errorf("got %+v", got)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("there is a file")
		}
	})
	t.Run("passes over an entry that a crash cut short, and keeps what is appended after it", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ledger")
		add(t, path, ledger.OfFact("scope", "f1", noon))
		write(t, path, `{"id":"f2","kind":"fa`)
		add(t, path, ledger.OfFact("scope", "f3", noon))
		got := entries(t, path)
		if len(got) != 2 || got[0].ID != "f1" || got[1].ID != "f3" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("is refused as a whole when an entry cannot be read, since what it names would come back", func(t *testing.T) {
		for _, line := range []string{
			`{"id":"x","kind":"user","scope":1}`,
			`{"id":"x","kind":"sentence","scope":"s","time":"2026-05-01T12:00:00Z"}`,
			`{"id":"x","kind":"session","scope":"s","time":"2026-05-01T12:00:00Z"}`,
			`{"id":"x","kind":"user","time":"2026-05-01T12:00:00Z"}`,
		} {
			path := filepath.Join(t.TempDir(), "ledger")
			add(t, path, ledger.OfFact("scope", "f1", noon))
			write(t, path, line+"\n")
			_, err := ledger.New(ledger.OpenFile(path)).Entries(t.Context())
			if err == nil || !strings.Contains(err.Error(), "entry 2") {
				t.Errorf("%s: the error is %v", line, err)
			}
		}
	})
	t.Run("refuses an entry that names nothing", func(t *testing.T) {
		l := ledger.New(ledger.OpenFile(filepath.Join(t.TempDir(), "ledger")))
		if err := l.Append(t.Context(), ledger.Entry{ID: "x", Kind: ledger.KindUser, Time: noon}); err == nil {
			t.Error("it was appended")
		}
	})
}

func add(t *testing.T, path string, e ledger.Entry) {
	t.Helper()
	if err := ledger.New(ledger.OpenFile(path)).Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

func entries(t *testing.T, path string) []ledger.Entry {
	t.Helper()
	got, err := ledger.New(ledger.OpenFile(path)).Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
