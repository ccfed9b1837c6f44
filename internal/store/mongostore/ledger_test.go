package mongostore_test

import (
	"context"
	"slices"
	"testing"
)

func TestLedger(t *testing.T) {
	name := database(t)
	one, other := open(t, name), open(t, name)
	t.Cleanup(func() {
		if err := client(t).Database(name + "_erasures").Drop(context.Background()); err != nil {
			t.Errorf("drop the ledger: %v", err)
		}
	})
	want := []string{`{"n":1}`, `{"n":2}`, `{"n":3}`}
	for i, s := range []interface {
		AppendLine(ctx context.Context, line []byte) error
	}{one.Ledger(), other.Ledger(), one.Ledger()} {
		if err := s.AppendLine(t.Context(), []byte(want[i])); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("every server reads what any of them appended", func(t *testing.T) {
		wantLines(t, other.Ledger().Lines, want)
	})
	t.Run("outlives the store's database", func(t *testing.T) {
		if err := client(t).Database(name).Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantLines(t, one.Ledger().Lines, want)
	})
}

func wantLines(t *testing.T, lines func(context.Context) ([][]byte, error), want []string) {
	t.Helper()
	got, err := lines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, line := range got {
		texts = append(texts, string(line))
	}
	if slices.Sort(texts); !slices.Equal(texts, want) {
		t.Errorf("the lines are %v, want %v", texts, want)
	}
}
