package sqlitestore

import (
	"context"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/text"
)

// maxOperation is how many bytes of a refused operation are kept.
const maxOperation = 4 << 10

// ApplyFacts implements store.Facts.
func (s *factStore) ApplyFacts(ctx context.Context, w store.FactWrite) (revision int64, err error) {
	err = s.write(ctx, "apply facts", func(c *conn) (err error) {
		revision, err = s.applyFacts(c, w)
		return err
	})
	if err != nil {
		return 0, err
	}
	return revision, nil
}

func (s *factStore) applyFacts(c *conn, w store.FactWrite) (int64, error) {
	user, uid, err := s.factOwner(c, w)
	if err != nil {
		return 0, err
	}
	var job storedJob
	if w.JobID != "" {
		job, err = findJob(c, uid, store.JobRef{User: w.User, ID: w.JobID})
		if err != nil || job.State.IsFinal() {
			return user.FactRevision, err
		}
	}
	if w.Reverts != "" {
		job, err = findJob(c, uid, store.JobRef{User: w.User, ID: w.Reverts})
		if err != nil || job.State == memory.JobReverted {
			return user.FactRevision, err
		}
	}
	if user.FactRevision != w.Base {
		return 0, store.Contention("the user's facts changed")
	}
	a := applying{c: c, w: w, uid: uid, hashKey: user.HashKey, change: w.Base + 1}
	if err := a.run(); err != nil {
		return 0, err
	}
	if err := finishAppliedJob(c, job, w); err != nil {
		return 0, err
	}
	if err := factsChanged(c, uid, micros(w.Time)); err != nil {
		return 0, err
	}
	return a.change, c.run(`UPDATE users SET fact_revision = ? WHERE uid = ?`, a.change, uid)
}

// finishAppliedJob makes the job that is applied or reverted final.
func finishAppliedJob(c *conn, job storedJob, w store.FactWrite) error {
	switch {
	case w.JobID != "":
		_, err := moveStored(c, job, func(job memory.Job) (memory.Job, error) { return w.AppliedJob(job), nil })
		return err
	case w.Reverts != "":
		_, err := moveStored(c, job, func(job memory.Job) (memory.Job, error) {
			return store.RevertedJob(job, w.Receipt, w.Time)
		})
		return err
	}
	return nil
}

// factOwner finds the user in the life that the write is for. Only a person's first write about a user names no life.
func (s *factStore) factOwner(c *conn, w store.FactWrite) (memory.User, int64, error) {
	user, uid, err := readUser(c, w.User)
	first := w.Scope == "" && w.JobID == ""
	if store.IsNoUserOrSession(err) && first {
		return s.createUser(c, w.User, w.Time)
	}
	if err == nil && user.Scope != w.Scope && !first {
		err = store.UserNotFound(w.User)
	}
	return user, uid, err
}

// forbid makes every decision about the user's facts that was made before it a stale one, when nothing may be learnt from
// something any more.
func forbid(c *conn, uid int64, extract *memory.ExtractMode) error {
	if extract == nil || *extract != memory.ExtractNone {
		return nil
	}
	return c.run(`UPDATE users SET fact_revision = fact_revision + 1 WHERE uid = ?`, uid)
}

// applying is one call of ApplyFacts while the writer runs it.
type applying struct {
	c        *conn
	w        store.FactWrite
	uid      int64
	hashKey  memory.HashKey
	change   int64   // the revision that the write makes
	versions []int64 // of embeddings
}

func (a *applying) run() (err error) {
	if a.versions, err = embeddingVersions(a.c); err != nil {
		return err
	}
	for _, ch := range a.w.Changes {
		if err := a.put(ch); err != nil {
			return err
		}
	}
	for _, f := range a.w.Forget {
		if err := a.forget(f); err != nil {
			return err
		}
	}
	for _, id := range a.w.Purge {
		err := a.c.run(`DELETE FROM fact_revisions WHERE (key, revision) IN (SELECT r.key, r.revision FROM facts f
			JOIN fact_revisions r ON r.key = f.key AND r.revision < f.revision WHERE f.uid = ? AND f.id = ?)`, a.uid, id)
		if err != nil {
			return err
		}
	}
	for _, q := range a.w.Quarantined {
		if err := a.quarantine(q); err != nil {
			return err
		}
	}
	return nil
}

// storedFact is what a change needs to know of a fact. Its key is 0 when there is none.
type storedFact struct {
	key, revision, lastUsed int64
	text                    string
}

func findFact(c *conn, uid int64, id string) (was storedFact, err error) {
	_, err = c.first(`SELECT key, revision, last_used_time, text FROM facts WHERE uid = ? AND id = ?`, func(r row) error {
		was = storedFact{r.int(0), r.int(1), r.int(2), r.text(3)}
		return nil
	}, uid, id)
	return was, err
}

