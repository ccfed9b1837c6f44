package mongostore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

// turnsPerReply is how many turns are asked for at once: reading stops where the caller's limits are.
const turnsPerReply = 64

// KnownToolCalls implements store.Transcript.
func (s *transcript) KnownToolCalls(ctx context.Context, ref memory.SessionRef, callIDs []string) ([]string, error) {
	return s.known(ctx, ref, callIDs, func(d sessionDoc) (func(id string) bool, error) {
		hashes := make([][]byte, len(callIDs))
		for i, id := range callIDs {
			hashes[i] = keyed(d.hashKey(), id)
		}
		filter := eq("session", d.Key, "calls", bson.D{{Key: "$in", Value: hashes}})
		turns, err := readAll[turnDoc](ctx, s.turns, filter, options.Find().SetProjection(eq("calls", 1)))
		made := map[string]bool{}
		for _, t := range turns {
			for _, hash := range t.Calls {
				made[string(hash)] = true
			}
		}
		return func(id string) bool { return made[string(keyed(d.hashKey(), id))] }, s.failed("find tool calls", err)
	})
}

// KnownMessages implements store.Transcript.
func (s *transcript) KnownMessages(ctx context.Context, ref memory.SessionRef, ids []string) ([]string, error) {
	return s.known(ctx, ref, ids, func(d sessionDoc) (func(id string) bool, error) {
		held, err := s.heldIDs(ctx, d.hashKey(), d.Key, ids)
		return func(id string) bool { return held[id].turn != "" }, err
	})
}

// known are those of the ids that the session is found to know. An unknown user or session knows none.
func (s *transcript) known(
	ctx context.Context, ref memory.SessionRef, ids []string, find func(sessionDoc) (func(id string) bool, error),
) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	_, d, err := s.session(ctx, ref)
	if memory.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	isKnown, err := find(d)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, id := range ids {
		if isKnown(id) && !slices.Contains(known, id) {
			known = append(known, id)
		}
	}
	return known, nil
}

// Messages implements store.Transcript.
func (s *transcript) Messages(ctx context.Context, q store.MessageQuery) ([]memory.Message, error) {
	_, d, err := s.session(ctx, q.Ref)
	if err != nil {
		return nil, err
	}
	return s.readRun(ctx, d, q)
}

// run is a run of messages that is being read.
type run struct {
	q        store.MessageQuery
	messages []memory.Message
	visible  int // of them, not hidden
	tokens   int64
	bytes    int64
}

func (s *transcript) readRun(ctx context.Context, d sessionDoc, q store.MessageQuery) ([]memory.Message, error) {
	if q.Before > 0 && max(q.After, 0)+1 >= q.Before {
		return nil, nil
	}
	filter, found, err := s.turnRange(ctx, d.Key, boundToFind(d, q))
	if err != nil || !found {
		return nil, err
	}
	if q.Before > d.LastSeq { // the bound was not looked up: turns that the head does not have yet must not count for the limit
		filter = append(filter, bson.E{Key: "first_seq", Value: eq("$lt", q.Before)})
	}
	r := &run{q: q, messages: make([]memory.Message, 0, min(q.Limit, 256))}
	err = s.walk(ctx, filter, q, r.addTurn)
	return r.messages, err
}

// boundToFind is the query with those of its bounds that have to be looked up before its turns are read: the one at which reading
// begins, unless that is the session's end. Reading ends at the other one by itself, since a run has as many turns as messages
// at most. A run with gaps has no such measure.
func boundToFind(d sessionDoc, q store.MessageQuery) store.MessageQuery {
	switch {
	case q.Marked:
	case q.NewestFirst:
		q.After = 0
	default:
		q.Before = 0
	}
	if q.Before > d.LastSeq {
		q.Before = 0
	}
	return q
}

