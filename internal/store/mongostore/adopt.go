package mongostore

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// CommitImport implements store.Imports.
func (s *archive) CommitImport(ctx context.Context, p store.ImportCommit) error {
	if _, err := s.mergeTarget(ctx, p.Into); err != nil {
		return err
	}
	if err := s.noteUnder(ctx, p.Scope); err != nil {
		return s.failed("pass over summaries", err)
	}
	into := mergeDoc{
		Tenant: p.Into.User.Tenant, UserID: p.Into.User.UserID, Scope: p.Into.Scope, OnConflict: p.Into.OnConflict, Time: micros(p.Into.Time),
	}
	res, err := s.users.UpdateOne(ctx, importing(p.Scope), operators(eq("merge", into, "update_time", micros(p.Time)), nil))
	if err == nil && res.MatchedCount == 0 {
		return store.ImportGone()
	}
	return s.failed("commit import", err)
}

// mergeTarget finds the life that an import goes to.
func (s *archive) mergeTarget(ctx context.Context, into store.Merge) (userDoc, error) {
	u, err := s.scope(store.OneRequest(ctx), into.User)
	if memory.IsGone(err) || err == nil && u.Scope != into.Scope {
		return u, store.ImportTargetGone()
	}
	return u, err
}

// AdoptSession implements store.Imports. The head goes last: that is the commit point. A process that dies before leaves turns, summaries
// and jobs of a session that nobody has, and the head among those of the import, so that a repeat moves what is left.
func (s *archive) AdoptSession(ctx context.Context, p store.Adoption) (store.Adopted, error) {
	u, err := s.mergeTarget(ctx, p.Into)
	if err != nil {
		return 0, err
	}
	var from userDoc
	touched := operators(eq("update_time", micros(p.Time)), nil)
	err = decodeOne(s.users.FindOneAndUpdate(ctx, importing(p.Import), touched), &from)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 0, store.ImportGone()
	}
	if err != nil {
		return 0, s.failed("adopt a session", err)
	}
	if err := s.forgetReplaced(ctx, p.Replaces); err != nil {
		return 0, s.failed("adopt a session", err)
	}
	outcome, err := s.room(ctx, u, p)
	if err != nil || outcome != store.SessionAdopted {
		return outcome, s.failed("adopt a session", err)
	}
	if err := s.moveSession(ctx, p.Session.Key, from.Scope, u); err != nil {
		return 0, s.failed("adopt a session", err)
	}
	if err := s.lookAtPeriods(ctx, u.Scope, p.Time); err != nil { // again after it: whoever looks meanwhile finds nothing
		return 0, err
	}
	err = s.moveHead(ctx, p, from, u)
	if mongo.IsDuplicateKeyError(err) { // somebody recorded under its id since
		return store.SessionThere, s.failed("adopt a session", s.moveSession(ctx, p.Session.Key, u.Scope, from))
	}
	if err != nil {
		return 0, s.failed("adopt a session", err)
	}
	return s.adopted(ctx, p, u)
}

// forgetReplaced has what made room for an import not keep later ones out.
func (s *archive) forgetReplaced(ctx context.Context, erasures []string) error {
	if len(erasures) == 0 {
		return nil
	}
	_, err := s.erasures.UpdateMany(ctx, eq("_id", in(erasures)), operators(nil, eq("erased_id", "")))
	return err
}

// room reports whether the life has room for the session.
func (s *archive) room(ctx context.Context, u userDoc, p store.Adoption) (store.Adopted, error) {
	hash := store.ErasedSessionHash(u.hashKey(), p.Session.Ref.SessionID)
	erased := eq("scope", u.Scope, "erased_id", hash[:], "create_time", eq("$gte", micros(p.Session.CreateTime)))
	n, err := s.erasures.CountDocuments(ctx, erased, options.Count().SetLimit(1))
	if err != nil || n > 0 {
		return store.SessionErased, err
	}
	there := eq("scope", u.Scope, "session_id", p.Session.Ref.SessionID)
	n, err = s.conversations.CountDocuments(ctx, there, options.Count().SetLimit(1))
	if err != nil || n > 0 {
		return store.SessionThere, err
	}
	return store.SessionAdopted, nil
}

