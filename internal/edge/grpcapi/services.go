// Package grpcapi has the handlers of the gRPC API: they check requests and convert them to the domain and back. Packages below it
// have what the handlers share: requests, enums and statuses. Package grpcserver serves the handlers.
package grpcapi

import (
	"google.golang.org/grpc"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/statuses"
	"github.com/stratamem/strata/internal/edge/grpcserver"
)

// Service is one of the services of the API.
type Service interface {
	register(r grpc.ServiceRegistrar)
}

// NewAPI returns the API of the services, for a server.
func NewAPI(services ...Service) grpcserver.API {
	return grpcserver.API{
		Register: func(r grpc.ServiceRegistrar) {
			for _, s := range services {
				s.register(r)
			}
		},
		Calls: accessTable, Habits: habits, NoUsers: noUsers, CheckUser: checkUser, Heavy: heavyBytes, Items: itemsOf, Status: statuses.ToStatus,
	}
}

func (s *MemoryService) register(r grpc.ServiceRegistrar) { memoryv1.RegisterMemoryServiceServer(r, s) }

func (s *HistoryService) register(r grpc.ServiceRegistrar) {
	memoryv1.RegisterHistoryServiceServer(r, s)
}

func (s *FactService) register(r grpc.ServiceRegistrar) { memoryv1.RegisterFactServiceServer(r, s) }

func (s *SummaryService) register(r grpc.ServiceRegistrar) {
	memoryv1.RegisterSummaryServiceServer(r, s)
}

func (s *UserService) register(r grpc.ServiceRegistrar) { memoryv1.RegisterUserServiceServer(r, s) }

func (s *WorkService) register(r grpc.ServiceRegistrar) { memoryv1.RegisterWorkServiceServer(r, s) }

func (s *MaintenanceService) register(r grpc.ServiceRegistrar) {
	memoryv1.RegisterMaintenanceServiceServer(r, s)
}

func (s *DocumentService) register(r grpc.ServiceRegistrar) {
	memoryv1.RegisterDocumentServiceServer(r, s)
}

func (s *KeyService) register(r grpc.ServiceRegistrar) { memoryv1.RegisterKeyServiceServer(r, s) }

func (s *TenantService) register(r grpc.ServiceRegistrar) { memoryv1.RegisterTenantServiceServer(r, s) }

func (s *AuditService) register(r grpc.ServiceRegistrar) { memoryv1.RegisterAuditServiceServer(r, s) }
