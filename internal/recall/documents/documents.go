// Package documents keeps documents by namespace, and deletes them when their time to live is over.
package documents

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/documentquery"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/workloop"
)

// Documents keeps documents by namespace. Its methods may be called concurrently.
type Documents struct {
	store  DocumentStore
	finder *recall.DocumentFinder
	// forgotten is Options.Forgotten.
	forgotten func(ctx context.Context, d DeletedDocument) error
	now       store.Now
	log       *slog.Logger
}

// DocumentStore is what Documents reads and writes of the primary store.
type DocumentStore interface {
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
	store.Documents
}

// Options are what Documents needs.
type Options struct {
	Store  DocumentStore
	Finder *recall.DocumentFinder
	// Forgotten has a document's deletion on disk outside of what is backed up, before the document is deleted; nil for nowhere.
	Forgotten func(ctx context.Context, d DeletedDocument) error
	Now       func() time.Time
	Log       *slog.Logger
}

// NewDocuments makes Documents.
func NewDocuments(o Options) *Documents {
	return &Documents{store: o.Store, finder: o.Finder, forgotten: o.Forgotten, now: o.Now, log: o.Log}
}

// DeletedDocument is a deletion as it is noted outside of what is backed up.
type DeletedDocument struct {
	Scope memory.ScopeKey
	Hash  memory.KeyedHash // of its place
	ETag  string           // as it was put last
	Time  time.Time
}

// DocumentPut is a document to be put.
type DocumentPut struct {
	User     memory.UserRef
	Document memory.Document
	IfETag   string
}

// Put stores a document.
func (s *Documents) Put(ctx context.Context, p DocumentPut) (memory.Document, error) {
	d, err := s.store.PutDocument(ctx, store.DocumentWrite{
		User: p.User, Document: p.Document, IfETag: p.IfETag, Most: store.MaxDocuments, Full: documentsFull(), Time: s.now.Stored(),
	})
	if err != nil {
		return d, fmt.Errorf("put a document: %w", err)
	}
	return d, nil
}

// documentsFull refuses one document too many.
func documentsFull() error {
	most := strconv.Itoa(store.MaxDocuments)
	return &memory.Error{
		Kind: memory.KindExhausted, Reason: memory.ReasonLimitExceeded,
		Message:  "the user has " + most + " documents, which is the most: delete some, or give them a time to live",
		Metadata: map[string]string{"limit": "user-documents", "value": most},
	}
}

// DocumentReading says how documents are read.
type DocumentReading int

// Whether reading begins a time to live anew.
const (
	RenewTTL DocumentReading = iota
	KeepTTL
)

// Get returns a document.
func (s *Documents) Get(ctx context.Context, user memory.UserRef, p memory.DocumentPlace, how DocumentReading) (memory.Document, error) {
	d, err := s.store.Document(ctx, store.DocumentQuery{User: user, Place: p, Time: s.now.Stored()})
	if err != nil {
		return d, fmt.Errorf("read a document: %w", err)
	}
	renewed, err := s.renew(ctx, user, how, []memory.Document{d})
	if err != nil {
		return d, err
	}
	return renewed[0], nil
}

// renew begins the time to live of documents anew, and returns them as they are then.
func (s *Documents) renew(ctx context.Context, user memory.UserRef, how DocumentReading, all []memory.Document) ([]memory.Document, error) {
	if how == KeepTTL {
		return all, nil
	}
	now := s.now.Stored()
	var touched []memory.Document
	for i := range all {
		if all[i].TTL == 0 {
			continue
		}
		if until := now.Add(all[i].TTL); until.After(all[i].ExpireTime) {
			all[i].ExpireTime = until
			touched = append(touched, all[i])
		}
	}
	if len(touched) == 0 {
		return all, nil
	}
	if err := s.store.TouchDocuments(ctx, user, touched); err != nil {
		return nil, fmt.Errorf("renew the time to live of documents: %w", err)
	}
	return all, nil
}

