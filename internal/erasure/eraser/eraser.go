// Package eraser erases messages, sessions, summaries and users, and pops messages.
package eraser

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/learning/summaries"
	"github.com/stratamem/strata/internal/learning/summary/standing"
	"github.com/stratamem/strata/internal/learning/userlocks"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/backendlatency"
	"github.com/stratamem/strata/internal/memory/replytime"
	"github.com/stratamem/strata/internal/memory/toolcalls"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/messagereader"
)

// Sweeper carries out erasures that have begun.
type Sweeper interface {
	// Begin must begin an erasure, or return the one that has its ID as it is, and follow it up.
	Begin(ctx context.Context, start store.ErasureStart) (memory.Erasure, error)
	// FollowUp must do what has to be done after an erasure began and before its caller gets a reply. Repeating it must be harmless.
	FollowUp(ctx context.Context, ref memory.SessionRef, e memory.Erasure) error
	// Wake says that something is to be swept. It must not block.
	Wake()
	// Wait must return the erasure once it is done, or as it is when ctx ends.
	Wait(ctx context.Context, tenant, id string) (memory.Erasure, error)
}

// Eraser erases users, sessions and messages for people, and shows how far that has come. Its methods may be called concurrently.
type Eraser struct {
	store   Store
	reads   messagereader.Reader
	facts   *recall.FactCache
	sweeper Sweeper
	secret  []byte
	turns   *userlocks.Locks
	now     store.Now
	newID   func() string
}

// Store is what an Eraser reads and writes of the primary store.
type Store interface {
	messagereader.Store
	store.Erasures
	Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error)
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
	ListSessions(ctx context.Context, q store.SessionQuery) ([]memory.Session, error)
	standing.MarkReader
	TopNodes(ctx context.Context, ref memory.SessionRef, upTo int64) ([]memory.SummaryNode, error)
	Periods(ctx context.Context, q store.PeriodQuery) ([]memory.SummaryNode, error)
	LeavesBetween(ctx context.Context, q store.LeafQuery) ([]memory.SummaryNode, error)
	DocumentHeads(ctx context.Context, user memory.UserRef, now time.Time) (store.DocumentHeads, error)
}

// Options are what an Eraser needs.
type Options struct {
	Store   Store
	Gate    messagereader.Gate
	Facts   *recall.FactCache
	Sweeper Sweeper
	Secret  []byte // of the primary store: see store.Secrets
	Now     func() time.Time
	NewID   func() string // mints ids of erasures
}

// NewEraser makes an Eraser.
func NewEraser(o Options) *Eraser {
	return &Eraser{
		store: o.Store, reads: messagereader.New(o.Store, o.Gate), facts: o.Facts, sweeper: o.Sweeper, secret: o.Secret,
		turns: userlocks.New(), now: o.Now, newID: o.NewID,
	}
}

// Erase says what is to be erased and how its caller waits.
type Erase struct {
	Kind      memory.ErasureKind
	User      memory.UserRef
	SessionID string // of EraseSession and EraseMessages, and of EraseSummary of a session
	Messages  MessageChoice
	Summary   summaries.SummaryRef // of EraseSummary
	RequestID string               // "" for none; a repeat erases nothing and returns the erasure
	Wait      time.Duration        // until all stores are swept; 0 not to wait
}

func (c Erase) session() memory.SessionRef { return c.User.Session(c.SessionID) }

// MessageChoice says which messages of a session are to be erased. Exactly one is set.
type MessageChoice struct {
	IDs    []string `json:"i,omitempty"`
	Oldest int64    `json:"o,omitempty"` // so many
	Before int64    `json:"b,omitempty"` // those with a lower seq
	All    bool     `json:"a,omitempty"`
	Newest int      `json:"n,omitempty"` // exactly so many, whether or not a call and its result go together
}

// maxErasureTries is how often messages are chosen anew because others recorded or erased in between. Each time their call got
// through.
const maxErasureTries = 20

