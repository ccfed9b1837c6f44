package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stratamem/strata/internal/access/quota"
	"github.com/stratamem/strata/internal/contexts/contentchecks"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/contextprofile/sessionguards"
	"github.com/stratamem/strata/internal/language/secretscan"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Recorder stores the turns of sessions. Its methods may be called concurrently.
type Recorder struct {
	store    RecorderStore
	profiles contextprofile.Set
	secrets  sessionguards.Masks
	fences   sessionguards.Fences
	runner   work.Runner
	meter    contentchecks.Meter
	tenancy  quota.Tenancy
	now      store.Now
	newID    func() string
}

// RecorderStore is what a Recorder reads and writes of the primary store.
type RecorderStore interface {
	Session(ctx context.Context, ref memory.SessionRef) (memory.Session, error)
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
	Messages(ctx context.Context, q store.MessageQuery) ([]memory.Message, error)
	Append(ctx context.Context, p store.AppendParams) (store.AppendResult, error)
	KnownToolCalls(ctx context.Context, ref memory.SessionRef, callIDs []string) ([]string, error)
	KnownMessages(ctx context.Context, ref memory.SessionRef, ids []string) ([]string, error)
}

// RecorderOptions are what a Recorder needs.
type RecorderOptions struct {
	Store    RecorderStore
	Profiles contextprofile.Set
	Fences   sessionguards.Fences
	Runner   work.Runner
	Meter    contentchecks.Meter
	Tenancy  quota.Tenancy
	Now      func() time.Time
	NewID    func() string // mints message ids
}

// NewRecorder makes a Recorder.
func NewRecorder(o RecorderOptions) *Recorder {
	return &Recorder{
		store: o.Store, profiles: o.Profiles, secrets: sessionguards.NewMasks(o.Store, o.Profiles), fences: o.Fences,
		runner: o.Runner, meter: o.Meter, tenancy: o.Tenancy, now: o.Now, newID: o.NewID,
	}
}

// RecordParams is one turn, checked.
type RecordParams struct {
	Ref             memory.SessionRef
	RequestID       string
	Messages        []memory.Message // as received: ids may be empty
	StatePatch      json.RawMessage
	ExpectedLastSeq *int64
	Extract         memory.ExtractMode // for messages that do not say themselves; 0 for allow
	Profile         string
}

// Recorded is a turn that is stored.
type Recorded struct {
	store.AppendResult
	StepLimitReached bool
}

// Record stores one turn. It returns when the turn is on disk; no index or model is on the way.
func (s *Recorder) Record(ctx context.Context, p RecordParams) (Recorded, error) {
	if err := s.profiles.Known(p.Profile); err != nil {
		return Recorded{}, err
	}
	turn, err := s.prepare(ctx, p, s.lookups(p.Ref))
	if err != nil {
		return Recorded{}, err
	}
	result, err := s.append(ctx, turn)
	if err != nil {
		return Recorded{}, err
	}
	result.MessageIDs = withRemoved(result.MessageIDs, result.Findings)
	if !result.Replayed && result.LastSeq >= result.FirstSeq {
		s.runner.Nudge(p.Ref)
	}
	return Recorded{result, s.stepLimitReached(ctx, turn.Profile, p.Ref, result.StepsSinceUser)}, nil
}

// lookUp returns those of the ids that a session knows.
type lookUp func(ctx context.Context, ids []string) ([]string, error)

// lookups say what a session knows already.
type lookups struct{ messages, calls lookUp }

func (s *Recorder) lookups(ref memory.SessionRef) lookups {
	return lookups{
		messages: func(ctx context.Context, ids []string) ([]string, error) { return s.store.KnownMessages(ctx, ref, ids) },
		calls: func(ctx context.Context, ids []string) ([]string, error) {
			return s.store.KnownToolCalls(ctx, ref, ids)
		},
	}
}

// prepare decides all that is decided about a turn before it is written.
func (s *Recorder) prepare(ctx context.Context, p RecordParams, known lookups) (store.AppendParams, error) {
	named := p.Profile
	if err := s.nameProfile(ctx, &p); err != nil {
		return store.AppendParams{}, err
	}
	mask, err := s.maskOf(ctx, p)
	if err != nil {
		return store.AppendParams{}, err
	}
	if mask == contextprofile.MaskEverywhere {
		p.Messages, p.StatePatch = secretscan.Remove(p.Messages, p.StatePatch) // before digests are made of them
	}
	turn, err := s.turn(ctx, p, named)
	if err != nil {
		return turn, err
	}
	if err := s.check(ctx, p, &turn, known.messages); err != nil {
		return turn, err
	}
	if err := s.markEchoes(ctx, p.Ref, turn.Messages); err != nil {
		return turn, err
	}
	if mask == contextprofile.MaskMemory {
		markSecrets(turn.Messages)
	}
	odd, err := findings(ctx, turn.Messages, known.calls)
	turn.Findings = append(turn.Findings, odd...)
	return turn, err
}

// maskOf returns where the secrets of a turn are masked: by the profile of its session, or by the one that a new session will
// have.
func (s *Recorder) maskOf(ctx context.Context, p RecordParams) (contextprofile.MaskSecrets, error) {
	if len(p.Messages) == 0 && p.StatePatch == nil {
		mask, _ := s.profiles.OneSecrets()
		return mask, nil
	}
	return s.secrets.Of(ctx, p.Ref, p.Profile)
}

