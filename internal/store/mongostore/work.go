package mongostore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

// orNever is how a time that may be unset is stored: as 0, which omitempty leaves out.
func orNever(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return micros(t)
}

// SessionHead implements store.Work. Where an earlier call found the user's scope, the session is read by that beside the user: a
// user who is found in the same scope then lived in it when the session was read.
func (s *workStore) SessionHead(ctx context.Context, ref memory.SessionRef) (memory.Session, memory.User, error) {
	if scope, known := s.scopes.GetIfPresent(ref.UserRef); known && store.InRequest(ctx) {
		if err := s.readBesideUser(ctx, scope, ref); err != nil {
			return memory.Session{}, memory.User{}, err
		}
	}
	user, session, err := s.session(ctx, ref)
	if err != nil {
		return memory.Session{}, memory.User{}, err
	}
	s.scopes.Set(ref.UserRef, user.Scope)
	return session.session(), user.user(), nil
}

// readBesideUser reads a user and a session of the scope, for the request to remember those that belong together. What is not found is
// left to who reads them one after the other.
func (s *workStore) readBesideUser(ctx context.Context, scope memory.ScopeKey, ref memory.SessionRef) error {
	var user userDoc
	var session sessionDoc
	both, reading := safegroup.WithContext(ctx)
	both.Go(func() (err error) {
		user, err = s.scope(reading, ref.UserRef)
		return err
	})
	err := both.WaitWith(func() error {
		err := decodeOne(s.conversations.FindOne(reading, eq("scope", scope, "session_id", ref.SessionID)), &session)
		if errors.Is(err, mongo.ErrNoDocuments) {
			return nil
		}
		return s.failed("find session", err)
	})
	if err != nil {
		return err
	}
	if user.Scope == scope && session.Key != "" {
		store.Remember(ctx, ref, session)
	}
	return nil
}

// SessionWork implements store.Work. What it returns may be outdated in one way only. The head is read first, so that
// DeferSession refuses a caller that read an older one; the cursors are read before the jobs, so that every range that a
// cursor has passed has its job.
func (s *workStore) SessionWork(ctx context.Context, ref memory.SessionRef) (store.SessionWork, error) {
	user, session, err := s.session(ctx, ref)
	if err != nil {
		return store.SessionWork{}, err
	}
	work := store.SessionWork{Session: session.session(), User: user.user(), LookAt: orZero(session.LookAt)}
	g, reading := safegroup.WithContext(ctx)
	g.Go(func() (err error) {
		work.UnindexedFrom, err = s.index.unindexedFrom(reading, user.Scope, session.Key)
		return err
	})
	err = g.WaitWith(func() error {
		if err := s.readCursors(reading, session.Key, &work); err != nil {
			return err
		}
		return s.readLiveJobs(reading, session.Key, &work)
	})
	if err != nil {
		return store.SessionWork{}, err
	}
	return work, nil
}

func (s *workStore) readCursors(ctx context.Context, session memory.SessionKey, work *store.SessionWork) error {
	g, reading := safegroup.WithContext(ctx)
	g.Go(func() (err error) {
		work.ExtractCursor, err = s.journal.cursor(reading, session, memory.JobExtract)
		return err
	})
	return g.WaitWith(func() (err error) {
		work.LeafCursor, err = s.journal.cursor(reading, session, memory.JobLeaf)
		return err
	})
}

// readLiveJobs reads the jobs that are not final, and moves the cursors over those that were opened since they were
// read.
func (s *workStore) readLiveJobs(ctx context.Context, session memory.SessionKey, work *store.SessionWork) error {
	docs, err := s.journal.findJobs(ctx, eq("session", session, "live", true), options.Find())
	if err != nil {
		return err
	}
	work.Jobs = jobsOf(docs)
	slices.SortFunc(work.Jobs, func(a, b memory.Job) int {
		return cmp.Or(
			cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Level, b.Level),
			cmp.Compare(a.From, b.From),
			cmp.Compare(a.Generation, b.Generation),
		)
	})
	for _, job := range work.Jobs {
		if !store.MovesCursor(job.JobKey) {
			continue
		}
		if job.Kind == memory.JobExtract {
			work.ExtractCursor = max(work.ExtractCursor, job.To)
		} else {
			work.LeafCursor = max(work.LeafCursor, job.To)
		}
	}
	return nil
}