// Undisturbed calls choose, which chooses messages of the user and begins to erase them, until nobody recorded or erased any in between.
// Of the calls about one user only one chooses at a time.
func (s *Eraser) Undisturbed(ctx context.Context, user memory.UserRef, choose func() error) error {
	done, err := s.turns.Take(ctx, user)
	if err != nil {
		return err
	}
	defer done()
	for try := 1; ; try++ {
		err := choose()
		switch reason := memory.ReasonOf(err); {
		case reason != memory.ReasonLastSeqMismatch && reason != memory.ReasonContention:
			return err
		case try == maxErasureTries:
			return store.Contention("others write to the session")
		}
	}
}

// Erase erases what was asked for: when it returns nobody sees it any more.
func (s *Eraser) Erase(ctx context.Context, c Erase) (work.ErasureJob, error) {
	e, err := s.begin(ctx, c)
	if err != nil {
		return work.ErasureJob{}, err
	}
	return s.CarryOut(ctx, c, e)
}

func (s *Eraser) begin(ctx context.Context, c Erase) (memory.Erasure, error) {
	start, err := s.Prepare(c)
	if err != nil {
		return memory.Erasure{}, err
	}
	if known, err := s.Repeated(ctx, c, start); known.ID != "" || err != nil {
		return known, err
	}
	if c.Kind == memory.EraseSummary {
		if start.Summary, err = s.summaryOf(ctx, c.Summary); err != nil {
			return memory.Erasure{}, err
		}
	}
	if c.Kind != memory.EraseMessages {
		return s.BeginPrepared(ctx, c, start)
	}
	return s.beginMessages(ctx, c, start)
}

// Prepare returns the erasure but for the messages that are chosen.
func (s *Eraser) Prepare(c Erase) (store.ErasureStart, error) {
	start := store.ErasureStart{
		Kind: c.Kind, User: c.User, SessionID: c.SessionID, UserHash: memory.ErasureUserHash(s.secret, c.User), Time: s.now.Stored(),
	}
	if c.RequestID == "" {
		start.ID = ErasurePrefix + s.newID()
		return start, nil
	}
	choice := any(c.Messages)
	if c.Kind == memory.EraseSummary {
		choice = []any{c.Summary.Kind, c.Summary.Name}
	}
	body, err := json.Marshal(choice)
	if err != nil {
		return start, fmt.Errorf("encode an erasure: %w", err)
	}
	start.ID = ErasurePrefix + hex.EncodeToString(s.Keyed(c.Kind.String(), c.User.Tenant, c.User.UserID, c.SessionID, c.RequestID))
	start.Request = memory.KeyedHash(s.Keyed(string(body)))
	return start, nil
}

// ErasurePrefix distinguishes the ids of erasures from those of other jobs.
const ErasurePrefix = "erase-"

// Keyed hashes values so that who does not know the server's secret can neither read nor guess them (HMAC-SHA-256, cut to 128 bits).
func (s *Eraser) Keyed(values ...string) []byte {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte("erasure"))
	for _, v := range values {
		fmt.Fprintf(mac, "/%d:%s", len(v), v)
	}
	return mac.Sum(nil)[:16]
}

// Repeated returns the erasure that the request began before; none where it did not.
func (s *Eraser) Repeated(ctx context.Context, c Erase, start store.ErasureStart) (memory.Erasure, error) {
	if c.RequestID == "" {
		return memory.Erasure{}, nil
	}
	e, err := s.store.Erasure(ctx, c.User.Tenant, start.ID)
	if memory.ReasonOf(err) == memory.ReasonJobNotFound {
		return memory.Erasure{}, nil
	}
	if err != nil {
		return memory.Erasure{}, fmt.Errorf("look for the erasure of a request: %w", err)
	}
	return s.sameRequest(c, start, e)
}

// sameRequest refuses an erasure that the request_id began with another body.
func (s *Eraser) sameRequest(c Erase, start store.ErasureStart, e memory.Erasure) (memory.Erasure, error) {
	if e.Request != start.Request {
		return memory.Erasure{}, store.RequestIDReused(c.session(), c.RequestID)
	}
	return e, nil
}

// BeginPrepared begins an erasure that was prepared, or returns the one that its request began before.
func (s *Eraser) BeginPrepared(ctx context.Context, c Erase, start store.ErasureStart) (memory.Erasure, error) {
	e, err := s.store.BeginErasure(ctx, start)
	if err != nil {
		return memory.Erasure{}, fmt.Errorf("erase: %w", err)
	}
	return s.sameRequest(c, start, e)
}

