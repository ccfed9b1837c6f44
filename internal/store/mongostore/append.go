package mongostore

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

const (
	maxPause     = 2 * time.Millisecond  // after the first of them
	graceTime    = time.Second           // for a batch whose callers gave up
	maxYield     = 50 * time.Millisecond // after a batch that other servers were outrun by
	maxLost      = 100                   // inserts in a row that other servers outran
	maxSendBytes = 32 << 20              // of turns in one insert
)

// Append implements store.Transcript.
func (s *transcript) Append(ctx context.Context, p store.AppendParams) (store.AppendResult, error) {
	c := &call{p: p, done: make(chan struct{})}
	c.until, _ = ctx.Deadline()
	if err := s.queues.submit(ctx, c, s.serve); err != nil {
		return store.AppendResult{}, s.failed("append turn", err)
	}
	return c.res, nil
}

// batch is calls of one session while they are served.
type batch struct {
	*transcript
	ref     memory.SessionRef
	seen    *knownSession
	fresh   bool          // the head was read in this batch, or a turn was stored after it
	asked   bool          // which of the calls' requests were stored before is read
	looked  bool          // and which of their messages
	lost    int           // inserts in a row that others outran
	shared  bool          // others outran one
	took    time.Duration // the last insert
	waiting []*call       // in order, without a result yet
}

// serve gives every call of the batch its result. It outlives callers that give up, because the others share their insert.
// A panic becomes the error of the calls that still wait.
func (s *transcript) serve(calls []*call) {
	ctx, cancel := context.WithTimeout(context.Background(), patience(time.Now(), calls))
	defer cancel()
	b := &batch{transcript: s, ref: calls[0].p.Ref, waiting: calls}
	err := safegroup.Contain(func() error { return b.run(ctx) })
	if err != nil {
		s.heads.drop(b.ref)
	} else if b.seen.key != "" {
		s.heads.put(b.ref, b.seen.head)
	}
	for _, c := range b.waiting {
		c.reply(store.AppendResult{}, err)
	}
	b.yield()
}

// yield leaves the session to other servers that write to it, for the time they need to read the session's end and to
// insert. Without it the first server keeps the session: its next batch is always on its way before the others retry. Calls
// that arrive during the pause wait and share the next insert.
func (b *batch) yield() {
	if b.shared {
		time.Sleep(min(2*b.took, maxYield))
	}
}

// patience is how long a batch may take: a little longer than its callers wait, so that a turn that was stored is followed
// by its head, and those who come later do not wait for a server that hangs.
func patience(now time.Time, calls []*call) time.Duration {
	var longest time.Duration
	for _, c := range calls {
		if c.until.IsZero() {
			return callTimeout
		}
		longest = max(longest, c.until.Sub(now))
	}
	return min(longest+graceTime, callTimeout)
}

// run works until no call waits.
func (b *batch) run(ctx context.Context) error {
	if h, ok := b.heads.get(b.ref); ok {
		b.seen = newKnownSession(h)
	} else if err := b.load(ctx); err != nil {
		return err
	}
	for len(b.waiting) > 0 {
		if err := b.round(ctx); err != nil {
			return err
		}
	}
	return nil
}

// load reads the session's head. Of a session that does not exist it is the zero head.
func (b *batch) load(ctx context.Context) error {
	_, d, err := b.session(ctx, b.ref)
	if memory.IsGone(err) {
		b.seen, b.fresh = newKnownSession(head{}), true
		return nil
	}
	if err != nil {
		return err
	}
	return b.adopt(ctx, d)
}

// adopt goes on from the session as it is stored. One of a user who is gone counts for nothing.
func (b *batch) adopt(ctx context.Context, d sessionDoc) error {
	alive, err := b.confirm(ctx, d)
	if err != nil {
		return err
	}
	if !alive {
		b.seen, b.fresh = newKnownSession(head{}), true
		return nil
	}
	h := headOf(d)
	if err := b.newer(ctx, &h); err != nil {
		return err
	}
	b.seen, b.fresh, b.asked, b.looked = newKnownSession(h), true, false, false
	return nil
}

// round decides about the waiting calls, stores their turns, and returns the results that are certain.
func (b *batch) round(ctx context.Context) error {
	steps := b.seen.decide(b.waiting)
	if b.seen.key == "" {
		return b.begin(ctx, steps)
	}
	if !b.looked && findsNoRoom(steps) {
		return b.lookUp(ctx)
	}
	if !b.asked && refusesRequest(steps) {
		return b.askRequests(ctx)
	}
	steps, turns := sendable(steps)
	if len(turns) == 0 {
		return b.conclude(ctx, steps)
	}
	began := time.Now()
	stored, err := b.insert(ctx, turns)
	b.took = time.Since(began)
	if stored == 0 {
		return b.resolve(ctx, err) // turns of other servers are written to the session's head by those
	}
	b.fresh = true
	sure := steps[:b.count(steps, stored)]
	alive, err := b.writeHead(ctx, &b.seen.head)
	switch {
	case err != nil:
		return err
	case !alive:
		return b.restart(ctx, sure)
	}
	b.reply(sure)
	return b.resolve(ctx, err)
}

