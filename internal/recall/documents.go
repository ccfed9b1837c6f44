package recall

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/documentquery"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/recall/factrank"
	"github.com/stratamem/strata/internal/store"
)

// DocumentFinder finds a user's documents. It keeps those of the users that were asked about lately in memory, ready to be ranked as
// facts are, in the memory of the FactCache, and brings them up to date with every question.
type DocumentFinder struct {
	store      DocumentStore
	queries    *Queries
	embeddings Embeddings
	now        func() time.Time
	users      userMemory
}

// DocumentStore is the part of the store that a DocumentFinder reads and writes.
type DocumentStore interface {
	DocumentHeads(ctx context.Context, user memory.UserRef, now time.Time) (store.DocumentHeads, error)
	DocumentsAt(ctx context.Context, q store.DocumentsQuery) ([]store.StoredDocument, error)
	PutDocumentVectors(ctx context.Context, w store.DocumentVectors) error
}

// DocumentFinderOptions are what a DocumentFinder needs. All are required unless said otherwise.
type DocumentFinderOptions struct {
	Store      DocumentStore
	Queries    *Queries
	Embeddings Embeddings // nil to find by words alone
	Now        func() time.Time
	Memory     *FactCache // whose memory the documents share
}

// NewDocumentFinder makes a DocumentFinder.
func NewDocumentFinder(o DocumentFinderOptions) *DocumentFinder {
	return &DocumentFinder{store: o.Store, queries: o.Queries, embeddings: o.Embeddings, now: o.Now, users: o.Memory.users}
}

// userDocuments are one user's documents. Questions about a user run one by one while they look at them, and side by side while they
// read and embed.
type userDocuments struct {
	sync.Mutex
	scope   memory.ScopeKey
	index   *factrank.Index // of the words of documents that a query may find, by PlaceKey
	known   map[string]knownDocument
	version int // of the vectors in the index; 0 without any
	bytes   int64
}

// knownDocument is what is kept of a document beside its words.
type knownDocument struct {
	etag  string
	top   map[string]any
	words string // "" where no query finds it
}

// DocumentSearch asks for documents.
type DocumentSearch struct {
	User     memory.UserRef
	Prefix   []string
	Query    string // "" for the latest put
	Filter   documentquery.Filter
	MinScore float64
	Offset   int
	Limit    int
	Beside   Unrelated
}

// Unrelated says what becomes of documents that share nothing with the query.
type Unrelated int

// What may become of them.
const (
	LeaveOut Unrelated = iota
	Follow             // those that share something, where there is no MinScore
)

// DocumentsFound is what Search returns.
type DocumentsFound struct {
	Hits     []DocumentHit
	Degraded []memory.Degradation
	Embedder string // whose vectors ranked; "" when words alone did
}

// DocumentHit is a document that was found.
type DocumentHit struct {
	memory.Document
	Score float64
}

// Search finds documents, as they are in the store.
func (s *DocumentFinder) Search(ctx context.Context, p DocumentSearch) (DocumentsFound, error) {
	heads, err := s.store.DocumentHeads(ctx, p.User, s.now())
	if err != nil || len(heads.Heads) == 0 {
		return DocumentsFound{}, err
	}
	x, err := s.update(ctx, p.User, heads)
	if err != nil {
		return DocumentsFound{}, err
	}
	admitted := x.admitted(heads, p)
	if p.Query == "" {
		return s.read(ctx, p, latest(admitted), DocumentsFound{})
	}
	var out DocumentsFound
	var vector QueryVector
	if s.embeddings != nil {
		vector, out.Degraded = s.queries.Embed(ctx, p.Query)
	}
	if vector.Version > 0 {
		late := s.embed(ctx, p.User, x, vector.Version)
		out.Degraded = append(out.Degraded, late...)
		out.Embedder = vector.Model
	}
	return s.read(ctx, p, x.rank(admitted, p, vector), out)
}

// documentsAtOnce is how many documents are read, or embedded, in one go.
const documentsAtOnce = 200

// update brings what is known of the user's documents up to date.
func (s *DocumentFinder) update(ctx context.Context, user memory.UserRef, heads store.DocumentHeads) (*userDocuments, error) {
	x := s.users.documents(user)
	changed := x.changed(heads)
	for some := range slices.Chunk(changed, documentsAtOnce) {
		docs, err := s.store.DocumentsAt(ctx, store.DocumentsQuery{User: user, Places: some, Time: s.now()})
		if err != nil {
			return nil, fmt.Errorf("read documents: %w", err)
		}
		x.take(heads.Scope, docs)
	}
	if len(changed) > 0 {
		s.users.weighDocuments(user, x)
	}
	return x, nil
}

