package mongostore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// manifestDoc lists the segments of a user's search index. A change of it is the commit point of every write to the index.
// What has to follow in other documents is recorded in it until it is done, and the next reader that finds it undone does
// it.
//
// A turn listed in Clearing is in a segment, whether its pending mark is still set or not. While Retiring is set, all of
// the user's turns are pending, whether their mark is set or not. Epoch makes a process harmless that stopped in the middle
// and continues later: a mark holds the epoch of its last change, and a change needs a higher one.
type manifestDoc struct {
	Scope    memory.ScopeKey `bson:"_id"`
	Rev      int64           `bson:"rev"`     // counts the changes, but not the ends of Clearing and Retiring
	NextNo   int64           `bson:"next_no"` // of a segment
	Epoch    int64           `bson:"epoch"`   // counts how often all segments were retired
	Retiring bool            `bson:"retiring"`
	Clearing []string        `bson:"clearing"` // ids of turns
	Segments []segmentEntry  `bson:"segments"` // by No
	LastNo   int64           `bson:"last_no"`  // of all segments there ever were; 0 before the first
	Feed     feedDoc         `bson:"feed"`     // the checkpoint of memory.ViewMessageVectors; swapManifest does not write it
	Wakes    int64           `bson:"-"`        // since when the feed waits for the change; 0 when it need not
}

// segmentEntry is a segment without its data, which lies in a document of its own.
type segmentEntry struct {
	No        int64   `bson:"no"`
	Analyzer  string  `bson:"analyzer"`
	Messages  int     `bson:"messages"`
	Bytes     int     `bson:"bytes"`
	Replaces  []int64 `bson:"replaces,omitempty"`
	Embedding int     `bson:"embedding"`
	Hash      []byte  `bson:"hash"` // keyed, of the data
}

func (m manifestDoc) complete() bool { return !m.Retiring && len(m.Clearing) == 0 }

func (m manifestDoc) infos() (infos []store.SegmentInfo) {
	for _, e := range m.Segments {
		infos = append(infos, store.SegmentInfo{No: e.No, Messages: e.Messages, Bytes: e.Bytes, Replaces: e.Replaces, Embedding: e.Embedding})
	}
	return infos
}

// find returns where the segment is, -1 for one that is gone.
func (m manifestDoc) find(no int64) int {
	return slices.IndexFunc(m.Segments, func(e segmentEntry) bool { return e.No == no })
}

// count returns how many of the segments are there.
func (m manifestDoc) count(nos []int64) (n int) {
	for _, no := range nos {
		if m.find(no) >= 0 {
			n++
		}
	}
	return n
}

// same returns the number of the segment whose data has the hash; 0 for none.
func (m manifestDoc) same(hash memory.KeyedHash) int64 {
	for _, e := range m.Segments {
		if string(e.Hash) == string(hash[:]) {
			return e.No
		}
	}
	return 0
}

// without is the manifest after segments were replaced and turns taken from those that are pending.
func (m manifestDoc) without(replaced []int64, turns []string) manifestDoc {
	m.Rev++
	m.Clearing = turns
	m.Segments = slices.DeleteFunc(slices.Clone(m.Segments), func(e segmentEntry) bool { return slices.Contains(replaced, e.No) })
	return m
}

// plus returns the manifest with one more segment, which the view of message vectors still lacks.
func (m manifestDoc) plus(e segmentEntry, at int64) manifestDoc {
	m.Segments = append(slices.Clone(m.Segments), e)
	m.NextNo, m.LastNo, m.Wakes = e.No+1, e.No, at
	return m
}

// retired is the manifest of a user all of whose turns have to be indexed again.
func (m manifestDoc) retired() manifestDoc {
	m.Rev++
	m.Epoch++
	m.Retiring, m.Segments = true, nil
	return m
}

// firstNo is where the numbers of a user's segments begin. They need only grow; that they begin at a place of their own
// keeps a number that went astray from naming a segment of another user.
func firstNo(scope memory.ScopeKey) int64 {
	sum := sha256.Sum256([]byte(scope))
	return int64(binary.BigEndian.Uint32(sum[:])>>1)<<32 + 1
}

// segmentID is the id of the document with a segment's data.
func segmentID(scope memory.ScopeKey, no int64) string { return fmt.Sprintf("%s/%016x", scope, no) }

// manifest reads the user's manifest; one of revision 0 before the first segment.
func (s *searchIndex) manifest(ctx context.Context, scope memory.ScopeKey) (manifestDoc, error) {
	m := manifestDoc{Scope: scope, NextNo: firstNo(scope)}
	err := decodeOne(s.searchIndexes.FindOne(ctx, eq("_id", scope)), &m)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return m, nil
	}
	return m, s.failed("read the list of segments", err)
}

// maxReads bounds how often something is read again because it was changed meanwhile.
const maxReads = 20

// completedManifest reads the manifest after it has done what it finds undone.
func (s *searchIndex) completedManifest(ctx context.Context, scope memory.ScopeKey) (manifestDoc, error) {
	for range maxReads {
		m, err := s.manifest(ctx, scope)
		if err != nil || m.complete() {
			return m, err
		}
		if err := s.completeManifest(ctx, m); err != nil {
			return m, err
		}
	}
	return manifestDoc{}, store.Contention("others write the index")
}

