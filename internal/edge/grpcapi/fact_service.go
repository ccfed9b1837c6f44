package grpcapi

import (
	"context"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/learning/facts"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/store"
)

// FactService serves what was learnt.
type FactService struct {
	memoryv1.UnimplementedFactServiceServer
	Facts  factEditor
	Search factSearcher
}

// factEditor reads and changes facts.
type factEditor interface {
	CreateFact(ctx context.Context, p facts.FactCreation) (memory.Fact, error)
	Fact(ctx context.Context, ref facts.FactRef) (memory.Fact, error)
	ListFacts(ctx context.Context, q store.FactQuery) (page []memory.Fact, more bool, err error)
	UpdateFact(ctx context.Context, u facts.FactUpdate) (memory.Fact, error)
	DeleteFact(ctx context.Context, ref facts.FactRef) error
	FactRevisions(ctx context.Context, ref facts.FactRef) ([]memory.FactRevision, error)
	RestoreFact(ctx context.Context, r facts.FactRestore) (fact memory.Fact, superseded []string, err error)
	ListQuarantined(ctx context.Context, q store.QuarantineQuery) (page []memory.Quarantined, more bool, err error)
}

// factSearcher finds facts.
type factSearcher interface {
	SearchFacts(ctx context.Context, p recall.FactSearch) (recall.FactsFound, error)
}

func (s *FactService) CreateFact(ctx context.Context, req *memoryv1.CreateFactRequest) (*memoryv1.CreateFactResponse, error) {
	c, in := &requests.Checker{}, req.GetFact()
	create := facts.FactCreation{
		User: factUser(ctx, c, in), Fact: factFromProto(c, "fact", in), RequestID: c.Label("request_id", req.GetRequestId()),
		Author: c.Name("author", req.GetAuthor()),
	}
	checkStatement(c, "fact.text", create.Fact.Text)
	if err := c.Err(); err != nil {
		return nil, err
	}
	fact, err := s.Facts.CreateFact(ctx, create)
	if err != nil {
		return nil, err
	}
	return &memoryv1.CreateFactResponse{Fact: factProto(in.GetUserId(), fact)}, nil
}

func factUser(ctx context.Context, c *requests.Checker, in *memoryv1.Fact) memory.UserRef {
	return memory.UserRef{Tenant: requests.TenantOf(ctx), UserID: c.ID("fact.user_id", in.GetUserId())}
}

// factRequest is a request that names one fact.
type factRequest interface {
	GetUserId() string
	GetFactId() string
}

func factRef(ctx context.Context, req factRequest) (facts.FactRef, error) {
	c := &requests.Checker{}
	ref := facts.FactRef{User: c.UserRef(ctx, req.GetUserId()), ID: c.ID("fact_id", req.GetFactId())}
	return ref, c.Err()
}

