package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// jobSelect reads what scanJob needs, in its order. Jobs of users and sessions that were erased are left out.
const jobSelect = `SELECT j.key, j.uid, j.sid, u.scope_key, s.session_key, j.kind, j.level, j.from_no, j.generation,
	u.tenant, u.user_id, s.session_id, j.to_no, j.state, j.answer, j.attempts, j.not_before, j.reason, j.owner,
	j.lease_until, j.calls, j.input_tokens, j.output_tokens, j.create_time, j.update_time, j.failing_since
	FROM slots j JOIN users u ON u.uid = j.uid LEFT JOIN sessions s ON s.sid = j.sid
	WHERE (j.sid IS NULL OR s.sid IS NOT NULL)`

// storedJob is a job with where it is.
type storedJob struct {
	memory.Job
	key, uid, sid int64 // sid is 0 for weeks and months
}

func scanJob(r row) storedJob {
	return storedJob{key: r.int(0), uid: r.int(1), sid: r.int(2), Job: memory.Job{
		JobKey: memory.JobKey{
			Scope: memory.ScopeKey(r.text(3)), Session: memory.SessionKey(r.text(4)), Kind: memory.JobKind(r.int(5)),
			Level: int(r.int(6)), From: r.int(7), Generation: int(r.int(8)),
		},
		User: memory.UserRef{Tenant: r.text(9), UserID: r.text(10)}, SessionID: r.text(11), To: r.int(12),
		State: memory.JobState(r.int(13)), Answer: r.blob(14), Attempts: int(r.int(15)), NotBefore: r.time(16),
		Reason: r.text(17), Owner: r.text(18), LeaseUntil: r.time(19),
		Usage:      memory.ModelUsage{Calls: int(r.int(20)), InputTokens: r.int(21), OutputTokens: r.int(22)},
		CreateTime: fromMicros(r.int(23)), UpdateTime: fromMicros(r.int(24)), FailingSince: r.time(25),
	}}
}

// findJob reads a job of the user with the row number given.
func findJob(c *conn, uid int64, ref store.JobRef) (job storedJob, err error) {
	ok, err := c.first(jobSelect+` AND j.uid = ? AND j.id = ?`, func(r row) error {
		job = scanJob(r)
		return nil
	}, uid, ref.ID)
	if err == nil && !ok {
		err = store.JobNotFound(ref.User, ref.ID)
	}
	return job, err
}

// OpenJob implements store.Journal.
func (s *journal) OpenJob(ctx context.Context, p store.JobOpening) (memory.Job, error) {
	var job memory.Job
	err := s.write(ctx, "open job", func(c *conn) (err error) {
		job, err = openJob(c, p)
		return err
	})
	if err != nil {
		return memory.Job{}, err
	}
	return job, nil
}

func openJob(c *conn, p store.JobOpening) (memory.Job, error) {
	at, err := findLife(c, p.User, p.Scope)
	if err != nil {
		return memory.Job{}, err
	}
	ref := store.JobRef{User: p.User, ID: p.ID()}
	job, err := findJob(c, at.uid, ref)
	if memory.ReasonOf(err) != memory.ReasonJobNotFound {
		return job.Job, err
	}
	if at.sid, err = moveCursor(c, at.uid, p); err != nil {
		return memory.Job{}, err
	}
	if err := insertJob(c, at, p.Opened("")); err != nil { // the row has the session's number in place of its id
		return memory.Job{}, err
	}
	job, err = findJob(c, at.uid, ref)
	return job.Job, err
}

// moveCursor finds the session of the job, 0 for a week or month, and moves its cursor behind the job's range.
func moveCursor(c *conn, uid int64, p store.JobOpening) (sid int64, err error) {
	if p.Session == "" {
		return 0, nil
	}
	var lastSeq, extracted, summarised int64
	ok, err := c.first(`SELECT sid, last_seq, extract_cursor, leaf_cursor FROM sessions WHERE uid = ? AND session_key = ?`, func(r row) error {
		sid, lastSeq, extracted, summarised = r.int(0), r.int(1), r.int(2), r.int(3)
		return nil
	}, uid, string(p.Session))
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, store.IncarnationNotFound(p.User)
	}
	if !store.MovesCursor(p.JobKey) {
		return sid, nil
	}
	cursor := extracted
	if p.Kind == memory.JobLeaf {
		cursor = summarised
	}
	if err := p.Follows(cursor, lastSeq); err != nil {
		return 0, err
	}
	return sid, c.run(`UPDATE sessions SET `+cursorOf(p.Kind)+` = ? WHERE sid = ?`, p.To, sid)
}

// cursorOf names the column that holds where the next job of a kind that moves the cursor begins.
func cursorOf(k memory.JobKind) string {
	if k == memory.JobExtract {
		return "extract_cursor"
	}
	return "leaf_cursor"
}

