package sessions

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// The digest of a request is stored. A change of this value would refuse every retry over an upgrade.
func TestRequestDigestIsStable(t *testing.T) {
	seq := int64(3)
	digest, err := requestDigest(RecordParams{
		RequestID: "r", StatePatch: []byte(`{"a":1}`), ExpectedLastSeq: &seq, Extract: memory.ExtractNone, Profile: "p",
		Messages: []memory.Message{{
			ID: "m", Role: memory.RoleUser, Name: "Ada", Parts: []memory.Part{memory.TextPart("hi <b>")}, Tags: []string{"t"},
			Metadata: []byte(`{"k":"v"}`), CreateTime: time.Unix(1, 0), Origin: memory.OriginUser, Pinned: true,
			Original: &memory.Original{Format: "f", Data: []byte{0, 1}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = "f154e351436823c7f4c36451c0bf0859b031c151dd1876f896dbfb963dea50fa"
	if got := hex.EncodeToString(digest[:]); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}
