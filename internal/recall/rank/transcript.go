package rank

import (
	"slices"

	"github.com/stratamem/strata/internal/language/promptinjection"
	"github.com/stratamem/strata/internal/memory"
)

// transcript holds the messages of a user by their sessions.
type transcript struct {
	sessions  map[memory.SessionKey]*session
	bySession []*session // in the order of message.session
	messages  []message
}

// none stands for no message, no passage and no row.
const none = -1

// kindNo is a Kind as an index.
type kindNo uint8

const (
	kindPerson kindNo = iota
	kindAssistantChat
)

func (k kindNo) kind() Kind {
	if k == kindPerson {
		return KindPerson
	}
	return KindAssistantChat
}

// session holds a session's messages by seq.
type session struct {
	key      memory.SessionKey
	no       int32 // in bySession
	messages []int32
	fresh    []int32 // by seq too: inserted, and not among messages yet
	replies  bool    // one of them is an assistant's
	dirty    bool
	from, to int // positions to be refreshed, to excluded, while dirty
}

// message holds no pointer, so that the garbage collector passes over all of them.
type message struct {
	seq          int64
	create       int64
	words        int32 // of all its passages
	first, last  int32 // its passages, last excluded
	name, day    int32 // labels; name -1 for none
	session      int32
	role         uint8 // a memory.Role
	kind         kindNo
	disclosure   promptinjection.Disclosure
	question     bool
	mentionsTime bool
	counted      bool // its passages are in the statistics
}

// class groups messages that get the same ranking factors. Speaker and time have factors of their own.
type class uint8

const (
	classUser class = 1 << iota // an assistant chat's user said it
	classAssistantChat
	classMentionsTime

	classes = classMentionsTime << 1 // how many there are
)

func (m *message) class() (c class) {
	if m.kind == kindAssistantChat {
		c = classAssistantChat
		if memory.Role(m.role) == memory.RoleUser {
			c |= classUser
		}
	}
	if m.mentionsTime {
		c |= classMentionsTime
	}
	return c
}

// message is one of the class that nobody is named in.
func (c class) message() *message {
	m := &message{name: -1, kind: kindPerson, mentionsTime: c&classMentionsTime != 0}
	if c&classAssistantChat != 0 {
		m.kind = kindAssistantChat
	}
	if c&classUser != 0 {
		m.role = uint8(memory.RoleUser)
	}
	return m
}

// reach is how far a message acts within its session: a reply is looked for this far behind the user's message.
const reach = 8

// session returns the session of a key, a new one where it is unknown.
func (t *transcript) session(key memory.SessionKey) *session {
	s := t.sessions[key]
	if s == nil {
		s = &session{key: key, no: int32(len(t.bySession))}
		t.sessions[key] = s
		t.bySession = append(t.bySession, s)
	}
	return s
}

// find returns where the message at a place stands, false where there is none.
func (t *transcript) find(p memory.Place) (s *session, at int, ok bool) {
	if s = t.sessions[p.Session]; s == nil {
		return nil, 0, false
	}
	at, ok = t.position(s, p.Seq)
	return s, at, ok
}

// position is where a seq stands or belongs in a session. Mostly no seq is left out, so that a seq says its place.
func (t *transcript) position(s *session, seq int64) (int, bool) {
	n := len(s.messages)
	if n == 0 || t.messages[s.messages[n-1]].seq < seq {
		return n, false
	}
	if at := seq - t.messages[s.messages[0]].seq; at >= 0 && at < int64(n) && t.messages[s.messages[at]].seq == seq {
		return int(at), true
	}
	return slices.BinarySearchFunc(s.messages, seq, func(m int32, seq int64) int {
		return int(min(max(t.messages[m].seq-seq, -1), 1))
	})
}

// merge puts inserted messages between those of their sessions: all of a session at once, so that a long session whose
// older part comes later is moved once for each part, not once for each message.
func (t *transcript) merge(touched map[*session]struct{}) {
	for s := range touched {
		if len(s.fresh) == 0 {
			continue
		}
		reply := false
		for _, m := range s.fresh {
			reply = reply || memory.Role(t.messages[m].role) == memory.RoleAssistant
		}
		from, to := t.mergeFresh(s)
		s.touch(from, to, reply)
	}
}

// mergeFresh returns the positions from the first to the last fresh message, the latter excluded.
func (t *transcript) mergeFresh(s *session) (from, to int) {
	fresh, old := s.fresh, len(s.messages)-1
	s.messages = append(s.messages, fresh...)
	s.fresh = nil
	for at, left := len(s.messages)-1, len(fresh)-1; left >= 0; at-- {
		if old >= 0 && t.messages[s.messages[old]].seq > t.messages[fresh[left]].seq {
			s.messages[at] = s.messages[old]
			old--
			continue
		}
		s.messages[at] = fresh[left]
		if left == len(fresh)-1 {
			to = at + 1
		}
		from = at
		left--
	}
	return from, to
}

// touch notes that messages from one position to another, excluded, are new. The first reply of a session changes the kind
// of all of it.
func (s *session) touch(from, to int, reply bool) {
	from, to = max(from-reach, 0), min(to+reach, len(s.messages))
	if reply && !s.replies {
		s.replies = true
		from, to = 0, len(s.messages)
	}
	s.dirty, s.from, s.to = true, from, to
}

// touchKeys notes that the vector of the message at a position is new.
func (s *session) touchKeys(at int) {
	from, to := max(at-denseReach, 0), min(at+denseReach+1, len(s.messages))
	if s.dirty {
		from, to = min(from, s.from), max(to, s.to)
	}
	s.dirty, s.from, s.to = true, from, to
}

// reply is the position of the assistant's answer to the user's message at a position: the next message, or the first
// with words where tool calls come before it. -1 for none.
func (t *transcript) reply(s *session, at int) int {
	if memory.Role(t.messages[s.messages[at]].role) != memory.RoleUser {
		return -1
	}
	for i := at + 1; i < len(s.messages) && i <= at+reach; i++ {
		m := &t.messages[s.messages[i]]
		if memory.Role(m.role) != memory.RoleAssistant {
			return -1
		}
		if m.words > 0 {
			return i
		}
	}
	return -1
}

// repliedTo is the position of the user's message whose reply is at a position, -1 for none.
func (t *transcript) repliedTo(s *session, at int) int {
	for i := at - 1; i >= 0 && i >= at-reach; i-- {
		if memory.Role(t.messages[s.messages[i]].role) == memory.RoleUser {
			if t.reply(s, i) == at {
				return i
			}
			return -1
		}
	}
	return -1
}