func (a *applying) put(ch store.FactChange) error {
	was, err := findFact(a.c, a.uid, ch.Fact.ID)
	if err != nil {
		return err
	}
	if was.revision != ch.Fact.Revision-1 {
		return store.Contention("a fact changed")
	}
	fact := ch.Fact
	if used := fromMicros(was.lastUsed); was.lastUsed != 0 && used.After(fact.LastUsedTime) {
		fact.LastUsedTime = used
	}
	key := was.key
	if key == 0 {
		if key, err = nextKey(a.c, "facts", a.uid); err != nil {
			return err
		}
	}
	if err := a.store(key, fact); err != nil {
		return err
	}
	if err := a.c.run(`INSERT INTO fact_revisions (key, cause, slot_id, author, `+factState+`)
		SELECT key, ?, ?, ?, `+factState+` FROM facts WHERE key = ?`, int(ch.Cause), orNull(a.w.JobID), orNull(a.w.Author), key); err != nil {
		return err
	}
	if was.key != 0 && was.text == fact.Text {
		return nil
	}
	return a.unembed(key)
}

func (a *applying) store(key int64, f memory.Fact) error {
	tags, err := encodeTags(f.Tags)
	if err != nil {
		return err
	}
	evidence, err := encodeEvidence(f.Evidence)
	if err != nil {
		return fmt.Errorf("encode evidence: %w", err)
	}
	err = a.c.run(`REPLACE INTO facts (key, uid, id, `+factState+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		key, a.uid, f.ID, f.Revision, a.change, int(f.Category), f.Significance, f.Confidence, asInt(f.Pinned),
		int(f.Origin), asInt(f.Protected), micros(f.CreateTime), micros(f.UpdateTime), orNever(f.ValidFrom),
		orNever(f.ValidTo), orNever(f.LastUsedTime), f.Text, orNull(f.Subject), orNull(f.Attribute),
		orNull(f.SupersededBy), orNull(f.Language), orNull(f.Model), tags, evidence)
	if err != nil {
		return err
	}
	return a.storeSessions(key, f.Evidence)
}

// storeSessions notes in which sessions the fact has evidence.
func (a *applying) storeSessions(key int64, evidence []memory.Evidence) error {
	if err := a.c.run(`DELETE FROM fact_sessions WHERE fact_key = ?`, key); err != nil {
		return err
	}
	for _, e := range evidence {
		err := a.c.run(`INSERT INTO fact_sessions (uid, session_id, fact_key) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
			a.uid, e.SessionID, key)
		if err != nil {
			return err
		}
	}
	return nil
}

// unembed drops the vectors of a text that changed, and has the new one embedded in every version.
func (a *applying) unembed(key int64) error {
	for _, v := range a.versions {
		if err := a.c.run(`DELETE FROM fact_vectors WHERE version = ? AND fact_key = ?`, v, key); err != nil {
			return err
		}
		if err := a.c.run(`INSERT INTO unembedded (version, fact_key) VALUES (?, ?) ON CONFLICT DO NOTHING`, v, key); err != nil {
			return err
		}
	}
	return nil
}

// forget leaves nothing of the fact but its id and the keyed hashes of its keys.
func (a *applying) forget(f store.ForgetFact) error {
	was, err := findFact(a.c, a.uid, f.FactID)
	if err != nil {
		return err
	}
	if was.key == 0 {
		return store.FactNotFound(a.w.User, f.FactID)
	}
	for _, v := range a.versions {
		for _, table := range []string{"fact_vectors", "unembedded"} {
			if err := a.c.run(`DELETE FROM `+table+` WHERE version = ? AND fact_key = ?`, v, was.key); err != nil {
				return err
			}
		}
	}
	for _, of := range []string{"fact_sessions WHERE fact_key", "fact_revisions WHERE key", "facts WHERE key"} {
		if err := a.c.run(`DELETE FROM `+of+` = ?`, was.key); err != nil {
			return err
		}
	}
	hashes := make([]memory.KeyedHash, max(len(f.Keys), 1)) // without a key readers must still hear that it is gone
	for i, key := range f.Keys {
		hashes[i] = a.hashKey.Keyed(key)
	}
	for _, hash := range hashes {
		err := a.c.run(`INSERT OR IGNORE INTO forgotten_facts (uid, change, fact_id, key_hash, time) VALUES (?, ?, ?, ?, ?)`,
			a.uid, a.change, f.FactID, hash[:], orNever(a.w.ForgottenAt()))
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *applying) quarantine(q memory.Quarantined) error {
	key, err := nextKey(a.c, "quarantine", a.uid)
	if err != nil {
		return err
	}
	err = a.c.run(`INSERT INTO quarantine (key, uid, id, time, session_id, slot_id, reason, model, operation)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, key, a.uid, q.ID, micros(q.Time), orNull(q.SessionID), orNull(q.JobID),
		q.Reason, orNull(q.Model), text.Clip(q.Operation, maxOperation))
	if err != nil {
		return err
	}
	if err := a.c.run(`DELETE FROM quarantine WHERE key BETWEEN ? AND ?`, place(a.uid, 0), key-store.MaxQuarantined); err != nil {
		return err
	}
	return a.c.run(`INSERT INTO quarantine_counts (reason, n) VALUES (?, 1) ON CONFLICT (reason) DO UPDATE SET n = n + 1`, q.Reason)
}

// embeddingVersions are few.
func embeddingVersions(c *conn) (versions []int64, err error) {
	err = c.query(`SELECT version FROM embeddings`, func(r row) error {
		versions = append(versions, r.int(0))
		return nil
	})
	slices.Sort(versions)
	return versions, err
}
