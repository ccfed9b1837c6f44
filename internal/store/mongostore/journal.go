package mongostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// slotDoc is a slot as it is stored. A session's cursor of a kind is the highest To of its slots of generation 1: each of
// them begins where the one before ends, which its id and the unique key of Prev see to.
type slotDoc struct {
	ID           string            `bson:"_id"`   // of memory.SlotKey
	Moves        int64             `bson:"moves"` // counts the changes: a change succeeds only if the number is still the one that it read
	Scope        memory.ScopeKey   `bson:"scope"`
	Tenant       string            `bson:"tenant"`
	UserID       string            `bson:"user_id"`
	Session      memory.SessionKey `bson:"session"` // "" for weeks and months
	SessionID    string            `bson:"session_id"`
	Kind         memory.SlotKind   `bson:"kind"`
	Level        int               `bson:"level"`
	From         int64             `bson:"from"`
	To           int64             `bson:"to"`
	Generation   int               `bson:"generation"`
	Prev         *int64            `bson:"prev,omitempty"` // the cursor that the slot moved
	State        memory.SlotState  `bson:"state"`
	Live         bool              `bson:"live,omitempty"`     // not final, or split and a half may be missing
	SplitAt      int64             `bson:"split_at,omitempty"` // while a half may be missing
	Answer       *[]byte           `bson:"answer,omitempty"`   // nil for none; an empty answer is an answer
	Attempts     int               `bson:"attempts"`
	NotBefore    int64             `bson:"not_before,omitempty"`
	FailingSince int64             `bson:"failing_since,omitempty"`
	Reason       string            `bson:"reason,omitempty"`
	Owner        string            `bson:"owner,omitempty"`
	LeaseUntil   int64             `bson:"lease_until,omitempty"`
	Calls        int               `bson:"calls"`
	InputTokens  int64             `bson:"input_tokens"`
	OutputTokens int64             `bson:"output_tokens"`
	CreateTime   int64             `bson:"create_time"`
	UpdateTime   int64             `bson:"update_time"`
}

// encodeSlot is the document of a slot that is stored for the first time.
func encodeSlot(slot memory.Slot) slotDoc {
	d := slotDoc{
		ID: slot.ID(), Scope: slot.Scope, Tenant: slot.User.Tenant, UserID: slot.User.UserID,
		Session: slot.Session, SessionID: slot.SessionID, Kind: slot.Kind, Level: slot.Level,
		From: slot.From, To: slot.To, Generation: slot.Generation, CreateTime: micros(slot.CreateTime),
	}
	if movesCursor(slot.SlotKey) {
		prev := slot.From - 1
		d.Prev = &prev
	}
	return d.with(slot)
}

// movesCursor reports whether the next slot of the kind begins behind this one. The place of all others follows from
// other slots.
func movesCursor(k memory.SlotKey) bool {
	return k.Generation == 1 && (k.Kind == memory.SlotExtract || k.Kind == memory.SlotLeaf)
}

// with is the document with what changes of a slot.
func (d slotDoc) with(slot memory.Slot) slotDoc {
	d.State, d.Live, d.Answer = slot.State, !slot.State.IsFinal(), nil
	if slot.Answer != nil {
		d.Answer = &slot.Answer
	}
	d.Attempts, d.NotBefore, d.Reason = slot.Attempts, orNever(slot.NotBefore), slot.Reason
	d.FailingSince = orNever(slot.FailingSince)
	d.Owner, d.LeaseUntil = slot.Owner, orNever(slot.LeaseUntil)
	d.Calls, d.InputTokens, d.OutputTokens = slot.Usage.Calls, slot.Usage.InputTokens, slot.Usage.OutputTokens
	d.UpdateTime = micros(slot.UpdateTime)
	return d
}

