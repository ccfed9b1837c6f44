package server

import (
	"context"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/service"
)

type maintenanceServer struct {
	memoryv1.UnimplementedMaintenanceServiceServer
	maintenance maintenance
}

// maintenance begins jobs of no user.
type maintenance interface {
	Reembed(ctx context.Context, model string, dimension int) (service.MaintenanceJob, error)
	Reindex(ctx context.Context, views []memory.View) ([]service.MaintenanceJob, error)
	Verify(ctx context.Context, views []memory.View, mode service.VerifyMode) (service.MaintenanceJob, error)
}

// maxDimension is the most numbers a vector may have.
const maxDimension = 16384

func (s *maintenanceServer) Reembed(ctx context.Context, req *memoryv1.ReembedRequest) (*memoryv1.ReembedResponse, error) {
	c := &checker{}
	model := c.id("model", req.GetModel())
	dimension := between(c, "dimension", req.GetDimension(), 0, maxDimension)
	if err := c.err(); err != nil {
		return nil, err
	}
	job, err := s.maintenance.Reembed(ctx, model, int(dimension))
	if err != nil {
		return nil, err
	}
	return &memoryv1.ReembedResponse{Job: maintenanceProto(job)}, nil
}

func (s *maintenanceServer) Reindex(ctx context.Context, req *memoryv1.ReindexRequest) (*memoryv1.ReindexResponse, error) {
	c := &checker{}
	views := allOf(c, "views", views, req.GetViews(), viewWords)
	if err := c.err(); err != nil {
		return nil, err
	}
	begun, err := s.maintenance.Reindex(ctx, views)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.ReindexResponse{}
	for _, j := range begun {
		out.Jobs = append(out.Jobs, maintenanceProto(j))
	}
	return out, nil
}

func (s *maintenanceServer) Verify(ctx context.Context, req *memoryv1.VerifyRequest) (*memoryv1.VerifyResponse, error) {
	c := &checker{}
	views := allOf(c, "views", views, req.GetViews(), viewWords)
	if err := c.err(); err != nil {
		return nil, err
	}
	mode := service.VerifyRepair
	if req.GetDryRun() {
		mode = service.VerifyDryRun
	}
	job, err := s.maintenance.Verify(ctx, views, mode)
	if err != nil {
		return nil, err
	}
	return &memoryv1.VerifyResponse{Job: maintenanceProto(job)}, nil
}

const viewWords = "vectors, facts or transcript"