// moveSession gives all that hangs on a session to another life, but its head. Doing it again moves what is left.
func (s *archive) moveSession(ctx context.Context, key memory.SessionKey, from memory.ScopeKey, to userDoc) error {
	if _, err := s.turns.UpdateMany(ctx, turnsOf(key), operators(eq("scope", to.Scope), nil)); err != nil {
		return err
	}
	owner := operators(eq("scope", to.Scope, "tenant", to.Tenant, "user_id", to.UserID), nil)
	if _, err := s.jobs.UpdateMany(ctx, eq("scope", from, "session", key), owner); err != nil {
		return err
	}
	nodes, err := readAll[nodeDoc](ctx, s.nodes, eq("scope", from, "session", key), options.Find())
	if err != nil {
		return err
	}
	if err := rekeyed(ctx, s.nodes, nodes, func(d nodeDoc) (string, document) {
		was := d.Key
		d.Key, d.Scope = nodeKey(to.Scope, d.ID), to.Scope
		return was, document{d.Key, d}
	}); err != nil {
		return err
	}
	target := targetKey(from, memory.SummarySession, key, "")
	revised, err := readAll[revisedDoc](ctx, s.summaryRevisions, eq("_id", eq("$gt", target, "$lt", target[:len(target)-1]+"0")), options.Find())
	if err != nil {
		return err
	}
	return rekeyed(ctx, s.summaryRevisions, revised, func(d revisedDoc) (string, document) {
		was := d.Key
		d.Target = targetKey(to.Scope, d.Kind, d.Session, d.Period)
		d.Key = revisedKey(d.Target, d.Revision)
		return was, document{d.Key, d}
	})
}

// rekeyed stores documents under other keys, and then deletes them under those they had.
func rekeyed[D any](ctx context.Context, in *mongo.Collection, docs []D, change func(D) (was string, now document)) error {
	for some := range slices.Chunk(docs, exportedDocs) {
		var old []string
		var moved []document
		for _, d := range some {
			was, now := change(d)
			old, moved = append(old, was), append(moved, now)
		}
		if err := storeAll(ctx, in, moved); err != nil {
			return err
		}
		if _, err := in.DeleteMany(ctx, eq("_id", eq("$in", old))); err != nil {
			return err
		}
	}
	return nil
}

// moveHead gives the session's head to the life. Whoever ends that life meanwhile may have looked for its sessions before: see confirm.
func (s *archive) moveHead(ctx context.Context, p store.Adoption, from, to userDoc) error {
	var d sessionDoc
	err := decodeOne(s.conversations.FindOne(ctx, eq("_id", p.Session.Key, "scope", from.Scope)), &d)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return store.ImportGone()
	}
	if err != nil {
		return err
	}
	set := eq("scope", to.Scope, "tenant", to.Tenant, "user_id", to.UserID, "hash_key", d.hashKey(), "unconfirmed", true)
	if d.LastSeq > 0 {
		set = append(set, eq("look_at", micros(p.Time), "feed.at", micros(p.Time))...)
	}
	_, err = s.conversations.UpdateOne(ctx, eq("_id", p.Session.Key, "scope", from.Scope), operators(set, nil))
	return err
}

// adopted confirms that the life of an adopted session has not ended, and schedules its periods.
func (s *archive) adopted(ctx context.Context, p store.Adoption, u userDoc) (store.Adopted, error) {
	alive, err := s.confirm(ctx, sessionDoc{Key: p.Session.Key, Scope: u.Scope, Unconfirmed: true})
	if err != nil {
		return 0, err
	}
	if !alive {
		return 0, store.ImportTargetGone()
	}
	if _, err := s.conversations.UpdateOne(ctx, eq("_id", p.Session.Key), operators(nil, eq("unconfirmed", ""))); err != nil {
		return 0, s.failed("adopt a session", err)
	}
	return store.SessionAdopted, s.lookAtPeriods(ctx, u.Scope, p.Time)
}