func (d slotDoc) slot() memory.Slot {
	slot := memory.Slot{
		SlotKey: memory.SlotKey{
			Scope: d.Scope, Session: d.Session, Kind: d.Kind, Level: d.Level, From: d.From, Generation: d.Generation,
		},
		User: memory.UserRef{Tenant: d.Tenant, UserID: d.UserID}, SessionID: d.SessionID, To: d.To,
		State: d.State, Attempts: d.Attempts, NotBefore: orZero(d.NotBefore), Reason: d.Reason,
		FailingSince: orZero(d.FailingSince),
		Owner:        d.Owner, LeaseUntil: orZero(d.LeaseUntil),
		Usage:      memory.ModelUsage{Calls: d.Calls, InputTokens: d.InputTokens, OutputTokens: d.OutputTokens},
		CreateTime: fromMicros(d.CreateTime), UpdateTime: fromMicros(d.UpdateTime),
	}
	if d.Answer != nil {
		slot.Answer = append([]byte{}, *d.Answer...)
	}
	return slot
}

func slotsOf(docs []slotDoc) []memory.Slot {
	slots := make([]memory.Slot, len(docs))
	for i, d := range docs {
		slots[i] = d.slot()
	}
	return slots
}

// OpenSlot implements store.Journal. The insert fixes the range: of two that begin behind the same cursor one is refused
// by the unique keys, whatever the ends.
func (s *journal) OpenSlot(ctx context.Context, p store.SlotOpening) (memory.Slot, error) {
	if err := s.inLife(ctx, p.User, p.Scope); err != nil {
		return memory.Slot{}, err
	}
	ref := store.SlotRef{User: p.User, ID: p.ID()}
	d, err := s.findSlot(ctx, p.Scope, ref)
	if memory.ReasonOf(err) != memory.ReasonSlotNotFound {
		return d.slot(), err
	}
	sessionID, err := s.checkRange(ctx, p)
	if memory.ReasonOf(err) == memory.ReasonContention {
		return s.openedBefore(ctx, p.Scope, ref)
	}
	if err != nil {
		return memory.Slot{}, err
	}
	d = encodeSlot(memory.Slot{
		SlotKey: p.SlotKey, User: p.User, SessionID: sessionID, To: p.To, State: memory.SlotOpen,
		Owner: p.Owner, LeaseUntil: p.Until, CreateTime: p.Time, UpdateTime: p.Time,
	})
	_, err = s.slots.InsertOne(ctx, d)
	if mongo.IsDuplicateKeyError(err) {
		return s.openedBefore(ctx, p.Scope, ref)
	}
	if err != nil {
		return memory.Slot{}, uncertain("open slot", err)
	}
	return d.slot(), nil
}

// inLife reports USER_NOT_FOUND for a user who does not exist, or lives another life.
func (s *core) inLife(ctx context.Context, user memory.UserRef, scope memory.ScopeKey) error {
	u, err := s.scope(ctx, user)
	if err == nil && u.Scope != scope {
		err = store.UserNotFound(user)
	}
	return err
}

// openedBefore returns the slot if somebody inserted it meanwhile; else it was another range.
func (s *journal) openedBefore(ctx context.Context, scope memory.ScopeKey, ref store.SlotRef) (memory.Slot, error) {
	d, err := s.findSlot(ctx, scope, ref)
	if memory.ReasonOf(err) == memory.ReasonSlotNotFound {
		err = store.Contention("another range was fixed first")
	}
	if err != nil {
		return memory.Slot{}, err
	}
	return d.slot(), nil
}

// checkRange finds the id of the slot's session, "" for a week or month, and refuses a range that cannot follow.
func (s *journal) checkRange(ctx context.Context, p store.SlotOpening) (sessionID string, err error) {
	if p.Session == "" {
		return "", nil
	}
	var d sessionDoc
	err = s.conversations.FindOne(ctx, eq("_id", p.Session, "scope", p.Scope)).Decode(&d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return "", incarnationNotFound(p.User)
	}
	if err != nil || !movesCursor(p.SlotKey) {
		return d.SessionID, s.failed("find session", err)
	}
	if p.To < p.From || p.To > d.LastSeq {
		return "", fmt.Errorf("slot from %d to %d does not lie in a session of %d messages", p.From, p.To, d.LastSeq)
	}
	cursor, err := s.cursor(ctx, p.Session, p.Kind)
	if err == nil && cursor != p.From-1 {
		err = store.Contention("another range was fixed first")
	}
	return d.SessionID, err
}

