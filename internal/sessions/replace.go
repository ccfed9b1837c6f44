package sessions

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/erasure/eraser"
	"github.com/stratamem/strata/internal/language/secretscan"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/messagereader"
)

// Replacer replaces the messages of sessions by others. Its methods may be called concurrently.
type Replacer struct {
	store    ReplacerStore
	reads    messagereader.Reader
	recorder *Recorder
	eraser   *eraser.Eraser
}

// ReplacerStore is what a Replacer reads of the primary store.
type ReplacerStore interface {
	Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error)
	messagereader.Store
	HiddenReader
}

// NewReplacer makes a Replacer, which records by the Recorder and erases by the Eraser.
func NewReplacer(s ReplacerStore, g messagereader.Gate, recorder *Recorder, eraser *eraser.Eraser) *Replacer {
	return &Replacer{store: s, reads: messagereader.New(s, g), recorder: recorder, eraser: eraser}
}

// ReplaceParams is the list of messages that a session shall have, checked.
type ReplaceParams struct {
	Turn  RecordParams // without a StatePatch and an ExpectedLastSeq
	After int64        // messages up to this seq stay
	ETag  string       // of the list that is replaced; "" for whatever is there
	Erase eraser.Erase // of the same session and request
}

// Replaced is what became of the list.
type Replaced struct {
	work.ErasureJob          // without an ID where nothing of the list was to change, or the session was new
	MessageIDs      []string // of the list behind After; none of a repeated call
	Kept            int      // how many of them stayed
	FirstSeq        int64    // of what was recorded; LastSeq + 1 where that is nothing
	LastSeq         int64
	Findings        []memory.Finding
	ETag            string // of the list as it is now; "" of a repeated call
	Replayed        bool
}

// Replace makes the messages that contexts may show those of the call: the longest beginning that the session has already, in this
// order, stays with its ids and all that was made of it, the rest of the session's is erased, and the rest of the call's recorded.
func (s *Replacer) Replace(ctx context.Context, p ReplaceParams) (Replaced, error) {
	mask, err := s.recorder.maskOf(ctx, p.Turn)
	if err != nil {
		return Replaced{}, err
	}
	if mask == contextprofile.MaskEverywhere {
		p.Turn.Messages, _ = secretscan.Remove(p.Turn.Messages, nil) // as those that are stored, which they are compared with
	}
	start, err := s.eraser.Prepare(p.Erase)
	if err != nil {
		return Replaced{}, err
	}
	start.IDs = memory.FreeIDs
	if p.Erase.RequestID != "" {
		digest, err := requestDigest(p.Turn)
		if err != nil {
			return Replaced{}, err
		}
		start.Request = memory.KeyedHash(s.eraser.Keyed(string(digest[:]), fmt.Sprint(p.After), p.ETag))
	}
	e, err := s.eraser.Repeated(ctx, p.Erase, start)
	if err != nil {
		return Replaced{}, err
	}
	out := Replaced{Replayed: e.ID != ""}
	if !out.Replayed {
		var done bool
		if out, done, err = s.recordNew(ctx, p); done || err != nil {
			return out, err
		}
		if e, out, err = s.begin(ctx, p, start); err != nil || e.ID == "" {
			return out, err
		}
	}
	if out.ErasureJob, err = s.eraser.CarryOut(ctx, p.Erase, e); err != nil {
		return out, err
	}
	if out.LastSeq >= out.FirstSeq && !out.Replayed {
		s.recorder.runner.Nudge(p.Turn.Ref)
	}
	return out, nil
}

// recordNew records the list where the session has no message yet, or where this request did so before.
func (s *Replacer) recordNew(ctx context.Context, p ReplaceParams) (out Replaced, done bool, err error) {
	if p.ETag != "" || len(p.Turn.Messages) == 0 || p.After > 0 {
		return out, false, nil
	}
	session, err := s.store.Session(ctx, p.Turn.Ref)
	if err != nil && !memory.IsGone(err) {
		return out, false, fmt.Errorf("read session: %w", err)
	}
	if session.LastSeq > 0 && p.Turn.RequestID == "" {
		return out, false, nil
	}
	turn := p.Turn
	turn.ExpectedLastSeq = new(int64)
	recorded, err := s.recorder.Record(ctx, turn)
	reason := memory.ReasonOf(err)
	if reason == memory.ReasonLastSeqMismatch || session.LastSeq > 0 && reason == memory.ReasonCheckRefused { // what is refused may stay
		return out, false, nil
	}
	if err != nil {
		return out, false, err
	}
	out = Replaced{
		MessageIDs: recorded.MessageIDs, FirstSeq: recorded.FirstSeq, LastSeq: recorded.LastSeq, Findings: recorded.Findings,
		Replayed: recorded.Replayed,
	}
	if out.Replayed {
		out.MessageIDs, out.Findings = nil, nil
		return out, true, nil
	}
	if session, err = s.store.Session(ctx, p.Turn.Ref); err != nil {
		return out, true, fmt.Errorf("read session: %w", err)
	}
	session.LastSeq = recorded.LastSeq
	hidden, err := hiddenOf(ctx, s.store, session)
	out.ETag = listETag(session, session.LastSeq, hidden)
	return out, true, err
}

