package grpcapi

import (
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/access/audit"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/edge/grpcserver"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// AuditService serves entries of the audit.
type AuditService struct {
	memoryv1.UnimplementedAuditServiceServer
	Entries AuditEntries // nil while the audit is off
}

// AuditEntries lists entries of the audit.
type AuditEntries interface {
	List(ctx context.Context, q audit.Query) ([]store.AuditEntry, error)
}

const maxPrincipal = 300

func (s *AuditService) ListAuditEntries(
	ctx context.Context, req *memoryv1.ListAuditEntriesRequest,
) (*memoryv1.ListAuditEntriesResponse, error) {
	if s.Entries == nil {
		return nil, &memory.Error{
			Kind: memory.KindPrecondition, Reason: memory.ReasonAuditOff, Message: "this server keeps no audit: its setting audit is off",
		}
	}
	q, err := auditQuery(ctx, req)
	if err != nil {
		return nil, err
	}
	page, err := s.Entries.List(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.ListAuditEntriesResponse{}
	for _, e := range page[:min(len(page), q.Limit-1)] {
		out.Entries = append(out.Entries, auditEntryProto(e))
	}
	if len(page) == q.Limit {
		last := page[q.Limit-2]
		out.NextPageToken = requests.TimeToken(req, last.Time, last.ID)
	}
	return out, nil
}

// auditQuery asks for one entry more than the page holds, which says whether there is another page.
func auditQuery(ctx context.Context, req *memoryv1.ListAuditEntriesRequest) (audit.Query, error) {
	tenant, err := keyTenant(ctx, req.GetTenant())
	if err != nil {
		return audit.Query{}, err
	}
	c := auditChecker{&requests.Checker{}}
	q := audit.Query{
		Tenant: tenant, UserID: c.Label("user_id", req.GetUserId()), SessionID: c.Label("session_id", req.GetSessionId()),
		RequestID: c.Label("request_id", req.GetRequestId()), Principal: req.GetPrincipal(), Call: c.call("call", req.GetCall()),
		Outcome: c.code("outcome", req.GetOutcome()), From: c.Time("since", req.GetSince()), Until: c.Time("until", req.GetUntil()),
		Limit: 1 + c.Page(req.GetPageSize(), 100, 1000),
	}
	c.Bytes("principal", len(q.Principal), maxPrincipal)
	if !requests.IsPrintable(q.Principal) {
		c.Fault("principal", "has a character that is not printable; leave out control and invisible characters")
	}
	if q.SessionID != "" && q.UserID == "" {
		c.Fault("user_id", "is required with session_id: sessions of other users may have the same id")
	}
	if err := c.Err(); err != nil {
		return audit.Query{}, err
	}
	after, err := requests.TimePosition(req, req.GetPageToken())
	if err == nil && after != nil {
		q.Before = &store.AuditCursor{Time: after.Time, ID: after.ID}
	}
	return q, err
}

// auditChecker checks what only the audit is asked for.
type auditChecker struct{ *requests.Checker }

// call returns the name of a method of the API as entries have it, given that or the part after the service.
func (c auditChecker) call(field, name string) string {
	if name == "" {
		return ""
	}
	for _, method := range slices.Sorted(maps.Keys(accessTable)) {
		full := strings.TrimPrefix(method, "/"+grpcserver.APIPackage+".")
		if _, short, _ := strings.Cut(full, "/"); full == name || short == name {
			return full
		}
	}
	c.Fault(field, "is no call of the API: name one such as EraseUser or UserService/EraseUser")
	return ""
}

// code returns the name of a canonical code.
func (c auditChecker) code(field, name string) string {
	if _, ok := code.Code_value[name]; !ok && name != "" {
		c.Fault(field, "is no canonical code: name one such as OK, NOT_FOUND or PERMISSION_DENIED")
	}
	return name
}

func auditEntryProto(e store.AuditEntry) *memoryv1.AuditEntry {
	role, _ := auth.ParseRole(e.Role) // "" where nobody was verified
	return &memoryv1.AuditEntry{
		AuditEntryId: e.ID, CreateTime: timeProto(e.Time), Tenant: e.Tenant, Principal: e.Principal, Role: enums.KeyRoles.To(role), Call: e.Call,
		Outcome: e.Outcome, Reason: e.Reason, UserHash: audit.HashText(e.User), SessionHash: audit.HashText(e.Session),
		RequestHash: audit.HashText(e.Request), TargetTenant: e.Target, Thing: e.Thing, Items: e.Items, DryRun: e.DryRun,
		Address: e.Address, UserAgent: e.UserAgent, LeftOut: e.LeftOut,
	}
}
