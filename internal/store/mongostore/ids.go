package mongostore

import (
	"context"
	"crypto/sha256"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
)

// idHash is what is stored of a message's id, and is unique in a session. An id that is recorded again after its message was erased
// has another hash each time: the erased message keeps its own, so that no erasure changes what the index of ids says.
func idHash(key memory.HashKey, id string, uses int) []byte {
	if uses == 0 {
		return keyed(key, id)
	}
	first := memory.IDDigest(id)
	hash := key.Keyed(sha256.Sum256(fmt.Appendf(first[:], "/%d", uses)))
	return hash[:]
}

// heldID is an id in a session.
type heldID struct {
	uses int    // how often it was recorded and erased, and is free again
	turn string // of the message that has it now; "" when none has
	at   int    // place of that message in its turn
	seq  int64  // of that message
	body []byte // keyed hash of its body
}

// heldIDs finds out which messages of the session have the ids, deleted ones included. An id that no message ever had is left out.
func (s *core) heldIDs(ctx context.Context, key memory.HashKey, session memory.SessionKey, ids []string) (map[string]heldID, error) {
	held := map[string]heldID{}
	for len(ids) > 0 {
		asked, hashes := make(map[string]string, len(ids)), make([][]byte, len(ids))
		for i, id := range ids {
			hashes[i] = idHash(key, id, held[id].uses)
			asked[string(hashes[i])] = id
		}
		o := options.Find().SetProjection(eq("ids", 1, "messages.body_hash", 1, "messages.freed", 1, "messages.seq", 1))
		turns, err := readAll[turnDoc](ctx, s.turns, eq("session", session, "ids", bson.D{{Key: "$in", Value: hashes}}), o)
		if err != nil {
			return nil, s.failed("find ids", err)
		}
		ids = nil
		for _, t := range turns {
			for at, hash := range t.IDs {
				id, ok := asked[string(hash)]
				switch {
				case !ok || at >= len(t.Messages):
				case t.Messages[at].Freed:
					held[id] = heldID{uses: held[id].uses + 1}
					ids = append(ids, id)
				default:
					held[id] = heldID{uses: held[id].uses, turn: t.ID, at: at, seq: t.Messages[at].Seq, body: t.Messages[at].BodyHash}
				}
			}
		}
	}
	return held, nil
}