// turnRange selects the turns that hold the messages between After and Before. Turns lie in the order of their ids, so
// only a bound that is set has to be looked up, beside the other one.
func (s *transcript) turnRange(ctx context.Context, key memory.SessionKey, q store.MessageQuery) (filter bson.D, found bool, err error) {
	from, to := max(q.After, 0)+1, q.Before-1
	if q.Before > 0 && from > to {
		return nil, false, nil
	}
	var firstID, lastID string
	bounds, reading := safegroup.WithContext(ctx)
	if q.After > 0 {
		bounds.Go(func() (err error) {
			firstID, err = s.turnWith(reading, key, from)
			return err
		})
	}
	if q.Before > 0 {
		bounds.Go(func() (err error) {
			lastID, err = s.turnWith(reading, key, to)
			return err
		})
	}
	if err := bounds.Wait(); err != nil {
		return nil, false, err
	}
	first, last := bson.E{Key: "$gt", Value: string(key) + "/"}, bson.E{Key: "$lt", Value: afterTurns(key)}
	switch {
	case firstID != "":
		first = bson.E{Key: "$gte", Value: firstID}
	case q.After > 0: // no message has come after it
		return nil, false, nil
	}
	if lastID != "" { // else there is no bound, or it lies beyond the end
		last = bson.E{Key: "$lte", Value: lastID}
	}
	filter = append(turnsBetween(key, bson.D{first, last}), bson.E{Key: "n", Value: eq("$gt", 0)})
	if q.Marked {
		filter = append(filter, bson.E{Key: "$or", Value: bson.A{
			eq("messages.pinned", true), eq("messages.tags.0", bson.D{{Key: "$exists", Value: true}}), eq("messages.origin", memory.OriginRecalled),
		}})
	}
	return filter, true, nil
}

// turnWith returns the id of the turn that stored the message; "" when there is none.
func (s *transcript) turnWith(ctx context.Context, key memory.SessionKey, seq int64) (string, error) {
	var t turnDoc
	err := decodeOne(s.turns.FindOne(ctx, eq("session", key, "messages.seq", seq), options.FindOne().SetProjection(eq("_id", 1))), &t)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return "", nil
	}
	return t.ID, s.failed("find a message", err)
}

// walk calls each with turns in the order asked for until it has enough.
func (s *transcript) walk(ctx context.Context, filter bson.D, q store.MessageQuery, each func(turnDoc) (more bool, err error)) error {
	most := int64(q.Limit)
	if q.Before > 0 && !q.Marked {
		most = min(most, q.Before-1-max(q.After, 0))
	}
	o := options.Find().SetSort(eq("_id", 1)).SetLimit(most).SetBatchSize(int32(min(most, turnsPerReply)))
	if q.NewestFirst {
		o.SetSort(eq("_id", -1))
	}
	if q.WithOriginal {
		o.SetProjection(eq("turn", 1, "messages", 1))
	} else {
		o.SetProjection(withoutOriginals())
	}
	cursor, err := s.turns.Find(ctx, filter, o)
	if err != nil {
		return s.failed("read messages", err)
	}
	defer cursor.Close(ctx) //nolint:errcheck // what was read is whole; the server ends cursors by itself
	for cursor.Next(ctx) {
		var t turnDoc
		if err := decodeCurrent(cursor, &t); err != nil {
			return s.failed("read messages", err)
		}
		if more, err := each(t); !more || err != nil {
			return err
		}
	}
	return s.failed("read messages", cursor.Err())
}