// incarnationNotFound is for callers that name a session by its key, which no caller of the API may see.
func incarnationNotFound(u memory.UserRef) error {
	return &memory.Error{
		Kind: memory.KindNotFound, Reason: memory.ReasonSessionNotFound,
		Message: "that session of user " + u.UserID + " is gone", Metadata: map[string]string{"user_id": u.UserID},
	}
}

// cursor returns where the session's last slot of the kind ends; 0 before the first. The sort names the index in full,
// although the filter fixes all but its end: the test server took 58 ms for 2,000 slots without, 13 ms with it.
func (s *journal) cursor(ctx context.Context, session memory.SessionKey, kind memory.SlotKind) (int64, error) {
	var last slotDoc
	err := s.slots.FindOne(ctx, eq("session", session, "kind", kind, "generation", 1),
		options.FindOne().SetSort(eq("session", 1, "kind", 1, "generation", 1, "to", -1)).SetProjection(eq("to", 1))).Decode(&last)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 0, nil
	}
	return last.To, s.failed("find the last slot", err)
}

// findSlot reads a slot of the user.
func (s *journal) findSlot(ctx context.Context, scope memory.ScopeKey, ref store.SlotRef) (slotDoc, error) {
	var d slotDoc
	err := s.slots.FindOne(ctx, eq("_id", ref.ID, "scope", scope)).Decode(&d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return d, store.SlotNotFound(ref.User, ref.ID)
	}
	if err != nil {
		return d, s.failed("find slot", err)
	}
	return d, s.completeSplit(ctx, d)
}

// findSlotOf is findSlot for those who do not know the user's scope.
func (s *journal) findSlotOf(ctx context.Context, ref store.SlotRef) (slotDoc, error) {
	u, err := s.scope(ctx, ref.User)
	if err != nil {
		return slotDoc{}, err
	}
	return s.findSlot(ctx, u.Scope, ref)
}

// findSlots reads slots. Where one of them is split and its halves may be missing, it inserts those and reads again.
func (s *journal) findSlots(ctx context.Context, filter bson.D, o *options.FindOptionsBuilder) ([]slotDoc, error) {
	for {
		docs, err := readAll[slotDoc](ctx, s.slots, filter, o)
		if err != nil {
			return nil, s.failed("find slots", err)
		}
		completed := false
		for _, d := range docs {
			if err := s.completeSplit(ctx, d); err != nil {
				return nil, err
			}
			completed = completed || d.SplitAt != 0
		}
		if !completed {
			return docs, nil
		}
	}
}

// maxMoves bounds how often a change is decided anew because others outran it. Each time one of them has succeeded.
const maxMoves = 50

// changeSlot stores what change makes of the slot, and returns what is stored. change may be called again.
func (s *journal) changeSlot(ctx context.Context, scope memory.ScopeKey, ref store.SlotRef, change func(slotDoc) (slotDoc, error)) (slotDoc, error) {
	for range maxMoves {
		was, err := s.findSlot(ctx, scope, ref)
		if err != nil {
			return slotDoc{}, err
		}
		now, err := change(was)
		if errors.Is(err, store.ErrSlotAsIs) {
			return was, nil
		}
		if err != nil {
			return slotDoc{}, err
		}
		now.Moves++
		res, err := s.slots.ReplaceOne(ctx, eq("_id", was.ID, "moves", was.Moves), now)
		if err != nil {
			return slotDoc{}, uncertain("change slot", err)
		}
		if res.MatchedCount > 0 {
			return now, nil
		}
	}
	return slotDoc{}, store.Contention("others change the job")
}