// insertJob inserts a job that is open.
func insertJob(c *conn, at found, n memory.Job) error {
	key, err := nextKey(c, "slots", at.uid)
	if err != nil {
		return err
	}
	var sid any
	if at.sid != 0 {
		sid = at.sid
	}
	return c.run(`INSERT INTO slots (key, uid, tenant, sid, id, kind, level, from_no, to_no, generation, state, attempts,
		calls, input_tokens, output_tokens, create_time, update_time, owner, lease_until)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?, ?, ?)`,
		key, at.uid, n.User.Tenant, sid, n.ID(), int(n.Kind), n.Level, n.From, n.To, n.Generation, int(n.State),
		micros(n.CreateTime), micros(n.UpdateTime), orNull(n.Owner), orNever(n.LeaseUntil))
}

// moveJob stores what move makes of the job, and returns what is stored. move must bear being called again.
func (s *journal) moveJob(
	ctx context.Context,
	what string,
	ref store.JobRef,
	move func(memory.Job) (memory.Job, error),
) (memory.Job, error) {
	var job memory.Job
	err := s.write(ctx, what, func(c *conn) error {
		was, err := findJobOf(c, ref)
		if err != nil {
			return err
		}
		job, err = moveStored(c, was, move)
		return err
	})
	if err != nil {
		return memory.Job{}, err
	}
	return job, nil
}

func findJobOf(c *conn, ref store.JobRef) (storedJob, error) {
	at, err := findUser(c, ref.User)
	if err != nil {
		return storedJob{}, err
	}
	return findJob(c, at.uid, ref)
}

func moveStored(c *conn, was storedJob, move func(memory.Job) (memory.Job, error)) (memory.Job, error) {
	moved, err := move(was.Job)
	if errors.Is(err, store.ErrJobAsIs) {
		return was.Job, nil
	}
	if err != nil {
		return memory.Job{}, err
	}
	var answer any
	if moved.Answer != nil {
		answer = moved.Answer
	}
	err = c.run(`UPDATE slots SET state = ?, answer = ?, attempts = ?, not_before = ?, reason = ?, owner = ?, lease_until = ?,
		calls = ?, input_tokens = ?, output_tokens = ?, update_time = ?, failing_since = ? WHERE key = ?`,
		int(moved.State), answer, moved.Attempts, orNever(moved.NotBefore), orNull(moved.Reason), orNull(moved.Owner),
		orNever(moved.LeaseUntil), moved.Usage.Calls, moved.Usage.InputTokens, moved.Usage.OutputTokens,
		micros(moved.UpdateTime), orNever(moved.FailingSince), was.key)
	if err != nil {
		return memory.Job{}, err
	}
	now, err := findJob(c, was.uid, store.JobRef{User: was.User, ID: was.ID()})
	return now.Job, err
}

// ClaimJob implements store.Journal.
func (s *journal) ClaimJob(ctx context.Context, p store.JobClaim) (memory.Job, error) {
	return s.moveJob(ctx, "claim job", p.JobRef, p.Move)
}

// AnswerJob implements store.Journal.
func (s *journal) AnswerJob(ctx context.Context, p store.JobAnswer) (memory.Job, error) {
	return s.moveJob(ctx, "answer job", p.JobRef, p.Move)
}

// FailJob implements store.Journal.
func (s *journal) FailJob(ctx context.Context, p store.JobFailure) (memory.Job, error) {
	return s.moveJob(ctx, "fail job", p.JobRef, p.Move)
}

// FinishJob implements store.Journal.
func (s *journal) FinishJob(ctx context.Context, p store.JobFinish) (memory.Job, error) {
	return s.moveJob(ctx, "finish job", p.JobRef, p.Move)
}

// applied makes the job final in the write that stores its effect.
func applied(c *conn, job storedJob, now time.Time) error {
	_, err := moveStored(c, job, func(job memory.Job) (memory.Job, error) {
		return store.FinishedJob(job, memory.JobApplied, now), nil
	})
	return err
}

// SplitJob implements store.Journal.
func (s *journal) SplitJob(ctx context.Context, p store.JobSplit) (halves [2]memory.Job, err error) {
	err = s.write(ctx, "split job", func(c *conn) error {
		job, err := findJobOf(c, p.JobRef)
		if err != nil {
			return err
		}
		if err := split(c, job, p); err != nil {
			return err
		}
		halves, err = readHalves(c, job)
		return err
	})
	if err != nil {
		return [2]memory.Job{}, err
	}
	return halves, nil
}

func split(c *conn, was storedJob, p store.JobSplit) error {
	now, err := moveStored(c, was, p.Move)
	if err != nil || was.State == memory.JobSplit {
		return err
	}
	for _, half := range store.Halves(now, p.At) {
		if err := insertJob(c, found{uid: was.uid, sid: was.sid}, half); err != nil {
			return err
		}
	}
	return nil
}

