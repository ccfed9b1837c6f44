package sqlitestore

import (
	"context"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// hashKey reads the key of the user's hashes, sessionHashKey that of a session's.
const (
	hashKey        = `coalesce(hash_key, scope_key)`
	sessionHashKey = `coalesce(hashed_under, hash_key, scope_key)`
)

const userColumns = `u.uid, u.tenant, u.user_id, u.scope_key, u.timezone, u.language, u.extract, u.create_time, u.update_time, u.revision,
	u.fact_revision, u.state_revision, ` + hashKey

const userColumnCount = 13

func scanUser(r row) memory.User {
	scope := memory.ScopeKey(r.text(3))
	return memory.User{
		Ref: memory.UserRef{Tenant: r.text(1), UserID: r.text(2)}, Scope: scope,
		Timezone: r.text(4), Language: r.text(5), Extract: memory.ExtractMode(r.int(6)),
		CreateTime: fromMicros(r.int(7)), UpdateTime: fromMicros(r.int(8)),
		ETag: store.UserETag(scope, r.int(9)), FactRevision: r.int(10), StateRevision: r.int(11), HashKey: memory.HashKey(r.text(12)),
	}
}

// readUserHead reads a user without State.
func readUserHead(c *conn, ref memory.UserRef) (user memory.User, uid int64, err error) {
	ok, err := c.first(`SELECT `+userColumns+` FROM users u WHERE tenant = ? AND user_id = ?`, func(r row) error {
		user, uid = scanUser(r), r.int(0)
		return nil
	}, ref.Tenant, ref.UserID)
	if err == nil && !ok {
		err = store.UserNotFound(ref)
	}
	return user, uid, err
}

func readUser(c *conn, ref memory.UserRef) (user memory.User, uid int64, err error) {
	user, uid, err = readUserHead(c, ref)
	if err != nil || user.StateRevision == 0 {
		return user, uid, err
	}
	_, err = c.first(`SELECT state FROM user_state WHERE uid = ?`, func(r row) error {
		user.State = r.json(0)
		return nil
	}, uid)
	return user, uid, err
}

// User implements store.Users.
func (s *userStore) User(ctx context.Context, ref memory.UserRef) (memory.User, error) {
	var user memory.User
	err := s.read(ctx, "read user", func(c *conn) (err error) {
		user, _, err = readUser(c, ref)
		return err
	})
	if err != nil {
		return memory.User{}, err
	}
	return user, nil
}

// Tenants implements store.Users.
func (s *userStore) Tenants(ctx context.Context) ([]string, error) {
	var tenants []string
	err := s.read(ctx, "list tenants", func(c *conn) error {
		next := ``
		each := func(r row) error {
			next = r.text(0)
			if next != store.ImportTenant {
				tenants = append(tenants, next)
			}
			return nil
		}
		ok, err := c.first(`SELECT tenant FROM users ORDER BY tenant LIMIT 1`, each)
		for ok && err == nil { // a step for each tenant, not for each user
			ok, err = c.first(`SELECT tenant FROM users WHERE tenant > ? ORDER BY tenant LIMIT 1`, each, next)
		}
		return err
	})
	return tenants, err
}

// ListUsers implements store.Users.
func (s *userStore) ListUsers(ctx context.Context, q store.UserQuery) ([]memory.User, error) {
	var users []memory.User
	after := ">"
	if q.After == "" {
		after = ">=" // so that the first page holds a user without an id
	}
	err := s.read(ctx, "list users", func(c *conn) error {
		return c.query(`SELECT `+userColumns+` FROM users u WHERE tenant = ? AND user_id `+after+` ? ORDER BY user_id LIMIT ?+0`,
			func(r row) error {
				users = append(users, scanUser(r))
				return nil
			}, q.Tenant, q.After, q.Limit)
	})
	return users, err
}

// UpdateUser implements store.Users.
func (s *userStore) UpdateUser(ctx context.Context, u store.UserUpdate) (memory.User, error) {
	var user memory.User
	err := s.write(ctx, "update user", func(c *conn) error {
		was, uid, err := readUser(c, u.Ref)
		if memory.IsGone(err) && u.ETag == "" {
			was, uid, err = s.createUser(c, u.Ref, u.Time)
		}
		if err != nil {
			return err
		}
		if u.ETag != "" && u.ETag != was.ETag {
			return store.UserETagMismatch(u.Ref, u.ETag, was.ETag)
		}
		if err := changeUser(c, uid, was, u); err != nil {
			return err
		}
		if err := forbid(c, uid, u.Extract); err != nil {
			return err
		}
		user, _, err = readUser(c, u.Ref)
		return err
	})
	if err != nil {
		return memory.User{}, err
	}
	return user, nil
}

func (s *core) createUser(c *conn, ref memory.UserRef, now time.Time) (memory.User, int64, error) {
	if _, err := insertUser(c, ref, memory.ScopeKey(s.keys()), micros(now)); err != nil {
		return memory.User{}, 0, err
	}
	return readUser(c, ref)
}

// changeUser writes what differs; an update that changes nothing leaves times and ETag alone.
func changeUser(c *conn, uid int64, was memory.User, u store.UserUpdate) error {
	now, changed, err := store.UpdatedUser(was, u)
	if err != nil || !changed {
		return err
	}
	if now.Timezone != was.Timezone {
		if err := lookAtPeriods(c, uid, micros(u.Time)); err != nil {
			return err
		}
	}
	if now.StateRevision != was.StateRevision {
		if err := putObject(c, "user_state", "uid", "state", uid, now.State); err != nil {
			return err
		}
	}
	return c.run(`UPDATE users SET timezone = ?, language = ?, extract = ?, state_revision = ?, revision = revision + 1,
		update_time = ? WHERE uid = ?`, now.Timezone, now.Language, int(now.Extract), now.StateRevision, micros(now.UpdateTime), uid)
}
