package mongostore

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

// jobDoc is a job as it is stored. A session's cursor of a kind is the highest To of its jobs of generation 1: each of
// them begins where the one before ends, which its id and the unique key of Prev see to.
type jobDoc struct {
	ID           string            `bson:"_id"`   // of memory.JobKey
	Moves        int64             `bson:"moves"` // counts the changes: a change succeeds only if the number is still the one that it read
	Scope        memory.ScopeKey   `bson:"scope"`
	Tenant       string            `bson:"tenant"`
	UserID       string            `bson:"user_id"`
	Session      memory.SessionKey `bson:"session"` // "" for weeks and months
	SessionID    string            `bson:"session_id"`
	Kind         memory.JobKind    `bson:"kind"`
	Level        int               `bson:"level"`
	From         int64             `bson:"from"`
	To           int64             `bson:"to"`
	Generation   int               `bson:"generation"`
	Prev         *int64            `bson:"prev,omitempty"` // the cursor that the job moved
	State        memory.JobState   `bson:"state"`
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
	Erasure      string            `bson:"erasure,omitempty"` // that made the job JobReplaced, or opened it
	Instead      string            `bson:"instead,omitempty"` // the replaced job in whose place it was opened
}

// encodeJob is the document of a job that is stored for the first time.
func encodeJob(job memory.Job) jobDoc {
	d := jobDoc{
		ID: job.ID(), Scope: job.Scope, Tenant: job.User.Tenant, UserID: job.User.UserID,
		Session: job.Session, SessionID: job.SessionID, Kind: job.Kind, Level: job.Level,
		From: job.From, To: job.To, Generation: job.Generation, CreateTime: micros(job.CreateTime),
	}
	if store.MovesCursor(job.JobKey) {
		prev := job.From - 1
		d.Prev = &prev
	}
	return d.with(job)
}

// with is the document with what changes of a job.
func (d jobDoc) with(job memory.Job) jobDoc {
	d.State, d.Live, d.Answer = job.State, !job.State.IsFinal(), nil
	if job.Answer != nil {
		d.Answer = &job.Answer
	}
	d.Attempts, d.NotBefore, d.Reason = job.Attempts, orNever(job.NotBefore), job.Reason
	d.FailingSince = orNever(job.FailingSince)
	d.Owner, d.LeaseUntil = job.Owner, orNever(job.LeaseUntil)
	d.Calls, d.InputTokens, d.OutputTokens = job.Usage.Calls, job.Usage.InputTokens, job.Usage.OutputTokens
	d.UpdateTime = micros(job.UpdateTime)
	return d
}

