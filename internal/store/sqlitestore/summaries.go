package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// nodeColumns are what scanNode needs, in its order.
const nodeColumns = `n.id, n.kind, s.session_key, s.session_id, n.level, n.from_no, n.to_no, n.period, n.period_start,
	n.period_end, n.generation, n.cumulative, n.previous, n.children, n.text, n.appended, n.o200k, n.cl100k, n.language,
	n.model, n.from_time, n.to_time, n.create_time, n.passed, n.rebuild`

const nodeColumnCount = 25

// nodeSelect leaves out nodes of sessions that were erased.
const nodeSelect = `SELECT ` + nodeColumns + ` FROM nodes n LEFT JOIN sessions s ON s.sid = n.sid
	WHERE (n.sid IS NULL OR s.sid IS NOT NULL)`

func scanNode(r row) (memory.SummaryNode, error) {
	n := memory.SummaryNode{
		ID: r.text(0), Kind: memory.SummaryKind(r.int(1)), Session: memory.SessionKey(r.text(2)), SessionID: r.text(3),
		Level: int(r.int(4)), Range: memory.SeqRange{From: r.int(5), To: r.int(6)},
		Period:     memory.Period{Name: r.text(7), Start: r.time(8), End: r.time(9)},
		Generation: int(r.int(10)), Cumulative: r.int(11) != 0, Previous: r.text(12),
		Text: r.text(14), Appended: int(r.int(15)), Tokens: memory.TokenCounts{O200K: r.int(16), CL100K: r.int(17)},
		Language: r.text(18), Model: r.text(19), FromTime: r.time(20), ToTime: r.time(21), CreateTime: fromMicros(r.int(22)),
		Rebuild: int(r.int(24)),
	}
	if b := r.json(13); b != nil {
		if err := json.Unmarshal(b, &n.Children); err != nil {
			return n, fmt.Errorf("decode children of summary %s: %w", n.ID, err)
		}
	}
	if b := r.json(23); b != nil {
		if err := json.Unmarshal(b, &n.Passed); err != nil {
			return n, fmt.Errorf("decode what summary %s was not made of: %w", n.ID, err)
		}
	}
	return n, nil
}

// outlineColumns are nodeColumns without a node's text and sources: scanNode reads it as an outline.
const outlineColumns = `n.id, n.kind, s.session_key, s.session_id, n.level, n.from_no, n.to_no, n.period, n.period_start,
	n.period_end, n.generation, n.cumulative, NULL, NULL, '', n.appended, n.o200k, n.cl100k, n.language,
	n.model, n.from_time, n.to_time, n.create_time, n.passed, n.rebuild`

