package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// feedTable is where a view's feeds are kept. Every text is ours.
type feedTable struct {
	table      string
	from       string // the table with its users
	checkpoint string // build, seq, revision, version, number; then where the feed ends: seq, revision, number
	waits      string // the column that is set while a feed waits
	exists     string // what holds of a row that is a feed
}

func feedsOf(view memory.View) feedTable {
	switch view {
	case memory.ViewVectors:
		return feedTable{
			table: "users", from: "users u", waits: "vectors_at", exists: "fact_revision > 0",
			checkpoint: `'', '', u.uid, u.vectors_build, 0, u.vectors_revision, u.vectors_version, u.vectors_no, 0, u.fact_revision, u.last_vector_no`,
		}
	case memory.ViewFacts:
		return feedTable{
			table: "users", from: "users u", waits: "facts_at", exists: "fact_revision > 0",
			checkpoint: `'', '', u.uid, u.facts_build, 0, u.facts_revision, 0, 0, 0, u.fact_revision, 0`,
		}
	case memory.ViewMessageVectors:
		return feedTable{
			table: "users", from: "users u", waits: "turns_at", exists: "last_segment_no > 0",
			checkpoint: `'', '', u.uid, u.turns_build, 0, 0, u.turns_version, u.turns_no, 0, 0, u.last_segment_no`,
		}
	default:
		return feedTable{
			table: "sessions", from: "users u CROSS JOIN sessions s ON s.uid = u.uid", waits: "feed_at",
			exists:     "last_seq > 0 AND uid IN (SELECT uid FROM users)",
			checkpoint: `s.session_id, s.session_key, s.sid, s.feed_build, s.feed_seq, 0, 0, 0, s.last_seq, 0, 0`,
		}
	}
}

func (t feedTable) query() string {
	return `SELECT u.tenant, u.user_id, u.scope_key, ` + t.checkpoint + `, ` + t.waits + ` FROM `
}

// feed is a feed with the key of its row.
type feed struct {
	store.Feed
	key int64
}

func scanFeed(view memory.View, build int64, r row) feed {
	user := memory.UserRef{Tenant: r.text(0), UserID: r.text(1)}
	f := feed{key: r.int(5), Feed: store.Feed{
		View: view, User: user, Scope: memory.ScopeKey(r.text(2)), Session: user.Session(r.text(3)), Key: memory.SessionKey(r.text(4)),
		Checkpoint: store.Checkpoint{Build: r.int(6), FeedPosition: store.FeedPosition{
			Seq: r.int(7), Revision: r.int(8), Version: int(r.int(9)), No: r.int(10),
		}}.OfBuild(build),
		Head:  store.FeedPosition{Seq: r.int(11), Revision: r.int(12), No: r.int(13)},
		Since: r.time(14),
	}}
	return f
}

func readBuild(c *conn, view memory.View) (int64, error) {
	return c.number(`SELECT build FROM views WHERE view = ?`, int(view))
}

// PendingFeeds implements store.ChangeFeed.
func (s *feedStore) PendingFeeds(ctx context.Context, view memory.View, limit int) ([]store.Feed, error) {
	var found []store.Feed
	err := s.read(ctx, "find pending feeds", func(c *conn) error {
		build, err := readBuild(c, view)
		if err != nil {
			return err
		}
		t := feedsOf(view)
		from := t.from
		if view == memory.ViewTranscript { // those who wait lead, not their users
			from = "sessions s CROSS JOIN users u ON u.uid = s.uid"
		}
		return c.query(t.query()+from+` WHERE `+t.waits+` IS NOT NULL AND `+notImporting+` ORDER BY `+t.waits+` LIMIT ?+0`, func(r row) error {
			found = append(found, scanFeed(view, build, r).Feed)
			return nil
		}, limit)
	})
	return found, err
}

// Feed implements store.ChangeFeed.
func (s *feedStore) Feed(ctx context.Context, view memory.View, ref memory.SessionRef) (store.Feed, error) {
	var f feed
	err := s.read(ctx, "read feed", func(c *conn) (err error) {
		f, err = readFeed(c, view, ref)
		return err
	})
	if err != nil {
		return store.Feed{}, err
	}
	return f.Feed, nil
}

func readFeed(c *conn, view memory.View, ref memory.SessionRef) (f feed, err error) {
	build, err := readBuild(c, view)
	if err != nil {
		return f, err
	}
	t := feedsOf(view)
	query, args := t.query()+t.from+` WHERE u.tenant = ? AND u.user_id = ?`, []any{ref.Tenant, ref.UserID}
	if view == memory.ViewTranscript {
		query, args = query+` AND s.session_id = ?`, append(args, ref.SessionID)
	}
	ok, err := c.first(query, func(r row) error {
		f = scanFeed(view, build, r)
		return nil
	}, args...)
	switch {
	case err != nil || ok:
	case view == memory.ViewTranscript:
		_, err = findSession(c, ref) // the error names which of the two is missing
	default:
		err = store.UserNotFound(ref.UserRef)
	}
	return f, err
}