// refusesRequest reports that a call is refused that has a request id: it may be a repeated one.
func refusesRequest(steps []step) bool {
	return slices.ContainsFunc(steps, func(st step) bool { return st.err != nil && st.call.p.RequestID != "" })
}

// findsNoRoom reports that a call has more messages than there is room for: some of them may be stored already.
func findsNoRoom(steps []step) bool {
	return slices.ContainsFunc(steps, func(st step) bool {
		return st.err != nil && st.call.p.Room != nil && errors.Is(st.err, st.call.p.Room.Full)
	})
}

// begin creates the session, unless every call is refused.
func (b *batch) begin(ctx context.Context, steps []step) error {
	for i := range steps {
		if steps[i].err == nil {
			return b.create(ctx, steps[i].call.p)
		}
	}
	b.reply(steps)
	return nil
}

func (b *batch) create(ctx context.Context, p store.AppendParams) error {
	u, err := b.ensureUser(ctx, b.ref.UserRef, p.Time)
	if err != nil {
		return err
	}
	d, err := b.ensureSession(ctx, u, b.ref.SessionID, p.Profile, p.Time)
	if err != nil {
		return err
	}
	return b.adopt(ctx, d)
}

// sendable cuts the steps to what fits into one insert, and returns their turns.
func sendable(steps []step) ([]step, []bson.Raw) {
	var turns []bson.Raw
	bytes := 0
	for i := range steps {
		if !steps[i].stores() {
			continue
		}
		if bytes += len(steps[i].raw); bytes > maxSendBytes && len(turns) > 0 {
			return steps[:i], turns
		}
		turns = append(turns, steps[i].raw)
	}
	return steps, turns
}

// conclude returns results to calls that store nothing. A head from the cache is read anew first.
func (b *batch) conclude(ctx context.Context, steps []step) error {
	if !b.fresh {
		return b.load(ctx)
	}
	alive, err := b.writeHead(ctx, &b.seen.head)
	switch {
	case err != nil:
		return err
	case !alive:
		return b.restart(ctx, nil)
	}
	b.reply(steps)
	return nil
}

// insert stores turns in their order, up to the first that a unique key refuses, and returns how many it stored.
func (b *batch) insert(ctx context.Context, turns []bson.Raw) (stored int, err error) {
	if len(turns) == 1 {
		if _, err := b.turns.InsertOne(ctx, turns[0]); err != nil {
			return 0, err
		}
		return 1, nil
	}
	_, err = b.turns.InsertMany(ctx, turns, options.InsertMany().SetOrdered(true))
	if err == nil {
		return len(turns), nil
	}
	if e, ok := errors.AsType[mongo.BulkWriteException](err); ok && len(e.WriteErrors) > 0 && !unconfirmed(err) {
		return e.WriteErrors[0].Index, err
	}
	return 0, err
}

// count moves what is known over the turns that were stored, and returns how many steps are certain: those before the first
// whose turn was not stored.
func (b *batch) count(steps []step, stored int) int {
	for i := range steps {
		if !steps[i].stores() {
			continue
		}
		if stored == 0 {
			return i
		}
		b.seen.apply(&steps[i])
		stored--
	}
	return len(steps)
}

func (b *batch) reply(steps []step) {
	for _, st := range steps {
		st.call.reply(st.result, st.err)
	}
	b.waiting = b.waiting[len(steps):]
}

// restart goes on in the session's next life: what was stored in the one that is gone is deleted.
func (b *batch) restart(ctx context.Context, sure []step) error {
	for i := range sure {
		if !sure[i].stores() {
			continue
		}
		if _, err := b.turns.DeleteOne(ctx, eq("_id", sure[i].turn.ID)); err != nil {
			return b.failed("delete a turn of a session that is gone", err)
		}
	}
	return b.load(ctx)
}

// resolve finds out why an insert was refused.
func (b *batch) resolve(ctx context.Context, err error) error {
	switch {
	case err == nil:
		b.lost = 0
		return nil
	case unconfirmed(err) || !mongo.IsDuplicateKeyError(err):
		return uncertain("append turn", err)
	}
	if outrun(err) {
		b.shared = true
		b.conflicts.Add(1)
	}
	if b.lost++; b.lost > maxLost {
		return store.Contention("other servers write to the session")
	}
	if outrun(err) {
		if err := pause(ctx, b.lost); err != nil {
			return err
		}
		return b.reload(ctx)
	}
	if err := b.reload(ctx); err != nil {
		return err
	}
	return b.lookUp(ctx)
}