func (d jobDoc) job() memory.Job {
	job := memory.Job{
		JobKey: memory.JobKey{
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
		job.Answer = append([]byte{}, *d.Answer...)
	}
	return job
}

func jobsOf(docs []jobDoc) []memory.Job {
	jobs := make([]memory.Job, len(docs))
	for i, d := range docs {
		jobs[i] = d.job()
	}
	return jobs
}

// OpenJob implements store.Journal. The insert fixes the range: of two that begin behind the same cursor one is refused
// by the unique keys, whatever the ends.
func (s *journal) OpenJob(ctx context.Context, p store.JobOpening) (memory.Job, error) {
	if err := s.inLife(ctx, p.User, p.Scope); err != nil {
		return memory.Job{}, err
	}
	ref := store.JobRef{User: p.User, ID: p.ID()}
	d, err := s.findJob(ctx, p.Scope, ref)
	if memory.ReasonOf(err) != memory.ReasonJobNotFound {
		return d.job(), err
	}
	sessionID, err := s.checkRange(ctx, p)
	if memory.ReasonOf(err) == memory.ReasonContention {
		return s.openedBefore(ctx, p.Scope, ref)
	}
	if err != nil {
		return memory.Job{}, err
	}
	return s.insertJob(ctx, p, sessionID)
}

// insertJob inserts a job whose range may follow.
func (s *journal) insertJob(ctx context.Context, p store.JobOpening, sessionID string) (memory.Job, error) {
	d := encodeJob(p.Opened(sessionID))
	_, err := s.jobs.InsertOne(ctx, d)
	if mongo.IsDuplicateKeyError(err) {
		return s.openedBefore(ctx, p.Scope, store.JobRef{User: p.User, ID: p.ID()})
	}
	if err != nil {
		return memory.Job{}, uncertain("open job", err)
	}
	if err := s.stillOwned(ctx, d); err != nil {
		return memory.Job{}, err
	}
	return d.job(), nil
}

// stillOwned deletes a job again that was inserted after its session or its user was erased.
func (s *journal) stillOwned(ctx context.Context, d jobDoc) error {
	alive, err := s.ownerAlive(ctx, d.Scope, d.Session)
	if err != nil || alive {
		return err
	}
	if _, err := s.jobs.DeleteOne(ctx, eq("_id", d.ID)); err != nil {
		return uncertain("delete the job of a session that is gone", err)
	}
	if d.Session == "" {
		return store.UserNotFound(memory.UserRef{Tenant: d.Tenant, UserID: d.UserID})
	}
	return store.IncarnationNotFound(memory.UserRef{Tenant: d.Tenant, UserID: d.UserID})
}

// inLife reports USER_NOT_FOUND for a user who does not exist, or lives another life.
func (s *core) inLife(ctx context.Context, user memory.UserRef, scope memory.ScopeKey) error {
	u, err := s.scope(ctx, user)
	if err == nil && u.Scope != scope {
		err = store.UserNotFound(user)
	}
	return err
}

// openedBefore returns the job if somebody inserted it meanwhile; else it was another range.
func (s *journal) openedBefore(ctx context.Context, scope memory.ScopeKey, ref store.JobRef) (memory.Job, error) {
	d, err := s.findJob(ctx, scope, ref)
	if memory.ReasonOf(err) == memory.ReasonJobNotFound {
		err = store.RangeTaken()
	}
	if err != nil {
		return memory.Job{}, err
	}
	return d.job(), nil
}

// checkRange finds the id of the job's session, "" for a week or month, and refuses a range that cannot follow.
func (s *journal) checkRange(ctx context.Context, p store.JobOpening) (sessionID string, err error) {
	if p.Session == "" {
		return "", nil
	}
	var d sessionDoc
	err = decodeOne(s.conversations.FindOne(ctx, eq("_id", p.Session, "scope", p.Scope)), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return "", store.IncarnationNotFound(p.User)
	}
	if err != nil || !store.MovesCursor(p.JobKey) {
		return d.SessionID, s.failed("find session", err)
	}
	cursor, err := s.cursor(ctx, p.Session, p.Kind)
	if err == nil {
		err = p.Follows(cursor, d.LastSeq)
	}
	return d.SessionID, err
}

// cursor returns where the session's last job of the kind ends; 0 before the first. The sort names the index in full,
// although the filter fixes all but its end: the test server took 58 ms for 2,000 jobs without, 13 ms with it.
func (s *journal) cursor(ctx context.Context, session memory.SessionKey, kind memory.JobKind) (int64, error) {
	var last jobDoc
	o := options.FindOne().SetSort(eq("session", 1, "kind", 1, "generation", 1, "to", -1)).SetProjection(eq("to", 1))
	err := decodeOne(s.jobs.FindOne(ctx, eq("session", session, "kind", kind, "generation", 1), o), &last)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 0, nil
	}
	return last.To, s.failed("find the last job", err)
}

// findJob reads a job of the user.
func (s *journal) findJob(ctx context.Context, scope memory.ScopeKey, ref store.JobRef) (jobDoc, error) {
	var d jobDoc
	err := decodeOne(s.jobs.FindOne(ctx, eq("_id", ref.ID, "scope", scope)), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return d, store.JobNotFound(ref.User, ref.ID)
	}
	if err != nil {
		return d, s.failed("find job", err)
	}
	return d, s.completeSplit(ctx, d)
}

// findJobOf is findJob for those who do not know the user's scope.
func (s *journal) findJobOf(ctx context.Context, ref store.JobRef) (jobDoc, error) {
	u, err := s.scope(ctx, ref.User)
	if err != nil {
		return jobDoc{}, err
	}
	return s.findJob(ctx, u.Scope, ref)
}

