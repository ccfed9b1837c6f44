package store

import (
	"context"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Documents keeps the documents that callers file under namespaces. One that has expired is not there: no method but
// ExpireDocuments, Export and erasures knows it. An unknown user has no documents, and unless a method says otherwise that is no error.
type Documents interface {
	// PutDocument must store the document in place of the one that is there, with another ETag, and keep that one's CreateTime. Its
	// UpdateTime must be after the last deletion of a document at the place. It must create the user. It must refuse with
	// ETAG_MISMATCH where IfETag is set and is not what is stored, and with Full where the user has Most documents and this is a new
	// one: of several put at once some more may be stored.
	PutDocument(ctx context.Context, w DocumentWrite) (memory.Document, error)
	// Document must return a document as it was put; DOCUMENT_NOT_FOUND when there is none, USER_NOT_FOUND without the user.
	Document(ctx context.Context, q DocumentQuery) (memory.Document, error)
	// DeleteDocument must delete a document, with DOCUMENT_NOT_FOUND when there is none, and keep a keyed hash of its place with the
	// time of the last deletion, also when it is put again: see AdoptDocuments.
	DeleteDocument(ctx context.Context, q DocumentQuery) error
	// ListDocuments must return documents by namespace, then key, after the place given, at most Limit, stopping before their values
	// pass MaxBytes, after at least one.
	ListDocuments(ctx context.Context, q DocumentList) ([]memory.Document, error)
	// DocumentHeads must return what says of each document whether it changed, in the order of ListDocuments.
	DocumentHeads(ctx context.Context, user memory.UserRef, now time.Time) (DocumentHeads, error)
	// DocumentsAt must return those of the documents that are there, with their vectors, in any order.
	DocumentsAt(ctx context.Context, q DocumentsQuery) ([]StoredDocument, error)
	// TouchDocuments must raise when documents expire, and never lower it; one that is gone or was put again is passed over.
	TouchDocuments(ctx context.Context, user memory.UserRef, touched []memory.Document) error
	// PutDocumentVectors must store vectors of a version; of a document that is gone or was put again it is passed over. A put
	// must drop the vector.
	PutDocumentVectors(ctx context.Context, w DocumentVectors) error
	// ExpireDocuments must delete documents of all users that have expired, at most limit, and return how many.
	ExpireDocuments(ctx context.Context, now time.Time, limit int) (int, error)
	// AdoptDocuments must store documents that were exported, with their times, and return how many. It must leave out one that
	//   - was deleted here at or after its UpdateTime, whether another was put since or not,
	//   - is there, unless OnConflict is memory.ConflictOverwritten and what is there was not put after Into.Time,
	//   - has expired at Time,
	// and must return CONTENTION for a life that has ended.
	AdoptDocuments(ctx context.Context, a DocumentAdoption) (taken int, err error)
}

// MaxDocuments is how many documents a user may have.
const MaxDocuments = 10_000

// DocumentWrite is a document to be put.
type DocumentWrite struct {
	User     memory.UserRef
	Document memory.Document // its place, Value, Fields, Unindexed and TTL
	IfETag   string          // "" to put over whatever is there
	Most     int             // documents that the user may have
	Full     error
	Time     time.Time
}

// DocumentQuery names a document at a time.
type DocumentQuery struct {
	User  memory.UserRef
	Place memory.DocumentPlace
	Time  time.Time
}

// DocumentList asks for a page of documents.
type DocumentList struct {
	User     memory.UserRef
	Prefix   []string // labels that the namespace begins with; nil for all
	After    *memory.DocumentPlace
	Limit    int // at least 1
	MaxBytes int64
	Time     time.Time
}

// DocumentsQuery asks for documents by their places.
type DocumentsQuery struct {
	User   memory.UserRef
	Places []memory.DocumentPlace
	Time   time.Time
}

// DocumentHeads says what a user's documents are.
type DocumentHeads struct {
	Scope memory.ScopeKey // "" for an unknown user
	Heads []DocumentHead
}

// DocumentHead is a document without what it holds.
type DocumentHead struct {
	Place      memory.DocumentPlace
	ETag       string
	UpdateTime time.Time
}

// StoredDocument is a document with the vector of its searched words.
type StoredDocument struct {
	memory.Document
	Version int // of the vector; 0 without one
	Vector  []float32
}

// DocumentVectors are vectors of one version.
type DocumentVectors struct {
	User    memory.UserRef
	Version int
	Vectors []DocumentVector
}

// DocumentVector is the vector of a document as it was put with the ETag.
type DocumentVector struct {
	Place  memory.DocumentPlace
	ETag   string
	Vector []float32
}

// DocumentAdoption has documents of an import be a user's.
type DocumentAdoption struct {
	Into      Merge
	Documents []memory.Document
	Most      int
	Time      time.Time
}

// DeletedDocument is what is left of a document that was deleted, so that no import brings it back.
type DeletedDocument struct {
	Hash memory.KeyedHash
	Time time.Time
}

// WrittenDocument returns the document as a put leaves it; was is what is there, nil for nothing, and deleted when one was deleted there
// last, zero for never. Times are kept to the microsecond.
func WrittenDocument(was *memory.Document, deleted time.Time, w DocumentWrite, etag string) (memory.Document, error) {
	if w.IfETag != "" && (was == nil || was.ETag != w.IfETag) {
		return memory.Document{}, DocumentETagMismatch(w.User, w.Document.DocumentPlace)
	}
	now := w.Document
	now.CreateTime, now.UpdateTime, now.ETag, now.ExpireTime = w.Time, w.Time, etag, time.Time{}
	if was != nil {
		now.CreateTime = was.CreateTime
		if was.UpdateTime.After(now.UpdateTime) { // written by a server whose clock is ahead
			now.UpdateTime = was.UpdateTime
		}
	}
	if !deleted.Before(now.UpdateTime) { // by a server whose clock is ahead, or while this call waited
		now.UpdateTime = deleted.Add(time.Microsecond)
	}
	if now.TTL > 0 {
		now.ExpireTime = w.Time.Add(now.TTL)
	}
	return now, nil
}

// MayAdopt reports whether a document of an import becomes the user's; was is what is there, nil for nothing, and deleted when one
// was deleted there, zero for never.
func (a DocumentAdoption) MayAdopt(d memory.Document, was *memory.Document, deleted time.Time) bool {
	switch {
	case d.HasExpired(a.Time), !deleted.IsZero() && !deleted.Before(d.UpdateTime):
		return false
	case was == nil:
		return true
	}
	return a.Into.OnConflict == memory.ConflictOverwritten && !was.UpdateTime.After(a.Into.Time)
}

// Separators of a place as it is stored: no label and no key has a control character. That between namespace and key is the lower
// one, so that places are ordered as memory.DocumentPlace compares them.
const (
	endOfLabel     = "\x1f"
	endOfNamespace = "\x1e"
)

// NamespaceKey packs labels so that a prefix of them is a prefix of the string.
func NamespaceKey(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	return strings.Join(labels, endOfLabel) + endOfLabel
}

// NamespaceOf unpacks what NamespaceKey packed.
func NamespaceOf(packed string) []string {
	if packed == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(packed, endOfLabel), endOfLabel)
}

// AfterNamespaces is the string that follows all packed namespaces with the packed prefix, which is not empty.
func AfterNamespaces(packed string) string { return packed[:len(packed)-1] + " " }

// PlaceKey packs a place in the order of places.
func PlaceKey(p memory.DocumentPlace) string {
	return NamespaceKey(p.Namespace) + endOfNamespace + p.Key
}

// PlaceOf unpacks what PlaceKey packed.
func PlaceOf(packed string) memory.DocumentPlace {
	namespace, key, _ := strings.Cut(packed, endOfNamespace)
	return memory.DocumentPlace{Namespace: NamespaceOf(namespace), Key: key}
}

// DeletedDocumentHash is what a deletion keeps of a place.
func DeletedDocumentHash(key memory.HashKey, p memory.DocumentPlace) memory.KeyedHash {
	return key.Keyed(p.DigestOf())
}
