package recall

import (
	"fmt"

	"github.com/maypok86/otter/v2"

	"github.com/stratamem/strata/internal/memory"
)

// userMemory holds copies of users' facts and of their documents in one budget: those of the users that were asked about lately stay.
type userMemory struct {
	held *otter.Cache[heldKey, held]
}

// heldKey is a user with what is held of them: facts and documents are weighed, and go, on their own.
type heldKey struct {
	user memory.UserRef
	what heldKind
}

type heldKind int

const (
	heldFacts heldKind = iota
	heldDocuments
)

// held has the one that its key names.
type held struct {
	facts     *userFacts
	documents *userDocuments
}

func (h held) bytes() int64 {
	if h.facts != nil {
		return h.facts.bytes()
	}
	return h.documents.weight()
}

// newUserMemory makes a userMemory of about maxBytes.
func newUserMemory(maxBytes int64) (userMemory, error) {
	cache, err := otter.New(&otter.Options[heldKey, held]{
		MaximumWeight: uint64(max(maxBytes, 0)),
		Weigher:       func(_ heldKey, h held) uint32 { return weight(h.bytes()) },
	})
	if err != nil {
		return userMemory{}, fmt.Errorf("make the cache of facts and documents: %w", err)
	}
	return userMemory{cache}, nil
}

func (m userMemory) facts(user memory.UserRef) *userFacts {
	key := heldKey{user, heldFacts}
	h, ok := m.held.GetIfPresent(key)
	if !ok {
		h, _ = m.held.SetIfAbsent(key, held{facts: newUserFacts()})
	}
	return h.facts
}

// weighFacts has facts that changed weighed again.
func (m userMemory) weighFacts(user memory.UserRef, x *userFacts) {
	m.held.Set(heldKey{user, heldFacts}, held{facts: x})
}

func (m userMemory) documents(user memory.UserRef) *userDocuments {
	key := heldKey{user, heldDocuments}
	h, ok := m.held.GetIfPresent(key)
	if !ok {
		h, _ = m.held.SetIfAbsent(key, held{documents: &userDocuments{}})
	}
	return h.documents
}

// weighDocuments has documents that changed weighed again.
func (m userMemory) weighDocuments(user memory.UserRef, x *userDocuments) {
	m.held.Set(heldKey{user, heldDocuments}, held{documents: x})
}
