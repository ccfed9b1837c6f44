package indexing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/recall/segment"
	"github.com/stratamem/strata/internal/store"
	"github.com/stratamem/strata/internal/store/workloop"
)

// EmbeddingStore is the part of the primary store that Embeddings keep: vectors of facts, and of messages in the segments of their
// users' search indexes.
type EmbeddingStore interface {
	store.Vectors
	ParkedJobs
	Segments(ctx context.Context, user memory.UserRef, nos []int64) ([]store.Segment, error)
	PutSegment(ctx context.Context, p store.SegmentWrite) (no int64, err error)
	SegmentsToEmbed(ctx context.Context, version, limit int) ([]store.SegmentRef, error)
	CountMessagesToEmbed(ctx context.Context, version int) (int64, error)
	CountIndexedMessages(ctx context.Context) (int64, error)
	MessagesAt(ctx context.Context, q store.PlacesQuery) ([]memory.PlacedMessage, error)
}

// Analyze makes the documents of messages, with vectors of the version that it returns where that takes no call of an
// endpoint; version 0 where it would. One that the model does not know has no vector. Where the model panics, the documents are
// returned too, without vectors.
func (e *Embeddings) Analyze(ctx context.Context, messages []memory.PlacedMessage) (docs []segment.Doc, version int, err error) {
	docs = make([]segment.Doc, len(messages))
	for i, m := range messages {
		docs[i] = segment.Analyze(m)
	}
	v := e.serving()
	if v.embedder == nil || !v.embedder.Info().Semantic || !e.builtin(v.Model) {
		return docs, 0, nil
	}
	words := make([]string, len(messages))
	for i, m := range messages {
		words[i] = segment.EmbeddedWords(m.Message)
	}
	made, err := embedMessages(ctx, v, words, embedUnlessPanics)
	if err != nil {
		return docs, v.Version, fmt.Errorf("embed %d messages with %s: %w", len(messages), v.Model, err)
	}
	for i, vector := range made.vectors {
		docs[i].Vector = vector
	}
	return docs, v.Version, nil
}

// Embed implements Analyzer: the vector of a message by a model that takes a call of an endpoint, of the version in use.
func (e *Embeddings) Embed(ctx context.Context, user memory.UserRef, m memory.Message) (segment.Vector, error) {
	v, words := e.serving(), segment.EmbeddedWords(m)
	if v.embedder == nil || !v.embedder.Info().Semantic || e.builtin(v.Model) || words == "" {
		return segment.Vector{}, nil
	}
	made, err := embedMessages(llm.ChargedTo(ctx, user.Tenant), v, []string{words}, embedWhole)
	if err != nil {
		return segment.Vector{}, fmt.Errorf("embed a message with %s: %w", v.Model, err)
	}
	return made.vectors[0], nil
}

// segmentsAtOnce is how many segments are looked for at a time.
const segmentsAtOnce = 16

// embedSegments gives messages vectors of the version.
func (e *Embeddings) embedSegments(ctx context.Context, v version) error {
	if !v.embedder.Info().Semantic {
		return nil
	}
	for {
		if err := e.keepLease(ctx); err != nil {
			return err
		}
		refs, err := e.store.SegmentsToEmbed(ctx, v.Version, segmentsAtOnce+len(e.skippedSegments))
		if err != nil {
			return fmt.Errorf("find segments to embed: %w", err)
		}
		refs = slices.DeleteFunc(refs, func(r store.SegmentRef) bool { return e.skippedSegments[r.No] })
		if len(refs) == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		if err := e.embedSome(ctx, v, refs); err != nil {
			return err
		}
	}
}

// embedSome embeds segments. One that the endpoint refuses is set aside until the server starts again; where all are
// refused, it is the endpoint.
func (e *Embeddings) embedSome(ctx context.Context, v version, refs []store.SegmentRef) error {
	var bad []store.SegmentRef
	var last error
	for _, ref := range refs {
		err := safegroup.Contain(func() error { return e.embedSegment(ctx, v, ref) })
		if err != nil && !refused(err) {
			return err
		}
		if err != nil {
			bad, last = append(bad, ref), err
		}
	}
	if len(bad) == len(refs) {
		return last
	}
	for _, ref := range bad {
		e.skippedSegments[ref.No] = true
		e.log.WarnContext(ctx, "messages cannot be embedded; they are found by their words only", "segment", ref.No, "error", last)
	}
	return nil
}