// readHalves finds the jobs that a split job was replaced by: where the first one ends, the second one begins.
func readHalves(c *conn, job storedJob) (halves [2]memory.Job, err error) {
	from := job.From
	for i := range halves {
		h, err := findJob(c, job.uid, store.JobRef{User: job.User, ID: store.HalfKey(job.JobKey, from).ID()})
		if err != nil {
			return halves, err
		}
		halves[i] = h.Job
		from = h.To + 1
	}
	return halves, nil
}

// RetryJob implements store.Journal.
func (s *journal) RetryJob(ctx context.Context, p store.JobRetry) (memory.Job, error) {
	var job memory.Job
	err := s.write(ctx, "retry job", func(c *conn) error {
		was, err := findJobOf(c, p.JobRef)
		if err != nil {
			return err
		}
		if job, err = moveStored(c, was, p.Move); err != nil {
			return err
		}
		if was.sid == 0 {
			return lookAtPeriods(c, was.uid, micros(p.Time))
		}
		return lookAtSession(c, was.sid, micros(p.Time))
	})
	if err != nil {
		return memory.Job{}, err
	}
	return job, nil
}

// ParkedJobs implements store.Journal.
func (s *journal) ParkedJobs(ctx context.Context, q store.ParkedQuery) ([]memory.Job, error) {
	var jobs []memory.Job
	err := s.read(ctx, "find parked jobs", func(c *conn) error {
		return c.query(jobSelect+` AND j.state = 3 AND `+notImporting+` AND j.reason = ? AND (j.not_before <= ? OR j.not_before > ?)
			ORDER BY j.not_before, j.key LIMIT ?+0`,
			func(r row) error {
				job := scanJob(r).Job
				job.Answer = nil
				jobs = append(jobs, job)
				return nil
			}, q.Reason, micros(q.Before), micros(q.Before.Add(store.LongestParked)), q.Limit)
	})
	return jobs, err
}

// Job implements store.Journal.
func (s *journal) Job(ctx context.Context, ref store.JobRef) (memory.Job, error) {
	var job storedJob
	err := s.read(ctx, "read job", func(c *conn) (err error) {
		job, err = findJobOf(c, ref)
		return err
	})
	if err != nil {
		return memory.Job{}, err
	}
	return job.Job, nil
}

// ListJobs implements store.Journal.
func (s *journal) ListJobs(ctx context.Context, q store.JobQuery) ([]memory.Job, error) {
	var jobs []memory.Job
	err := s.read(ctx, "list jobs", func(c *conn) error {
		w, err := jobsWhere(c, q)
		if err != nil {
			return err
		}
		return c.query(jobSelect+w.more()+` ORDER BY j.create_time DESC, j.id LIMIT ?+0`, func(r row) error {
			jobs = append(jobs, scanJob(r).Job)
			return nil
		}, append(w.args, q.Limit)...)
	})
	return jobs, err
}

func jobsWhere(c *conn, q store.JobQuery) (w clauses, err error) {
	if w, err = jobsOwner(c, q); err != nil {
		return w, err
	}
	if len(q.Kinds) > 0 {
		w.in("j.kind", numbers(q.Kinds))
	}
	if len(q.States) > 0 {
		w.in("j.state", numbers(q.States))
	}
	if q.Unfinished() {
		w.and("j.state <= 3")
	}
	if q.After != nil {
		t := micros(q.After.CreateTime)
		w.and("j.create_time <= ? AND (j.create_time < ? OR j.id > ?)", t, t, q.After.ID)
	}
	return w, nil
}

func jobsOwner(c *conn, q store.JobQuery) (w clauses, err error) {
	switch {
	case q.UserID == "":
		w.and("j.tenant = ? AND "+notImporting, q.Tenant)
	case q.SessionID == "":
		at, err := findUser(c, memory.UserRef{Tenant: q.Tenant, UserID: q.UserID})
		if err != nil {
			return w, err
		}
		w.and("j.uid = ?", at.uid)
	default:
		at, err := findSession(c, memory.UserRef{Tenant: q.Tenant, UserID: q.UserID}.Session(q.SessionID))
		if err != nil {
			return w, err
		}
		w.and("j.sid = ?", at.sid)
	}
	return w, nil
}

// clauses are conditions that are joined by AND.
type clauses struct {
	sql  []string
	args []any
}

func (w *clauses) and(sql string, args ...any) {
	w.sql, w.args = append(w.sql, sql), append(w.args, args...)
}

// in asks for a column's value to be one of a JSON array, so that one statement serves any number.
func (w *clauses) in(column, array string) {
	w.and(column+" IN (SELECT value FROM json_each(?))", array)
}

// more is the conditions behind others.
func (w *clauses) more() string { return " AND " + strings.Join(w.sql, " AND ") }

func (w *clauses) where() string { return " WHERE " + strings.Join(w.sql, " AND ") }

// numbers is a JSON array.
func numbers[T ~int](values []T) string {
	b := []byte{'['}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Append(b, int(v))
	}
	return string(append(b, ']'))
}
