package mongostore

import (
	"container/list"
	"context"
	"errors"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
)

// head is what Append needs to know of a session to number what comes next.
type head struct {
	scope         memory.ScopeKey
	hashKey       memory.HashKey
	key           memory.SessionKey // "" for a session that does not exist
	lastTurn      int64
	lastSeq       int64
	steps         int64
	state         string
	stateRevision int64
	updateTime    int64
	lastMessage   int64
	written       int64 // the session's document knows of the turns up to it
	unconfirmed   bool  // the session's document says so: see confirm
	erasures      int   // fences among the turns that it was moved over
	since         int64 // record time of the first turn with messages that it does not know of; 0 for none
}

func headOf(d sessionDoc) head {
	return head{
		scope: d.Scope, hashKey: d.hashKey(), key: d.Key, lastTurn: d.LastTurn, lastSeq: d.LastSeq, steps: d.Steps,
		state: d.State, stateRevision: d.StateRevision, updateTime: d.UpdateTime, lastMessage: d.LastMessage, written: d.LastTurn,
		unconfirmed: d.Unconfirmed,
	}
}

// advance moves the head over the turn that follows it.
func (h *head) advance(t turnDoc) {
	h.lastTurn, h.lastSeq, h.steps, h.stateRevision = t.Turn, t.LastSeq, t.Steps, t.StateRevision
	h.updateTime = max(h.updateTime, t.RecordTime)
	h.lastMessage = max(h.lastMessage, t.LastMessage)
	if t.Erasure != "" {
		h.erasures++
	}
	if t.StateRevision == t.Turn {
		h.state = t.State
	}
	if t.N > 0 && h.since == 0 {
		h.since = t.RecordTime
		if len(t.Messages) > 0 { // the turn's own time may be pulled ahead by an earlier turn's
			h.since = t.Messages[0].RecordTime
		}
	}
}

// newer moves the head over the turns that were stored after it.
func (s *transcript) newer(ctx context.Context, h *head) error {
	filter := turnsBetween(h.key, eq("$gt", turnID(h.key, h.lastTurn), "$lt", afterTurns(h.key)))
	content := bson.D{
		{Key: "messages", Value: 0}, {Key: "ids", Value: 0}, {Key: "calls", Value: 0}, {Key: "result", Value: 0}, {Key: "patch", Value: 0},
	}
	turns, err := readAll[turnDoc](ctx, s.turns, filter, options.Find().SetProjection(content).SetSort(bson.D{{Key: "_id", Value: 1}}))
	if err != nil {
		return s.failed("read the latest turns", err)
	}
	for _, t := range turns {
		h.advance(t)
	}
	return nil
}

// catchUp writes turns to the session's head that it lacks because a server died between the two writes.
func (s *transcript) catchUp(ctx context.Context, key memory.SessionKey) error {
	var d sessionDoc
	err := decodeOne(s.conversations.FindOne(ctx, eq("_id", key)), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	if err != nil {
		return s.failed("read session", err)
	}
	h := headOf(d)
	if err := s.newer(ctx, &h); err != nil {
		return err
	}
	_, err = s.writeHead(ctx, &h)
	return err
}

// writeHead writes the head into the session's document, unless that knows of later turns already. It reports whether there
// still is such a session.
func (s *transcript) writeHead(ctx context.Context, h *head) (alive bool, err error) {
	if h.lastTurn == h.written {
		return true, nil
	}
	filter := bson.D{{Key: "_id", Value: h.key}, {Key: "last_turn", Value: bson.D{{Key: "$lt", Value: h.lastTurn}}}}
	res, err := s.conversations.UpdateOne(ctx, filter, h.update())
	if err != nil {
		return false, uncertain("update session", err)
	}
	if res.MatchedCount == 0 {
		n, err := s.conversations.CountDocuments(ctx, eq("_id", h.key), options.Count().SetLimit(1))
		if err != nil || n == 0 {
			return false, uncertain("read session", err)
		}
	}
	h.written, h.since, h.unconfirmed = h.lastTurn, 0, false
	return true, nil
}

func (h *head) update() bson.D {
	set := eq("last_turn", h.lastTurn, "last_seq", h.lastSeq, "steps", h.steps, "state_revision", h.stateRevision)
	update := bson.D{{Key: "$max", Value: eq("update_time", h.updateTime, "last_message_time", h.lastMessage)}}
	if h.stateRevision > h.written && h.state != "" {
		set = append(set, bson.E{Key: "state", Value: h.state})
	}
	var unset bson.D
	if h.stateRevision > h.written && h.state == "" {
		unset = eq("state", "")
	}
	if h.unconfirmed {
		unset = append(unset, bson.E{Key: "unconfirmed", Value: ""})
	}
	if len(unset) > 0 {
		update = append(update, bson.E{Key: "$unset", Value: unset})
	}
	if h.since != 0 {
		update = append(update, bson.E{Key: "$min", Value: eq("look_at", h.since, "feed.at", h.since)})
	}
	return append(update, bson.E{Key: "$set", Value: set})
}

const (
	cachedHeads = 4096
	cachedBytes = 32 << 20 // of states
)

// heads caches the heads of sessions that were written to lately. A head that lags does no harm: the unique key refuses the
// next turn.
type heads struct {
	mu    sync.Mutex
	limit int
	bytes int
	order *list.List // of *cachedHead, the latest used first
	by    map[memory.SessionRef]*list.Element
}

type cachedHead struct {
	ref memory.SessionRef
	head
}

func newHeads(limit int) *heads {
	return &heads{limit: limit, order: list.New(), by: map[memory.SessionRef]*list.Element{}}
}

func (c *heads) get(ref memory.SessionRef) (head, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.by[ref]
	if !ok {
		return head{}, false
	}
	c.order.MoveToFront(e)
	return entry(e).head, true
}

func (c *heads) put(ref memory.SessionRef, h head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.by[ref])
	c.by[ref] = c.order.PushFront(&cachedHead{ref: ref, head: h})
	c.bytes += len(h.state)
	for c.order.Len() > c.limit || c.bytes > cachedBytes {
		c.remove(c.order.Back())
	}
}

func (c *heads) drop(ref memory.SessionRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.by[ref])
}

func (c *heads) remove(e *list.Element) {
	if e == nil {
		return
	}
	gone := entry(e)
	c.order.Remove(e)
	delete(c.by, gone.ref)
	c.bytes -= len(gone.state)
}

func entry(e *list.Element) *cachedHead {
	h, _ := e.Value.(*cachedHead)
	return h
}
