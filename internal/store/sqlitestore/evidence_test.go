package sqlitestore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store/sqlitestore"
)

func TestAnyEvidenceReadsBackAsItWasStored(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z{}\[\],:"]{0,9}`), rapid.StringMatching(`[a-z{}\[\],:]{0,9}`))
	when := rapid.SampledFrom([]time.Time{{}, benchTime, benchTime.Add(123456 * time.Microsecond)})
	one := rapid.Custom(func(rt *rapid.T) memory.Evidence {
		return memory.Evidence{
			Session: memory.SessionKey(text.Draw(rt, "session")), SessionID: text.Draw(rt, "id"), Seq: rapid.Int64().Draw(rt, "seq"),
			MessageID: text.Draw(rt, "message"), Quote: text.Draw(rt, "quote"),
			Time: when.Draw(rt, "time"),
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		var want []memory.Evidence
		for range rapid.IntRange(0, 3).Draw(rt, "n") {
			want = append(want, one.Draw(rt, "evidence"))
		}
		got, err := sqlitestore.Evidence(want)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			rt.Fatalf("error %v, differs (-want +got):\n%s", err, diff)
		}
	})
}
