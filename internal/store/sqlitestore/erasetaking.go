package sqlitestore

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

// taking is an erasure of a session or of messages while the writer takes away what was made of them.
type taking struct {
	c       *conn
	at      found
	seqs    []memory.SeqRange
	gone    memory.Hidden // the same messages
	now     time.Time
	made    []string // ids of what stood in place of an erased summary
	deleted int64    // rows
	// ofSummary is set where a summary was erased and no message.
	ofSummary bool
}

// run does a statement that deletes.
func (t *taking) run(query string, args ...any) error {
	n, _, err := t.c.exec(query, args...)
	t.deleted += n
	return err
}

// takenMessage is what must be known of a message to erase it.
type takenMessage struct {
	id     string
	turnNo int64
	calls  []string
}

// messages empties the rows of messages.
func (t *taking) messages(ids memory.ErasedIDs) error {
	for _, r := range t.seqs {
		from, to := place(t.at.sid, r.From), place(t.at.sid, r.To)
		taken, err := t.read(from, to)
		if err != nil {
			return err
		}
		if len(taken) == 0 {
			continue
		}
		for _, m := range taken {
			if err := t.forgetIDs(m, ids); err != nil {
				return err
			}
		}
		if err := t.empty(from, to); err != nil {
			return err
		}
		if err := t.turns(place(t.at.sid, taken[0].turnNo), place(t.at.sid, taken[len(taken)-1].turnNo)); err != nil {
			return err
		}
	}
	return nil
}

func (t *taking) read(from, to int64) (taken []takenMessage, err error) {
	err = t.c.query(`SELECT id, turn_no, parts FROM messages WHERE key BETWEEN ? AND ? AND deleted = 0`, func(r row) error {
		m := memory.Message{ID: r.text(0)}
		if b := r.json(2); b != nil {
			if err := json.Unmarshal(b, &m.Parts); err != nil {
				return fmt.Errorf("decode parts of message %s: %w", m.ID, err)
			}
		}
		taken = append(taken, takenMessage{m.ID, r.int(1), m.ToolCalls()})
		return nil
	}, from, to)
	return taken, err
}

// forgetIDs has the session not know the message's tool calls any more, nor its id where that may be recorded again.
func (t *taking) forgetIDs(m takenMessage, ids memory.ErasedIDs) error {
	for _, id := range m.calls {
		hash := t.at.hashKey.Keyed(memory.IDDigest(id))
		if err := t.c.run(`UPDATE tool_calls SET n = n - 1 WHERE sid = ? AND call_hash = ?`, t.at.sid, hash[:]); err != nil {
			return err
		}
		if err := t.c.run(`DELETE FROM tool_calls WHERE sid = ? AND call_hash = ? AND n <= 0`, t.at.sid, hash[:]); err != nil {
			return err
		}
	}
	if ids != memory.FreeIDs {
		return nil
	}
	hash := t.at.hashKey.Keyed(memory.IDDigest(m.id))
	return t.c.run(`DELETE FROM message_ids WHERE sid = ? AND id_hash = ?`, t.at.sid, hash[:])
}

// empty leaves of messages what memory.Message says of one that is Deleted.
func (t *taking) empty(from, to int64) error {
	if err := t.run(`DELETE FROM originals WHERE key BETWEEN ? AND ?`, from, to); err != nil {
		return err
	}
	if err := t.run(`UPDATE messages SET id = '', extract = 0, pinned = 0, o200k = 0, cl100k = 0, name = NULL, text = NULL, parts = NULL,
		tags = NULL, metadata = NULL, hidden = 1, deleted = 1 WHERE key BETWEEN ? AND ? AND deleted = 0`, from, to); err != nil {
		return err
	}
	return t.c.run(`INSERT INTO hidden_messages (uid, key) SELECT ?, key FROM messages WHERE key BETWEEN ? AND ? ON CONFLICT DO NOTHING`,
		t.at.uid, from, to)
}

