package mongostore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// eraseMessages empties the messages first: whoever reads them from then on reads that they are hidden, and makes nothing of them
// any more. Then it takes away what was made of them before.
func (s *erasureStore) eraseMessages(ctx context.Context, d erasureDoc) (int64, error) {
	if err := s.inTurns.inLivingSession(ctx, d); err != nil {
		return 0, err
	}
	if err := s.inTurns.fence(ctx, d); err != nil || len(d.Seqs) == 0 {
		return 0, err
	}
	key, err := s.inTurns.sessionHashKey(ctx, d)
	if err != nil {
		return 0, err
	}
	var emptied int64
	err = s.inTurns.eachTurnWith(ctx, d.Session, rangesOf(d.Seqs), withContent(), func(turns []turnDoc) error {
		n, err := s.inTurns.emptyTurns(ctx, d, key, turns)
		emptied += n
		return err
	})
	if err != nil {
		return 0, err
	}
	made, err := s.eraseMade(ctx, d)
	if err != nil {
		return 0, err
	}
	return emptied + made, s.lookAtSession(ctx, d.Session, fromMicros(d.CreateTime))
}

// turnEraser empties the turns of a session.
type turnEraser struct {
	*core
	transcript *transcript
}

// sessionHashKey is the key of the hashes of the session that the erasure is in.
func (s *turnEraser) sessionHashKey(ctx context.Context, d erasureDoc) (memory.HashKey, error) {
	session := sessionDoc{Scope: d.Scope}
	o := options.FindOne().SetProjection(eq("scope", 1, "hash_key", 1))
	err := decodeOne(s.conversations.FindOne(ctx, eq("_id", d.Session), o), &session)
	if errors.Is(err, mongo.ErrNoDocuments) { // gone as a whole, with its turns
		err = nil
	}
	return session.hashKey(), s.failed("read session", err)
}

// withContent is the projection of those who empty turns.
func withContent() bson.D {
	return eq(originals, 0, "patch", 0, "state", 0, "request", 0, "request_digest", 0)
}

// fence stores a turn without messages in the place after the last turn that the erasure was decided by. It either gets the place,
// and then the erasure came before whatever is recorded later, or another turn has it: then the erasure never counted, and is
// withdrawn. An erasure without a condition needs no fence.
func (s *turnEraser) fence(ctx context.Context, d erasureDoc) error {
	if d.Fence == 0 {
		return nil
	}
	held, err := s.holdsFence(ctx, d)
	if err != nil || held {
		return err
	}
	return s.withdraw(ctx, d)
}

func (s *turnEraser) withdraw(ctx context.Context, d erasureDoc) error {
	if _, err := s.erasures.DeleteOne(ctx, eq("_id", d.ID, "begun", false)); err != nil {
		return uncertain("withdraw an erasure", err)
	}
	return errWithdrawn
}

// inLivingSession withdraws an erasure whose session was erased since it was looked up: an import that overwrites may have put another
// one in its place, with the same messages, and has not seen this erasure. One that is stored while the session lives is seen by it: see
// service.Porter.
func (s *turnEraser) inLivingSession(ctx context.Context, d erasureDoc) error {
	n, err := s.conversations.CountDocuments(ctx, eq("_id", d.Session), options.Count().SetLimit(1))
	if err != nil || n > 0 {
		return s.failed("read session", err)
	}
	return errors.Join(s.withdraw(ctx, d), store.Contention("the session was erased meanwhile"))
}

func (s *turnEraser) holdsFence(ctx context.Context, d erasureDoc) (bool, error) {
	var session sessionDoc
	err := decodeOne(s.conversations.FindOne(ctx, eq("_id", d.Session)), &session)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return false, nil
	}
	if err != nil {
		return false, s.failed("read session", err)
	}
	h := headOf(session)
	h.unconfirmed = false // left as it is
	if err := s.transcript.newer(ctx, &h); err != nil {
		return false, err
	}
	if h.lastTurn == d.Fence-1 {
		return s.putFence(ctx, d, h)
	}
	return s.isFence(ctx, d)
}

func (s *turnEraser) putFence(ctx context.Context, d erasureDoc, h head) (bool, error) {
	t := turnDoc{
		ID: turnID(h.key, d.Fence), Scope: h.scope, Session: h.key, Turn: d.Fence, FirstSeq: h.lastSeq + 1, LastSeq: h.lastSeq,
		RecordTime: max(d.CreateTime, h.updateTime), StateRevision: h.stateRevision, Steps: h.steps, Erasure: d.ID,
	}
	if d.Turn != nil {
		t = turnDoc{}
		if err := bson.Unmarshal(d.Turn, &t); err != nil {
			return false, fmt.Errorf("decode the turn of an erasure: %w", err)
		}
	}
	_, err := s.turns.InsertOne(ctx, t)
	if mongo.IsDuplicateKeyError(err) {
		return s.isFence(ctx, d)
	}
	if err != nil {
		return false, uncertain("store the turn of an erasure", err)
	}
	h.advance(t)
	alive, err := s.transcript.writeHead(ctx, &h)
	if err != nil || alive {
		return alive, err
	}
	_, err = s.turns.DeleteOne(ctx, eq("_id", t.ID))
	return false, s.failed("delete a turn of a session that is gone", err)
}

