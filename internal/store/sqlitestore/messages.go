package sqlitestore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// messageColumns are what scanMessage reads, in its order.
const messageColumns = `m.key, m.turn_no, m.id, m.role, m.origin, m.extract, m.pinned, m.create_time, m.record_time,
	m.o200k, m.cl100k, m.name, m.text, m.parts, m.tags, m.metadata, m.hidden, m.deleted`

const messageColumnCount = 18

func scanMessage(r row) (memory.Message, error) {
	m := memory.Message{
		ID: r.text(2), Seq: r.int(0) & maxNo, TurnNo: r.int(1),
		Role: memory.Role(r.int(3)), Origin: memory.Origin(r.int(4)), Extract: memory.ExtractMode(r.int(5)), Pinned: r.int(6) != 0,
		CreateTime: fromMicros(r.int(7)), RecordTime: fromMicros(r.int(8)),
		Tokens:   memory.TokenCounts{O200K: r.int(9), CL100K: r.int(10)},
		Name:     r.text(11),
		Metadata: r.json(15), Hidden: r.int(16) != 0, Deleted: r.int(17) != 0,
	}
	if m.Deleted {
		return m, nil
	}
	if parts := r.text(13); parts != "" {
		if err := json.Unmarshal([]byte(parts), &m.Parts); err != nil {
			return m, fmt.Errorf("decode parts of message %s: %w", m.ID, err)
		}
	} else {
		m.Parts = []memory.Part{memory.TextPart(r.text(12))}
	}
	if tags := r.text(14); tags != "" {
		if err := json.Unmarshal([]byte(tags), &m.Tags); err != nil {
			return m, fmt.Errorf("decode tags of message %s: %w", m.ID, err)
		}
	}
	return m, nil
}

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// orZero is fromMicros for times that may be unset, which are stored as 0.
func orZero(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return fromMicros(n)
}

// orNone is micros for times that may be unset.
func orNone(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return micros(t)
}

// storedBytes is the size of what a row holds in texts.
func storedBytes(r row) (n int64) {
	for _, i := range []int{2, 11, 12, 13, 14, 15} {
		n += int64(len(r.text(i)))
	}
	if len(r) > messageColumnCount {
		n += int64(len(r.text(messageColumnCount)) + len(r.blob(messageColumnCount+1)))
	}
	return n
}

// found is where a session is.
type found struct {
	uid, sid int64
	scope    memory.ScopeKey
	hashKey  memory.HashKey
	key      memory.SessionKey
	version  int64 // of the user's summaries
}

func findUser(c *conn, u memory.UserRef) (f found, err error) {
	ok, err := c.first(`SELECT uid, scope_key, `+hashKey+`, nodes_version FROM users WHERE tenant = ? AND user_id = ?`, func(r row) error {
		f.uid, f.scope, f.hashKey, f.version = r.int(0), memory.ScopeKey(r.text(1)), memory.HashKey(r.text(2)), r.int(3)
		return nil
	}, u.Tenant, u.UserID)
	if err == nil && !ok {
		err = store.UserNotFound(u)
	}
	return f, err
}

func findSession(c *conn, ref memory.SessionRef) (f found, err error) {
	ok, err := c.first(`SELECT u.uid, u.scope_key, s.sid, s.session_key, `+sessionHashKey+`, u.nodes_version FROM users u
		LEFT JOIN sessions s ON s.uid = u.uid AND s.session_id = ? WHERE u.tenant = ? AND u.user_id = ?`,
		func(r row) error {
			f = found{r.int(0), r.int(2), memory.ScopeKey(r.text(1)), memory.HashKey(r.text(4)), memory.SessionKey(r.text(3)), r.int(5)}
			return nil
		}, ref.SessionID, ref.Tenant, ref.UserID)
	switch {
	case err != nil:
		return f, err
	case !ok:
		return f, store.UserNotFound(ref.UserRef)
	case f.sid == 0:
		return f, store.SessionNotFound(ref)
	}
	return f, nil
}

// KnownToolCalls implements store.Transcript.
func (s *transcript) KnownToolCalls(ctx context.Context, ref memory.SessionRef, callIDs []string) ([]string, error) {
	return s.known(ctx, ref, callIDs, `SELECT 1 FROM tool_calls WHERE sid = ? AND call_hash = ?`)
}

// KnownMessages implements store.Transcript.
func (s *transcript) KnownMessages(ctx context.Context, ref memory.SessionRef, ids []string) ([]string, error) {
	return s.known(ctx, ref, ids, `SELECT 1 FROM message_ids WHERE sid = ? AND id_hash = ?`)
}