// turns counts what is left to index of turns, and leaves nothing of what checks found in them.
func (t *taking) turns(from, to int64) error {
	err := t.c.run(`UPDATE turns SET recallable = (SELECT count(*) FROM messages m WHERE m.key BETWEEN (turns.sid << 32 | turns.first_seq)
		AND (turns.sid << 32 | (turns.first_seq + turns.n - 1)) AND m.role IN (?, ?) AND m.origin <> ? AND m.deleted = 0)
		WHERE key BETWEEN ? AND ? AND recallable > 0`,
		int(memory.RoleUser), int(memory.RoleAssistant), int(memory.OriginRecalled), from, to)
	if err != nil {
		return err
	}
	results := map[int64]store.AppendResult{}
	err = t.c.query(`SELECT key, result FROM turns WHERE key BETWEEN ? AND ? AND result LIKE '%"findings":%'`, func(r row) error {
		var result store.AppendResult
		if err := json.Unmarshal(r.json(1), &result); err != nil {
			return fmt.Errorf("decode the result of a turn: %w", err)
		}
		results[r.int(0)] = result
		return nil
	}, from, to)
	if err != nil {
		return err
	}
	for key, result := range results {
		result.Findings = nil
		encoded, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("encode the result of a turn: %w", err)
		}
		if err := t.run(`UPDATE turns SET result = ? WHERE key = ?`, string(encoded), key); err != nil {
			return err
		}
	}
	return nil
}

// summaries takes the summaries that were made of the messages, and deletes what persons wrote in place of such summaries.
func (t *taking) summaries() error { return t.emptyMade(writeplan.Made{}) }

func (t *taking) emptyMade(m writeplan.Made) (err error) {
	m.Covers = func(r memory.SummaryRevision) bool {
		return slices.ContainsFunc(r.Covers, func(c memory.Covered) bool {
			return memory.Overlap(t.gone.Ranges(c.Session, c.Range.To), c.Range)
		})
	}
	if m.Nodes, err = t.nodes(); err != nil {
		return err
	}
	if m.Revisions, err = t.revisions(); err != nil {
		return err
	}
	if m.Periods, err = t.weeksAndMonths(); err != nil {
		return err
	}
	ids, revisions := m.Fallen()
	for id := range ids {
		if err := t.emptyNode(id); err != nil {
			return err
		}
	}
	sids := map[memory.SessionKey]int64{}
	for _, r := range revisions {
		sid, err := sessionByKey(t.c, t.at.uid, r.Session, sids)
		if err != nil {
			return err
		}
		if err := t.run(`DELETE FROM summary_revisions WHERE uid = ? AND kind = ? AND sid = ? AND period = ? AND revision = ?`,
			t.at.uid, int(r.Kind), sid, r.Period, r.Revision); err != nil {
			return err
		}
	}
	return nil
}

// nodes are the ids of the session's summaries that were made of the messages.
func (t *taking) nodes() (ids []string, err error) {
	err = t.c.query(`SELECT `+outlineColumns+` FROM nodes n JOIN sessions s ON s.sid = n.sid WHERE n.sid = ?`, func(r row) error {
		n, err := scanNode(r)
		if err == nil && slices.ContainsFunc(n.Covered().Without(n.Passed), func(r memory.SeqRange) bool {
			return memory.Overlap(t.seqs, r)
		}) {
			ids = append(ids, n.ID)
		}
		return err
	}, t.at.sid)
	return ids, err
}

func (t *taking) revisions() (all []memory.SummaryRevision, err error) {
	err = t.c.query(revisionSelect+` AND r.uid = ?`, func(r row) error {
		v, err := scanRevised(r)
		all = append(all, v.SummaryRevision)
		return err
	}, t.at.uid)
	return all, err
}

// weeksAndMonths are all of the user, with no more than what they are of.
func (t *taking) weeksAndMonths() (all []memory.SummaryNode, err error) {
	err = t.c.query(`SELECT id, kind, period, children FROM nodes WHERE uid = ? AND kind > 1`, func(r row) error {
		n := memory.SummaryNode{ID: r.text(0), Kind: memory.SummaryKind(r.int(1)), Period: memory.Period{Name: r.text(2)}}
		if b := r.json(3); b != nil {
			if err := json.Unmarshal(b, &n.Children); err != nil {
				return fmt.Errorf("decode children of summary %s: %w", n.ID, err)
			}
		}
		all = append(all, n)
		return nil
	}, t.at.uid)
	return all, err
}