// nameProfile gives a call that names no profile the tenant's, which a new session then has.
func (s *Recorder) nameProfile(ctx context.Context, p *RecordParams) (err error) {
	if p.Profile == "" {
		p.Profile, err = quota.ProfileOf(ctx, s.tenancy, s.profiles.Known, p.Ref.Tenant)
	}
	return err
}

// append stores the turn, where there is room for it.
func (s *Recorder) append(ctx context.Context, turn store.AppendParams) (store.AppendResult, error) {
	room, stored, err := s.tenancy.Reserve(ctx, turn.Ref.UserRef, len(turn.Messages))
	if err != nil {
		return store.AppendResult{}, err
	}
	turn.Room = room
	result, err := s.store.Append(ctx, turn)
	if err != nil {
		stored(0)
		return store.AppendResult{}, fmt.Errorf("append turn: %w", err)
	}
	n := result.LastSeq - result.FirstSeq + 1
	if result.Replayed {
		n = 0
	}
	stored(n)
	return result, nil
}

// stepLimitReached reports whether the steps are as many as the session's profile allows. The session is only read for
// its profile where they are as many as any profile allows; a turn that is stored does not fail for it.
func (s *Recorder) stepLimitReached(ctx context.Context, profile string, ref memory.SessionRef, steps int) bool {
	if least := s.profiles.LeastStepLimit(); least == 0 || steps < least {
		return false
	}
	if session, err := s.store.Session(ctx, ref); err == nil {
		profile = session.Profile
	}
	return steps >= s.profiles.StepLimitOf(profile)
}

// turn completes what was received: digests first, then what the server adds. The caller named the profile, "" for none.
func (s *Recorder) turn(ctx context.Context, p RecordParams, named string) (store.AppendParams, error) {
	asked := p
	asked.Profile = named
	digest, err := requestDigest(asked)
	if err != nil {
		return store.AppendParams{}, err
	}
	now := s.now.Stored()
	turn := store.AppendParams{
		Ref: p.Ref, Profile: p.Profile, RequestID: p.RequestID, RequestDigest: digest,
		StatePatch: p.StatePatch, ExpectedLastSeq: p.ExpectedLastSeq, Time: now,
	}
	for _, m := range p.Messages {
		if err := ctx.Err(); err != nil {
			return store.AppendParams{}, fmt.Errorf("prepare messages: %w", err)
		}
		body, err := memory.BodyDigest(m)
		if err != nil {
			return store.AppendParams{}, err
		}
		turn.Messages = append(turn.Messages, store.NewMessage{Message: s.complete(m, p.Extract, now), BodyDigest: body})
	}
	return turn, nil
}

func (s *Recorder) complete(m memory.Message, extract memory.ExtractMode, now time.Time) memory.Message {
	if m.ID == "" {
		m.ID = s.newID()
	}
	if m.CreateTime.IsZero() {
		m.CreateTime = now
	}
	if m.Extract == 0 {
		m.Extract = max(extract, memory.ExtractAllow)
	}
	m.Tokens = tokens.CountMessage(m)
	return m
}

// findings says what is odd about new messages: those that say nothing, and their tool calls and results.
func findings(ctx context.Context, messages []store.NewMessage, calls lookUp) ([]memory.Finding, error) {
	var ids []string
	var empty []memory.Finding
	for _, m := range messages {
		ids = append(append(ids, m.ToolCalls()...), m.ToolResults()...)
		if len(m.Parts) == 0 {
			empty = append(empty, memory.Finding{MessageID: m.ID, Kind: memory.FindingEmpty})
		}
	}
	if len(ids) == 0 {
		return empty, nil
	}
	known, err := calls(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("look up tool calls: %w", err)
	}
	return append(empty, toolFindings(messages, known)...), nil
}

// toolFindings decides, in the order of the messages, which results have no call and which calls were made before.
func toolFindings(messages []store.NewMessage, known []string) []memory.Finding {
	calls := map[string]bool{}
	for _, id := range known {
		calls[id] = true
	}
	var found []memory.Finding
	seen := map[string]bool{}
	for _, m := range messages {
		if seen[m.ID] { // sent twice in one call: it is stored once
			continue
		}
		seen[m.ID] = true
		for _, p := range m.Parts {
			finding := memory.Finding{MessageID: m.ID, CallID: p.CallID}
			switch {
			case p.Kind == memory.PartToolResult && !calls[p.CallID]:
				finding.Kind = memory.FindingOrphanToolResult
			case p.Kind == memory.PartToolCall && calls[p.CallID]:
				finding.Kind = memory.FindingDuplicateToolCall
			case p.Kind == memory.PartToolCall && p.Arguments != "" && !json.Valid([]byte(p.Arguments)):
				finding.Kind = memory.FindingArgumentsNotJSON
			}
			if p.Kind == memory.PartToolCall {
				calls[p.CallID] = true
			}
			if finding.Kind != 0 {
				found = append(found, finding)
			}
		}
	}
	return found
}
