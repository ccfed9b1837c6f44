package mixedload

// Ledger is what the users of a load were promised about the messages of their sessions. It is not safe for concurrent use.
type Ledger struct {
	sessions   map[SessionName]*session
	disordered int
}

// SessionName names a session in the world.
type SessionName struct{ User, Session string }

type session struct {
	at     map[string]int64 // the place of each acknowledged message
	unsure map[string]bool  // messages whose Record failed: each may be stored or not
	popped map[string]bool  // messages that were taken away
	lastAt int64            // the highest acknowledged place
	taken  int              // messages that calls may have taken away whose reply was lost
}

// NewLedger makes an empty one.
func NewLedger() *Ledger { return &Ledger{sessions: map[SessionName]*session{}} }

// Sessions are all that were written to, in no order.
func (l *Ledger) Sessions() []SessionName {
	out := make([]SessionName, 0, len(l.sessions))
	for name := range l.sessions {
		out = append(out, name)
	}
	return out
}

func (l *Ledger) session(name SessionName) *session {
	s := l.sessions[name]
	if s == nil {
		s = &session{at: map[string]int64{}, unsure: map[string]bool{}, popped: map[string]bool{}}
		l.sessions[name] = s
	}
	return s
}

// Sent notes that a Record is on its way, and returns the place that its messages must come after.
func (l *Ledger) Sent(name SessionName) (after int64) { return l.session(name).lastAt }

// Acknowledged notes that the messages are stored one after the other from a place on. Where that is not after all that had been
// acknowledged when they were sent, they are out of order.
func (l *Ledger) Acknowledged(name SessionName, ids []string, first, after int64) {
	s := l.session(name)
	for i, id := range ids {
		s.at[id] = first + int64(i)
		s.lastAt = max(s.lastAt, s.at[id])
	}
	if first <= after {
		l.disordered++
	}
}

// Failed notes that nobody knows whether the messages are stored.
func (l *Ledger) Failed(name SessionName, ids []string) {
	for _, id := range ids {
		l.session(name).unsure[id] = true
	}
}

// Popped notes that the messages were taken away.
func (l *Ledger) Popped(name SessionName, ids []string) {
	for _, id := range ids {
		l.session(name).popped[id] = true
	}
}

// MayBePopped notes that a call may have taken so many messages away, and that nobody knows which.
func (l *Ledger) MayBePopped(name SessionName, n int) { l.session(name).taken += n }

// Placed is a message that a session has.
type Placed struct {
	ID  string
	Seq int64
}

// Toll is what is wrong with sessions.
type Toll struct {
	Messages   int // that were acknowledged and must be there
	Lost       int
	Doubled    int
	Disordered int // not at the place that was acknowledged, or out of order
	Back       int // taken away and there again
	Foreign    int // that nobody sent to the session
}

// Add sums tolls.
func (t Toll) Add(o Toll) Toll {
	return Toll{
		t.Messages + o.Messages, t.Lost + o.Lost, t.Doubled + o.Doubled, t.Disordered + o.Disordered, t.Back + o.Back, t.Foreign + o.Foreign,
	}
}

// Disordered is what acknowledgements alone show.
func (l *Ledger) Disordered() Toll { return Toll{Disordered: l.disordered} }

// Compare says what is wrong with the messages that a session has, in the order in which it lists them.
func (l *Ledger) Compare(name SessionName, has []Placed) Toll {
	s, t := l.session(name), Toll{}
	times, last := map[string]int{}, int64(0)
	for _, m := range has {
		seq, known := s.at[m.ID]
		times[m.ID]++
		switch {
		case times[m.ID] > 1:
			t.Doubled++
		case s.popped[m.ID]:
			t.Back++
		case !known && !s.unsure[m.ID]:
			t.Foreign++
		case known && seq != m.Seq || m.Seq <= last:
			t.Disordered++
		}
		last = m.Seq
	}
	for id := range s.at {
		if s.popped[id] {
			continue
		}
		t.Messages++
		if times[id] == 0 {
			t.Lost++
		}
	}
	t.Lost = max(0, t.Lost-s.taken)
	return t
}