// emptyNode takes the text of a summary, and the counts of it.
func (t *taking) emptyNode(id string) error {
	return t.run(`UPDATE nodes SET text = '', appended = 0, o200k = 0, cl100k = 0 WHERE uid = ? AND id = ? AND text <> ''`, t.at.uid, id)
}

// sessionJobs has jobs that were given words of the messages done again.
func (t *taking) sessionJobs() error {
	return t.replaceJobs(` AND j.sid = ? AND j.state <= 3`, t.at.sid)
}

// periodJobs does the same with jobs of weeks and months.
func (t *taking) periodJobs() error {
	return t.replaceJobs(` AND j.uid = ? AND j.sid IS NULL AND j.state <= 3`, t.at.uid)
}

func (t *taking) replaceJobs(where string, args ...any) error {
	var jobs []storedJob
	err := t.c.query(jobSelect+where, func(r row) error {
		if job := scanJob(r); store.MayCover(job.Job, t.seqs) {
			jobs = append(jobs, job)
		}
		return nil
	}, args...)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if err := t.replace(job); err != nil {
			return err
		}
	}
	return nil
}

func (t *taking) replace(job storedJob) error {
	t.deleted++
	_, err := moveStored(t.c, job, func(job memory.Job) (memory.Job, error) { return store.ReplacedJob(job, t.now), nil })
	if err != nil {
		return err
	}
	if left, err := t.isLeft(job); !left || err != nil {
		return err
	}
	next := store.SuccessorOf(job.Job, job.Generation+1, t.now)
	for {
		_, err := findJob(t.c, job.uid, store.JobRef{User: job.User, ID: next.ID()})
		if memory.ReasonOf(err) == memory.ReasonJobNotFound {
			break
		}
		if err != nil {
			return err
		}
		next.Generation++
	}
	return insertJob(t.c, found{uid: job.uid, sid: job.sid}, next)
}

// isLeft reports whether a job has a message left to work on. Which weeks are to be made follows from what is left of the summaries.
func (t *taking) isLeft(job storedJob) (bool, error) {
	if job.sid == 0 || t.ofSummary && job.Kind != memory.JobLeaf { // merges and rebuilds follow from what is left, too
		return false, nil
	}
	return t.c.first(`SELECT 1 FROM messages WHERE key BETWEEN ? AND ? AND deleted = 0 LIMIT 1`, func(row) error { return nil },
		place(job.sid, job.From), place(job.sid, job.To))
}

// receipts empties what final jobs about the messages kept.
func (t *taking) receipts() error {
	return t.each(`SELECT key, kind, from_no, to_no FROM slots WHERE sid = ? AND state > 3 AND answer IS NOT NULL`,
		`UPDATE slots SET answer = NULL WHERE key = ?`, t.at.sid)
}

// quarantine deletes what was refused from jobs about the messages.
func (t *taking) quarantine() error {
	return t.each(`SELECT q.key, j.kind, j.from_no, j.to_no FROM quarantine q CROSS JOIN slots j ON j.uid = q.uid AND j.id = q.slot_id
		WHERE q.uid = ? AND j.sid = ?`, `DELETE FROM quarantine WHERE key = ?`, t.at.uid, t.at.sid)
}

// each does a statement with the key of those rows whose jobs may cover the messages.
func (t *taking) each(query, do string, args ...any) error {
	var keys []int64
	err := t.c.query(query, func(r row) error {
		job := memory.Job{To: r.int(3), JobKey: memory.JobKey{Session: t.at.key, Kind: memory.JobKind(r.int(1)), From: r.int(2)}}
		if store.MayCover(job, t.seqs) {
			keys = append(keys, r.int(0))
		}
		return nil
	}, args...)
	for i := 0; i < len(keys) && err == nil; i++ {
		err = t.run(do, keys[i])
	}
	return err
}

// schedule has the user's periods looked at, and makes every decision about facts a stale one.
func (t *taking) schedule() error {
	if err := lookAtPeriods(t.c, t.at.uid, micros(t.now)); err != nil {
		return err
	}
	return t.c.run(`UPDATE users SET fact_revision = fact_revision + 1 WHERE uid = ?`, t.at.uid)
}