// SetCheckpoint implements store.ChangeFeed.
func (s *feedStore) SetCheckpoint(ctx context.Context, m store.CheckpointUpdate) error {
	return s.write(ctx, "mark feed", func(c *conn) error {
		build, err := readBuild(c, m.View)
		if err != nil {
			return err
		}
		f, err := readFeed(c, m.View, m.Session)
		if memory.IsGone(err) || err == nil && (f.Scope != m.Scope || f.Key != m.Key || build != m.Build) {
			return store.Contention("the feed is not the one that the view has read any more")
		}
		if err != nil {
			return err
		}
		return markFeed(c, f, m)
	})
}

// markFeed leaves a feed waiting that changed since it was read.
func markFeed(c *conn, f feed, m store.CheckpointUpdate) error {
	since := orNever(f.Since)
	if f.Head == m.Seen {
		since = nil
	}
	at := m.Checkpoint
	switch m.View {
	case memory.ViewVectors:
		return c.run(`UPDATE users SET vectors_at = ?, vectors_build = ?, vectors_revision = ?, vectors_version = ?, vectors_no = ?
			WHERE uid = ?`, since, m.Build, at.Revision, at.Version, at.No, f.key)
	case memory.ViewMessageVectors:
		return c.run(`UPDATE users SET turns_at = ?, turns_build = ?, turns_version = ?, turns_no = ? WHERE uid = ?`,
			since, m.Build, at.Version, at.No, f.key)
	case memory.ViewFacts:
		return c.run(`UPDATE users SET facts_at = ?, facts_build = ?, facts_revision = ? WHERE uid = ?`, since, m.Build, at.Revision, f.key)
	case memory.ViewTranscript:
		return c.run(`UPDATE sessions SET feed_at = ?, feed_build = ?, feed_seq = ? WHERE sid = ?`, since, m.Build, at.Seq, f.key)
	}
	return fmt.Errorf("no such view: %d", m.View)
}

// CountFeeds implements store.ChangeFeed.
func (s *feedStore) CountFeeds(ctx context.Context, view memory.View) (pending, all int64, err error) {
	t := feedsOf(view)
	count := `SELECT count(*) FROM ` + t.table + ` WHERE `
	exists := t.exists + ` AND uid NOT IN (SELECT u.uid FROM users u WHERE u.tenant = char(1) || 'import')`
	err = s.read(ctx, "count feeds", func(c *conn) (err error) {
		if pending, err = c.number(count + t.waits + ` IS NOT NULL AND ` + exists); err != nil {
			return err
		}
		all, err = c.number(count + exists)
		return err
	})
	return pending, all, err
}

// ViewBuild implements store.ChangeFeed.
func (s *feedStore) ViewBuild(ctx context.Context, view memory.View) (build int64, err error) {
	err = s.read(ctx, "read build of a view", func(c *conn) (err error) {
		build, err = readBuild(c, view)
		return err
	})
	return build, err
}

// RebuildView implements store.ChangeFeed.
func (s *feedStore) RebuildView(ctx context.Context, view memory.View, at time.Time) (build int64, err error) {
	t := feedsOf(view)
	err = s.write(ctx, "rebuild a view", func(c *conn) error {
		if err := c.run(`UPDATE views SET build = build + 1 WHERE view = ?`, int(view)); err != nil {
			return err
		}
		if err := c.run(`UPDATE `+t.table+` SET `+t.waits+` = ? WHERE `+t.exists, micros(at)); err != nil {
			return err
		}
		build, err = readBuild(c, view)
		return err
	})
	return build, err
}

// vectorsChanged makes the feed of the user's vectors pending.
func vectorsChanged(c *conn, uid, at int64) error {
	return c.run(`UPDATE users SET vectors_at = ? WHERE uid = ? AND (vectors_at IS NULL OR vectors_at > ?)`, at, uid, at)
}

// turnsChanged makes the feed of message vectors pending for a new segment.
func turnsChanged(c *conn, uid, no, at int64) error {
	return c.run(`UPDATE users SET last_segment_no = ?, turns_at = min(coalesce(turns_at, ?), ?) WHERE uid = ?`, no, at, at, uid)
}

// turnsCheckpoint returns the checkpoint of the message vectors; zero while their feed is pending.
func turnsCheckpoint(c *conn, uid int64) (at store.Checkpoint, err error) {
	_, err = c.first(`SELECT v.build, u.turns_build, u.turns_version, u.turns_no
		FROM users u CROSS JOIN views v WHERE u.uid = ? AND u.turns_at IS NULL AND v.view = ?`, func(r row) error {
		at = store.Checkpoint{Build: r.int(1), FeedPosition: store.FeedPosition{Version: int(r.int(2)), No: r.int(3)}}.OfBuild(r.int(0))
		return nil
	}, uid, int(memory.ViewMessageVectors))
	return at, err
}

// factsChanged makes the feeds of the user's facts and of their vectors pending.
func factsChanged(c *conn, uid, at int64) error {
	if err := vectorsChanged(c, uid, at); err != nil {
		return err
	}
	return c.run(`UPDATE users SET facts_at = ? WHERE uid = ? AND (facts_at IS NULL OR facts_at > ?)`, at, uid, at)
}