// PendingSessions implements store.Work.
func (s *workStore) PendingSessions(ctx context.Context, before time.Time, limit int) ([]memory.SessionRef, error) {
	s.askClock(ctx) // the search for work goes by it
	docs, err := readDue[sessionDoc](ctx, s.conversations, "look_at", before, store.LongestLook, limit)
	if err != nil {
		return nil, s.failed("find pending sessions", err)
	}
	refs := make([]memory.SessionRef, len(docs))
	for i, d := range docs {
		refs[i] = d.ref()
	}
	return refs, nil
}

// WaitingSessions implements store.Work.
func (s *workStore) WaitingSessions(ctx context.Context, user memory.UserRef, limit int) ([]memory.SessionRef, error) {
	u, err := s.scope(ctx, user)
	if memory.ReasonOf(err) == memory.ReasonUserNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o := options.Find().SetSort(eq("look_at", 1, "_id", 1)).SetLimit(int64(limit)).SetProjection(eq("session_id", 1))
	docs, err := readAll[sessionDoc](ctx, s.conversations, eq("scope", u.Scope, "look_at", eq("$gt", 0)), o)
	if err != nil {
		return nil, s.failed("find the user's waiting sessions", err)
	}
	refs := make([]memory.SessionRef, len(docs))
	for i, d := range docs {
		refs[i] = user.Session(d.SessionID)
	}
	return refs, nil
}

// readDue reads what is due of a collection, and then what has longer to go than anything waits.
func readDue[T any](
	ctx context.Context, c *mongo.Collection, field string, before time.Time, longest time.Duration, limit int,
) ([]T, error) {
	var all []T
	for _, due := range []bson.D{eq("$lte", micros(before)), eq("$gt", micros(before.Add(longest)))} {
		if len(all) == limit {
			break
		}
		o := options.Find().SetSort(eq(field, 1, "_id", 1)).SetLimit(int64(limit - len(all))).
			SetProjection(eq("tenant", 1, "user_id", 1, "session_id", 1))
		docs, err := readAll[T](ctx, c, eq(field, due), o)
		if err != nil {
			return nil, err
		}
		all = append(all, docs...)
	}
	return all, nil
}

// DeferSession implements store.Work. A stored turn that the head does not have yet is not lost: the write that adds it to
// the head also schedules the session.
func (s *workStore) DeferSession(ctx context.Context, d store.Deferral) error {
	_, session, err := s.session(ctx, d.Ref)
	if err != nil {
		return err
	}
	if session.Key != d.Session {
		return store.SessionNotFound(d.Ref)
	}
	var seen any // nil matches a missing field
	if !d.Seen.IsZero() {
		seen = micros(d.Seen)
	}
	_, err = s.conversations.UpdateOne(ctx, eq("_id", session.Key, "last_seq", d.LastSeq, "look_at", seen), setTime("look_at", d.Until))
	if err != nil {
		return uncertain("defer session", err)
	}
	return nil
}

// setTime is an update that sets a time, or takes it away.
func setTime(field string, t time.Time) bson.D {
	if t.IsZero() {
		return bson.D{{Key: "$unset", Value: eq(field, "")}}
	}
	return bson.D{{Key: "$set", Value: eq(field, micros(t))}}
}

// lookAtPeriods has the user's periods looked at by then.
func (s *core) lookAtPeriods(ctx context.Context, scope memory.ScopeKey, by time.Time) error {
	_, err := s.users.UpdateOne(ctx, eq("_id", scope, "ended", nil), bson.D{{Key: "$min", Value: eq("periods_at", micros(by))}})
	if err != nil {
		return uncertain("have periods looked at", err)
	}
	return nil
}

// PendingPeriods implements store.Work.
func (s *workStore) PendingPeriods(ctx context.Context, before time.Time, limit int) ([]memory.UserRef, error) {
	docs, err := readDue[userDoc](ctx, s.users, "periods_at", before, store.LongestPeriodsLook, limit)
	if err != nil {
		return nil, s.failed("find pending periods", err)
	}
	refs := make([]memory.UserRef, len(docs))
	for i, d := range docs {
		refs[i] = d.ref()
	}
	return refs, nil
}