// beginMessages chooses messages until nobody recorded or erased any in between.
func (s *Eraser) beginMessages(ctx context.Context, c Erase, start store.ErasureStart) (e memory.Erasure, err error) {
	chosen := &chosenMessages{reads: s.reads, ref: c.session(), choice: c.Messages}
	err = s.Undisturbed(ctx, c.User, func() error {
		session, err := s.store.Session(ctx, c.session())
		if err != nil {
			return fmt.Errorf("read session: %w", err)
		}
		if start.Seqs, err = chosen.in(ctx, session); err != nil {
			return err
		}
		if !c.Messages.All {
			start.IfLastSeq = &session.LastSeq
		}
		e, err = s.BeginPrepared(ctx, c, start)
		if memory.ReasonOf(err) == memory.ReasonContention {
			chosen.reset() // what was read may be erased by now
		}
		return err
	})
	return e, err
}

// CarryOut does what must be done before the caller gets a reply, and waits for the rest as long as the caller does.
func (s *Eraser) CarryOut(ctx context.Context, c Erase, e memory.Erasure) (work.ErasureJob, error) {
	out := work.ErasureJob{Erasure: e, UserID: c.User.UserID, SessionID: c.SessionID}
	if e.IsDone() {
		return out, nil
	}
	err := s.sweeper.FollowUp(ctx, c.session(), e)
	if err != nil {
		return out, err
	}
	out.Erasure, err = s.await(ctx, e, c.Wait)
	return out, err
}

// await returns the erasure once it is done, or as it is when the time is up.
func (s *Eraser) await(ctx context.Context, e memory.Erasure, wait time.Duration) (memory.Erasure, error) {
	if wait > 0 && !e.IsDone() {
		waiting, stop := context.WithTimeout(ctx, replytime.Within(ctx, wait))
		defer stop()
		end := backendlatency.Idle(ctx)
		now, err := s.sweeper.Wait(waiting, e.Tenant, e.ID)
		end()
		if err != nil {
			return e, fmt.Errorf("wait for an erasure: %w", err)
		}
		return now, nil
	}
	now, err := s.store.Erasure(ctx, e.Tenant, e.ID) // with what was taken away since it began
	if err != nil {
		return e, fmt.Errorf("read erasure: %w", err)
	}
	return now, nil
}

// Popped is what a pop took.
type Popped struct {
	work.ErasureJob
	Messages []memory.Message // oldest first
	Replayed bool             // a call with the same request id took them before
}

// Pop erases exactly the newest n messages of a session, all where there are fewer, and returns them. It refuses more than
// maxBytes.
func (s *Eraser) Pop(ctx context.Context, c Erase, q PopQuery) (Popped, error) {
	start, err := s.Prepare(c)
	if err != nil {
		return Popped{}, err
	}
	start.IDs = memory.FreeIDs
	e, err := s.Repeated(ctx, c, start)
	if err != nil {
		return Popped{}, err
	}
	out := Popped{Replayed: e.ID != ""}
	if !out.Replayed {
		if e, out.Messages, err = s.pop(ctx, c, start, q); err != nil {
			return Popped{}, err
		}
	}
	out.ErasureJob, err = s.CarryOut(ctx, c, e)
	return out, err
}

// PopQuery says how messages are returned.
type PopQuery struct {
	MaxBytes     int64                      // of all together, by Size
	Size         func(memory.Message) int64 // how large a message is in a reply
	WithOriginal bool
}

func (s *Eraser) pop(ctx context.Context, c Erase, start store.ErasureStart, q PopQuery) (memory.Erasure, []memory.Message, error) {
	var e memory.Erasure
	var newest []memory.Message
	err := s.Undisturbed(ctx, c.User, func() error {
		session, err := s.store.Session(ctx, c.session())
		if err != nil {
			return fmt.Errorf("read session: %w", err)
		}
		if newest, err = s.newest(ctx, session, c.Messages.Newest, q); err != nil {
			return err
		}
		start.Seqs, start.IfLastSeq = rangesOf(newest), &session.LastSeq
		e, err = s.BeginPrepared(ctx, c, start)
		return err
	})
	return e, newest, err
}