// moveSlot stores what move makes of the user's slot, and returns what is stored. move must bear being called again.
func (s *journal) moveSlot(ctx context.Context, ref store.SlotRef, move func(memory.Slot) (memory.Slot, error)) (memory.Slot, error) {
	u, err := s.scope(ctx, ref.User)
	if err != nil {
		return memory.Slot{}, err
	}
	d, err := s.changeSlot(ctx, u.Scope, ref, func(d slotDoc) (slotDoc, error) {
		slot, err := move(d.slot())
		return d.with(slot), err
	})
	if err != nil {
		return memory.Slot{}, err
	}
	return d.slot(), nil
}

// ClaimSlot implements store.Journal.
func (s *journal) ClaimSlot(ctx context.Context, p store.SlotClaim) (memory.Slot, error) {
	return s.moveSlot(ctx, p.SlotRef, p.Move)
}

// AnswerSlot implements store.Journal.
func (s *journal) AnswerSlot(ctx context.Context, p store.SlotAnswer) (memory.Slot, error) {
	return s.moveSlot(ctx, p.SlotRef, p.Move)
}

// FailSlot implements store.Journal.
func (s *journal) FailSlot(ctx context.Context, p store.SlotFailure) (memory.Slot, error) {
	return s.moveSlot(ctx, p.SlotRef, p.Move)
}

// FinishSlot implements store.Journal.
func (s *journal) FinishSlot(ctx context.Context, p store.SlotFinish) (memory.Slot, error) {
	return s.moveSlot(ctx, p.SlotRef, p.Move)
}

// finishSlot makes the slot what finished makes of it. A slot that is final stays as it is, so doing it
// again is harmless.
func (s *journal) finishSlot(ctx context.Context, scope memory.ScopeKey, slotID string, finished func(memory.Slot) memory.Slot) error {
	_, err := s.changeSlot(ctx, scope, store.SlotRef{ID: slotID}, func(d slotDoc) (slotDoc, error) {
		if d.State.IsFinal() {
			return d, store.ErrSlotAsIs
		}
		return d.with(finished(d.slot())), nil
	})
	return err
}

// slotIsFinal reports whether nothing will happen to the slot any more; JOB_NOT_FOUND when there is none.
func (s *journal) slotIsFinal(ctx context.Context, scope memory.ScopeKey, slotID string) (bool, error) {
	d, err := s.findSlot(ctx, scope, store.SlotRef{ID: slotID})
	return d.State.IsFinal(), err
}

// slotIsReverted reports whether the slot that a write takes back was taken back already. One that cannot be is refused.
func (s *journal) slotIsReverted(ctx context.Context, scope memory.ScopeKey, w store.FactWrite) (bool, error) {
	d, err := s.findSlot(ctx, scope, store.SlotRef{User: w.User, ID: w.Reverts})
	if err != nil {
		return false, err
	}
	_, err = store.RevertedSlot(d.slot(), w.Receipt, w.Time)
	if errors.Is(err, store.ErrSlotAsIs) {
		return true, nil
	}
	return false, err
}

// revertSlot keeps that the effects of the slot were taken back; doing it again is harmless.
func (s *journal) revertSlot(ctx context.Context, scope memory.ScopeKey, slotID string, receipt []byte, at time.Time) error {
	_, err := s.changeSlot(ctx, scope, store.SlotRef{ID: slotID}, func(d slotDoc) (slotDoc, error) {
		slot, err := store.RevertedSlot(d.slot(), receipt, at)
		if err != nil {
			return d, err
		}
		return d.with(slot), nil
	})
	return err
}