// swapManifest stores the manifest in place of the one of the revision before. It reports false when another was faster.
func (s *searchIndex) swapManifest(ctx context.Context, m manifestDoc) (bool, error) {
	first := m.Rev == 1
	res, err := s.searchIndexes.UpdateOne(ctx, eq("_id", m.Scope, "rev", m.Rev-1), m.update(), options.UpdateOne().SetUpsert(first))
	if mongo.IsDuplicateKeyError(err) {
		return false, nil
	}
	if err != nil {
		return false, uncertain("store the list of segments", err)
	}
	return res.MatchedCount+res.UpsertedCount > 0, nil
}

// update sets all but the feed: others change that without a revision. What is not set was done before the change.
func (m manifestDoc) update() bson.D {
	set := eq("rev", m.Rev, "next_no", m.NextNo, "epoch", m.Epoch, "segments", m.Segments, "last_no", m.LastNo)
	if m.Retiring {
		set = append(set, bson.E{Key: "retiring", Value: true})
	}
	if len(m.Clearing) > 0 {
		set = append(set, bson.E{Key: "clearing", Value: m.Clearing})
	}
	if m.Wakes == 0 {
		return bson.D{{Key: "$set", Value: set}}
	}
	return bson.D{{Key: "$set", Value: set}, {Key: "$min", Value: eq("feed.at", m.Wakes)}}
}

// completeManifest does what must follow a change of the manifest. Any number may do it at once.
func (s *searchIndex) completeManifest(ctx context.Context, m manifestDoc) error {
	if m.Retiring {
		if err := s.markAll(ctx, m); err != nil {
			return err
		}
	}
	if len(m.Clearing) > 0 {
		if err := s.clearMarks(ctx, m); err != nil {
			return err
		}
	}
	if err := s.dropData(ctx, m); err != nil {
		return err
	}
	return s.endManifest(ctx, m)
}

// endManifest notes that the work that the manifest names is done. A later epoch's work is not touched; that of the same epoch
// names other turns.
func (s *searchIndex) endManifest(ctx context.Context, m manifestDoc) error {
	update := bson.D{{Key: "$unset", Value: eq("retiring", "")}}
	if len(m.Clearing) > 0 {
		update = bson.D{{Key: "$pullAll", Value: eq("clearing", m.Clearing)}}
	}
	if _, err := s.searchIndexes.UpdateOne(ctx, eq("_id", m.Scope, "epoch", m.Epoch), update); err != nil {
		return uncertain("complete a write to the index", err)
	}
	return nil
}

// clearMarks takes the marks of turns that a segment has.
func (s *searchIndex) clearMarks(ctx context.Context, m manifestDoc) error {
	update := bson.D{{Key: "$unset", Value: eq("pending", "")}}
	if m.Epoch > 0 {
		update = append(update, bson.E{Key: "$set", Value: eq("epoch", m.Epoch)})
	}
	filter := eq("_id", eq("$in", m.Clearing), "pending", turnPending, "epoch", eq("$not", eq("$gt", m.Epoch)))
	if _, err := s.turns.UpdateMany(ctx, filter, update); err != nil {
		return uncertain("clear the marks of turns", err)
	}
	return nil
}

// markAll marks every turn of the user as pending, but for those that were marked or cleared in this epoch.
func (s *searchIndex) markAll(ctx context.Context, m manifestDoc) error {
	sessions, err := s.sessionsOf(ctx, m.Scope)
	if err != nil {
		return err
	}
	update := bson.D{{Key: "$set", Value: eq("pending", turnPending, "epoch", m.Epoch)}}
	for _, key := range sessions {
		filter := append(turnsOf(key), eq("n", eq("$gt", 0), "epoch", eq("$not", eq("$gte", m.Epoch)))...)
		if _, err := s.turns.UpdateMany(ctx, filter, update); err != nil {
			return uncertain("mark turns as pending", err)
		}
	}
	return nil
}

func (s *core) sessionsOf(ctx context.Context, scope memory.ScopeKey) ([]memory.SessionKey, error) {
	docs, err := readAll[sessionDoc](ctx, s.conversations, eq("scope", scope), options.Find().SetProjection(eq("_id", 1)))
	if err != nil {
		return nil, s.failed("find sessions", err)
	}
	keys := make([]memory.SessionKey, len(docs))
	for i, d := range docs {
		keys[i] = d.Key
	}
	return keys, nil
}

// dropData deletes the data of segments that the manifest does not name: of those that were replaced, and of writes that
// did not come as far as their commit. Numbers that may still be given are above it.
func (s *searchIndex) dropData(ctx context.Context, m manifestDoc) error {
	live := make([]int64, len(m.Segments))
	for i, e := range m.Segments {
		live[i] = e.No
	}
	filter := eq("scope", m.Scope, "no", bson.D{{Key: "$lt", Value: m.NextNo}, {Key: "$nin", Value: live}})
	if _, err := s.segments.DeleteMany(ctx, filter); err != nil {
		return uncertain("delete replaced segments", err)
	}
	return nil
}