// known are those of the ids whose keyed hash the query finds in the session.
func (s *transcript) known(ctx context.Context, ref memory.SessionRef, ids []string, query string) ([]string, error) {
	var known []string
	err := s.read(ctx, "find ids", func(c *conn) error {
		at, err := findSession(c, ref)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		known, err = knownIDs(c, at, ids, query)
		return err
	})
	return known, err
}

func knownIDs(c *conn, at found, ids []string, query string) (known []string, err error) {
	for _, id := range ids {
		hash := at.hashKey.Keyed(memory.IDDigest(id))
		ok, err := c.first(query, func(row) error { return nil }, at.sid, hash[:])
		if err != nil {
			return nil, err
		}
		if ok && !slices.Contains(known, id) {
			known = append(known, id)
		}
	}
	return known, nil
}

// shortBytes is how much of messages is read beside what takes long.
const shortBytes = 64 << 10

// errLong ends a short read that would take long.
var errLong = errors.New("long")

// Messages implements store.Transcript.
func (s *transcript) Messages(ctx context.Context, q store.MessageQuery) (run []memory.Message, err error) {
	const what = "read messages"
	all := func(c *conn) error {
		at, err := findSession(c, q.Ref)
		if err != nil {
			return err
		}
		run, _, err = readRun(c, at.sid, q)
		return err
	}
	short := func(c *conn) error {
		at, err := findSession(c, q.Ref)
		if err != nil {
			return err
		}
		if long, err := beginsLong(c, at.sid, q); long || err != nil {
			return cmp.Or(err, errLong)
		}
		run, _, err = readRun(c, at.sid, q)
		return err
	}
	if q.MaxBytes > 0 && q.MaxBytes <= shortBytes {
		if err := s.read(ctx, what, short); !errors.Is(err, errLong) {
			return run, err
		}
	}
	if err := s.readLong(ctx, what, all); err != nil {
		return nil, err
	}
	return run, nil
}

// beginsLong reports whether the first message of a run is a long one. SQLite knows that without reading it.
func beginsLong(c *conn, sid int64, q store.MessageQuery) (long bool, err error) {
	from, to := bounds(q)
	order := "m.key"
	if q.NewestFirst {
		order = "m.key DESC"
	}
	_, err = c.first(`SELECT octet_length(m.text), octet_length(m.parts), octet_length(o.data) FROM messages m
		LEFT JOIN originals o ON o.key = m.key WHERE m.key BETWEEN ? AND ? ORDER BY `+order+` LIMIT 1`, func(r row) error {
		long = r.int(0)+r.int(1)+r.int(2) > shortBytes
		return nil
	}, place(sid, from), place(sid, to))
	return long, err
}

// bounds are the first and the last seq that a query asks for; the first is above the last where it asks for none.
func bounds(q store.MessageQuery) (from, to int64) {
	from, to = 1, maxNo
	if q.After > 0 {
		from = min(q.After, maxNo) + 1
	}
	if q.Before > 0 {
		to = min(q.Before-1, maxNo)
	}
	return from, to
}

// readRun also returns the stored bytes of the rows it looked at: those of the run, and of the row that ended it.
func readRun(c *conn, sid int64, q store.MessageQuery) (run []memory.Message, bytes int64, err error) {
	from, to := bounds(q)
	if from > to {
		return nil, 0, nil
	}
	run = make([]memory.Message, 0, min(int64(q.Limit), to-from+1, 256))
	var tokens int64
	visible := 0
	err = c.query(runQuery(q), func(r row) error {
		bytes += storedBytes(r)
		if q.MaxBytes > 0 && bytes > q.MaxBytes && len(run) > 0 {
			return errStop
		}
		m, err := scanMessage(r)
		if err != nil {
			return err
		}
		if q.WithOriginal && r[messageColumnCount] != nil {
			m.Original = &memory.Original{Format: r.text(messageColumnCount), Data: r.blob(messageColumnCount + 1)}
		}
		run = append(run, m)
		if !m.Hidden {
			visible, tokens = visible+1, tokens+m.Tokens.O200K
		}
		if q.MaxTokens > 0 && tokens >= q.MaxTokens && visible >= q.MinMessages {
			return errStop
		}
		return nil
	}, place(sid, from), place(sid, to), q.Limit)
	return run, bytes, err
}

