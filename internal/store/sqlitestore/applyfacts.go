package sqlitestore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

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
	if id := writeplan.JobOf(w); id != "" {
		if job, err = findJob(c, uid, store.JobRef{User: w.User, ID: id}); err != nil {
			return 0, err
		}
		if done, err := writeplan.IsDone(w, job.Job); done || err != nil {
			return user.FactRevision, err
		}
	}
	if user.FactRevision != w.Base {
		return 0, store.Contention("the user's facts changed")
	}
	a := applying{c: c, w: w, uid: uid, change: w.Base + 1}
	if err := a.run(user.HashKey); err != nil {
		return 0, err
	}
	if job.key != 0 {
		if _, err := moveStored(c, job, func(job memory.Job) (memory.Job, error) { return writeplan.FinishedJob(w, job) }); err != nil {
			return 0, err
		}
	}
	if err := factsChanged(c, uid, micros(w.Time)); err != nil {
		return 0, err
	}
	return a.change, c.run(`UPDATE users SET fact_revision = ? WHERE uid = ?`, a.change, uid)
}

// factOwner finds the user in the life that the write is for.
func (s *factStore) factOwner(c *conn, w store.FactWrite) (memory.User, int64, error) {
	user, uid, err := readUser(c, w.User)
	if memory.IsGone(err) && writeplan.CreatesUser(w) {
		return s.createUser(c, w.User, w.Time)
	}
	if err == nil {
		err = writeplan.CheckScope(w, user.Scope)
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
	change   int64            // the revision that the write makes
	keys     map[string]int64 // of the facts that are stored
	versions []int64          // of embeddings
}

func (a *applying) run(key memory.HashKey) (err error) {
	if a.versions, err = embeddingVersions(a.c); err != nil {
		return err
	}
	stored, err := a.find()
	if err != nil {
		return err
	}
	facts, err := writeplan.Apply(a.w, key, a.change, stored)
	if err != nil {
		return err
	}
	if err := a.put(facts); err != nil {
		return err
	}
	for _, f := range facts.Forgotten {
		if err := a.forget(f); err != nil {
			return err
		}
	}
	for _, id := range facts.DropEarlier {
		err := a.c.run(`DELETE FROM fact_revisions WHERE (key, revision) IN (SELECT r.key, r.revision FROM facts f
			JOIN fact_revisions r ON r.key = f.key AND r.revision < f.revision WHERE f.uid = ? AND f.id = ?)`, a.uid, id)
		if err != nil {
			return err
		}
	}
	for _, q := range facts.Quarantined {
		if err := a.quarantine(q); err != nil {
			return err
		}
	}
	return nil
}

// find reads what the plan needs to know of the facts that the write is about.
func (a *applying) find() (map[string]writeplan.StoredFact, error) {
	stored := map[string]writeplan.StoredFact{}
	a.keys = map[string]int64{}
	for _, id := range writeplan.FactsOf(a.w) {
		was, err := findFact(a.c, a.uid, id)
		if err != nil {
			return nil, err
		}
		if was.key != 0 {
			stored[id] = writeplan.StoredFact{Revision: was.revision, LastUsed: was.lastUsed, Text: was.text}
			a.keys[id] = was.key
		}
	}
	return stored, nil
}

// storedFact is what a change needs to know of a fact. Its key is 0 when there is none.
type storedFact struct {
	key, revision int64
	lastUsed      time.Time
	text          string
}

func findFact(c *conn, uid int64, id string) (was storedFact, err error) {
	_, err = c.first(`SELECT key, revision, last_used_time, text FROM facts WHERE uid = ? AND id = ?`, func(r row) error {
		was = storedFact{r.int(0), r.int(1), r.time(2), r.text(3)}
		return nil
	}, uid, id)
	return was, err
}

// put stores the revisions, the last of each fact as what it is now.
func (a *applying) put(facts writeplan.Facts) error {
	for _, r := range facts.Revisions {
		key, stored := a.keys[r.Fact.ID]
		if !stored {
			var err error
			if key, err = nextKey(a.c, "facts", a.uid); err != nil {
				return err
			}
			a.keys[r.Fact.ID] = key
		}
		if err := a.store(key, r.Fact); err != nil {
			return err
		}
		if err := a.c.run(`INSERT INTO fact_revisions (key, cause, slot_id, author, `+factState+`)
			SELECT key, ?, ?, ?, `+factState+` FROM facts WHERE key = ?`, int(r.Cause), orNull(a.w.JobID), orNull(a.w.Author), key); err != nil {
			return err
		}
	}
	for _, f := range facts.Changed {
		if !f.Reworded {
			continue
		}
		if err := a.unembed(a.keys[facts.Revisions[f.Revision].Fact.ID]); err != nil {
			return err
		}
	}
	return nil
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

// forget deletes what is stored of the fact, and keeps that it is gone.
func (a *applying) forget(f writeplan.Forgotten) error {
	if key, stored := a.keys[f.FactID]; stored {
		if err := a.drop(key); err != nil {
			return err
		}
		if err := markUnpurged(a.c); err != nil {
			return err
		}
	}
	for _, hash := range f.Keys {
		err := a.c.run(`INSERT OR IGNORE INTO forgotten_facts (uid, change, fact_id, key_hash, time) VALUES (?, ?, ?, ?, ?)`,
			a.uid, a.change, f.FactID, hash[:], orNever(f.Time))
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *applying) drop(key int64) error {
	for _, v := range a.versions {
		for _, table := range []string{"fact_vectors", "unembedded"} {
			if err := a.c.run(`DELETE FROM `+table+` WHERE version = ? AND fact_key = ?`, v, key); err != nil {
				return err
			}
		}
	}
	for _, of := range []string{"fact_sessions WHERE fact_key", "fact_revisions WHERE key", "facts WHERE key"} {
		if err := a.c.run(`DELETE FROM `+of+` = ?`, key); err != nil {
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
		q.Reason, orNull(q.Model), q.Operation)
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
