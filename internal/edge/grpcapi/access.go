package grpcapi

import (
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/edge/grpcserver"
)

// Who may call, by kind of method.
var (
	anyone   = []auth.Role{auth.RoleAgent, auth.RoleUser, auth.RoleOperator, auth.RoleAdmin}
	agents   = []auth.Role{auth.RoleAgent, auth.RoleUser, auth.RoleAdmin}
	owners   = []auth.Role{auth.RoleUser, auth.RoleAdmin}
	keepers  = []auth.Role{auth.RoleOperator, auth.RoleAdmin}
	admins   = []auth.Role{auth.RoleAdmin}
	watchers = anyone
)

// accessTable says for every method of the API who may call it. The interceptors, the page docs/operate/access.md and the tests go
// by it; a server with a method that has no row does not start.
var accessTable = map[string]grpcserver.Rule{
	memoryv1.MemoryService_Record_FullMethodName:          row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.MemoryService_BuildContext_FullMethodName:    row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.MemoryService_GetSession_FullMethodName:      row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.MemoryService_ListSessions_FullMethodName:    row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.MemoryService_UpdateSession_FullMethodName:   row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.MemoryService_DeleteSession_FullMethodName:   row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.MemoryService_ListMessages_FullMethodName:    row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.MemoryService_SearchMessages_FullMethodName:  row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.MemoryService_UpdateMessage_FullMethodName:   row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.MemoryService_DeleteMessages_FullMethodName:  row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.MemoryService_PopMessages_FullMethodName:     row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.MemoryService_ReplaceMessages_FullMethodName: row(grpcserver.OfUser, agents, grpcserver.Always),

	memoryv1.HistoryService_CountTokens_FullMethodName:   row(grpcserver.OfNobody, agents, grpcserver.Never),
	memoryv1.HistoryService_Compact_FullMethodName:       row(grpcserver.OfNobody, agents, grpcserver.Never),
	memoryv1.HistoryService_CheckMessages_FullMethodName: row(grpcserver.OfNobody, agents, grpcserver.Never),

	memoryv1.FactService_CreateFact_FullMethodName:        row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.FactService_GetFact_FullMethodName:           row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.FactService_ListFacts_FullMethodName:         row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.FactService_SearchFacts_FullMethodName:       row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.FactService_UpdateFact_FullMethodName:        row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.FactService_DeleteFact_FullMethodName:        row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.FactService_ListFactRevisions_FullMethodName: row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.FactService_RestoreFact_FullMethodName:       row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.FactService_ListQuarantined_FullMethodName:   row(grpcserver.OfUser, agents, grpcserver.ByAdmins),

	memoryv1.SummaryService_GetSummary_FullMethodName:           row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.SummaryService_ListSummaries_FullMethodName:        row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.SummaryService_Summarize_FullMethodName:            row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.SummaryService_RebuildSummary_FullMethodName:       row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.SummaryService_UpdateSummary_FullMethodName:        row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.SummaryService_ListSummaryRevisions_FullMethodName: row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.SummaryService_RestoreSummary_FullMethodName:       row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.SummaryService_DeleteSummary_FullMethodName:        row(grpcserver.OfUser, agents, grpcserver.Always),

	memoryv1.UserService_GetUser_FullMethodName:    row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.UserService_ListUsers_FullMethodName:  row(grpcserver.OfTenant, agents, grpcserver.ByAdmins),
	memoryv1.UserService_UpdateUser_FullMethodName: row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.UserService_EraseUser_FullMethodName:  row(grpcserver.OfUser, owners, grpcserver.Always),
	memoryv1.UserService_ExportUser_FullMethodName: row(grpcserver.OfUser, owners, grpcserver.Always),
	memoryv1.UserService_ImportUser_FullMethodName: row(grpcserver.OfUser, admins, grpcserver.Always),

	memoryv1.WorkService_WaitForWatermark_FullMethodName: row(grpcserver.OfUser, agents, grpcserver.Never),
	memoryv1.WorkService_GetJob_FullMethodName:           row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.WorkService_ListJobs_FullMethodName:         row(grpcserver.OfUser, watchers, grpcserver.ByAdmins),
	memoryv1.WorkService_RetryJob_FullMethodName:         row(grpcserver.OfUser, admins, grpcserver.Always),
	memoryv1.WorkService_RetryJobs_FullMethodName:        row(grpcserver.OfUser, keepers, grpcserver.Always),
	memoryv1.WorkService_SkipJob_FullMethodName:          row(grpcserver.OfUser, admins, grpcserver.Always),
	memoryv1.WorkService_RevertJob_FullMethodName:        row(grpcserver.OfUser, agents, grpcserver.Always),

	memoryv1.MaintenanceService_Reembed_FullMethodName:      row(grpcserver.OfServer, keepers, grpcserver.Always),
	memoryv1.MaintenanceService_Reindex_FullMethodName:      row(grpcserver.OfServer, keepers, grpcserver.Always),
	memoryv1.MaintenanceService_Verify_FullMethodName:       row(grpcserver.OfServer, keepers, grpcserver.Always),
	memoryv1.MaintenanceService_ListExpiring_FullMethodName: row(grpcserver.OfTenant, admins, grpcserver.Always),

	memoryv1.KeyService_CreateKey_FullMethodName: row(grpcserver.OfNobody, admins, grpcserver.Always),
	memoryv1.KeyService_ListKeys_FullMethodName:  row(grpcserver.OfNobody, admins, grpcserver.Always),
	memoryv1.KeyService_RotateKey_FullMethodName: row(grpcserver.OfNobody, admins, grpcserver.Always),
	memoryv1.KeyService_RevokeKey_FullMethodName: row(grpcserver.OfNobody, admins, grpcserver.Always),

	memoryv1.TenantService_GetTenant_FullMethodName:     row(grpcserver.OfNobody, admins, grpcserver.Always),
	memoryv1.TenantService_UpdateTenant_FullMethodName:  row(grpcserver.OfServer, admins, grpcserver.Always),
	memoryv1.TenantService_ListTenants_FullMethodName:   row(grpcserver.OfServer, admins, grpcserver.Always),
	memoryv1.TenantService_SuspendTenant_FullMethodName: row(grpcserver.OfServer, admins, grpcserver.Always),
	memoryv1.TenantService_ResumeTenant_FullMethodName:  row(grpcserver.OfServer, admins, grpcserver.Always),
	memoryv1.TenantService_EraseTenant_FullMethodName:   row(grpcserver.OfServer, admins, grpcserver.Always),

	memoryv1.DocumentService_PutDocument_FullMethodName:     row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.DocumentService_GetDocument_FullMethodName:     row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.DocumentService_DeleteDocument_FullMethodName:  row(grpcserver.OfUser, agents, grpcserver.Always),
	memoryv1.DocumentService_ListDocuments_FullMethodName:   row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.DocumentService_SearchDocuments_FullMethodName: row(grpcserver.OfUser, agents, grpcserver.ByAdmins),
	memoryv1.DocumentService_ListNamespaces_FullMethodName:  row(grpcserver.OfUser, agents, grpcserver.ByAdmins),

	memoryv1.AuditService_ListAuditEntries_FullMethodName: row(grpcserver.OfUser, admins, grpcserver.Always),

	healthv1.Health_Check_FullMethodName:                             row(grpcserver.Open, nil, grpcserver.Never),
	healthv1.Health_List_FullMethodName:                              row(grpcserver.Open, nil, grpcserver.Never),
	healthv1.Health_Watch_FullMethodName:                             row(grpcserver.Open, nil, grpcserver.Never),
	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      row(grpcserver.Open, nil, grpcserver.Never),
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": row(grpcserver.Open, nil, grpcserver.Never),
}

// row makes a row of the table.
func row(s grpcserver.Scope, roles []auth.Role, a grpcserver.Audited) grpcserver.Rule {
	return grpcserver.Rule{Scope: s, Roles: roles, Audited: a}
}
