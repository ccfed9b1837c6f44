package grpcapi

import (
	"context"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/learning/work"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// MaintenanceService serves maintenance of the whole server.
type MaintenanceService struct {
	memoryv1.UnimplementedMaintenanceServiceServer
	Maintenance maintenance
}

// maintenance begins jobs of no user.
type maintenance interface {
	Reembed(ctx context.Context, model string, dimension int) (work.MaintenanceJob, error)
	Reindex(ctx context.Context, views []memory.View) ([]work.MaintenanceJob, error)
	Verify(ctx context.Context, views []memory.View, mode work.VerifyMode) (work.MaintenanceJob, error)
	Expiring(ctx context.Context, q store.UserQuery) (due []work.Expiring, last string, more bool, err error)
}

// maxDimension is the most numbers a vector may have.
const maxDimension = 16384

func (s *MaintenanceService) Reembed(ctx context.Context, req *memoryv1.ReembedRequest) (*memoryv1.ReembedResponse, error) {
	c := &requests.Checker{}
	model := c.ID("model", req.GetModel())
	dimension := requests.Between(c, "dimension", req.GetDimension(), 0, maxDimension)
	if err := c.Err(); err != nil {
		return nil, err
	}
	job, err := s.Maintenance.Reembed(ctx, model, int(dimension))
	if err != nil {
		return nil, err
	}
	return &memoryv1.ReembedResponse{Job: maintenanceProto(job)}, nil
}

func (s *MaintenanceService) Reindex(ctx context.Context, req *memoryv1.ReindexRequest) (*memoryv1.ReindexResponse, error) {
	c := &requests.Checker{}
	views := requests.AllOf(c, "views", enums.Views, req.GetViews(), viewWords)
	if err := c.Err(); err != nil {
		return nil, err
	}
	begun, err := s.Maintenance.Reindex(ctx, views)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.ReindexResponse{}
	for _, j := range begun {
		out.Jobs = append(out.Jobs, maintenanceProto(j))
	}
	return out, nil
}

func (s *MaintenanceService) Verify(ctx context.Context, req *memoryv1.VerifyRequest) (*memoryv1.VerifyResponse, error) {
	c := &requests.Checker{}
	views := requests.AllOf(c, "views", enums.Views, req.GetViews(), viewWords)
	if err := c.Err(); err != nil {
		return nil, err
	}
	mode := work.VerifyRepair
	if req.GetDryRun() {
		mode = work.VerifyDryRun
	}
	job, err := s.Maintenance.Verify(ctx, views, mode)
	if err != nil {
		return nil, err
	}
	return &memoryv1.VerifyResponse{Job: maintenanceProto(job)}, nil
}

const viewWords = "vectors, facts or transcript"

// maxExpiring is how many of a user ListExpiring names.
const maxExpiring = 1000

func (s *MaintenanceService) ListExpiring(
	ctx context.Context,
	req *memoryv1.ListExpiringRequest,
) (*memoryv1.ListExpiringResponse, error) {
	c := &requests.Checker{}
	q := store.UserQuery{Tenant: requests.TenantOf(ctx), Limit: c.Page(req.GetPageSize(), 20, 100)}
	after, err := c.PagePosition(req)
	if err != nil {
		return nil, err
	}
	q.After = string(after)
	due, last, more, err := s.Maintenance.Expiring(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.ListExpiringResponse{}
	of, named := memory.UserRef{}, 0
	for _, d := range due {
		if d.User != of {
			of, named = d.User, 0
		}
		if named++; named <= maxExpiring {
			out.Expiring = append(out.Expiring, expiringProto(d))
		}
	}
	if more {
		out.NextPageToken = requests.PageToken(req, []byte(last))
	}
	return out, nil
}

func expiringProto(d work.Expiring) *memoryv1.Expiring {
	return &memoryv1.Expiring{
		Rule: enums.RetentionRules.To(d.Rule), UserId: d.User.UserID, SessionId: d.SessionID, Messages: d.Messages, FactId: d.FactID,
	}
}