func runQuery(q store.MessageQuery) string {
	switch {
	case q.Marked: // few of many: those before and after them are not looked at
		return markedQuery(q)
	case q.WithOriginal && q.NewestFirst:
		return `SELECT ` + messageColumns + `, o.format, o.data FROM messages m LEFT JOIN originals o ON o.key = m.key
			WHERE m.key BETWEEN ? AND ? ORDER BY m.key DESC LIMIT ?+0`
	case q.WithOriginal:
		return `SELECT ` + messageColumns + `, o.format, o.data FROM messages m LEFT JOIN originals o ON o.key = m.key
			WHERE m.key BETWEEN ? AND ? ORDER BY m.key LIMIT ?+0`
	case q.NewestFirst:
		return `SELECT ` + messageColumns + ` FROM messages m WHERE m.key BETWEEN ? AND ? ORDER BY m.key DESC LIMIT ?+0`
	}
	return `SELECT ` + messageColumns + ` FROM messages m WHERE m.key BETWEEN ? AND ? ORDER BY m.key LIMIT ?+0`
}

// markedQuery names the index of the migration: SQLite would rather go through all of a session's rows.
func markedQuery(q store.MessageQuery) string {
	columns, join, order := messageColumns, "", ""
	if q.WithOriginal {
		columns, join = columns+", o.format, o.data", " LEFT JOIN originals o ON o.key = m.key"
	}
	if q.NewestFirst {
		order = " DESC"
	}
	return `SELECT ` + columns + ` FROM messages m INDEXED BY messages_marked` + join + `
		WHERE m.key BETWEEN ? AND ? AND (m.pinned = 1 OR m.tags IS NOT NULL OR m.origin = 4) ORDER BY m.key` + order + ` LIMIT ?+0`
}

// MessagesAt implements store.Transcript.
func (s *transcript) MessagesAt(ctx context.Context, q store.PlacesQuery) ([]memory.PlacedMessage, error) {
	if len(q.Places) == 0 {
		return nil, nil
	}
	var hits []memory.PlacedMessage
	err := s.read(ctx, "read messages by place", func(c *conn) error {
		at, err := findUser(c, q.User)
		if memory.IsGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		hits, err = readPlaces(c, s.messages, at.uid, q)
		return err
	})
	return hits, err
}

// named is a session's row number, its name, where its contexts start and the version of its messages.
type named struct {
	sid       int64
	sessionID string
	start     int64
	version   int64
}

// placed is a place in one of the user's sessions, and the message there once it is known.
type placed struct {
	memory.Place
	in   *named
	key  int64
	held *heldRow[storedMessage]
}

// readPlaces reads the rows of those messages only that are not held as they are now.
func readPlaces(c *conn, held rowCache[storedMessage], uid int64, q store.PlacesQuery) ([]memory.PlacedMessage, error) {
	keys, sessions, err := sessionsOf(c, uid, q.Places)
	if err != nil {
		return nil, err
	}
	places := possible(keys, sessions, q.Places)
	var unknown []*placed
	for i := range places {
		p := &places[i]
		if p.held = held.at(p.key, p.in.version); p.held == nil {
			unknown = append(unknown, p)
		}
	}
	if err := readRows(c, unknown, q.MaxBytes); err != nil {
		return nil, err
	}
	for _, p := range unknown {
		if p.held != nil {
			held.keep(p.key, p.held)
		}
	}
	return firstOf(places, q.MaxBytes), nil
}