// NodesWithin implements store.Summaries.
func (s *summaryStore) NodesWithin(ctx context.Context, ref memory.SessionRef, within memory.SeqRange) ([]memory.SummaryNode, error) {
	var nodes []memory.SummaryNode
	err := s.read(ctx, "read summaries of a range", func(c *conn) error {
		at, err := findSession(c, ref)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return c.query(`SELECT `+outlineColumns+` FROM nodes n JOIN sessions s ON s.sid = n.sid
			WHERE n.sid = ? AND iif(n.cumulative, 1, n.from_no) BETWEEN ? AND ? AND n.to_no <= ?
			ORDER BY iif(n.cumulative, 1, n.from_no), n.from_no, n.to_no, n.level, n.generation, n.id`, func(r row) error {
			n, err := scanNode(r)
			nodes = append(nodes, n)
			return err
		}, at.sid, within.From, within.To, within.To)
	})
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

// TopNodes implements store.Summaries.
func (s *summaryStore) TopNodes(ctx context.Context, ref memory.SessionRef, through int64) ([]memory.SummaryNode, error) {
	var nodes []memory.SummaryNode
	err := s.read(ctx, "read session summaries", func(c *conn) error {
		at, err := findSession(c, ref)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		keys, err := topNodes(c, at.sid, through)
		if err != nil {
			return err
		}
		nodes, err = readNodes(c, s.nodes, at.version, keys)
		return err
	})
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

// topNodesFrom finds nodes from the first message that they cover on. Nodes nest, so that of those that begin at the same
// message the first one covers the others.
const topNodesFrom = `SELECT n.key, iif(n.cumulative, 1, n.from_no), n.to_no FROM nodes n
	WHERE n.sid = ? AND iif(n.cumulative, 1, n.from_no) BETWEEN ? AND ? AND n.to_no <= ?
	ORDER BY iif(n.cumulative, 1, n.from_no), n.to_no DESC, n.level DESC, n.generation DESC`

// topNodes finds the nodes of a session that follow one another, and skips what lies below a node.
func topNodes(c *conn, sid, through int64) (keys []int64, err error) {
	for from, more := int64(1), true; more && err == nil; {
		more = false
		err = c.query(topNodesFrom, func(r row) error {
			if r.int(1) < from {
				return errStop
			}
			keys, from, more = append(keys, r.int(0)), r.int(2)+1, true
			return nil
		}, sid, from, through, through)
	}
	return keys, err
}

// readNodes reads the nodes with the keys, in their order: the rows of those only that are not held as they are at the version, which was
// read with the keys.
func readNodes(c *conn, held rowCache[memory.SummaryNode], version int64, keys []int64) ([]memory.SummaryNode, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	nodes := make([]memory.SummaryNode, len(keys))
	var unknown []int
	for i, key := range keys {
		if h := held.at(key, version); h != nil {
			nodes[i] = h.row
		} else {
			unknown = append(unknown, i)
		}
	}
	if err := readNodeRows(c, keys, unknown, nodes); err != nil {
		return nil, err
	}
	for _, i := range unknown {
		held.keep(keys[i], heldNode(version, nodes[i]))
	}
	return nodes, nil
}

// readNodeRows reads those of the nodes with the keys that are wanted.
func readNodeRows(c *conn, keys []int64, wanted []int, nodes []memory.SummaryNode) error {
	if len(wanted) == 0 {
		return nil
	}
	rows := make([]int64, len(wanted))
	for i, at := range wanted {
		rows[i] = keys[at]
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode keys of summaries: %w", err)
	}
	read := 0
	err = c.query(`SELECT `+nodeColumns+`, json_each.rowid FROM json_each(?) CROSS JOIN nodes n ON n.key = json_each.value
		LEFT JOIN sessions s ON s.sid = n.sid ORDER BY json_each.rowid`, func(r row) (err error) {
		nodes[wanted[r.int(nodeColumnCount)]], err = scanNode(r)
		read++
		return err
	}, string(encoded))
	if err == nil && read < len(wanted) {
		err = fmt.Errorf("%d of %d summaries are not where their keys are", len(wanted)-read, len(wanted))
	}
	return err
}

// Nodes implements store.Summaries.
func (s *summaryStore) Nodes(ctx context.Context, user memory.UserRef, ids []string) ([]memory.SummaryNode, error) {
	wanted, err := json.Marshal(ids)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	var nodes []memory.SummaryNode
	err = s.read(ctx, "read summaries", func(c *conn) error {
		at, err := findUser(c, user)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		keys, err := nodesByID(c, at.uid, string(wanted))
		if err != nil {
			return err
		}
		nodes, err = readNodes(c, s.nodes, at.version, keys)
		return err
	})
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

// nodesByID finds the nodes of a JSON array of ids.
func nodesByID(c *conn, uid int64, ids string) (keys []int64, err error) {
	err = c.query(`SELECT n.key FROM json_each(?) CROSS JOIN nodes n ON n.uid = ? AND n.id = json_each.value
		LEFT JOIN sessions s ON s.sid = n.sid
		WHERE n.sid IS NULL OR s.sid IS NOT NULL ORDER BY json_each.rowid`, func(r row) error {
		keys = append(keys, r.int(0))
		return nil
	}, ids, uid)
	return keys, err
}

// RecentSessions implements store.Summaries.
func (s *summaryStore) RecentSessions(ctx context.Context, q store.RecentQuery) ([]store.SessionSummary, error) {
	var recent []store.SessionSummary
	err := s.read(ctx, "read recent summaries", func(c *conn) error {
		at, err := findUser(c, q.User)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		recent, err = s.readRecent(c, at, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return recent, nil
}

func (s *summaryStore) readRecent(c *conn, at found, q store.RecentQuery) (recent []store.SessionSummary, err error) {
	var sids []int64
	w := recentWhere(at.uid, q)
	err = c.query(`SELECT sid, session_id, title, covered_time, last_seq FROM sessions`+w.where()+
		` ORDER BY covered_time DESC, session_id LIMIT ?+0`, func(r row) error {
		sids = append(sids, r.int(0))
		recent = append(recent, store.SessionSummary{SessionID: r.text(1), Title: r.text(2), LastTime: r.time(3), LastSeq: r.int(4)})
		return nil
	}, append(w.args, q.Limit)...)
	if err != nil {
		return nil, err
	}
	for i := range recent {
		keys, err := topNodes(c, sids[i], recent[i].LastSeq)
		if err != nil {
			return nil, err
		}
		if recent[i].Nodes, err = readNodes(c, s.nodes, at.version, keys); err != nil {
			return nil, err
		}
	}
	return recent, nil
}

func recentWhere(uid int64, q store.RecentQuery) (w clauses) {
	w.and("uid = ? AND covered_time IS NOT NULL", uid)
	if q.Exclude != "" {
		w.and("session_id <> ?", q.Exclude)
	}
	if !q.Since.IsZero() {
		w.and("covered_time >= ?", micros(q.Since))
	}
	if !q.Until.IsZero() {
		w.and("covered_time <= ?", micros(q.Until))
	}
	if q.After != nil {
		t := micros(q.After.Time)
		w.and("covered_time <= ? AND (covered_time < ? OR session_id > ?)", t, t, q.After.SessionID)
	}
	return w
}

// LeavesBetween implements store.Summaries.
func (s *summaryStore) LeavesBetween(ctx context.Context, q store.LeafQuery) ([]memory.SummaryNode, error) {
	var leaves []memory.SummaryNode
	err := s.read(ctx, "read leaves", func(c *conn) error {
		at, err := findUser(c, q.User)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		leaves, err = readLeaves(c, at.uid, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return leaves, nil
}

func readLeaves(c *conn, uid int64, q store.LeafQuery) (leaves []memory.SummaryNode, err error) {
	first, end, limit := int64(math.MinInt64), int64(math.MaxInt64), -1
	if !q.From.IsZero() {
		first = micros(q.From)
	}
	if !q.To.IsZero() {
		end = micros(q.To)
	}
	if q.Limit > 0 {
		limit = q.Limit
	}
	err = c.query(`SELECT `+outlineColumns+` FROM nodes n CROSS JOIN sessions s ON s.sid = n.sid
		WHERE n.uid = ? AND n.kind = 1 AND n.level = 0 AND n.to_time >= ? AND n.to_time < ?
		ORDER BY n.to_time, n.id LIMIT ?+0`, func(r row) error {
		n, err := scanNode(r)
		leaves = append(leaves, n)
		return err
	}, uid, first, end, limit)
	return leaves, err
}

// Periods implements store.Summaries.
func (s *summaryStore) Periods(ctx context.Context, q store.PeriodQuery) ([]memory.SummaryNode, error) {
	var periods []memory.SummaryNode
	err := s.read(ctx, "read period summaries", func(c *conn) error {
		at, err := findUser(c, q.User)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		keys, err := findPeriods(c, at.uid, q)
		if err != nil {
			return err
		}
		periods, err = readNodes(c, s.nodes, at.version, keys)
		return err
	})
	if err != nil {
		return nil, err
	}
	return periods, nil
}

// findPeriods walks the periods by name, which is their order in time. When a user's timezone changes, so does the
// start of a later generation: the bounds are those of the generation that counts.
func findPeriods(c *conn, uid int64, q store.PeriodQuery) (keys []int64, err error) {
	var last string
	err = c.query(`SELECT n.key, n.period, n.period_start FROM nodes n LEFT JOIN sessions s ON s.sid = n.sid
		WHERE (n.sid IS NULL OR s.sid IS NOT NULL) AND n.uid = ? AND n.kind = ?+0 AND n.kind > 1
		ORDER BY n.period DESC, n.generation DESC`, func(r row) error {
		name, start := r.text(1), r.time(2)
		if name == last {
			return nil
		}
		last = name
		if start.Before(q.From) || (!q.Before.IsZero() && !start.Before(q.Before)) {
			return nil
		}
		keys = append(keys, r.int(0))
		if len(keys) >= q.Limit {
			return errStop
		}
		return nil
	}, uid, int(q.Kind))
	return keys, err
}

// PutNode implements store.Summaries.
func (s *summaryStore) PutNode(ctx context.Context, w store.NodeWrite) error {
	return s.write(ctx, "put summary", func(c *conn) error { return putNode(c, w) })
}

func putNode(c *conn, w store.NodeWrite) error {
	at, err := findLife(c, w.User, w.Scope)
	if err != nil {
		return err
	}
	job, err := findJob(c, at.uid, store.JobRef{User: w.User, ID: w.JobID})
	if err != nil || job.State.IsFinal() {
		return err
	}
	if at.sid, err = nodeSession(c, at.uid, w); err != nil {
		return err
	}
	if err := insertNode(c, at, w.Node); err != nil {
		return err
	}
	if err := cover(c, at, w); err != nil {
		return err
	}
	return applied(c, job, w.Time)
}

// nodeSession finds the session that the node is of; 0 for a week or month.
func nodeSession(c *conn, uid int64, w store.NodeWrite) (int64, error) {
	if w.Node.Kind != memory.SummarySession {
		return 0, nil
	}
	sid, err := sessionByKey(c, uid, w.Node.Session, map[memory.SessionKey]int64{})
	if err == nil && sid == 0 {
		err = store.IncarnationNotFound(w.User)
	}
	return sid, err
}

func insertNode(c *conn, at found, n memory.SummaryNode) error {
	key, err := nextKey(c, "nodes", at.uid)
	if err != nil {
		return err
	}
	children, err := encodeTags(n.Children)
	if err != nil {
		return err
	}
	passed, err := encodeList(n.Passed)
	if err != nil {
		return err
	}
	var sid any
	if at.sid != 0 {
		sid = at.sid
	}
	return c.run(`INSERT INTO nodes (key, uid, sid, id, kind, level, from_no, to_no, generation, cumulative, appended, o200k,
		cl100k, create_time, from_time, to_time, period, period_start, period_end, previous, language, model, children, text,
		passed, rebuild)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		key, at.uid, sid, n.ID, int(n.Kind), n.Level, n.Range.From, n.Range.To, n.Generation, asInt(n.Cumulative), n.Appended,
		n.Tokens.O200K, n.Tokens.CL100K, micros(n.CreateTime), orNever(n.FromTime), orNever(n.ToTime), orNull(n.Period.Name),
		orNever(n.Period.Start), orNever(n.Period.End), orNull(n.Previous), orNull(n.Language), orNull(n.Model), children, n.Text,
		passed, n.Rebuild)
}

// encodeList is the list as JSON; nil for an empty one.
func encodeList[T any](list []T) (any, error) {
	if len(list) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(list)
	return string(b), err
}

// cover notes how far a session is covered, and has the user's periods looked at.
func cover(c *conn, at found, w store.NodeWrite) error {
	n := w.Node
	if n.Kind != memory.SummarySession {
		return nil
	}
	err := c.run(`UPDATE sessions SET covered_seq = ?, covered_time = ? WHERE sid = ? AND covered_seq <= ?`,
		n.Range.To, micros(n.ToTime), at.sid, n.Range.To)
	if err != nil || n.Level > 0 || w.LookAt.IsZero() {
		return err
	}
	return lookAtPeriods(c, at.uid, micros(w.LookAt))
}