// SplitSlot implements store.Journal. The change of the slot is the commit point; the next reader that finds the slot
// without its halves inserts them.
func (s *journal) SplitSlot(ctx context.Context, p store.SlotSplit) (halves [2]memory.Slot, err error) {
	u, err := s.scope(ctx, p.User)
	if err != nil {
		return halves, err
	}
	d, err := s.changeSlot(ctx, u.Scope, p.SlotRef, func(d slotDoc) (slotDoc, error) { return split(d, p) })
	if err != nil {
		return halves, err
	}
	if err := s.completeSplit(ctx, d); err != nil {
		return halves, err
	}
	return s.readHalves(ctx, u.Scope, d.slot())
}

func split(d slotDoc, p store.SlotSplit) (slotDoc, error) {
	if d.State == memory.SlotSplit {
		return d, store.ErrSlotAsIs
	}
	if d.State.IsFinal() {
		return d, store.Contention("the job is " + d.State.String())
	}
	if p.At < d.From || p.At >= d.To {
		return d, fmt.Errorf("slot from %d to %d cannot be split after %d", d.From, d.To, p.At)
	}
	d = d.with(store.FinishedSlot(d.slot(), memory.SlotSplit, memory.ModelUsage{}, p.Time))
	d.Live, d.SplitAt = true, p.At
	return d, nil
}

// completeSplit inserts the halves that a split slot may lack.
func (s *journal) completeSplit(ctx context.Context, d slotDoc) error {
	if d.SplitAt == 0 {
		return nil
	}
	for _, half := range halvesOf(d.slot(), d.SplitAt) {
		if _, err := s.slots.InsertOne(ctx, encodeSlot(half)); err != nil && !mongo.IsDuplicateKeyError(err) {
			return uncertain("insert the half of a slot", err)
		}
	}
	_, err := s.slots.UpdateOne(ctx, eq("_id", d.ID), bson.D{{Key: "$unset", Value: eq("live", "", "split_at", "")}})
	if err != nil {
		return uncertain("complete the split of a slot", err)
	}
	return nil
}

// halvesOf are the slots that replace one that was split after a place.
func halvesOf(slot memory.Slot, at int64) [2]memory.Slot {
	half := func(from, to int64) memory.Slot {
		return memory.Slot{
			SlotKey: half(slot.SlotKey, from), User: slot.User, SessionID: slot.SessionID, To: to,
			State: memory.SlotOpen, CreateTime: slot.UpdateTime, UpdateTime: slot.UpdateTime,
		}
	}
	return [2]memory.Slot{half(slot.From, at), half(at+1, slot.To)}
}

// half is the key of the slot that takes over from a place on.
func half(k memory.SlotKey, from int64) memory.SlotKey {
	k.From = from
	k.Generation++
	return k
}

// readHalves finds the slots that a split slot was replaced by: where the first one ends, the second one begins.
func (s *journal) readHalves(ctx context.Context, scope memory.ScopeKey, slot memory.Slot) (halves [2]memory.Slot, err error) {
	from := slot.From
	for i := range halves {
		d, err := s.findSlot(ctx, scope, store.SlotRef{User: slot.User, ID: half(slot.SlotKey, from).ID()})
		if err != nil {
			return [2]memory.Slot{}, err
		}
		halves[i] = d.slot()
		from = d.To + 1
	}
	return halves, nil
}

// RetrySlot implements store.Journal. It sets the time at which the work is looked at before the slot changes, so that a
// crash in between hides no work, and again after it: a worker that read the slot as parked has then also read the earlier
// time, and defers nothing.
func (s *journal) RetrySlot(ctx context.Context, p store.SlotRetry) (memory.Slot, error) {
	was, err := s.findSlotOf(ctx, p.SlotRef)
	if err != nil {
		return memory.Slot{}, err
	}
	if _, err := p.Move(was.slot()); err != nil {
		return memory.Slot{}, err
	}
	if err := s.lookAt(ctx, was, p.Time.Add(-time.Microsecond)); err != nil {
		return memory.Slot{}, err
	}
	d, err := s.changeSlot(ctx, was.Scope, p.SlotRef, func(d slotDoc) (slotDoc, error) {
		slot, err := p.Move(d.slot())
		return d.with(slot), err
	})
	if err != nil {
		return memory.Slot{}, err
	}
	return d.slot(), s.lookAt(ctx, was, p.Time)
}