// replacing is the turn that is stored as the erasure's fence; nil where Append would store none. The ids of the erased messages
// count as free in it.
func (s *turnEraser) replacing(ctx context.Context, d erasureDoc, h head, p store.AppendParams) (bson.Raw, error) {
	ids := make([]string, len(p.Messages))
	for i := range p.Messages {
		ids[i] = p.Messages[i].ID
	}
	held, err := s.heldIDs(ctx, h.hashKey, h.key, ids)
	if err != nil {
		return nil, err
	}
	seen, erased := newKnownSession(h), rangesOf(d.Seqs)
	for id, of := range held {
		seen.uses[id] = of.uses
		switch {
		case of.turn == "":
		case d.FreeIDs && memory.Overlap(erased, memory.SeqRange{From: of.seq, To: of.seq}):
			seen.uses[id]++
		default:
			seen.bodies[memory.KeyedHash(idHash(h.hashKey, id, of.uses))] = memory.KeyedHash(of.body)
		}
	}
	st := seen.step(&call{p: p})
	if st.err != nil || !st.stores() {
		return nil, st.err
	}
	st.turn.Erasure = d.ID
	return encodeTurn(st.turn)
}

// isFence reports whether the turn in the fence's place is the erasure's.
func (s *turnEraser) isFence(ctx context.Context, d erasureDoc) (bool, error) {
	var t turnDoc
	o := options.FindOne().SetProjection(eq("erasure", 1))
	err := decodeOne(s.turns.FindOne(ctx, eq("_id", turnID(d.Session, d.Fence)), o), &t)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return false, nil
	}
	return err == nil && t.Erasure == d.ID, s.failed("read the turn of an erasure", err)
}

const (
	turnsEmptied = 64  // turns that are read and emptied at once
	shortRange   = 100 // messages of a range that are named one by one
	seqsAtOnce   = 500
)

// eachTurnWith calls f with the session's turns that hold messages of the ranges, some at a time.
func (s *turnEraser) eachTurnWith(
	ctx context.Context, key memory.SessionKey, ranges []memory.SeqRange, projection bson.D, f func([]turnDoc) error,
) error {
	var few []int64
	for _, r := range ranges {
		if r.To-r.From < shortRange {
			for seq := r.From; seq <= r.To; seq++ {
				few = append(few, seq)
			}
			continue
		}
		filter, found, err := s.transcript.turnRange(ctx, key, store.MessageQuery{After: r.From - 1, Before: r.To + 1})
		if err != nil || !found {
			return err
		}
		if err := s.eachBatch(ctx, filter, projection, f); err != nil {
			return err
		}
	}
	for seqs := range slices.Chunk(few, seqsAtOnce) {
		if err := s.eachBatch(ctx, eq("session", key, "messages.seq", in(seqs)), projection, f); err != nil {
			return err
		}
	}
	return nil
}

func (s *turnEraser) eachBatch(ctx context.Context, filter, projection bson.D, f func([]turnDoc) error) error {
	cursor, err := s.turns.Find(ctx, filter, options.Find().SetProjection(projection).SetSort(eq("_id", 1)).SetBatchSize(turnsEmptied))
	if err != nil {
		return s.failed("read turns", err)
	}
	defer cursor.Close(ctx) //nolint:errcheck // what was read is whole; the server ends cursors by itself
	var batch []turnDoc
	for cursor.Next(ctx) {
		var t turnDoc
		if err := decodeCurrent(cursor, &t); err != nil {
			return s.failed("read turns", err)
		}
		if batch = append(batch, t); len(batch) == turnsEmptied {
			if err := f(batch); err != nil {
				return err
			}
			batch = nil
		}
	}
	if err := cursor.Err(); err != nil {
		return s.failed("read turns", err)
	}
	if len(batch) == 0 {
		return nil
	}
	return f(batch)
}

// undeleted are the session's messages of the ranges that are not deleted.
func (s *turnEraser) undeleted(ctx context.Context, key memory.SessionKey, ranges []memory.SeqRange) ([]memory.SeqRange, error) {
	var left []memory.SeqRange
	projection := eq("messages.seq", 1, "messages.deleted", 1)
	err := s.eachTurnWith(ctx, key, ranges, projection, func(turns []turnDoc) error {
		for _, t := range turns {
			for _, m := range t.Messages {
				if at := (memory.SeqRange{From: m.Seq, To: m.Seq}); !m.Deleted && memory.Overlap(ranges, at) {
					left = append(left, at)
				}
			}
		}
		return nil
	})
	return memory.Union(left, nil), err
}

