package porter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/erasure/eraser"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/facts"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/sessions/portable"
	"github.com/stratamem/strata/internal/store"
)

// An import into a user who is there has three steps. All of the file is stored apart, where nobody is served it, and checked. Then it
// is committed: from there on it is ended whatever happens, by this process or another. Then its sessions become the user's one by
// one, and its facts in some writes. So whatever is deleted meanwhile is known when it is decided what comes.

// merging is what an import into a user who is there takes beside the Porter's own.
type merging struct {
	facts   *recall.FactCache
	sweeper eraser.Sweeper
	runner  work.Runner
	vectors facts.VectorWaker
	indexer VectorIndexer
}

// VectorIndexer indexes turns with vectors that are there.
type VectorIndexer interface {
	// IndexWith must index pending turns of the session with the vectors, which are of the version, and return how many of them it took.
	// vector must be called in the order of the session, and may return nil for none. Turns may be left pending.
	IndexWith(
		ctx context.Context, user memory.UserRef, session memory.SessionKey, version int,
		vector func(context.Context, memory.Place) ([]int8, error),
	) (taken int64, err error)
}

// mergeStore is the part of the primary store for it.
type mergeStore interface {
	Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error)
	store.Erasures
	Hidden(ctx context.Context, user memory.UserRef) (memory.Hidden, error)
	CurrentSummaries(ctx context.Context, user memory.UserRef) ([]memory.SummaryRevision, error)
	MessagesAt(ctx context.Context, q store.PlacesQuery) ([]memory.PlacedMessage, error)
	ApplyFacts(ctx context.Context, w store.FactWrite) (int64, error)
	ListDocuments(ctx context.Context, q store.DocumentList) ([]memory.Document, error)
	AdoptDocuments(ctx context.Context, a store.DocumentAdoption) (int, error)
}

// merge imports into a user who is there.
func (s *Porter) merge(ctx context.Context, r *portable.Reader, room *store.Room, into store.Merge) (Imported, error) {
	ids := portable.Beside
	if into.OnConflict == memory.ConflictRenamed {
		ids = portable.New
	}
	r.Into(into.Scope, ids)
	scope := memory.ScopeKey(s.newKey())
	start := store.ImportStart{Scope: scope, HashKey: r.User().HashKey, Time: s.now.Stored()}
	if err := s.store.BeginImport(ctx, start); err != nil {
		return Imported{}, fmt.Errorf("begin import: %w", err)
	}
	vectors := s.vectorsOf(r, scope)
	if vectors != nil {
		vectors.apart = true
	}
	err := s.fill(ctx, filling{r: r, room: room, scope: scope, vectors: vectors, takes: isMerged})
	if err == nil {
		into.Time = s.now.Stored()
		err = s.store.CommitImport(ctx, store.ImportCommit{Scope: scope, Into: into, Time: into.Time})
	}
	if err != nil {
		s.abandon(ctx, scope)
		return Imported{}, fmt.Errorf("import into a user who is there: %w", err)
	}
	return s.adoptAll(context.WithoutCancel(ctx), scope, into)
}

// isMerged reports whether a record of a file goes to a user who is there: weeks and months do not, since they are written anew of all
// sessions, nor does what was refused or forgotten in another life.
func isMerged(r *store.Record) bool {
	switch {
	case r.Revised != nil:
		return r.Revised.Revisions[0].Kind == memory.SummarySession
	case r.Node != nil:
		return r.Node.Kind == memory.SummarySession
	case r.Job != nil:
		return r.Job.Session != ""
	}
	return r.Forgotten == nil && r.Refused == nil && r.Deleted == nil
}

// adoptAll gives the user what has come of an import that was committed. Doing it again goes on where another left off.
func (s *Porter) adoptAll(ctx context.Context, scope memory.ScopeKey, into store.Merge) (out Imported, err error) {
	if err := s.adopt(ctx, scope, into, &out); err != nil {
		if memory.ReasonOf(err) == memory.ReasonContention { // the user was erased, or another process ended it
			s.abandon(ctx, scope)
		}
		return out, fmt.Errorf("give the user what was imported: %w", err)
	}
	s.abandon(ctx, scope)
	s.runner.LookAgain(into.User, "")
	if out.User, err = s.store.User(ctx, into.User); err != nil {
		return out, fmt.Errorf("read user: %w", err)
	}
	return out, nil
}