// changed forgets what is gone, and returns the places of what was put since.
func (x *userDocuments) changed(heads store.DocumentHeads) (places []memory.DocumentPlace) {
	x.Lock()
	defer x.Unlock()
	if x.scope != heads.Scope {
		x.scope, x.index, x.known, x.version, x.bytes = heads.Scope, factrank.NewIndex(), map[string]knownDocument{}, 0, 0
	}
	there := make(map[string]bool, len(heads.Heads))
	for _, h := range heads.Heads {
		id := store.PlaceKey(h.Place)
		there[id] = true
		if x.known[id].etag != h.ETag {
			places = append(places, h.Place)
		}
	}
	for id := range x.known {
		if !there[id] {
			x.forget(id)
		}
	}
	return places
}

func (x *userDocuments) forget(id string) {
	if k, ok := x.known[id]; ok {
		x.bytes -= knownBytes(k)
		delete(x.known, id)
		x.index.Forget(id)
	}
}

// take keeps documents that were read in the life.
func (x *userDocuments) take(scope memory.ScopeKey, docs []store.StoredDocument) {
	x.Lock()
	defer x.Unlock()
	if x.scope != scope {
		return
	}
	for _, d := range docs {
		id := store.PlaceKey(d.DocumentPlace)
		x.forget(id)
		k := knownDocument{etag: d.ETag, top: documentquery.Top(d.Value)}
		if !d.Unindexed {
			k.words = documentquery.Words(d.Value, d.Fields)
		}
		x.known[id] = k
		x.bytes += knownBytes(k)
		if k.words == "" {
			continue
		}
		x.index.Put(memory.Fact{ID: id, Text: k.words, Significance: 10, ValidFrom: d.UpdateTime})
		if d.Version > 0 && (d.Version == x.version || x.version == 0) {
			x.version = d.Version
			x.index.SetVector(id, d.Vector)
		}
	}
}

// knownBytes is about what is kept of a document beside its words in the index.
func knownBytes(k knownDocument) int64 {
	n := int64(256)
	for name, v := range k.top {
		n += int64(48 + len(name))
		if s, ok := v.(string); ok {
			n += int64(len(s))
		}
	}
	return n
}

func (x *userDocuments) weight() int64 {
	x.Lock()
	defer x.Unlock()
	if x.index == nil {
		return 1
	}
	return x.bytes + x.index.Bytes()
}

// admitted are the documents of the heads that the search is about, by their ids.
func (x *userDocuments) admitted(heads store.DocumentHeads, p DocumentSearch) map[string]store.DocumentHead {
	x.Lock()
	defer x.Unlock()
	out := map[string]store.DocumentHead{}
	for _, h := range heads.Heads {
		n := h.Place.Namespace
		if len(n) < len(p.Prefix) || !slices.Equal(n[:len(p.Prefix)], p.Prefix) {
			continue
		}
		id := store.PlaceKey(h.Place)
		if k, ok := x.known[id]; ok && p.Filter.Admits(k.top) {
			out[id] = h
		}
	}
	return out
}

// ranked is a document with its score.
type ranked struct {
	place memory.DocumentPlace
	score float64
}

// latest are the documents that were put last, equal times by place.
func latest(admitted map[string]store.DocumentHead) []ranked {
	heads := make([]store.DocumentHead, 0, len(admitted))
	for _, h := range admitted {
		heads = append(heads, h)
	}
	slices.SortFunc(heads, func(a, b store.DocumentHead) int {
		if c := b.UpdateTime.Compare(a.UpdateTime); c != 0 {
			return c
		}
		return a.Place.Compare(b.Place)
	})
	out := make([]ranked, len(heads))
	for i, h := range heads {
		out[i].place = h.Place
	}
	return out
}

// rank orders the admitted documents that share something with the query, and behind them the others where they are wanted.
func (x *userDocuments) rank(admitted map[string]store.DocumentHead, p DocumentSearch, vector QueryVector) (out []ranked) {
	x.Lock()
	defer x.Unlock()
	q := factrank.Query{
		Terms: text.Terms(p.Query), MinScore: p.MinScore, Formula: factrank.Formula{Relevance: 1},
		Admits: func(id string) bool { _, ok := admitted[id]; return ok },
	}
	if vector.Version > 0 && vector.Version == x.version {
		q.Vector, q.WithWords, q.Unrelated = vector.Values, vector.Selective, vector.Unrelated
	}
	if p.Beside == Follow && p.MinScore == 0 {
		q.Limit = p.Offset + p.Limit
		q.Unrelated, q.Fill = 0, q.Limit
	}
	for _, h := range x.index.Search(q) {
		if h.Use == factrank.Fill {
			h.Score = 0
		}
		out = append(out, ranked{admitted[h.Fact.ID].Place, h.Score})
	}
	return out
}