// newest are the newest n messages of a session, oldest first.
func (s *Eraser) newest(ctx context.Context, session memory.Session, n int, q PopQuery) (out []memory.Message, err error) {
	before, bytes := session.LastSeq+1, int64(0)
	for len(out) < n && before > 1 {
		page, err := s.reads.Messages(ctx, store.MessageQuery{
			Ref: session.Ref, Before: before, NewestFirst: true, Limit: max(n-len(out), messagereader.LeastPage), MaxBytes: q.MaxBytes + 1,
			WithOriginal: q.WithOriginal,
		})
		if err != nil {
			return nil, fmt.Errorf("read messages: %w", err)
		}
		if len(page) == 0 {
			break
		}
		before = page[len(page)-1].Seq
		for _, m := range page {
			if m.Deleted || len(out) == n {
				continue
			}
			if bytes += q.Size(m); bytes > q.MaxBytes {
				return nil, memory.InvalidField(
					"count",
					"is %d, and the newest %d messages have more than the %d bytes of a reply: ask for fewer",
					n,
					len(out)+1,
					q.MaxBytes,
				)
			}
			out = append(out, m)
		}
	}
	slices.Reverse(out)
	return out, nil
}

// rangesOf are the places of messages in order.
func rangesOf(messages []memory.Message) (out []memory.SeqRange) {
	for _, m := range messages {
		out = memory.WithSeq(out, m.Seq)
	}
	return out
}

// chosenMessages chooses messages of a session, and reads what was recorded since when it is asked again.
type chosenMessages struct {
	reads  messagereader.Reader
	ref    memory.SessionRef
	choice MessageChoice
	read   int64            // the last seq that was read
	all    []memory.Message // that are not erased: the id, seq and role of each, and what it calls
}

func (c *chosenMessages) reset() { c.read, c.all = 0, nil }

// in are the messages to be erased, whole pairs of calls and results.
func (c *chosenMessages) in(ctx context.Context, session memory.Session) ([]memory.SeqRange, error) {
	if c.choice.All {
		if session.LastSeq == 0 {
			return nil, nil
		}
		return []memory.SeqRange{{From: 1, To: session.LastSeq}}, nil
	}
	if err := c.readTo(ctx, session.LastSeq); err != nil {
		return nil, err
	}
	chosen, err := c.chosen()
	if err != nil {
		return nil, err
	}
	pairs := toolcalls.Pair(len(c.all), func(i int) *memory.Message { return &c.all[i] }, func() bool { return ctx.Err() != nil })
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("pair calls and results: %w", err)
	}
	whole := pairs.WithPairs(chosen)
	var erased []memory.Message
	for i, m := range c.all {
		if whole[i] {
			erased = append(erased, m)
		}
	}
	return rangesOf(erased), nil
}

func (c *chosenMessages) readTo(ctx context.Context, last int64) error {
	for c.read < last {
		page, err := c.reads.Messages(ctx, store.MessageQuery{
			Ref: c.ref, After: c.read, Before: last + 1, Limit: messagereader.PageMessages, MaxBytes: messagereader.PageBytes,
		})
		if err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		for _, m := range page {
			if !m.Deleted {
				c.all = append(c.all, memory.Message{ID: m.ID, Seq: m.Seq, Role: m.Role, Parts: toolParts(m.Parts)})
			}
		}
		c.read = page[len(page)-1].Seq
	}
	return nil
}

// toolParts are the calls and results of a message, without content.
func toolParts(parts []memory.Part) (out []memory.Part) {
	for _, p := range parts {
		if p.Kind.IsTool() {
			out = append(out, memory.Part{Kind: p.Kind, CallID: p.CallID})
		}
	}
	return out
}

