package server

import (
	"context"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/service"
)

type maintenanceServer struct {
	memoryv1.UnimplementedMaintenanceServiceServer
	service *service.Service
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
	job, err := s.service.Reembed(ctx, model, int(dimension))
	if err != nil {
		return nil, err
	}
	return &memoryv1.ReembedResponse{Job: reembedProto(job)}, nil
}
