package store

import (
	"errors"
	"strconv"
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// The errors of what must not reach a vector view. None repeats what was given.
var (
	ErrVectorKey   = errors.New("a key of a vector view was not minted here")
	ErrVectorSpace = errors.New("a space of a vector view is of vectors or turns, with a build, a version and a dimension of at least 1")
)

// Check refuses a space that cannot be.
func (s VectorSpace) Check() error {
	if s.Build < 1 || s.Version < 1 || s.Dimension < 1 || s.View != memory.ViewVectors && s.View != memory.ViewMessageVectors {
		return ErrVectorSpace
	}
	return nil
}

// RowID is what names a row of the space within its scope: a fact's id, or a message's place as session-seq. It refuses
// what was not minted, a fact of ViewMessageVectors and a message of ViewVectors.
func (s VectorSpace) RowID(factID string, place memory.Place) (string, error) {
	id, other := factID, place != memory.Place{}
	if s.View == memory.ViewMessageVectors {
		id, other = string(place.Session)+"-"+strconv.FormatInt(place.Seq, 10), factID != "" || place.Session == "" || place.Seq < 1
	}
	if other || !MintedKey(id) {
		return "", ErrVectorKey
	}
	return id, nil
}

// ParseRowID takes a RowID apart; false for one that is none.
func (s VectorSpace) ParseRowID(id string) (factID string, place memory.Place, ok bool) {
	if s.View != memory.ViewMessageVectors {
		return id, memory.Place{}, MintedKey(id)
	}
	cut := strings.LastIndexByte(id, '-')
	if cut < 1 {
		return "", memory.Place{}, false
	}
	seq, err := strconv.ParseInt(id[cut+1:], 10, 64)
	place = memory.Place{Session: memory.SessionKey(id[:cut]), Seq: seq}
	return "", place, err == nil && seq > 0 && MintedKey(id[:cut])
}