// findJobs reads jobs. Where one of them is split and its halves may be missing, it inserts those and reads again.
func (s *journal) findJobs(ctx context.Context, filter bson.D, o *options.FindOptionsBuilder) ([]jobDoc, error) {
	for {
		docs, err := readAll[jobDoc](ctx, s.jobs, filter, o)
		if err != nil {
			return nil, s.failed("find jobs", err)
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

// changeJob stores what change makes of the job, and returns what is stored. change may be called again.
func (s *journal) changeJob(
	ctx context.Context,
	scope memory.ScopeKey,
	ref store.JobRef,
	change func(jobDoc) (jobDoc, error),
) (jobDoc, error) {
	for range maxMoves {
		was, err := s.findJob(ctx, scope, ref)
		if err != nil {
			return jobDoc{}, err
		}
		now, err := change(was)
		if errors.Is(err, store.ErrJobAsIs) {
			return was, nil
		}
		if err != nil {
			return jobDoc{}, err
		}
		now.Moves++
		res, err := s.jobs.ReplaceOne(ctx, eq("_id", was.ID, "moves", was.Moves), now)
		if err != nil {
			return jobDoc{}, uncertain("change job", err)
		}
		if res.MatchedCount > 0 {
			return now, nil
		}
	}
	return jobDoc{}, store.Contention("others change the job")
}

// moveJob stores what move makes of the user's job, and returns what is stored. move must bear being called again.
func (s *journal) moveJob(ctx context.Context, ref store.JobRef, move func(memory.Job) (memory.Job, error)) (memory.Job, error) {
	u, err := s.scope(ctx, ref.User)
	if err != nil {
		return memory.Job{}, err
	}
	d, err := s.changeJob(ctx, u.Scope, ref, func(d jobDoc) (jobDoc, error) {
		job, err := move(d.job())
		return d.with(job), err
	})
	if err != nil {
		return memory.Job{}, err
	}
	return d.job(), nil
}

// ClaimJob implements store.Journal.
func (s *journal) ClaimJob(ctx context.Context, p store.JobClaim) (memory.Job, error) {
	return s.moveJob(ctx, p.JobRef, p.Move)
}

// AnswerJob implements store.Journal.
func (s *journal) AnswerJob(ctx context.Context, p store.JobAnswer) (memory.Job, error) {
	return s.moveJob(ctx, p.JobRef, p.Move)
}

// FailJob implements store.Journal.
func (s *journal) FailJob(ctx context.Context, p store.JobFailure) (memory.Job, error) {
	return s.moveJob(ctx, p.JobRef, p.Move)
}

// FinishJob implements store.Journal.
func (s *journal) FinishJob(ctx context.Context, p store.JobFinish) (memory.Job, error) {
	return s.moveJob(ctx, p.JobRef, p.Move)
}

// finishJob makes the job what finished makes of it. A job that is final stays as it is, so doing it
// again is harmless.
func (s *journal) finishJob(ctx context.Context, scope memory.ScopeKey, jobID string, finished func(memory.Job) memory.Job) error {
	_, err := s.changeJob(ctx, scope, store.JobRef{ID: jobID}, func(d jobDoc) (jobDoc, error) {
		if d.State.IsFinal() {
			return d, store.ErrJobAsIs
		}
		return d.with(finished(d.job())), nil
	})
	return err
}

// isDone reports whether nothing is left to do of the write's job; JOB_NOT_FOUND when there is none.
func (s *journal) isDone(ctx context.Context, scope memory.ScopeKey, w store.FactWrite) (bool, error) {
	d, err := s.findJob(ctx, scope, store.JobRef{User: w.User, ID: writeplan.JobOf(w)})
	if err != nil {
		return false, err
	}
	return writeplan.IsDone(w, d.job())
}

// revertJob keeps that the effects of the job were taken back; doing it again is harmless.
func (s *journal) revertJob(ctx context.Context, scope memory.ScopeKey, jobID string, receipt []byte, at time.Time) error {
	_, err := s.changeJob(ctx, scope, store.JobRef{ID: jobID}, func(d jobDoc) (jobDoc, error) {
		job, err := store.RevertedJob(d.job(), receipt, at)
		if err != nil {
			return d, err
		}
		return d.with(job), nil
	})
	return err
}

// SplitJob implements store.Journal. The change of the job is the commit point; the next reader that finds the job
// without its halves inserts them.
func (s *journal) SplitJob(ctx context.Context, p store.JobSplit) (halves [2]memory.Job, err error) {
	u, err := s.scope(ctx, p.User)
	if err != nil {
		return halves, err
	}
	d, err := s.changeJob(ctx, u.Scope, p.JobRef, func(d jobDoc) (jobDoc, error) { return split(d, p) })
	if err != nil {
		return halves, err
	}
	if err := s.completeSplit(ctx, d); err != nil {
		return halves, err
	}
	return s.readHalves(ctx, u.Scope, d.job())
}

func split(d jobDoc, p store.JobSplit) (jobDoc, error) {
	job, err := p.Move(d.job())
	if err != nil {
		return d, err
	}
	d = d.with(job)
	d.Live, d.SplitAt = true, p.At
	return d, nil
}

// completeSplit inserts the halves that a split job may lack.
func (s *journal) completeSplit(ctx context.Context, d jobDoc) error {
	if d.SplitAt == 0 {
		return nil
	}
	for _, half := range store.Halves(d.job(), d.SplitAt) {
		if _, err := s.jobs.InsertOne(ctx, encodeJob(half)); err != nil && !mongo.IsDuplicateKeyError(err) {
			return uncertain("insert the half of a job", err)
		}
	}
	res, err := s.jobs.UpdateOne(ctx, eq("_id", d.ID), bson.D{{Key: "$unset", Value: eq("live", "", "split_at", "")}})
	if err != nil {
		return uncertain("complete the split of a job", err)
	}
	if res.MatchedCount > 0 {
		return nil
	}
	halves := store.Halves(d.job(), d.SplitAt) // their session was erased meanwhile
	_, err = s.jobs.DeleteMany(ctx, eq("_id", in([]string{halves[0].ID(), halves[1].ID()})))
	return s.failed("delete the halves of a job that is gone", err)
}

// readHalves finds the jobs that a split job was replaced by: where the first one ends, the second one begins.
func (s *journal) readHalves(ctx context.Context, scope memory.ScopeKey, job memory.Job) (halves [2]memory.Job, err error) {
	from := job.From
	for i := range halves {
		d, err := s.findJob(ctx, scope, store.JobRef{User: job.User, ID: store.HalfKey(job.JobKey, from).ID()})
		if err != nil {
			return [2]memory.Job{}, err
		}
		halves[i] = d.job()
		from = d.To + 1
	}
	return halves, nil
}

// RetryJob implements store.Journal. It sets the time at which the work is looked at before the job changes, so that a
// crash in between hides no work, and again after it: a worker that read the job as parked has then also read the earlier
// time, and defers nothing.
func (s *journal) RetryJob(ctx context.Context, p store.JobRetry) (memory.Job, error) {
	was, err := s.findJobOf(ctx, p.JobRef)
	if err != nil {
		return memory.Job{}, err
	}
	if _, err := p.Move(was.job()); err != nil {
		return memory.Job{}, err
	}
	if err := s.lookAt(ctx, was, p.Time.Add(-time.Microsecond)); err != nil {
		return memory.Job{}, err
	}
	d, err := s.changeJob(ctx, was.Scope, p.JobRef, func(d jobDoc) (jobDoc, error) {
		job, err := p.Move(d.job())
		return d.with(job), err
	})
	if err != nil {
		return memory.Job{}, err
	}
	return d.job(), s.lookAt(ctx, was, p.Time)
}

// ParkedJobs implements store.Journal. Each of the two ranges of times names what the index of unfinished jobs holds, so that every server
// reads either from it: the jobs that are final may be all but a few.
func (s *journal) ParkedJobs(ctx context.Context, q store.ParkedQuery) ([]memory.Job, error) {
	due := bson.A{
		eq("live", true, "not_before", eq("$lte", micros(q.Before))),
		eq("live", true, "not_before", eq("$gt", micros(q.Before.Add(store.LongestParked)))),
	}
	docs, err := fill(q.Limit, func(last *jobDoc, limit int) (read, living []jobDoc, err error) {
		filter := eq("live", true, "tenant", eq("$ne", store.ImportTenant), "state", memory.JobParked, "reason", q.Reason, "$or", due)
		if last != nil {
			filter = append(filter, bson.E{Key: "$and", Value: bson.A{behind("not_before", last.NotBefore, last.ID)}})
		}
		o := options.Find().SetSort(eq("not_before", 1, "_id", 1)).SetLimit(int64(limit)).SetProjection(eq("answer", 0))
		if read, err = s.findJobs(ctx, filter, o); err != nil {
			return nil, nil, err
		}
		living, err = s.ofLivingUsers(ctx, read)
		return read, living, err
	})
	return jobsOf(docs), err
}

// behind selects what follows a document in the ascending order of a field and then of the id.
func behind(field string, value int64, id any) bson.D {
	return eq("$or", bson.A{eq(field, eq("$gt", value)), eq(field, value, "_id", eq("$gt", id))})
}

// fill reads as many documents of living users as the limit says, or all there are: those of users who were erased stay until the
// erasure is swept, and must not take the places of others. page reads up to so many documents behind the last one, from the first
// on where last is nil, and returns which of them are of living users.
func fill[D any](limit int, page func(last *D, limit int) (read, living []D, err error)) (all []D, err error) {
	var last *D
	for {
		read, living, err := page(last, limit-len(all))
		if err != nil {
			return nil, err
		}
		all = append(all, living...)
		if len(living) == len(read) {
			return all, nil
		}
		last = &read[len(read)-1]
	}
}

// lookAt has the job's session looked at then, in place of any other time, or the user's periods by then.
func (s *journal) lookAt(ctx context.Context, d jobDoc, at time.Time) error {
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

// Job implements store.Journal.
func (s *journal) Job(ctx context.Context, ref store.JobRef) (memory.Job, error) {
	d, err := s.findJobOf(ctx, ref)
	if err != nil {
		return memory.Job{}, err
	}
	return d.job(), nil
}

// ListJobs implements store.Journal.
func (s *journal) ListJobs(ctx context.Context, q store.JobQuery) ([]memory.Job, error) {
	owner, err := s.jobsOwner(ctx, q)
	if err != nil {
		return nil, err
	}
	docs, err := fill(q.Limit, func(last *jobDoc, limit int) (read, living []jobDoc, err error) {
		if last != nil {
			q.After = &store.JobCursor{CreateTime: fromMicros(last.CreateTime), ID: last.ID}
		}
		o := options.Find().SetSort(eq("create_time", -1, "_id", 1)).SetLimit(int64(limit))
		if read, err = s.findJobs(ctx, append(slices.Clone(owner), jobsFilter(q)...), o); err != nil {
			return nil, nil, err
		}
		living, err = s.ofLivingUsers(ctx, read)
		return read, living, err
	})
	return jobsOf(docs), err
}

// ofLivingUsers leaves out the jobs of users who were erased: those are deleted when the erasure is swept.
func (s *journal) ofLivingUsers(ctx context.Context, docs []jobDoc) ([]jobDoc, error) {
	if len(docs) == 0 {
		return nil, nil
	}
	var scopes []memory.ScopeKey
	for _, d := range docs {
		if !slices.Contains(scopes, d.Scope) {
			scopes = append(scopes, d.Scope)
		}
	}
	users, err := s.usersByScope(ctx, scopes)
	return slices.DeleteFunc(slices.Clone(docs), func(d jobDoc) bool { _, lives := users[d.Scope]; return !lives }), err
}

// jobsOwner returns the part of the filter that selects whose jobs are asked for.
func (s *journal) jobsOwner(ctx context.Context, q store.JobQuery) (bson.D, error) {
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

func jobsFilter(q store.JobQuery) (filter bson.D) {
	if len(q.Kinds) > 0 {
		filter = append(filter, eq("kind", eq("$in", q.Kinds))...)
	}
	if len(q.States) > 0 {
		filter = append(filter, eq("state", eq("$in", q.States))...)
	}
	if q.Unfinished() {
		filter = append(filter, eq("live", true)...)
	}
	if q.After != nil {
		t := micros(q.After.CreateTime)
		filter = append(filter, eq("create_time", eq("$lte", t), "$or", bson.A{
			eq("create_time", eq("$lt", t)), eq("_id", eq("$gt", q.After.ID)),
		})...)
	}
	return filter
}