// chosen says of each message that was read whether it was chosen itself.
func (c *chosenMessages) chosen() ([]bool, error) {
	out := make([]bool, len(c.all))
	wanted := map[string]bool{}
	for _, id := range c.choice.IDs {
		wanted[id] = true
	}
	for i, m := range c.all {
		out[i] = int64(i) < c.choice.Oldest || m.Seq < c.choice.Before || wanted[m.ID]
		delete(wanted, m.ID)
	}
	for _, id := range c.choice.IDs {
		if wanted[id] {
			return nil, store.MessageNotFound(c.ref, id)
		}
	}
	return out, nil
}

// Extent is what an erasure would take away.
type Extent struct {
	Sessions, Messages, Facts, Summaries, Documents int64
}

// Extent returns what an erasure would take away, and erases nothing.
func (s *Eraser) Extent(ctx context.Context, c Erase) (Extent, error) {
	if c.Kind == memory.EraseUser {
		return s.extentOfUser(ctx, c.User)
	}
	if c.Kind == memory.EraseSummary {
		_, err := s.summaryOf(ctx, c.Summary)
		return Extent{Summaries: 1}, err
	}
	session, err := s.store.Session(ctx, c.session())
	if err != nil {
		return Extent{}, fmt.Errorf("read session: %w", err)
	}
	e := memory.Erasure{Kind: c.Kind, Scope: session.ScopeKey, Session: session.Key}
	var out Extent
	if c.Kind == memory.EraseSession {
		out.Sessions, c.Messages = 1, MessageChoice{Before: session.LastSeq + 1}
	}
	if c.Messages.All {
		c.Messages = MessageChoice{Before: session.LastSeq + 1}
	}
	chosen := &chosenMessages{reads: s.reads, ref: session.Ref, choice: c.Messages}
	if e.Seqs, err = chosen.in(ctx, session); err != nil {
		return Extent{}, err
	}
	out.Messages = e.Messages()
	out.Facts, err = s.factsOf(ctx, c.User, e)
	return out, err
}

func (s *Eraser) extentOfUser(ctx context.Context, user memory.UserRef) (out Extent, err error) {
	if _, err := s.store.User(ctx, user); err != nil {
		return out, fmt.Errorf("read user: %w", err)
	}
	for session, err := range store.AllSessions(ctx, s.store.ListSessions, user) {
		if err != nil {
			return out, err
		}
		one, err := s.Extent(ctx, Erase{Kind: memory.EraseSession, User: user, SessionID: session.Ref.SessionID})
		if memory.IsGone(err) {
			continue // erased meanwhile
		}
		if err != nil {
			return out, err
		}
		out.Sessions, out.Messages = out.Sessions+1, out.Messages+one.Messages
	}
	documents, err := s.store.DocumentHeads(ctx, user, s.now.Stored())
	if err != nil {
		return out, fmt.Errorf("count documents: %w", err)
	}
	out.Documents = int64(len(documents.Heads))
	out.Facts, err = s.factsOf(ctx, user, memory.Erasure{Kind: memory.EraseUser})
	return out, err
}

// factsOf counts the facts that only what is to be erased teaches.
func (s *Eraser) factsOf(ctx context.Context, user memory.UserRef, e memory.Erasure) (n int64, err error) {
	state, _, err := s.facts.State(ctx, user)
	if memory.IsGone(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read facts: %w", err)
	}
	for _, f := range state.Facts.All() {
		said := f.Said()
		elsewhere := func(v memory.Evidence) bool { return v.Session == "" || !e.Covers(v.Place()) }
		if e.Kind == memory.EraseUser || !f.Protected && len(said) > 0 && !slices.ContainsFunc(said, elsewhere) {
			n++
		}
	}
	return n, nil
}

// IsErasure reports whether a job's id is that of an erasure.
func (s *Eraser) IsErasure(id string) bool { return strings.HasPrefix(id, ErasurePrefix) }

// Erasure returns an erasure of the user, whoever has the id now, once it is done or the time is up.
func (s *Eraser) Erasure(ctx context.Context, ref store.JobRef, wait time.Duration) (work.ErasureJob, error) {
	e, err := s.store.Erasure(ctx, ref.User.Tenant, ref.ID)
	if memory.ReasonOf(err) == memory.ReasonJobNotFound || err == nil && e.UserHash != memory.ErasureUserHash(s.secret, ref.User) {
		return work.ErasureJob{}, store.JobNotFound(ref.User, ref.ID)
	}
	if err != nil {
		return work.ErasureJob{}, fmt.Errorf("read erasure: %w", err)
	}
	if e, err = s.await(ctx, e, wait); err != nil {
		return work.ErasureJob{}, err
	}
	return s.named(ctx, e, ref.User)
}