// Delete deletes a document.
func (s *Documents) Delete(ctx context.Context, user memory.UserRef, p memory.DocumentPlace) error {
	q := store.DocumentQuery{User: user, Place: p, Time: s.now.Stored()}
	if s.forgotten != nil {
		if err := s.noteDeleted(ctx, q); err != nil {
			return err
		}
	}
	if err := s.store.DeleteDocument(ctx, q); err != nil {
		return fmt.Errorf("delete a document: %w", err)
	}
	return nil
}

func (s *Documents) noteDeleted(ctx context.Context, q store.DocumentQuery) error {
	d, err := s.store.Document(ctx, q)
	if err != nil {
		return fmt.Errorf("read a document: %w", err)
	}
	u, err := s.store.User(ctx, q.User)
	if err != nil {
		return fmt.Errorf("read user: %w", err)
	}
	err = s.forgotten(ctx, DeletedDocument{
		Scope: u.Scope, Hash: store.DeletedDocumentHash(u.HashKey, q.Place), ETag: d.ETag, Time: q.Time,
	})
	if err != nil {
		return fmt.Errorf("note the deletion of a document: %w", err)
	}
	return nil
}

// listedBytes bounds the values of a page.
const listedBytes = 2 << 20

// List returns a page of documents; more says whether others follow.
func (s *Documents) List(ctx context.Context, q store.DocumentList) (page []memory.Document, more bool, err error) {
	limit := q.Limit
	q.Limit, q.MaxBytes, q.Time = limit+1, listedBytes, s.now.Stored()
	page, err = s.store.ListDocuments(ctx, q)
	if err != nil {
		return nil, false, fmt.Errorf("list documents: %w", err)
	}
	whole := len(page) == limit+1
	page, more = store.CutPage(page, limit)
	return page, more || !whole && len(page) > 0 && valueBytes(page) > listedBytes-documentquery.MaxValueBytes, nil
}

// valueBytes is how large the values are. A page that was ended by them is within one value of its bound.
func valueBytes(page []memory.Document) (n int) {
	for _, d := range page {
		n += len(d.Value)
	}
	return n
}

// Search finds documents.
func (s *Documents) Search(ctx context.Context, p recall.DocumentSearch, how DocumentReading) (recall.DocumentsFound, error) {
	found, err := s.finder.Search(store.OneRequest(ctx), p)
	if err != nil {
		return found, fmt.Errorf("search documents: %w", err)
	}
	all := make([]memory.Document, len(found.Hits))
	for i, h := range found.Hits {
		all[i] = h.Document
	}
	renewed, err := s.renew(ctx, p.User, how, all)
	if err != nil {
		return found, err
	}
	for i := range found.Hits {
		found.Hits[i].Document = renewed[i]
	}
	return found, nil
}

// Namespaces returns the namespaces that hold documents and match the pattern, in their order.
func (s *Documents) Namespaces(ctx context.Context, user memory.UserRef, p documentquery.Pattern) ([][]string, error) {
	heads, err := s.store.DocumentHeads(ctx, user, s.now.Stored())
	if err != nil {
		return nil, fmt.Errorf("read what documents there are: %w", err)
	}
	var all [][]string
	for _, h := range heads.Heads {
		if n := h.Place.Namespace; len(all) == 0 || !slices.Equal(all[len(all)-1], n) {
			all = append(all, n)
		}
	}
	return p.Namespaces(all), nil
}

const (
	expireEvery  = time.Minute
	expireAtOnce = 200
)

// Run deletes documents that have expired, until ctx ends; it returns nil then. Nobody sees them before they are deleted either.
func (s *Documents) Run(ctx context.Context) error {
	return workloop.NewPeriodic(expireEvery, s.expire, func(ctx context.Context, f workloop.Failure) {
		s.log.WarnContext(ctx, "delete expired documents: it is tried again", "error", f.Err)
	}).Run(ctx)
}

func (s *Documents) expire(ctx context.Context) error {
	for ctx.Err() == nil {
		n, err := s.store.ExpireDocuments(ctx, s.now.Stored(), expireAtOnce)
		if err != nil || n < expireAtOnce {
			return err
		}
	}
	return nil
}