// embedSegment puts a segment with vectors in the place of one without. Where that is cut short, by the endpoint or the end
// of the process, the vectors that were made are put there all the same, and only the others are asked for again. What
// became of the segment or of its user meanwhile is left to the next look.
func (e *Embeddings) embedSegment(ctx context.Context, v version, ref store.SegmentRef) error {
	ctx = llm.ChargedTo(ctx, ref.User.Tenant)
	found, err := e.store.Segments(ctx, ref.User, []int64{ref.No})
	if len(found) == 0 || err != nil {
		return ignoreGone(err, "read a segment to embed")
	}
	docs, err := segment.Decode(found[0].Data)
	if err != nil { // a search that needs it has it made again
		e.log.ErrorContext(ctx, "a segment to embed cannot be read", "segment", ref.No, "error", err)
		e.skippedSegments[ref.No] = true
		return nil
	}
	s := &segmentToEmbed{SegmentRef: ref, docs: docs, stored: e.now()}
	err = e.embedDocs(ctx, v, s)
	if err != nil && s.unstored == 0 {
		return err
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workloop.ReleaseTimeout)
		defer cancel()
		return errors.Join(err, e.storePart(ctx, s))
	}
	_, err = e.putSegment(ctx, s, v.Version)
	return ignoreGone(err, "store an embedded segment")
}

// segmentToEmbed is a segment whose messages get vectors.
type segmentToEmbed struct {
	store.SegmentRef
	docs     []segment.Doc
	stored   time.Time // when it was last stored
	unstored int       // how many vectors were made since
}

// partsApart is how much of the endpoint's work a killed process may lose.
const partsApart = 30 * time.Second

// storePart stores what vectors there are.
func (e *Embeddings) storePart(ctx context.Context, s *segmentToEmbed) error {
	no, err := e.putSegment(ctx, s, 0)
	if err != nil {
		return fmt.Errorf("store a segment of which some messages are embedded: %w", err)
	}
	s.No, s.stored, s.unstored = no, e.now(), 0
	return nil
}

// putSegment stores the segment in its place, as one whose messages have vectors of the version; 0 where some lack theirs.
func (e *Embeddings) putSegment(ctx context.Context, s *segmentToEmbed, version int) (no int64, err error) {
	return e.store.PutSegment(ctx, store.SegmentWrite{
		User: s.User, Scope: s.Scope, Analyzer: text.AnalyzerID, Messages: len(s.docs), Data: segment.Encode(s.docs),
		Replaces: []int64{s.No}, Embedding: version, Time: e.now().UTC().Truncate(time.Microsecond),
	})
}

