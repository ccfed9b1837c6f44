package writeplan_test

import (
	"testing"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

func TestPutSegment(t *testing.T) {
	turns := []store.TurnRef{{TurnNo: 1}, {TurnNo: 2}}
	whole := store.SegmentWrite{Data: []byte("data"), Turns: turns, Replaces: []int64{7}}
	marks := store.SegmentWrite{Turns: turns}
	for _, c := range []struct {
		promise string
		w       store.SegmentWrite
		found   writeplan.FoundForSegment
		want    writeplan.Segment
		reason  memory.Reason
	}{
		{"a segment whose turns are all pending is stored", whole, writeplan.FoundForSegment{Replaced: 1, Pending: 2}, writeplan.Segment{Stores: true}, ""},
		{"also beside an equal one, which is of other turns", whole, writeplan.FoundForSegment{Replaced: 1, Pending: 2, Same: 9}, writeplan.Segment{Stores: true}, ""},
		{"a replaced segment that is gone refuses it", whole, writeplan.FoundForSegment{Pending: 2}, writeplan.Segment{}, memory.ReasonContention},
		{"none of the turns pending, and its data stored: it was done before", whole, writeplan.FoundForSegment{Replaced: 1, Same: 9}, writeplan.Segment{Before: 9}, ""},
		{"none of the turns pending, and other data: another took them", whole, writeplan.FoundForSegment{Replaced: 1}, writeplan.Segment{}, memory.ReasonContention},
		{"some of the turns pending: another took the others", whole, writeplan.FoundForSegment{Replaced: 1, Pending: 1, Same: 9}, writeplan.Segment{}, memory.ReasonContention},
		{"without data only marks are cleared, those that are left", marks, writeplan.FoundForSegment{Pending: 1}, writeplan.Segment{}, ""},
	} {
		t.Run(c.promise, func(t *testing.T) {
			got, err := writeplan.PutSegment(c.w, c.found)
			wantReason(t, err, c.reason)
			if got != c.want {
				t.Errorf("decided %+v, want %+v", got, c.want)
			}
		})
	}
	t.Run("data is known again by a hash of the life that it is of", func(t *testing.T) {
		one, other := store.SegmentWrite{Scope: "a", Data: []byte("data")}, store.SegmentWrite{Scope: "b", Data: []byte("data")}
		again := writeplan.SegmentHash(store.SegmentWrite{Scope: "a", Data: []byte("data")})
		if writeplan.SegmentHash(one) != again || again == writeplan.SegmentHash(other) {
			t.Error("the hashes are not those of life and data")
		}
	})
}