// ParkedSlots implements store.Journal.
func (s *journal) ParkedSlots(ctx context.Context, q store.ParkedQuery) ([]memory.Slot, error) {
	filter := eq("live", true, "state", memory.SlotParked, "reason", q.Reason, "$or", bson.A{
		eq("not_before", eq("$lte", micros(q.Before))), eq("not_before", eq("$gt", micros(q.Before.Add(store.LongestParked)))),
	})
	o := options.Find().SetSort(eq("not_before", 1, "_id", 1)).SetLimit(int64(q.Limit)).SetProjection(eq("answer", 0))
	docs, err := s.findSlots(ctx, filter, o)
	if err != nil {
		return nil, err
	}
	return slotsOf(docs), nil
}

// lookAt has the slot's session looked at then, in place of any other time, or the user's periods by then.
func (s *journal) lookAt(ctx context.Context, d slotDoc, at time.Time) error {
	if d.Session == "" {
		return s.lookAtPeriods(ctx, d.Scope, at)
	}
	return s.lookAtSession(ctx, d.Session, at)
}

func (s *core) lookAtSession(ctx context.Context, session memory.SessionKey, at time.Time) error {
	_, err := s.conversations.UpdateOne(ctx, eq("_id", session), bson.D{{Key: "$set", Value: eq("look_at", micros(at))}})
	if err != nil {
		return uncertain("have a session looked at", err)
	}
	return nil
}

// Slot implements store.Journal.
func (s *journal) Slot(ctx context.Context, ref store.SlotRef) (memory.Slot, error) {
	d, err := s.findSlotOf(ctx, ref)
	if err != nil {
		return memory.Slot{}, err
	}
	return d.slot(), nil
}

// ListSlots implements store.Journal.
func (s *journal) ListSlots(ctx context.Context, q store.SlotQuery) ([]memory.Slot, error) {
	filter, err := s.slotsOwner(ctx, q)
	if err != nil {
		return nil, err
	}
	o := options.Find().SetSort(eq("create_time", -1, "_id", 1)).SetLimit(int64(q.Limit))
	docs, err := s.findSlots(ctx, append(filter, slotsFilter(q)...), o)
	if err != nil {
		return nil, err
	}
	return slotsOf(docs), nil
}

// slotsOwner returns the part of the filter that selects whose slots are asked for.
func (s *journal) slotsOwner(ctx context.Context, q store.SlotQuery) (bson.D, error) {
	user := memory.UserRef{Tenant: q.Tenant, UserID: q.UserID}
	switch {
	case q.UserID == "":
		return eq("tenant", q.Tenant), nil
	case q.SessionID == "":
		u, err := s.scope(ctx, user)
		return eq("scope", u.Scope), err
	default:
		u, d, err := s.session(ctx, user.Session(q.SessionID))
		return eq("session", d.Key, "scope", u.Scope), err
	}
}

func slotsFilter(q store.SlotQuery) (filter bson.D) {
	if len(q.Kinds) > 0 {
		filter = append(filter, eq("kind", eq("$in", q.Kinds))...)
	}
	if len(q.States) > 0 {
		filter = append(filter, eq("state", eq("$in", q.States))...)
		if live(q.States) {
			filter = append(filter, eq("live", true)...)
		}
	}
	if q.After != nil {
		t := micros(q.After.CreateTime)
		filter = append(filter, eq("create_time", eq("$lte", t), "$or", bson.A{
			eq("create_time", eq("$lt", t)), eq("_id", eq("$gt", q.After.ID)),
		})...)
	}
	return filter
}

// live reports that no final slot is asked for, so that the index of the others serves.
func live(states []memory.SlotState) bool {
	for _, s := range states {
		if s.IsFinal() {
			return false
		}
	}
	return true
}
