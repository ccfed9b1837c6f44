package grpcapi

import (
	"strings"
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// An etag is that of its reply alone, whatever was encoded in the same room before.
func TestEtagsAreThoseOfTheirReplies(t *testing.T) {
	replies := []*memoryv1.BuildContextResponse{
		{Rendering: strings.Repeat("long ", 1000)}, {}, {Rendering: "short"}, {Rendering: strings.Repeat("x", mostRoom+1)}, {Rendering: "other"},
	}
	var one encodings
	seen := map[string]bool{}
	for range 2 {
		for _, r := range replies {
			got, err := one.etag(r)
			if err != nil {
				t.Fatal(err)
			}
			var fresh encodings
			if want, err := fresh.etag(r); err != nil || got != want {
				t.Errorf("etag %s, want %s, error %v", got, want, err)
			}
			seen[got] = true
		}
	}
	if len(seen) != len(replies) {
		t.Errorf("%d replies have %d etags", len(replies), len(seen))
	}
}