// addTurn adds the turn's messages that are asked for, in order, while there is room.
func (r *run) addTurn(t turnDoc) (more bool, err error) {
	if r.q.NewestFirst {
		slices.Reverse(t.Messages)
	}
	for _, d := range t.Messages {
		before, after := d.Seq <= r.q.After, r.q.Before > 0 && d.Seq >= r.q.Before
		if r.q.NewestFirst && before || !r.q.NewestFirst && after {
			return false, nil // so are all that come
		}
		if before || after {
			continue
		}
		if r.q.Marked && !d.Pinned && len(d.Tags) == 0 && d.Origin != memory.OriginRecalled {
			continue
		}
		more, err := r.add(t.Turn, d)
		if !more || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (r *run) add(turn int64, d messageDoc) (more bool, err error) {
	r.bytes += d.storedBytes()
	if r.q.MaxBytes > 0 && r.bytes > r.q.MaxBytes && len(r.messages) > 0 {
		return false, nil
	}
	m, err := d.message(turn)
	if err != nil {
		return false, err
	}
	r.messages = append(r.messages, m)
	if !m.Hidden {
		r.visible, r.tokens = r.visible+1, r.tokens+m.Tokens.O200K
	}
	enough := r.q.MaxTokens > 0 && r.tokens >= r.q.MaxTokens && r.visible >= r.q.MinMessages
	return !enough && len(r.messages) < r.q.Limit, nil
}

// MessagesAt implements store.Transcript.
func (s *transcript) MessagesAt(ctx context.Context, q store.PlacesQuery) ([]memory.PlacedMessage, error) {
	if len(q.Places) == 0 {
		return nil, nil
	}
	u, err := s.scope(ctx, q.User)
	if memory.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.readPlaces(ctx, u.Scope, q)
}

// ownSessions finds the user's own sessions among those of the places.
func (s *transcript) ownSessions(
	ctx context.Context,
	scope memory.ScopeKey,
	places []memory.Place,
) (map[memory.SessionKey]sessionDoc, error) {
	keys := make([]memory.SessionKey, len(places))
	for i, p := range places {
		keys[i] = p.Session
	}
	slices.Sort(keys)
	filter := eq("_id", bson.D{{Key: "$in", Value: slices.Compact(keys)}}, "scope", scope)
	cursor, err := s.conversations.Find(ctx, filter, options.Find().SetProjection(eq("session_id", 1, "context_start", 1)))
	if err != nil {
		return nil, s.failed("find sessions", err)
	}
	var docs []sessionDoc
	if err := decodeAll(ctx, cursor, &docs); err != nil {
		return nil, s.failed("find sessions", err)
	}
	own := make(map[memory.SessionKey]sessionDoc, len(docs))
	for _, d := range docs {
		own[d.Key] = d
	}
	return own, nil
}

const (
	placesPerQuery = 64                 // of queries that run side by side
	placesAtOnce   = 4 * placesPerQuery // what one context shows fits into it, so that it is one round trip
)

// readPlaces reads the places some at a time, so that little more than the limit is ever in memory: by queries that run at once, each
// for places that lie together. Whose sessions they are in is found out first, while the first of these queries are made and wait as well.
func (s *transcript) readPlaces(ctx context.Context, scope memory.ScopeKey, q store.PlacesQuery) ([]memory.PlacedMessage, error) {
	p := placing{maxBytes: q.MaxBytes}
	for some := range slices.Chunk(q.Places, placesAtOnce) {
		found, taken := make([]*foundMessage, len(some)), &room{limit: q.MaxBytes}
		g, reading := safegroup.WithContext(ctx)
		g.Go(func() error {
			for part := range slices.Chunk(byPlace(some), placesPerQuery) {
				g.Go(func() error { return s.messagesAt(reading, scope, part, found, taken) })
			}
			return nil
		})
		err := g.WaitWith(func() (err error) {
			if p.own == nil {
				p.own, err = s.ownSessions(reading, scope, q.Places)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if taken.isFull() {
			found = nil
		}
		if full, err := s.placeFound(ctx, scope, &p, some, found); full || err != nil {
			return p.hits, err
		}
	}
	return p.hits, nil
}

// wanted is a place that is asked for.
type wanted struct {
	memory.Place
	at int // its index in what was asked for
}

// byPlace returns the places in the order in which messages are stored.
func byPlace(places []memory.Place) []wanted {
	sorted := make([]wanted, len(places))
	for i, p := range places {
		sorted[i] = wanted{p, i}
	}
	slices.SortFunc(sorted, func(a, b wanted) int { return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Seq, b.Seq)) })
	return sorted
}

// placesInTurn bounds what is in memory beyond MaxBytes where messages are large.
const placesInTurn = 128

// placeFound adds the messages at the places, which are read by one query after the other where found is nil: at once they take more
// than the limit. It reports true where one was over the limit.
func (s *transcript) placeFound(
	ctx context.Context, scope memory.ScopeKey, p *placing, places []memory.Place, found []*foundMessage,
) (full bool, err error) {
	if found != nil {
		return p.add(found), nil
	}
	for some := range slices.Chunk(places, placesInTurn) {
		found := make([]*foundMessage, len(some))
		if err := s.messagesAt(ctx, scope, byPlace(some), found, &room{}); err != nil {
			return false, err
		}
		if p.add(found) {
			return true, nil
		}
	}
	return false, nil
}

// room is what turns may take that are read at once, in bytes; 0 for no limit.
type room struct {
	limit int64
	taken atomic.Int64
}

func (r *room) isFull() bool { return r.limit > 0 && r.taken.Load() > r.limit }

// placing puts messages into the order of their places.
type placing struct {
	own      map[memory.SessionKey]sessionDoc // the user's sessions: ids and context starts
	hits     []memory.PlacedMessage
	bytes    int64
	maxBytes int64 // 0 for no limit
}

// add adds the messages that were found and are the user's own. It reports true where one was over the limit.
func (p *placing) add(found []*foundMessage) (full bool) {
	p.hits = slices.Grow(p.hits, len(found))
	for _, f := range found {
		if f == nil {
			continue
		}
		in, own := p.own[f.Place.Session]
		if !own {
			continue
		}
		p.bytes += f.stored
		if p.maxBytes > 0 && p.bytes > p.maxBytes && len(p.hits) > 0 {
			return true
		}
		f.SessionID, f.ContextStart = in.SessionID, in.ContextStart
		p.hits = append(p.hits, f.PlacedMessage)
	}
	return false
}

// foundMessage is a message without its session's part.
type foundMessage struct {
	memory.PlacedMessage
	stored int64 // bytes
}

// messagesAt puts the messages at those of the places, which are in order, that belong to the scope where found has their place, and ends
// early once the room is full. It decodes them too: other queries may still be waited for beside it.
func (s *transcript) messagesAt(ctx context.Context, scope memory.ScopeKey, places []wanted, found []*foundMessage, r *room) error {
	inSession := map[memory.SessionKey][]wanted{}
	var clauses bson.A // one round trip, however many sessions the places are in
	for len(places) > 0 {
		key := places[0].Session
		end := slices.IndexFunc(places, func(w wanted) bool { return w.Session != key })
		if end < 0 {
			end = len(places)
		}
		inSession[key], places = places[:end], places[end:]
		seqs := make([]int64, end)
		for i, w := range inSession[key] {
			seqs[i] = w.Seq
		}
		clauses = append(clauses, eq("session", key, "messages.seq", bson.D{{Key: "$in", Value: seqs}}))
	}
	cursor, err := s.turns.Find(ctx, eq("$or", clauses, "scope", scope), options.Find().SetProjection(withoutOriginals()))
	if err != nil {
		return s.failed("read messages by place", err)
	}
	defer func() { _ = cursor.Close(ctx) }()
	for cursor.Next(ctx) {
		if r.taken.Add(int64(len(cursor.Current))); r.isFull() {
			return nil
		}
		if err := openTurn(cursor.Current, inSession, found); err != nil {
			return err
		}
	}
	return s.failed("read messages by place", cursor.Err())
}

// openTurn decodes those messages of a turn that are asked for: it may hold many beside them.
func openTurn(turn bson.Raw, inSession map[memory.SessionKey][]wanted, found []*foundMessage) error {
	session := inSession[memory.SessionKey(turn.Lookup("session").StringValue())]
	messages, err := turn.Lookup("messages").Array().Values()
	if err != nil {
		return fmt.Errorf("decode a turn: %w", err)
	}
	for _, raw := range messages {
		seq, ok := raw.Document().Lookup("seq").AsInt64OK()
		if !ok {
			continue
		}
		at, _ := slices.BinarySearchFunc(session, seq, func(w wanted, seq int64) int { return cmp.Compare(w.Seq, seq) })
		for ; at < len(session) && session[at].Seq == seq; at++ {
			m, err := decodePlaced(raw.Document(), turn.Lookup("turn").AsInt64(), session[at].Place)
			if err != nil {
				return err
			}
			found[session[at].at] = m
		}
	}
	return nil
}

// decodePlaced is the message of a turn at a place; nil for one that was deleted.
func decodePlaced(message bson.Raw, turn int64, at memory.Place) (*foundMessage, error) {
	var d messageDoc
	if err := d.UnmarshalBSON(message); err != nil || d.Deleted {
		return nil, err
	}
	m, err := d.message(turn)
	return &foundMessage{memory.PlacedMessage{Place: at, Message: m}, d.storedBytes()}, err
}

// UpdateMessage implements store.Transcript.
func (s *transcript) UpdateMessage(ctx context.Context, u store.MessageUpdate) (memory.Message, error) {
	_, d, err := s.session(ctx, u.Ref)
	if err != nil {
		return memory.Message{}, err
	}
	held, err := s.heldIDs(ctx, d.hashKey(), d.Key, []string{u.MessageID})
	if err != nil {
		return memory.Message{}, err
	}
	at := held[u.MessageID]
	if at.turn == "" {
		return memory.Message{}, store.MessageNotFound(u.Ref, u.MessageID)
	}
	m, err := s.relabel(ctx, at.turn, at.at, u)
	if err != nil {
		return memory.Message{}, err
	}
	if alive, err := s.sessionAlive(ctx, d.Key); err != nil || !alive {
		return memory.Message{}, cmp.Or(err, store.SessionNotFound(u.Ref))
	}
	if err := s.forbid(ctx, d.Scope, u.Extract); err != nil || u.Hidden == nil {
		return m, err
	}
	return m, s.lookAtSummary(ctx, d.Scope, d.Key, u.Time)
}

// relabel changes what the update sets of a turn's message, which never moves within its turn.
func (s *transcript) relabel(ctx context.Context, turn string, at int, u store.MessageUpdate) (memory.Message, error) {
	var t turnDoc
	var err error
	if change := labels(at, u); len(change) > 0 {
		o := options.FindOneAndUpdate().SetReturnDocument(options.After).SetProjection(withoutOriginals())
		there := eq("_id", turn, fmt.Sprintf("messages.%d.deleted", at), eq("$ne", true))
		err = decodeOne(s.turns.FindOneAndUpdate(ctx, there, change, o), &t)
	} else {
		err = decodeOne(s.turns.FindOne(ctx, eq("_id", turn), options.FindOne().SetProjection(withoutOriginals())), &t)
	}
	if errors.Is(err, mongo.ErrNoDocuments) || (err == nil && (at >= len(t.Messages) || t.Messages[at].Deleted)) {
		return memory.Message{}, store.MessageNotFound(u.Ref, u.MessageID)
	}
	if err != nil {
		return memory.Message{}, uncertain("update message", err)
	}
	return t.Messages[at].message(t.Turn)
}

// labels is the update; nil when nothing is set.
func labels(at int, u store.MessageUpdate) bson.D {
	in := "messages." + strconv.Itoa(at) + "."
	var set, unset bson.D
	put := func(name string, value any, empty bool) {
		if empty {
			unset = append(unset, bson.E{Key: in + name, Value: ""})
		} else {
			set = append(set, bson.E{Key: in + name, Value: value})
		}
	}
	if u.Tags != nil {
		put("tags", *u.Tags, len(*u.Tags) == 0)
	}
	if u.Metadata != nil {
		put("metadata", string(*u.Metadata), len(*u.Metadata) == 0)
	}
	if u.Pinned != nil {
		put("pinned", *u.Pinned, !*u.Pinned)
	}
	if u.Hidden != nil {
		put("hidden", *u.Hidden, !*u.Hidden)
	}
	if u.Extract != nil {
		put("extract", *u.Extract, false)
	}
	return operators(set, unset)
}