// read reads a page of what was ranked: whatever is returned is as the store has it now, and of the user.
func (s *DocumentFinder) read(ctx context.Context, p DocumentSearch, all []ranked, out DocumentsFound) (DocumentsFound, error) {
	page := all[min(p.Offset, len(all)):min(p.Offset+p.Limit, len(all))]
	if len(page) == 0 {
		return out, nil
	}
	places := make([]memory.DocumentPlace, len(page))
	for i, r := range page {
		places[i] = r.place
	}
	docs, err := s.store.DocumentsAt(ctx, store.DocumentsQuery{User: p.User, Places: places, Time: s.now()})
	if err != nil {
		return out, fmt.Errorf("read documents: %w", err)
	}
	at := make(map[string]memory.Document, len(docs))
	for _, d := range docs {
		at[store.PlaceKey(d.DocumentPlace)] = d.Document
	}
	for _, r := range page {
		if d, ok := at[store.PlaceKey(r.place)]; ok && p.Filter.Admits(documentquery.Top(d.Value)) {
			out.Hits = append(out.Hits, DocumentHit{d, r.score})
		}
	}
	return out, nil
}

// embeddedAtMost is how many documents one search embeds: the others are found by their words until later searches did.
const embeddedAtMost = 5 * documentsAtOnce

// embed gives documents vectors that lack one of the version, and stores them.
func (s *DocumentFinder) embed(ctx context.Context, user memory.UserRef, x *userDocuments, version int) []memory.Degradation {
	active, embedder := s.embeddings.Active()
	if embedder == nil || active.Version != version {
		return nil
	}
	waiting, more := x.withoutVector(version)
	ctx, cancel := context.WithTimeout(ctx, s.queries.timeout)
	defer cancel()
	for some := range slices.Chunk(waiting, documentsAtOnce) {
		if err := s.embedSome(ctx, user, x, embedding{version, embedder, some}); err != nil {
			return []memory.Degradation{{Tier: memory.TierEmbedding, Reason: "documents wait for their vectors: " + err.Error()}}
		}
	}
	return waitingVectors(memory.TierVectors, more, "documents")
}

// embedding is some documents to embed.
type embedding struct {
	version  int
	embedder embed.Embedder
	some     []waitingDocument
}

// waitingDocument is a document without a vector.
type waitingDocument struct {
	id, etag, words string
	place           memory.DocumentPlace
}

// withoutVector are documents to embed for a version, and how many more there are. Vectors of another version are dropped.
func (x *userDocuments) withoutVector(version int) (some []waitingDocument, more int) {
	x.Lock()
	defer x.Unlock()
	if x.version != version {
		x.version = version
		x.index.DropVectors()
	}
	for _, id := range x.index.IDsWithoutVector() {
		if len(some) == embeddedAtMost {
			more++
			continue
		}
		k := x.known[id]
		some = append(some, waitingDocument{id, k.etag, k.words, store.PlaceOf(id)})
	}
	return some, more
}

func (s *DocumentFinder) embedSome(ctx context.Context, user memory.UserRef, x *userDocuments, e embedding) error {
	texts := make([]string, len(e.some))
	for i, d := range e.some {
		texts[i] = d.words
	}
	vectors, err := e.embedder.Embed(ctx, texts)
	if err != nil {
		return err
	}
	w := store.DocumentVectors{User: user, Version: e.version}
	for i, d := range e.some {
		w.Vectors = append(w.Vectors, store.DocumentVector{Place: d.place, ETag: d.etag, Vector: vectors[i]})
	}
	x.setVectors(e, vectors)
	if err := s.store.PutDocumentVectors(ctx, w); err != nil {
		return fmt.Errorf("store vectors of documents: %w", err)
	}
	return nil
}

// setVectors keeps vectors of documents that were not put again meanwhile.
func (x *userDocuments) setVectors(e embedding, vectors [][]float32) {
	x.Lock()
	defer x.Unlock()
	if x.version != e.version {
		return
	}
	for i, d := range e.some {
		if x.known[d.id].etag == d.etag {
			x.index.SetVector(d.id, vectors[i])
		}
	}
}