// sessionsOf finds the user's own sessions among those of the places, in the order of their keys. The sid of one that is not the user's
// is 0.
func sessionsOf(c *conn, uid int64, places []memory.Place) (keys []memory.SessionKey, sessions []named, err error) {
	keys = make([]memory.SessionKey, len(places))
	for i, p := range places {
		keys[i] = p.Session
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	encoded, err := json.Marshal(keys)
	if err != nil {
		return nil, nil, fmt.Errorf("encode session keys: %w", err)
	}
	sessions = make([]named, len(keys))
	err = c.query(`SELECT json_each.key, s.sid, s.session_id, s.context_start, s.messages_version FROM json_each(?)
		CROSS JOIN sessions s ON s.uid = ? AND s.session_key = json_each.value`, func(r row) error {
		sessions[r.int(0)] = named{r.int(1), r.text(2), r.int(3), r.int(4)}
		return nil
	}, string(encoded), uid)
	return keys, sessions, err
}

// possible are those of the places that can exist.
func possible(keys []memory.SessionKey, sessions []named, all []memory.Place) []placed {
	places := make([]placed, 0, len(all))
	for _, p := range all {
		at, _ := slices.BinarySearch(keys, p.Session) // each is there
		if in := &sessions[at]; in.sid != 0 && p.Seq >= 1 && p.Seq <= maxNo {
			places = append(places, placed{Place: p, in: in, key: place(in.sid, p.Seq)})
		}
	}
	return places
}

// readRows reads what is stored at the places, in their order, up to the message that passes the limit.
func readRows(c *conn, places []*placed, maxBytes int64) error {
	if len(places) == 0 {
		return nil
	}
	keys := make([]int64, len(places))
	for i, p := range places {
		keys[i] = p.key
	}
	encoded, err := json.Marshal(keys)
	if err != nil {
		return fmt.Errorf("encode keys of messages: %w", err)
	}
	var bytes int64
	return c.query(`SELECT `+messageColumns+`, json_each.rowid FROM json_each(?) CROSS JOIN messages m ON m.key = json_each.value AND m.deleted = 0
		ORDER BY json_each.rowid`, func(r row) error {
		if maxBytes > 0 && bytes > maxBytes {
			return errStop
		}
		m, err := scanMessage(r)
		p, size := places[r.int(messageColumnCount)], storedBytes(r[:messageColumnCount])
		p.held = heldMessage(p.in.version, size, m)
		bytes += size
		return err
	}, string(encoded))
}

// firstOf are the messages that are there, without those that pass the limit of stored bytes, but for the first.
func firstOf(places []placed, maxBytes int64) []memory.PlacedMessage {
	found := make([]memory.PlacedMessage, 0, len(places))
	var bytes int64
	for i := range places {
		p := &places[i]
		if p.held == nil {
			continue
		}
		bytes += p.held.row.bytes
		if maxBytes > 0 && bytes > maxBytes && len(found) > 0 {
			break
		}
		found = append(found, memory.PlacedMessage{
			Place: p.Place, SessionID: p.in.sessionID, ContextStart: p.in.start, Message: p.held.row.Message,
		})
	}
	return found
}

// UpdateMessage implements store.Transcript.
func (s *transcript) UpdateMessage(ctx context.Context, u store.MessageUpdate) (memory.Message, error) {
	var m memory.Message
	err := s.write(ctx, "update message", func(c *conn) error {
		at, key, err := findMessage(c, u.Ref, u.MessageID)
		if err != nil {
			return err
		}
		if err := relabel(c, key, u); err != nil {
			return err
		}
		if err := hide(c, at.uid, key, u.Hidden); err != nil {
			return err
		}
		if err := forbid(c, at.uid, u.Extract); err != nil {
			return err
		}
		if u.Hidden != nil {
			if err := lookAtPeriods(c, at.uid, micros(u.Time)); err != nil {
				return err
			}
			if err := lookAtSession(c, at.sid, micros(u.Time)); err != nil {
				return err
			}
		}
		_, err = c.first(`SELECT `+messageColumns+` FROM messages m WHERE m.key = ?`, func(r row) (err error) {
			m, err = scanMessage(r)
			return err
		}, key)
		return err
	})
	if err != nil {
		return memory.Message{}, err
	}
	return m, nil
}

func findMessage(c *conn, ref memory.SessionRef, id string) (at found, key int64, err error) {
	at, err = findSession(c, ref)
	if err != nil {
		return at, 0, err
	}
	hash := at.hashKey.Keyed(memory.IDDigest(id))
	ok, err := c.first(`SELECT i.seq FROM message_ids i JOIN messages m ON m.key = i.sid << 32 | i.seq AND m.deleted = 0
		WHERE i.sid = ? AND i.id_hash = ?`, func(r row) error {
		key = place(at.sid, r.int(0))
		return nil
	}, at.sid, hash[:])
	if err == nil && !ok {
		err = store.MessageNotFound(ref, id)
	}
	return at, key, err
}

func relabel(c *conn, key int64, u store.MessageUpdate) error {
	var columns []string
	var values []any
	if u.Tags != nil {
		tags, err := encodeTags(*u.Tags)
		if err != nil {
			return err
		}
		columns, values = append(columns, "tags"), append(values, tags)
	}
	if u.Metadata != nil {
		columns, values = append(columns, "metadata"), append(values, orNull(*u.Metadata))
	}
	if u.Pinned != nil {
		columns, values = append(columns, "pinned"), append(values, asInt(*u.Pinned))
	}
	if u.Extract != nil {
		columns, values = append(columns, "extract"), append(values, int(*u.Extract))
	}
	for i, column := range columns {
		if err := c.run(`UPDATE messages SET `+column+` = ? WHERE key = ?`, values[i], key); err != nil {
			return err
		}
	}
	return nil
}