// emptyTurns takes the erased messages out of turns. A turn that another erasure changed meanwhile is read again.
func (s *turnEraser) emptyTurns(
	ctx context.Context, d erasureDoc, key memory.HashKey, turns []turnDoc,
) (emptied int64, err error) {
	for range maxSwaps {
		var models []mongo.WriteModel
		ids := make([]string, len(turns))
		var messages int64
		for i, t := range turns {
			ids[i] = t.ID
			change, n, err := t.emptied(d, key)
			if err != nil {
				return emptied, err
			}
			if n == 0 {
				continue
			}
			messages += n
			models = append(models, mongo.NewUpdateOneModel().SetFilter(eq("_id", t.ID, "erased", orMissing(t.Erased))).SetUpdate(change))
		}
		if len(models) == 0 {
			return emptied, nil
		}
		res, err := s.turns.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
		if err != nil {
			return emptied, uncertain("erase messages", err)
		}
		if res.MatchedCount == int64(len(models)) {
			return emptied + messages, nil
		}
		turns, err = readAll[turnDoc](ctx, s.turns, eq("_id", in(ids)), options.Find().SetProjection(withContent()))
		if err != nil {
			return emptied, s.failed("read turns", err)
		}
	}
	return emptied, store.Contention("others erase messages of the session")
}

// orMissing selects a counter that is not stored while it is 0.
func orMissing(n int64) any {
	if n == 0 {
		return nil // matches a missing field
	}
	return n
}

// emptied is the update that takes the erased messages out of the turn, and how many there are. What is stored of ids is hashed
// under the key.
func (t turnDoc) emptied(d erasureDoc, key memory.HashKey) (update bson.D, n int64, err error) {
	erased := rangesOf(d.Seqs)
	set, unset := eq("erased", t.Erased+1), bson.D(nil)
	calls := []string{}
	for i, m := range t.Messages {
		if m.Deleted || !memory.Overlap(erased, memory.SeqRange{From: m.Seq, To: m.Seq}) {
			if calls, err = t.callsOf(m, calls); err != nil {
				return nil, 0, err
			}
			continue
		}
		n++
		m.Original = nil
		t.Tokens, t.Bytes = t.Tokens-m.O200K, max(t.Bytes-m.storedBytes(), 0)
		if m.recallable() {
			t.Recallable--
		}
		left := m.emptied(d)
		if first := keyed(key, m.ID); !d.FreeIDs && i < len(t.IDs) && !bytes.Equal(t.IDs[i], first) {
			left.FirstHash = first
		}
		set = append(set, bson.E{Key: fmt.Sprintf("messages.%d", i), Value: left})
	}
	if n == 0 {
		return nil, 0, nil
	}
	set = append(set, eq("tokens", t.Tokens, "bytes", t.Bytes, "recallable", t.Recallable)...)
	if t.Result != "" {
		result, err := withoutFindings(t.Result)
		if err != nil {
			return nil, 0, err
		}
		set = append(set, bson.E{Key: "result", Value: result})
	}
	if len(calls) == 0 {
		unset = eq("calls", "") // the index holds the turns that have some
	} else {
		hashes := make([][]byte, len(calls))
		for i, id := range calls {
			hashes[i] = keyed(key, id)
		}
		set = append(set, bson.E{Key: "calls", Value: hashes})
	}
	return operators(set, unset), n, nil
}

// callsOf adds the tool calls that a message makes. Only a turn that makes some has to be opened.
func (t turnDoc) callsOf(d messageDoc, calls []string) ([]string, error) {
	if len(t.Calls) == 0 || d.Deleted {
		return calls, nil
	}
	m, err := d.message(t.Turn)
	return append(calls, m.ToolCalls()...), err
}

func (d messageDoc) recallable() bool {
	return memory.Message{Role: d.Role, Origin: d.Origin, Deleted: d.Deleted}.Recallable()
}

// emptied is what is left of an erased message: its place, and, unless its id is free again, the keyed hash of its body beside the
// one of its id, by which a repetition of it is known.
func (d messageDoc) emptied(e erasureDoc) messageDoc {
	left := messageDoc{
		Seq: d.Seq, Role: d.Role, Origin: d.Origin, CreateTime: d.CreateTime, RecordTime: d.RecordTime, Hidden: true, Deleted: true,
		Freed: e.FreeIDs,
	}
	if !e.FreeIDs {
		left.BodyHash = d.BodyHash
	}
	return left
}

// withoutFindings is the stored first result of a request without what was found in its messages.
func withoutFindings(result string) (string, error) {
	var r store.AppendResult
	if err := json.Unmarshal([]byte(result), &r); err != nil {
		return "", fmt.Errorf("decode the first result: %w", err)
	}
	r.Findings = nil
	encoded, err := json.Marshal(r)
	return string(encoded), err
}