// ignoreGone leaves out errors that say that a segment or its user is gone.
func ignoreGone(err error, doing string) error {
	switch memory.ReasonOf(err) {
	case memory.ReasonContention, memory.ReasonUserNotFound:
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// embedDocs gives those of a segment's documents vectors that have none of the version.
func (e *Embeddings) embedDocs(ctx context.Context, v version, s *segmentToEmbed) error {
	var lacking []int
	for i := range s.docs {
		if len(s.docs[i].Passages) > 0 && s.docs[i].Vector.Version != v.Version {
			lacking = append(lacking, i)
		}
	}
	for len(lacking) > 0 {
		some := lacking[:min(len(lacking), e.batch.size)]
		failed := e.embedBatch(ctx, v, s, some)
		if err := e.noteBatch(ctx, len(some), failed); err != nil {
			return err
		}
		if failed == nil {
			lacking = lacking[len(some):]
			s.unstored += len(some)
		}
		if err := e.keepLease(ctx); err != nil {
			return err
		}
		if len(lacking) > 0 && s.unstored > 0 && e.now().Sub(s.stored) >= partsApart {
			if err := e.storePart(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// embedBatch embeds the documents at some positions. One whose message is gone keeps no vector, nor does one whose message makes code
// panic, which is a parked job from then on.
func (e *Embeddings) embedBatch(ctx context.Context, v version, s *segmentToEmbed, at []int) error {
	docs := s.docs
	words, err := e.wordsOf(ctx, s.User, docs, at)
	if err != nil {
		return err
	}
	var texts []string
	var of []int
	for _, i := range at {
		if w, ok := words[docs[i].Place]; ok {
			texts, of = append(texts, w), append(of, i)
		}
	}
	made, err := embedMessages(ctx, v, texts, embedEach)
	if err != nil {
		return fmt.Errorf("embed %d messages with %s: %w", len(texts), v.Model, err)
	}
	var without []memory.Place
	for n, panicked := range made.panicked {
		place := docs[of[n]].Place
		without = append(without, place)
		e.log.ErrorContext(ctx, "a message cannot be embedded: it is found by its words only", "session", place.Session, "seq", place.Seq,
			"error", panicked)
	}
	// First: once the segment counts as embedded nobody looks at them again. A retry in between stores the segment anew: then this one is
	// refused.
	jobs, err := e.parking.open(ctx, life{s.User, s.Scope}, without)
	if err != nil {
		return err
	}
	if err := e.parking.park(ctx, jobs); err != nil {
		return err
	}
	for _, i := range at {
		docs[i].Vector = segment.Vector{}
	}
	for n, i := range of {
		docs[i].Vector = made.vectors[n]
	}
	return nil
}

// messagesAtOnce is how many messages are held in memory at once to take their words: each may be a mebibyte.
const messagesAtOnce = 16

// wordsOf returns what is embedded of messages.
func (e *Embeddings) wordsOf(ctx context.Context, user memory.UserRef, docs []segment.Doc, at []int) (map[memory.Place]string, error) {
	words := make(map[memory.Place]string, len(at))
	for some := range slices.Chunk(at, messagesAtOnce) {
		places := make([]memory.Place, len(some))
		for n, i := range some {
			places[n] = docs[i].Place
		}
		messages, err := e.store.MessagesAt(ctx, store.PlacesQuery{User: user, Places: places})
		if err != nil {
			return nil, fmt.Errorf("read messages to embed: %w", err)
		}
		for _, m := range messages {
			words[m.Place] = segment.EmbeddedWords(m.Message)
		}
	}
	return words, nil
}

// embedTexts embeds texts; one that cannot be embedded may have none.
type embedTexts func(ctx context.Context, by embed.Embedder, texts []string) (embedded, error)

// embedUnlessPanics embeds texts together. A panic is its error: whoever keeps it in view has to find out whose it is.
func embedUnlessPanics(ctx context.Context, by embed.Embedder, texts []string) (embedded, error) {
	made, err := embedWhole(ctx, by, texts)
	if err == nil || safegroup.IsPanic(err) {
		return made, err
	}
	return embedEach(ctx, by, texts)
}

// embedWhole embeds texts together or not at all.
func embedWhole(ctx context.Context, by embed.Embedder, texts []string) (embedded, error) {
	if len(texts) == 0 {
		return embedded{}, nil
	}
	vectors, err := embed.Contained(ctx, by, texts)
	return embedded{vectors: vectors}, err
}

// messageVectors are vectors of messages.
type messageVectors struct {
	vectors  []segment.Vector // zero for a text that the model does not know or that cannot be embedded
	panicked map[int]error    // by the message's position
}

// embedMessages embeds texts of messages; those that the model does not know, or that embedAll leaves out, have the zero vector.
func embedMessages(ctx context.Context, v version, texts []string, embedAll embedTexts) (messageVectors, error) {
	out := messageVectors{vectors: make([]segment.Vector, len(texts)), panicked: map[int]error{}}
	selective, _ := v.embedder.(embed.Selective)
	var known []string
	var of []int
	for i, t := range texts {
		if selective == nil || selective.Knows(t) {
			known, of = append(known, t), append(of, i)
		}
	}
	made, err := embedAll(ctx, v.embedder, known)
	if err != nil {
		return messageVectors{}, err
	}
	for n, i := range of {
		if made.vectors[n] != nil {
			out.vectors[i] = segment.NewVector(v.Version, made.vectors[n])
		}
		if p, ok := made.panicked[n]; ok {
			out.panicked[i] = p
		}
	}
	return out, nil
}