func (s *Porter) adopt(ctx context.Context, scope memory.ScopeKey, into store.Merge, out *Imported) error {
	sessions, err := s.stagedSessions(ctx, scope)
	if err != nil {
		return err
	}
	came := s.cameWith(scope, sessions)
	for _, session := range sessions {
		session.Ref.UserRef = into.User
		taken, err := s.adoptSession(ctx, scope, into, session)
		if err != nil {
			return err
		}
		if !taken {
			out.SessionsLeft++
			continue
		}
		out.Sessions++
		out.Messages += session.LastSeq
		n, err := came.index(ctx, s.indexer, into.User, session.Key)
		out.Vectors += n
		if err != nil {
			return err
		}
		s.runner.Nudge(session.Ref)
	}
	facts, err := s.stagedFacts(ctx, scope)
	if err != nil {
		return err
	}
	taken, err := s.adoptFacts(ctx, into, facts)
	out.Facts, out.FactsLeft = int64(len(taken)), int64(len(facts)-len(taken))
	if err != nil {
		return err
	}
	n, err := s.adoptFactVectors(ctx, scope, into.User, taken)
	out.Vectors += n
	if err != nil {
		return err
	}
	s.vectors.Wake()
	return s.adoptDocuments(ctx, scope, into, out)
}

// documentsAtOnce bounds the documents of one write, and documentBytes their values.
const (
	documentsAtOnce = 100
	documentBytes   = 1 << 20
)

// adoptDocuments gives the user the documents that may come.
func (s *Porter) adoptDocuments(ctx context.Context, scope memory.ScopeKey, into store.Merge, out *Imported) error {
	var after *memory.DocumentPlace
	for {
		page, err := s.store.ListDocuments(ctx, store.DocumentList{
			User: store.ImportUser(scope), After: after, Limit: documentsAtOnce, MaxBytes: documentBytes, Time: s.now.Stored(),
		})
		if err != nil {
			return fmt.Errorf("read documents of an import: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		taken, err := s.store.AdoptDocuments(ctx, store.DocumentAdoption{
			Into: into, Documents: page, Most: store.MaxDocuments, Time: s.now.Stored(),
		})
		if err != nil {
			return fmt.Errorf("store documents: %w", err)
		}
		out.Documents, out.DocumentsLeft = out.Documents+int64(taken), out.DocumentsLeft+int64(len(page)-taken)
		after = &page[len(page)-1].DocumentPlace
	}
}

// errEnough ends an export of which no more is wanted.
var errEnough = errors.New("enough")