// reload reads what other servers stored. A head from the cache may lag by any number of turns; the session's document has
// nearly all of them.
func (b *batch) reload(ctx context.Context) error {
	if b.fresh {
		before := b.seen.erasures
		err := b.newer(ctx, &b.seen.head)
		if b.seen.erasures != before { // ids that were known may be free again
			b.seen = newKnownSession(b.seen.head)
		}
		return err
	}
	var d sessionDoc
	err := decodeOne(b.conversations.FindOne(ctx, eq("_id", b.seen.key)), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return b.load(ctx)
	}
	if err != nil {
		return b.failed("read session", err)
	}
	return b.adopt(ctx, d)
}

// outrun reports that another server was faster: the key that refused the turn is its place. Servers that do not name
// the key are asked for everything.
func outrun(err error) bool {
	raw := refusal(err)
	key, err := raw.LookupErr("keyPattern")
	if err != nil {
		return false
	}
	pattern, ok := key.DocumentOK()
	if !ok {
		return false
	}
	_, err = pattern.LookupErr("_id")
	return err == nil
}

// refusal returns the server's description of the first turn that it refused.
func refusal(err error) bson.Raw {
	if e, ok := errors.AsType[mongo.BulkWriteException](err); ok && len(e.WriteErrors) > 0 {
		return e.WriteErrors[0].Raw
	}
	if e, ok := errors.AsType[mongo.WriteException](err); ok && len(e.WriteErrors) > 0 {
		return e.WriteErrors[0].Raw
	}
	return nil
}

// pause waits for a random time, so that servers do not go on in step. It is the shorter the more inserts were lost, so
// that nobody who waits long is passed by those who come new.
func pause(ctx context.Context, lost int) error {
	t := time.NewTimer(rand.N(maxPause/time.Duration(lost) + 1)) //nolint:gosec // spreads servers, guards nothing
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return store.Contention("other servers write to the session")
	}
}

// lookUp learns which ids and requests of the waiting calls the session knows.
func (b *batch) lookUp(ctx context.Context) error {
	b.looked = true
	if err := b.askRequests(ctx); err != nil {
		return err
	}
	var ids []string
	for _, c := range b.waiting {
		if b.seen.recorded(&c.p) != nil {
			continue
		}
		for i := range c.p.Messages {
			ids = append(ids, c.p.Messages[i].ID)
		}
	}
	return b.knownIDs(ctx, ids)
}

func (b *batch) askRequests(ctx context.Context) error {
	var requests [][]byte
	for _, c := range b.waiting {
		if c.p.RequestID != "" {
			requests = append(requests, keyed(b.seen.hashKey, c.p.RequestID))
		}
	}
	b.asked = true
	return b.knownRequests(ctx, requests)
}

func (b *batch) knownIDs(ctx context.Context, ids []string) error {
	held, err := b.heldIDs(ctx, b.seen.hashKey, b.seen.key, ids)
	for id, h := range held {
		b.seen.uses[id] = h.uses
		if h.turn != "" {
			b.seen.bodies[memory.KeyedHash(idHash(b.seen.hashKey, id, h.uses))] = memory.KeyedHash(h.body)
		}
	}
	return err
}

func (b *batch) knownRequests(ctx context.Context, requests [][]byte) error {
	if len(requests) == 0 {
		return nil
	}
	turns, err := b.find(ctx, "request", requests, "request", "request_digest", "result")
	if err != nil {
		return err
	}
	for _, t := range turns {
		first, err := writeplan.DecodeResult([]byte(t.Result))
		if err != nil {
			return err
		}
		b.seen.requests[memory.KeyedHash(t.Request)] = writeplan.Recorded{Digest: memory.KeyedHash(t.RequestDigest), Result: first}
	}
	return nil
}

// find returns the session's turns that have one of the values, with the named fields alone.
func (b *batch) find(ctx context.Context, field string, values [][]byte, fields ...string) (turns []turnDoc, err error) {
	filter := eq("session", b.seen.key, field, bson.D{{Key: "$in", Value: values}})
	projection := bson.D{}
	for _, name := range fields {
		projection = append(projection, bson.E{Key: name, Value: 1})
	}
	cursor, err := b.turns.Find(ctx, filter, options.Find().SetProjection(projection))
	if err != nil {
		return nil, b.failed("find known turns", err)
	}
	err = decodeAll(ctx, cursor, &turns)
	return turns, b.failed("find known turns", err)
}