func (s *FactService) GetFact(ctx context.Context, req *memoryv1.GetFactRequest) (*memoryv1.GetFactResponse, error) {
	ref, err := factRef(ctx, req)
	if err != nil {
		return nil, err
	}
	fact, err := s.Facts.Fact(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &memoryv1.GetFactResponse{Fact: factProto(req.GetUserId(), fact)}, nil
}

func (s *FactService) ListFacts(ctx context.Context, req *memoryv1.ListFactsRequest) (*memoryv1.ListFactsResponse, error) {
	c := &requests.Checker{}
	q := store.FactQuery{
		User: c.UserRef(ctx, req.GetUserId()), WithPast: req.GetIncludePast(), Categories: categoriesFrom(c, "categories", req.GetCategories()),
		SessionID: c.Label("session_id", req.GetSessionId()), Limit: c.Page(req.GetPageSize(), 50, 500),
	}
	last, err := c.TimePosition(req)
	if err != nil {
		return nil, err
	}
	if last != nil {
		q.After = &store.FactCursor{UpdateTime: last.Time, ID: last.ID}
	}
	page, more, err := s.Facts.ListFacts(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.ListFactsResponse{}
	out.Facts, out.NextPageToken = requests.TimedPage(req, page, more,
		func(f memory.Fact) *memoryv1.Fact { return factProto(req.GetUserId(), f) },
		func(f memory.Fact) requests.TimedID { return requests.TimedID{Time: f.UpdateTime, ID: f.ID} })
	return out, nil
}

func (s *FactService) SearchFacts(ctx context.Context, req *memoryv1.SearchFactsRequest) (*memoryv1.SearchFactsResponse, error) {
	c := &requests.Checker{}
	search := recall.FactSearch{
		User: c.UserRef(ctx, req.GetUserId()), Query: req.GetQuery(), Categories: categoriesFrom(c, "categories", req.GetCategories()),
		MinScore: requests.Between(c, "min_score", req.GetMinScore(), 0, 1), Limit: c.Page(req.GetPageSize(), 20, 200),
		AsOf: c.Time("as_of", req.GetAsOf()),
	}
	if search.Query == "" {
		c.Fault("query", "is required: what to look for")
	}
	c.Bytes("query", len(search.Query), requests.MaxQueryBytes)
	if err := c.Err(); err != nil {
		return nil, err
	}
	found, err := s.Search.SearchFacts(ctx, search)
	if err != nil {
		return nil, err
	}
	return foundProto(req.GetUserId(), found), nil
}

func foundProto(userID string, found recall.FactsFound) *memoryv1.SearchFactsResponse {
	out := &memoryv1.SearchFactsResponse{Embedder: found.Embedder, Degraded: degradedProto(found.Degraded)}
	for _, h := range found.Hits {
		out.Hits = append(out.Hits, &memoryv1.FactHit{Fact: factProto(userID, h.Fact), Score: factScoreProto(h)})
	}
	out.Hits = out.Hits[:requests.Fitting(out.Hits)]
	return out
}

// factScoreProto converts how a fact was scored.
func factScoreProto(h recall.FactHit) *memoryv1.FactScore {
	out := &memoryv1.FactScore{Score: h.Score, Relevance: h.Relevance, Significance: h.Significance, Recency: h.Recency}
	for _, a := range h.Retrievers {
		out.Arms = append(out.Arms, &memoryv1.ArmScore{Arm: a.Name, Rank: int32(a.Rank), Score: a.Score})
	}
	return out
}

func (s *FactService) UpdateFact(ctx context.Context, req *memoryv1.UpdateFactRequest) (*memoryv1.UpdateFactResponse, error) {
	update, err := factUpdate(ctx, req)
	if err != nil {
		return nil, err
	}
	fact, err := s.Facts.UpdateFact(ctx, update)
	if err != nil {
		return nil, err
	}
	return &memoryv1.UpdateFactResponse{Fact: factProto(update.User.UserID, fact)}, nil
}

func factUpdate(ctx context.Context, req *memoryv1.UpdateFactRequest) (facts.FactUpdate, error) {
	c, in := &requests.Checker{}, req.GetFact()
	mask := c.Mask(req.GetUpdateMask(), map[string]bool{
		"text": in.GetText() != "", "category": in.GetCategory() != 0, "tags": len(in.GetTags()) > 0,
		"significance": in.GetSignificance() != 0, "subject": in.GetSubject() != "", "attribute": in.GetAttribute() != "",
		"valid_from": in.GetValidFrom() != nil, "valid_to": in.GetValidTo() != nil, "pinned": in.GetPinned(),
		"language": in.GetLanguage() != "",
	})
	user, to := factUser(ctx, c, in), factFromProto(c, "fact", in)
	c.ID("fact.fact_id", in.GetFactId())
	if mask["text"] {
		checkStatement(c, "fact.text", to.Text)
	}
	if mask["valid_from"] && in.GetValidFrom() == nil {
		c.Fault("fact.valid_from", "is required where update_mask names it: since when the fact holds")
	}
	to = facts.WithFactDefaults(to)
	return facts.FactUpdate{
		FactRef: facts.FactRef{User: user, ID: to.ID}, ETag: c.Label("fact.etag", in.GetEtag()),
		Text: requests.Masked(mask, "text", to.Text), Category: requests.Masked(mask, "category", to.Category), Tags: requests.Masked(mask, "tags", to.Tags),
		Significance: requests.Masked(mask, "significance", to.Significance), Subject: requests.Masked(mask, "subject", to.Subject),
		Attribute: requests.Masked(mask, "attribute", to.Attribute), ValidFrom: requests.Masked(mask, "valid_from", to.ValidFrom),
		ValidTo: requests.Masked(mask, "valid_to", to.ValidTo), Pinned: requests.Masked(mask, "pinned", to.Pinned),
		Language: requests.Masked(mask, "language", to.Language), Author: c.Name("author", req.GetAuthor()),
	}, c.Err()
}

func (s *FactService) DeleteFact(ctx context.Context, req *memoryv1.DeleteFactRequest) (*memoryv1.DeleteFactResponse, error) {
	ref, err := factRef(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := s.Facts.DeleteFact(ctx, ref); err != nil {
		return nil, err
	}
	return &memoryv1.DeleteFactResponse{}, nil
}

func (s *FactService) ListFactRevisions(
	ctx context.Context,
	req *memoryv1.ListFactRevisionsRequest,
) (*memoryv1.ListFactRevisionsResponse, error) {
	ref, err := factRef(ctx, req)
	if err != nil {
		return nil, err
	}
	revisions, err := s.Facts.FactRevisions(ctx, ref)
	if err != nil {
		return nil, err
	}
	return revisionsProto(req.GetUserId(), revisions), nil
}

// maxRevisions is how many revisions a reply holds.
const maxRevisions = 200

func revisionsProto(userID string, revisions []memory.FactRevision) *memoryv1.ListFactRevisionsResponse {
	out := &memoryv1.ListFactRevisionsResponse{}
	for _, r := range revisions[:min(len(revisions), maxRevisions)] {
		out.Revisions = append(out.Revisions, &memoryv1.FactRevision{
			Fact: factProto(userID, r.Fact), Cause: enums.FactCauses.To(r.Cause), JobId: r.JobID, Author: r.Author,
		})
	}
	out.Revisions = out.Revisions[:requests.Fitting(out.Revisions)]
	return out
}

func (s *FactService) RestoreFact(ctx context.Context, req *memoryv1.RestoreFactRequest) (*memoryv1.RestoreFactResponse, error) {
	c := &requests.Checker{}
	restore := facts.FactRestore{
		FactRef:  facts.FactRef{User: c.UserRef(ctx, req.GetUserId()), ID: c.ID("fact_id", req.GetFactId())},
		Revision: req.GetRevision(), Author: c.Name("author", req.GetAuthor()),
	}
	if restore.Revision < 0 {
		c.Fault("revision", "is %d; it must not be negative: 0 keeps the fact's content", restore.Revision)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	fact, superseded, err := s.Facts.RestoreFact(ctx, restore)
	if err != nil {
		return nil, err
	}
	return &memoryv1.RestoreFactResponse{Fact: factProto(req.GetUserId(), fact), SupersededFactIds: superseded}, nil
}

func (s *FactService) ListQuarantined(
	ctx context.Context, req *memoryv1.ListQuarantinedRequest,
) (*memoryv1.ListQuarantinedResponse, error) {
	c := &requests.Checker{}
	q := store.QuarantineQuery{User: c.UserRef(ctx, req.GetUserId()), Limit: c.Page(req.GetPageSize(), 50, 500)}
	last, err := c.TimePosition(req)
	if err != nil {
		return nil, err
	}
	if last != nil {
		q.After = &store.JobCursor{CreateTime: last.Time, ID: last.ID}
	}
	page, more, err := s.Facts.ListQuarantined(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.ListQuarantinedResponse{}
	out.Operations, out.NextPageToken = requests.TimedPage(req, page, more, quarantinedProto,
		func(q memory.Quarantined) requests.TimedID { return requests.TimedID{Time: q.Time, ID: q.ID} })
	return out, nil
}

func quarantinedProto(q memory.Quarantined) *memoryv1.QuarantinedOperation {
	return &memoryv1.QuarantinedOperation{
		SessionId: q.SessionID, JobId: q.JobID, Reason: q.Reason, Operation: q.Operation, Model: q.Model, CreateTime: timeProto(q.Time),
	}
}