// begin compares the lists and replaces one by the other, until nobody recorded or erased anything in between.
func (s *Replacer) begin(ctx context.Context, p ReplaceParams, start store.ErasureStart) (memory.Erasure, Replaced, error) {
	var e memory.Erasure
	var out Replaced
	err := s.eraser.Undisturbed(ctx, p.Erase.User, func() (err error) {
		e, out, err = s.tryOnce(ctx, p, start)
		return err
	})
	return e, out, err
}

func (s *Replacer) tryOnce(ctx context.Context, p ReplaceParams, start store.ErasureStart) (e memory.Erasure, out Replaced, err error) {
	list, err := s.read(ctx, p)
	if err != nil {
		return e, out, err
	}
	if p.ETag != "" && p.ETag != list.etag() {
		return e, out, store.ListETagMismatch(p.Turn.Ref)
	}
	kept, removed, err := list.compare(p.Turn.Messages)
	if err != nil {
		return e, out, err
	}
	out = Replaced{Kept: len(kept), FirstSeq: list.session.LastSeq + 1, LastSeq: list.session.LastSeq, ETag: list.etag()}
	for _, m := range kept {
		out.MessageIDs = append(out.MessageIDs, m.id)
	}
	if len(removed) == 0 && len(kept) == len(p.Turn.Messages) && p.Turn.RequestID == "" {
		return e, out, nil
	}
	turn, err := s.recorder.inPlace(ctx, p.Turn, kept, removed)
	if err != nil {
		return e, out, err
	}
	for _, m := range removed {
		start.Seqs = memory.WithSeq(start.Seqs, m.seq)
	}
	start.IfLastSeq = &list.session.LastSeq
	if e, err = s.commit(ctx, p.Erase, start, turn); err != nil {
		return e, out, err
	}
	return e, out, s.readBack(ctx, list, turn, start.Seqs, &out)
}

// commit erases and records, where there is room for it.
func (s *Replacer) commit(ctx context.Context, c eraser.Erase, start store.ErasureStart, turn store.AppendParams) (memory.Erasure, error) {
	room, stored, err := s.recorder.tenancy.Reserve(ctx, c.User, len(turn.Messages))
	if err != nil {
		return memory.Erasure{}, err
	}
	turn.Room, start.Turn = room, &turn
	e, err := s.eraser.BeginPrepared(ctx, c, start)
	if err != nil {
		stored(0)
		return e, err
	}
	stored(int64(len(turn.Messages)))
	return e, nil
}

// readBack adds what was recorded: ids that are known are passed over, and stand in no list.
func (s *Replacer) readBack(
	ctx context.Context, list *messageList, turn store.AppendParams, gone []memory.SeqRange, out *Replaced,
) error {
	ours := map[string]bool{}
	for _, m := range turn.Messages {
		ours[m.ID] = true
	}
	if len(ours) > 0 {
		stored, err := s.recorder.store.Messages(ctx, store.MessageQuery{Ref: turn.Ref, After: list.session.LastSeq, Limit: len(turn.Messages)})
		if err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
		for _, m := range stored {
			if m.TurnNo != stored[0].TurnNo || !ours[m.ID] { // recorded since
				continue
			}
			out.LastSeq = m.Seq
			delete(ours, m.ID)
			if m.Hidden {
				gone = memory.WithSeq(gone, m.Seq)
				continue
			}
			out.MessageIDs = append(out.MessageIDs, m.ID)
		}
	}
	known := map[string]bool{}
	for _, m := range turn.Messages {
		known[m.ID] = !ours[m.ID]
	}
	out.Findings = store.KeptFindings(turn.Findings, known)
	out.ETag = listETag(list.session, out.LastSeq, memory.Union(list.hidden, gone))
	return nil
}

// messageList is the messages of a session that contexts may show.
type messageList struct {
	session  memory.Session
	hidden   []memory.SeqRange // of the session
	messages []listedMessage   // those behind ReplaceParams.After
}

func (l *messageList) etag() string { return listETag(l.session, l.session.LastSeq, l.hidden) }

// listedMessage is what comparing needs to know of a stored message.
type listedMessage struct {
	seq      int64
	id       string
	body     memory.Digest
	original memory.Digest // of its format and bytes; zero for none
	calls    []string
}