// DeferPeriods implements store.Work.
func (s *workStore) DeferPeriods(ctx context.Context, d store.PeriodsDeferral) error {
	if err := s.inLife(ctx, d.User, d.Scope); err != nil {
		return err
	}
	filter := eq("_id", d.Scope)
	if !d.Seen.IsZero() {
		filter = eq("_id", d.Scope, "periods_at", micros(d.Seen))
	}
	if _, err := s.users.UpdateOne(ctx, filter, setTime("periods_at", d.Until)); err != nil {
		return uncertain("defer periods", err)
	}
	return nil
}

// WorkStats implements store.Work. It walks the index of the jobs that are not final, and no others.
func (s *workStore) WorkStats(ctx context.Context) (store.WorkStats, error) {
	kinds, err := s.countJobs(ctx)
	if err != nil {
		return store.WorkStats{}, err
	}
	quarantined, err := s.countQuarantined(ctx)
	if err != nil {
		return store.WorkStats{}, err
	}
	var oldest sessionDoc
	err = s.conversations.FindOne(ctx, eq("look_at", eq("$gt", 0)),
		options.FindOne().SetSort(eq("look_at", 1)).SetProjection(eq("look_at", 1))).Decode(&oldest)
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		return store.WorkStats{}, s.failed("find the session that waits longest", err)
	}
	return store.WorkStats{Kinds: kinds, Quarantined: quarantined, OldestTurn: orZero(oldest.LookAt)}, nil
}

// jobCount is how many jobs of a kind are in a state.
type jobCount struct {
	ID struct {
		Kind  memory.JobKind  `bson:"kind"`
		State memory.JobState `bson:"state"`
	} `bson:"_id"`
	N      int64 `bson:"n"`
	Span   int64 `bson:"span"` // the sum of to - from
	Oldest int64 `bson:"oldest"`
}

func (s *workStore) countJobs(ctx context.Context) ([]store.KindStats, error) {
	cursor, err := s.jobs.Aggregate(ctx, bson.A{
		eq("$match", eq("live", true)),
		eq("$group", eq("_id", eq("kind", "$kind", "state", "$state"), "n", eq("$sum", 1),
			"span", eq("$sum", eq("$subtract", bson.A{"$to", "$from"})), "oldest", eq("$min", "$create_time"))),
	})
	if err != nil {
		return nil, s.failed("count jobs", err)
	}
	var counts []jobCount
	if err := decodeAll(ctx, cursor, &counts); err != nil {
		return nil, s.failed("count jobs", err)
	}
	return kindStats(counts), nil
}

// kindStats adds up the states of each kind; a job that is final and waits for its halves counts for nothing.
func kindStats(counts []jobCount) (kinds []store.KindStats) {
	slices.SortFunc(counts, func(a, b jobCount) int { return cmp.Compare(a.ID.Kind, b.ID.Kind) })
	for _, c := range counts {
		if c.ID.State.IsFinal() {
			continue
		}
		if n := len(kinds); n == 0 || kinds[n-1].Kind != c.ID.Kind {
			kinds = append(kinds, store.KindStats{Kind: c.ID.Kind})
		}
		k := &kinds[len(kinds)-1]
		if c.ID.State == memory.JobParked {
			k.Parked = c.N
			if k.Kind.IsOfMessages() {
				k.ParkedMessages = c.Span + c.N
			}
			continue
		}
		k.Open += c.N
		if oldest := fromMicros(c.Oldest); k.Oldest.IsZero() || oldest.Before(k.Oldest) {
			k.Oldest = oldest
		}
	}
	return kinds
}

// quarantineCount is how many operations were ever refused for a reason.
type quarantineCount struct {
	Reason string `bson:"_id"`
	N      int64  `bson:"n"`
}

func (s *core) countQuarantined(ctx context.Context) (map[string]int64, error) {
	docs, err := readAll[quarantineCount](ctx, s.quarantineCounts, bson.D{}, options.Find())
	if err != nil {
		return nil, s.failed("count refused operations", err)
	}
	counts := make(map[string]int64, len(docs))
	for _, d := range docs {
		counts[d.Reason] = d.N
	}
	return counts, nil
}
