package sqlitestore

import (
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/writeplan"
)

// takeSummary takes the text of a summary and of what was made of it.
func takeSummary(c *conn, p store.ErasureStart, e *storedErasure) (int64, error) {
	t, err := findSummarised(c, p, e)
	if err != nil {
		return 0, err
	}
	e.Summary, t.ofSummary, t.seqs = p.Summary, true, []memory.SeqRange{{From: 1, To: maxNo}}
	of := revisedPlace{uid: t.at.uid, kind: int64(p.Summary.Kind), sid: t.at.sid, period: p.Summary.Period}
	if err := t.reviseDeleted(of, p.Summary.Covers); err != nil {
		return 0, err
	}
	nodes := t.sessionNodes
	if of.sid == 0 {
		nodes = func() error { return t.generations(of) }
	}
	for _, step := range []func() error{nodes, t.madeOfIt, t.summaryJobs, t.periodJobs} {
		if err := step(); err != nil {
			return 0, err
		}
	}
	if of.sid != 0 {
		if err := lookAtSession(c, of.sid, micros(p.Time)); err != nil {
			return 0, err
		}
	}
	return t.deleted, lookAtPeriods(c, t.at.uid, micros(p.Time))
}

// findSummarised finds whom the summary is of.
func findSummarised(c *conn, p store.ErasureStart, e *storedErasure) (*taking, error) {
	if p.Summary.Kind == memory.SummarySession {
		return findTaken(c, p, e)
	}
	at, err := findUser(c, p.User)
	if err != nil {
		return nil, err
	}
	e.uid, e.Scope = at.uid, at.scope
	return &taking{c: c, at: at, now: p.Time}, nil
}

// reviseDeleted takes the text of what persons wrote, and notes that the summary was deleted.
func (t *taking) reviseDeleted(of revisedPlace, covers []memory.Covered) error {
	last := revised{}
	err := t.c.query(revisionSelect+ofRevised+` ORDER BY r.revision`, func(r row) (err error) {
		last, err = scanRevised(r)
		t.made = append(t.made, last.Node().ID)
		return err
	}, of.args()...)
	if err != nil {
		return err
	}
	if err := t.run(`UPDATE summary_revisions SET text = '', o200k = 0, cl100k = 0 WHERE uid = ? AND kind = ? AND sid = ? AND period = ?
		AND text <> ''`, of.args()...); err != nil {
		return err
	}
	if err := t.c.run(`UPDATE summary_revisions SET spans = NULL WHERE uid = ? AND kind = ? AND sid = ? AND period = ?`, of.args()...); err != nil {
		return err
	}
	return insertRevised(t.c, of, revised{SummaryRevision: memory.SummaryRevision{
		Revision: last.Revision + 1, Cause: memory.SummaryDeleted, Covers: covers, Rebuilds: last.Rebuilds, CreateTime: t.now,
	}})
}

// sessionNodes leaves the session's nodes as places that were made of nothing.
func (t *taking) sessionNodes() error {
	var nodes []memory.SummaryNode
	err := t.c.query(`SELECT `+outlineColumns+` FROM nodes n JOIN sessions s ON s.sid = n.sid WHERE n.sid = ?`, func(r row) error {
		n, err := scanNode(r)
		nodes = append(nodes, n)
		return err
	}, t.at.sid)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		t.made = append(t.made, n.ID)
		if err := t.emptyNode(n.ID); err != nil {
			return err
		}
		passed, err := encodeList([]memory.SeqRange{n.Covered()})
		if err != nil {
			return err
		}
		if err := t.c.run(`UPDATE nodes SET passed = ? WHERE uid = ? AND id = ?`, passed, t.at.uid, n.ID); err != nil {
			return err
		}
	}
	return nil
}

// generations does the same with those of a week or month.
func (t *taking) generations(of revisedPlace) error {
	var ids []string
	err := t.c.query(`SELECT id FROM nodes WHERE uid = ? AND kind = ?+0 AND kind > 1 AND period = ?`, func(r row) error {
		ids = append(ids, r.text(0))
		return nil
	}, of.uid, of.kind, of.period)
	if err != nil {
		return err
	}
	for _, id := range ids {
		t.made = append(t.made, id)
		if err := t.emptyNode(id); err != nil {
			return err
		}
		if err := t.c.run(`UPDATE nodes SET children = NULL WHERE uid = ? AND id = ?`, of.uid, id); err != nil {
			return err
		}
	}
	return nil
}

// madeOfIt empties the weeks that were made of the summary, and the months that were made of such weeks.
func (t *taking) madeOfIt() error {
	periods, err := t.weeksAndMonths()
	if err != nil {
		return err
	}
	ids, _ := writeplan.Made{Nodes: t.made, Periods: periods}.Fallen()
	for id := range ids {
		if err := t.emptyNode(id); err != nil {
			return err
		}
	}
	return nil
}

// summaryJobs has the summaries of the session that are under way begun again.
func (t *taking) summaryJobs() error {
	if t.at.sid == 0 {
		return nil
	}
	return t.replaceJobs(` AND j.sid = ? AND j.state <= 3 AND j.kind NOT IN (?, ?)`, t.at.sid, int(memory.JobExtract), int(memory.JobIndex))
}