// listETag changes with the messages that contexts may show of a session: content never does, so that these follow from where the
// session ends and which of its messages are hidden or erased.
func listETag(session memory.Session, last int64, hidden []memory.SeqRange) string {
	h := sha256.New()
	h.Write([]byte(session.Key))
	for _, r := range append([]memory.SeqRange{{From: session.ContextStart, To: last}}, hidden...) {
		h.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(r.From)), uint64(r.To))) //nolint:gosec // only hashed
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// hiddenOf are the hidden and erased messages of a session.
func hiddenOf(ctx context.Context, from HiddenReader, session memory.Session) ([]memory.SeqRange, error) {
	hidden, err := from.Hidden(ctx, session.Ref.UserRef)
	if err != nil {
		return nil, fmt.Errorf("read hidden messages: %w", err)
	}
	hidden.Starts = nil
	return hidden.Ranges(session.Key, session.LastSeq), nil
}

// HiddenReader reads which of a user's messages are hidden.
type HiddenReader interface {
	Hidden(ctx context.Context, user memory.UserRef) (memory.Hidden, error)
}

// read reads the list that is to be replaced, without content.
func (s *Replacer) read(ctx context.Context, p ReplaceParams) (*messageList, error) {
	session, err := s.store.Session(ctx, p.Turn.Ref)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	list := &messageList{session: session}
	if list.hidden, err = hiddenOf(ctx, s.store, session); err != nil {
		return nil, err
	}
	q := store.MessageQuery{
		Ref: p.Turn.Ref, After: max(p.After, session.ContextStart-1), Before: session.LastSeq + 1,
		Limit: messagereader.PageMessages, MaxBytes: messagereader.PageBytes,
		WithOriginal: slices.ContainsFunc(p.Turn.Messages, func(m memory.Message) bool { return m.Original != nil }),
	}
	for {
		page, err := s.reads.Messages(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read messages: %w", err)
		}
		if len(page) == 0 {
			return list, nil
		}
		for _, m := range page {
			if m.Hidden { // as erased ones are
				continue
			}
			listed, err := listedOf(m)
			if err != nil {
				return nil, err
			}
			list.messages = append(list.messages, listed)
		}
		q.After = page[len(page)-1].Seq
	}
}

func listedOf(m memory.Message) (listedMessage, error) {
	body, err := memory.BodyDigest(memory.Message{Role: m.Role, Name: m.Name, Parts: unmarked(m.Parts)})
	l := listedMessage{seq: m.Seq, id: m.ID, body: body, calls: m.ToolCalls()}
	if m.Original != nil {
		l.original = sha256.Sum256(append([]byte(m.Original.Format+"\x00"), m.Original.Data...))
	}
	return l, err
}

// unmarked are parts without notes of echoes and secrets, as their caller sent them.
func unmarked(parts []memory.Part) []memory.Part {
	out := slices.Clone(parts)
	for i := range out {
		out[i].Echoes, out[i].Secrets = nil, nil
		if out[i].Parts != nil {
			out[i].Parts = unmarked(out[i].Parts)
		}
	}
	return out
}

// compare finds the longest beginning of the new list that the session has in this order, and the messages of the session that are
// not among it. An id or an original counts where the new message has one.
func (l *messageList) compare(list []memory.Message) (kept, removed []listedMessage, err error) {
	at := 0
	for _, m := range list {
		wanted, err := listedOf(m)
		if err != nil {
			return nil, nil, err
		}
		next := slices.IndexFunc(l.messages[at:], func(have listedMessage) bool {
			return have.body == wanted.body && (wanted.id == "" || wanted.id == have.id) &&
				(wanted.original == memory.Digest{} || wanted.original == have.original)
		})
		if next < 0 {
			break
		}
		removed = append(removed, l.messages[at:at+next]...)
		kept = append(kept, l.messages[at+next])
		at += next + 1
	}
	return kept, append(removed, l.messages[at:]...), nil
}

// inPlace is the turn of the messages that are not kept, as Record would store it where the removed ones had never been.
func (s *Recorder) inPlace(ctx context.Context, p RecordParams, kept, removed []listedMessage) (store.AppendParams, error) {
	if err := s.profiles.Known(p.Profile); err != nil {
		return store.AppendParams{}, err
	}
	p.RequestID, p.Messages = "", p.Messages[len(kept):]
	known, ids, calls := s.lookups(p.Ref), map[string]bool{}, map[string]bool{}
	for _, m := range removed {
		ids[m.id] = true
		for _, call := range m.calls {
			calls[call] = true
		}
	}
	for _, m := range kept {
		for _, call := range m.calls {
			delete(calls, call)
		}
	}
	return s.prepare(ctx, p, lookups{messages: without(known.messages, ids), calls: without(known.calls, calls)})
}

// without is a look-up that does not find some ids.
func without(look lookUp, gone map[string]bool) lookUp {
	return func(ctx context.Context, ids []string) ([]string, error) {
		found, err := look(ctx, ids)
		return slices.DeleteFunc(found, func(id string) bool { return gone[id] }), err
	}
}
