package grpcapi

import (
	"context"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/auth"
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
var accessTable = map[string]rule{
	memoryv1.MemoryService_Record_FullMethodName:          {ofUser, agents, byAdmins},
	memoryv1.MemoryService_BuildContext_FullMethodName:    {ofUser, agents, byAdmins},
	memoryv1.MemoryService_GetSession_FullMethodName:      {ofUser, agents, byAdmins},
	memoryv1.MemoryService_ListSessions_FullMethodName:    {ofUser, agents, byAdmins},
	memoryv1.MemoryService_UpdateSession_FullMethodName:   {ofUser, agents, always},
	memoryv1.MemoryService_DeleteSession_FullMethodName:   {ofUser, agents, always},
	memoryv1.MemoryService_ListMessages_FullMethodName:    {ofUser, agents, byAdmins},
	memoryv1.MemoryService_SearchMessages_FullMethodName:  {ofUser, agents, byAdmins},
	memoryv1.MemoryService_UpdateMessage_FullMethodName:   {ofUser, agents, always},
	memoryv1.MemoryService_DeleteMessages_FullMethodName:  {ofUser, agents, always},
	memoryv1.MemoryService_PopMessages_FullMethodName:     {ofUser, agents, always},
	memoryv1.MemoryService_ReplaceMessages_FullMethodName: {ofUser, agents, always},

	memoryv1.HistoryService_CountTokens_FullMethodName:   {ofNobody, agents, never},
	memoryv1.HistoryService_Compact_FullMethodName:       {ofNobody, agents, never},
	memoryv1.HistoryService_CheckMessages_FullMethodName: {ofNobody, agents, never},

	memoryv1.FactService_CreateFact_FullMethodName:        {ofUser, agents, always},
	memoryv1.FactService_GetFact_FullMethodName:           {ofUser, agents, byAdmins},
	memoryv1.FactService_ListFacts_FullMethodName:         {ofUser, agents, byAdmins},
	memoryv1.FactService_SearchFacts_FullMethodName:       {ofUser, agents, byAdmins},
	memoryv1.FactService_UpdateFact_FullMethodName:        {ofUser, agents, always},
	memoryv1.FactService_DeleteFact_FullMethodName:        {ofUser, agents, always},
	memoryv1.FactService_ListFactRevisions_FullMethodName: {ofUser, agents, byAdmins},
	memoryv1.FactService_RestoreFact_FullMethodName:       {ofUser, agents, always},
	memoryv1.FactService_ListQuarantined_FullMethodName:   {ofUser, agents, byAdmins},

	memoryv1.SummaryService_GetSummary_FullMethodName:           {ofUser, agents, byAdmins},
	memoryv1.SummaryService_ListSummaries_FullMethodName:        {ofUser, agents, byAdmins},
	memoryv1.SummaryService_Summarize_FullMethodName:            {ofUser, agents, byAdmins},
	memoryv1.SummaryService_RebuildSummary_FullMethodName:       {ofUser, agents, always},
	memoryv1.SummaryService_UpdateSummary_FullMethodName:        {ofUser, agents, always},
	memoryv1.SummaryService_ListSummaryRevisions_FullMethodName: {ofUser, agents, byAdmins},
	memoryv1.SummaryService_RestoreSummary_FullMethodName:       {ofUser, agents, always},
	memoryv1.SummaryService_DeleteSummary_FullMethodName:        {ofUser, agents, always},

	memoryv1.UserService_GetUser_FullMethodName:    {ofUser, agents, byAdmins},
	memoryv1.UserService_ListUsers_FullMethodName:  {ofTenant, agents, byAdmins},
	memoryv1.UserService_UpdateUser_FullMethodName: {ofUser, agents, always},
	memoryv1.UserService_EraseUser_FullMethodName:  {ofUser, owners, always},
	memoryv1.UserService_ExportUser_FullMethodName: {ofUser, owners, always},
	memoryv1.UserService_ImportUser_FullMethodName: {ofUser, admins, always},

	memoryv1.WorkService_WaitForWatermark_FullMethodName: {ofUser, agents, never},
	memoryv1.WorkService_GetJob_FullMethodName:           {ofUser, agents, byAdmins},
	memoryv1.WorkService_ListJobs_FullMethodName:         {ofUser, watchers, byAdmins},
	memoryv1.WorkService_RetryJob_FullMethodName:         {ofUser, admins, always},
	memoryv1.WorkService_RetryJobs_FullMethodName:        {ofUser, keepers, always},
	memoryv1.WorkService_SkipJob_FullMethodName:          {ofUser, admins, always},
	memoryv1.WorkService_RevertJob_FullMethodName:        {ofUser, agents, always},

	memoryv1.MaintenanceService_Reembed_FullMethodName:      {ofServer, keepers, always},
	memoryv1.MaintenanceService_Reindex_FullMethodName:      {ofServer, keepers, always},
	memoryv1.MaintenanceService_Verify_FullMethodName:       {ofServer, keepers, always},
	memoryv1.MaintenanceService_ListExpiring_FullMethodName: {ofTenant, admins, always},

	memoryv1.KeyService_CreateKey_FullMethodName: {ofNobody, admins, always},
	memoryv1.KeyService_ListKeys_FullMethodName:  {ofNobody, admins, always},
	memoryv1.KeyService_RotateKey_FullMethodName: {ofNobody, admins, always},
	memoryv1.KeyService_RevokeKey_FullMethodName: {ofNobody, admins, always},

	memoryv1.TenantService_GetTenant_FullMethodName:     {ofNobody, admins, always},
	memoryv1.TenantService_UpdateTenant_FullMethodName:  {ofServer, admins, always},
	memoryv1.TenantService_ListTenants_FullMethodName:   {ofServer, admins, always},
	memoryv1.TenantService_SuspendTenant_FullMethodName: {ofServer, admins, always},
	memoryv1.TenantService_ResumeTenant_FullMethodName:  {ofServer, admins, always},
	memoryv1.TenantService_EraseTenant_FullMethodName:   {ofServer, admins, always},

	memoryv1.DocumentService_PutDocument_FullMethodName:     {ofUser, agents, always},
	memoryv1.DocumentService_GetDocument_FullMethodName:     {ofUser, agents, byAdmins},
	memoryv1.DocumentService_DeleteDocument_FullMethodName:  {ofUser, agents, always},
	memoryv1.DocumentService_ListDocuments_FullMethodName:   {ofUser, agents, byAdmins},
	memoryv1.DocumentService_SearchDocuments_FullMethodName: {ofUser, agents, byAdmins},
	memoryv1.DocumentService_ListNamespaces_FullMethodName:  {ofUser, agents, byAdmins},

	memoryv1.AuditService_ListAuditEntries_FullMethodName: {ofUser, admins, always},

	healthv1.Health_Check_FullMethodName:                             {open, nil, never},
	healthv1.Health_List_FullMethodName:                              {open, nil, never},
	healthv1.Health_Watch_FullMethodName:                             {open, nil, never},
	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      {open, nil, never},
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": {open, nil, never},
}

// tenantOf returns the tenant of the principal. Without one nothing may be read: a missing scope is an error.
func tenantOf(ctx context.Context) string { return principalOf(ctx).Tenant }