// NotSkippable refuses to skip an erasure.
func (s *Eraser) NotSkippable(id string) error {
	return &memory.Error{
		Kind: memory.KindPrecondition, Reason: memory.ReasonJobNotSkippable,
		Message: "job " + id + " erases what is hidden already, and cannot be skipped", Metadata: map[string]string{"job_id": id},
	}
}

// NotRevertible refuses to take an erasure back.
func (s *Eraser) NotRevertible(id string) error {
	return &memory.Error{
		Kind: memory.KindPrecondition, Reason: memory.ReasonJobNotRevertible,
		Message: "job " + id + " is an erasure: what it erased is gone", Metadata: map[string]string{"job_id": id},
	}
}

// Retry has an erasure swept again at once.
func (s *Eraser) Retry(ctx context.Context, ref store.JobRef) (work.ErasureJob, error) {
	job, err := s.Erasure(ctx, ref, 0)
	if err != nil {
		return job, err
	}
	if job.IsDone() {
		return job, &memory.Error{
			Kind: memory.KindPrecondition, Reason: memory.ReasonJobNotParked,
			Message:  "job " + ref.ID + " is applied: only a job that is open, answered or parked can be retried",
			Metadata: map[string]string{"job_id": ref.ID, "state": memory.JobApplied.String()},
		}
	}
	job.NotBefore, job.UpdateTime = s.now.Stored(), s.now.Stored()
	if err := s.store.UpdateErasure(ctx, job.Erasure); err != nil {
		return job, fmt.Errorf("retry an erasure: %w", err)
	}
	s.sweeper.Wake()
	return job, nil
}

// ListErasures implements Erasures: it returns erasures that fit a query of jobs, the latest begun first.
func (s *Eraser) ListErasures(ctx context.Context, q work.JobQuery, limit int) (out []work.ErasureJob, err error) {
	query := store.ErasureQuery{Tenant: q.Tenant, States: erasureStates(q.States), Limit: limit, After: q.After}
	if len(query.States) == 0 {
		return nil, nil
	}
	user := memory.UserRef{Tenant: q.Tenant, UserID: q.UserID}
	if q.UserID != "" {
		hash := memory.ErasureUserHash(s.secret, user)
		query.UserHash = &hash
	}
	if q.SessionID != "" {
		session, err := s.store.Session(ctx, user.Session(q.SessionID))
		if memory.IsGone(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read session: %w", err)
		}
		query.Session = session.Key
	}
	found, err := s.store.ListErasures(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list erasures: %w", err)
	}
	for _, e := range found {
		job, err := s.named(ctx, e, user)
		if err != nil {
			return nil, err
		}
		out = append(out, job)
	}
	return out, nil
}

// erasureStates are the states of erasures that count as those of jobs.
func erasureStates(states []memory.JobState) (out []memory.ErasureState) {
	for _, state := range states {
		switch state {
		case memory.JobOpen:
			out = append(out, memory.ErasureSweeping)
		case memory.JobApplied:
			out = append(out, memory.ErasureDone)
		}
	}
	return out
}

// named adds whom an erasure is about: the user that the caller named, else who lives the life still, and the session while it is
// there.
func (s *Eraser) named(ctx context.Context, e memory.Erasure, user memory.UserRef) (work.ErasureJob, error) {
	out := work.ErasureJob{Erasure: e, UserID: user.UserID}
	if e.Kind == memory.EraseUser {
		return out, nil
	}
	lives, err := s.store.UserOfScope(ctx, e.Scope)
	if memory.IsGone(err) {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("find whom an erasure is about: %w", err)
	}
	out.UserID = cmp.Or(user.UserID, lives.UserID)
	session, err := s.store.SessionOfKey(ctx, lives, e.Session)
	if memory.IsGone(err) {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("find whom an erasure is about: %w", err)
	}
	out.SessionID = session.SessionID
	return out, nil
}