// stagedSessions are the sessions of an import that nobody has yet.
func (s *Porter) stagedSessions(ctx context.Context, scope memory.ScopeKey) (sessions []memory.Session, err error) {
	err = s.store.Export(ctx, store.ImportUser(scope), func(r store.Record) error {
		switch {
		case r.Session != nil:
			kept := r.Session.Session
			kept.State, kept.Metadata, kept.Title = nil, nil, ""
			sessions = append(sessions, kept)
		case r.User == nil:
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("read sessions of an import: %w", err)
	}
	return sessions, nil
}

func (s *Porter) stagedFacts(ctx context.Context, scope memory.ScopeKey) (facts []store.FactRecord, err error) {
	err = s.store.Export(ctx, store.ImportUser(scope), func(r store.Record) error {
		if r.Fact != nil {
			r.Fact.Vectors = nil // as many bytes as the rest, or more: see adoptFactVectors
			facts = append(facts, *r.Fact)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read facts of an import: %w", err)
	}
	return facts, nil
}

// replacements is how many sessions of one id an import may erase: one, and those that others begin under the id meanwhile.
const replacements = 4

// adoptSession gives the user a session, and reports whether the rule and what was deleted let it.
func (s *Porter) adoptSession(ctx context.Context, scope memory.ScopeKey, into store.Merge, session memory.Session) (bool, error) {
	var replaces []string
	for n := range replacements {
		replaces = append(replaces, eraser.ErasurePrefix+memory.EffectID(string(scope)+"/"+string(session.Key), n))
	}
	for n := range replacements {
		if into.OnConflict == memory.ConflictOverwritten {
			if clean, err := s.replacedWhole(ctx, into, replaces[n]); err != nil || !clean {
				return false, err
			}
		}
		outcome, err := s.store.AdoptSession(ctx, store.Adoption{
			Import: scope, Into: into, Session: session, Replaces: replaces, Time: s.now.Stored(),
		})
		if err != nil || outcome != store.SessionThere {
			return outcome == store.SessionAdopted, err
		}
		if into.OnConflict != memory.ConflictOverwritten {
			return false, nil
		}
		if room, err := s.makeRoom(ctx, into, session.Ref, replaces[n]); err != nil || !room {
			return false, err
		}
	}
	return false, nil
}

// makeRoom erases the session that has the id, unless something in it was hidden or deleted, which what comes may hold, or it was written
// to since the import came.
func (s *Porter) makeRoom(ctx context.Context, into store.Merge, ref memory.SessionRef, erasure string) (bool, error) {
	is, err := s.store.Session(ctx, ref)
	if memory.ReasonOf(err) == memory.ReasonSessionNotFound {
		return true, nil
	}
	if err != nil || is.ScopeKey != into.Scope || is.UpdateTime.After(into.Time) {
		return false, err
	}
	if whole, err := s.isWhole(ctx, into.User, is.Key); err != nil || !whole {
		return false, err
	}
	_, err = s.sweeper.Begin(ctx, store.ErasureStart{
		ID: erasure, Kind: memory.EraseSession, User: ref.UserRef, SessionID: ref.SessionID, Time: s.now.Stored(),
	})
	if err != nil {
		return false, fmt.Errorf("erase a session that is overwritten: %w", err)
	}
	return s.replacedWhole(ctx, into, erasure)
}

// isWhole reports whether nothing in the session is hidden or was deleted, here or before it was imported.
func (s *Porter) isWhole(ctx context.Context, user memory.UserRef, key memory.SessionKey) (bool, error) {
	erased, err := s.store.ListErasures(ctx, store.ErasureQuery{Tenant: user.Tenant, Session: key, Limit: 1})
	if err != nil {
		return false, fmt.Errorf("list erasures of a session: %w", err)
	}
	if len(erased) > 0 {
		return false, nil
	}
	hidden, err := s.store.Hidden(ctx, user)
	if err != nil {
		return false, fmt.Errorf("read what is hidden: %w", err)
	}
	if len(hidden.Messages[key]) > 0 {
		return false, nil
	}
	summaries, err := s.store.CurrentSummaries(ctx, user)
	if err != nil {
		return false, fmt.Errorf("read changed summaries: %w", err)
	}
	return !slices.ContainsFunc(summaries, func(r memory.SummaryRevision) bool {
		return r.Session == key && r.Cause == memory.SummaryDeleted
	}), nil
}

// replacedWhole reports whether nothing was deleted in a session before it was erased to make room. Else it counts as deleted itself, so
// that nothing of it comes back. An erasure that did not begin leaves nothing to ask.
func (s *Porter) replacedWhole(ctx context.Context, into store.Merge, erasure string) (bool, error) {
	e, err := s.store.Erasure(ctx, into.User.Tenant, erasure)
	if memory.ReasonOf(err) == memory.ReasonJobNotFound {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read an erasure: %w", err)
	}
	all, err := s.store.ListErasures(ctx, store.ErasureQuery{Tenant: into.User.Tenant, Session: e.Session, Limit: 2})
	if err != nil {
		return false, fmt.Errorf("list erasures of a session: %w", err)
	}
	return len(all) == 1, nil
}

// factsAtOnce bounds the changes of one write.
const factsAtOnce = 200

// adoptFacts gives the user facts, and returns those, by id. It decides anew when others wrote facts in between, as every erasure does.
func (s *Porter) adoptFacts(ctx context.Context, into store.Merge, all []store.FactRecord) (taken map[string]memory.Fact, err error) {
	taken, left := map[string]memory.Fact{}, all
	for range store.MaxDecisions {
		if len(left) == 0 {
			return taken, nil
		}
		state, base, err := s.facts.State(ctx, into.User)
		if err != nil {
			return taken, fmt.Errorf("read facts: %w", err)
		}
		if state.Scope != into.Scope {
			return taken, store.ImportTargetGone()
		}
		backed, err := s.backed(ctx, into, left)
		if err != nil {
			return taken, err
		}
		d := extract.Adopt(state, backed, into.OnConflict, into.Time, s.now.Stored())
		written, err := s.writeFacts(ctx, into, base, d)
		left = slices.DeleteFunc(slices.Clone(left), func(r store.FactRecord) bool {
			f, is := written[r.ID]
			if is {
				taken[r.ID] = f
			}
			return is
		})
		if memory.ReasonOf(err) != memory.ReasonContention {
			return taken, err
		}
	}
	return taken, store.Contention("others write facts of the user")
}

// writeFacts stores a decision in some writes, and returns which facts it stored of it.
func (s *Porter) writeFacts(ctx context.Context, into store.Merge, base int64, d extract.Adoption) (map[string]memory.Fact, error) {
	written := map[string]memory.Fact{}
	for some := range slices.Chunk(d.Changes, factsAtOnce) {
		w := store.FactWrite{User: into.User, Scope: into.Scope, Base: base, Time: s.now.Stored()}
		for _, c := range some {
			w.Changes = append(w.Changes, store.FactChange{Fact: c.Fact, Cause: c.Cause})
			if slices.Contains(d.DropEarlier, c.Fact.ID) {
				w.DropEarlier = append(w.DropEarlier, c.Fact.ID)
			}
		}
		var err error
		if base, err = s.store.ApplyFacts(ctx, w); err != nil {
			return written, fmt.Errorf("store facts: %w", err)
		}
		for _, c := range some {
			written[c.Fact.ID] = c.Fact
		}
	}
	return written, nil
}

// backed are the facts as far as messages that the user has teach them: what an erased message taught does not come with a file.
func (s *Porter) backed(ctx context.Context, into store.Merge, all []store.FactRecord) ([]memory.Fact, error) {
	places, err := s.placesOf(ctx, into, all)
	if err != nil {
		return nil, err
	}
	facts, histories := make([]memory.Fact, len(all)), make(map[string][]memory.FactRevision, len(all))
	for i, r := range all {
		facts[i] = r.Fact
		history := slices.Clone(r.Revisions)
		slices.Reverse(history)
		histories[r.ID] = history
	}
	gone := func(p memory.Place) bool { _, is := places[p]; return !is }
	erased := extract.Erase(extract.State{Facts: extract.NewFacts(facts...)}, gone, histories, s.now.Stored())
	lost, left := map[string]bool{}, map[string]memory.Fact{}
	for _, f := range erased.Forget {
		lost[f.FactID] = true
	}
	for _, c := range erased.Changes {
		left[c.Fact.ID] = c.Fact
	}
	var out []memory.Fact
	for _, f := range facts {
		if lost[f.ID] {
			continue
		}
		if changed, ok := left[f.ID]; ok {
			changed.UpdateTime = f.UpdateTime
			f = changed
		}
		f.Evidence = slices.Clone(f.Evidence)
		for i, v := range f.Evidence {
			if at, ok := places[v.Place()]; ok {
				f.Evidence[i].Session = at.Session
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// placesAtOnce is how many messages are looked up in one read.
const placesAtOnce = 200

// placesOf are the places of the messages that the facts were learnt from, by where the file has them: those that the user has, with the
// same id. A session that was left out may be here under its id.
func (s *Porter) placesOf(ctx context.Context, into store.Merge, all []store.FactRecord) (map[memory.Place]memory.Place, error) {
	wanted := evidenceOf(all)
	here, err := s.sessionsHere(ctx, into.User, wanted)
	if err != nil {
		return nil, err
	}
	found := make(map[memory.Place]memory.Place, len(wanted))
	for some := range slices.Chunk(wanted, placesAtOnce) {
		q := store.PlacesQuery{User: into.User}
		at := map[memory.Place]memory.Evidence{}
		for _, v := range some {
			if key := here[v.SessionID]; key != "" {
				p := memory.Place{Session: key, Seq: v.Seq}
				q.Places, at[p] = append(q.Places, p), v
			}
		}
		messages, err := s.store.MessagesAt(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read messages that facts were learnt from: %w", err)
		}
		for _, m := range messages {
			if v := at[m.Place]; v.MessageID == m.Message.ID {
				found[v.Place()] = m.Place
			}
		}
	}
	return found, nil
}

// evidenceOf is where facts were ever stated, each place once.
func evidenceOf(all []store.FactRecord) (out []memory.Evidence) {
	seen := map[memory.Place]bool{}
	add := func(f memory.Fact) {
		for _, v := range f.Evidence {
			if !seen[v.Place()] {
				seen[v.Place()] = true
				out = append(out, v)
			}
		}
	}
	for _, r := range all {
		add(r.Fact)
		for _, v := range r.Revisions {
			add(v.Fact)
		}
	}
	return out
}

// sessionsHere are the keys that the sessions of the evidence have here, by id; none of those that are not.
func (s *Porter) sessionsHere(ctx context.Context, user memory.UserRef, evidence []memory.Evidence) (map[string]memory.SessionKey, error) {
	here := map[string]memory.SessionKey{}
	for _, v := range evidence {
		if _, known := here[v.SessionID]; known {
			continue
		}
		session, err := s.store.Session(ctx, user.Session(v.SessionID))
		if err != nil && !memory.IsGone(err) {
			return nil, fmt.Errorf("read session: %w", err)
		}
		here[v.SessionID] = session.Key
	}
	return here, nil
}
