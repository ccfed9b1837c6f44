package grpcapi

import (
	"context"
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/access/admin"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/access/quota"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/edge/grpcserver"
	"github.com/stratamem/strata/internal/store"
)

// KeyService serves API keys.
type KeyService struct {
	memoryv1.UnimplementedKeyServiceServer
	Keys keys
}

// keys handles API keys.
type keys interface {
	CreateKey(ctx context.Context, n admin.NewAPIKey) (store.Key, string, error)
	ListKeys(ctx context.Context, q store.KeyQuery) (page []store.Key, more bool, err error)
	RotateKey(ctx context.Context, ref store.KeyRef, grace time.Duration) (store.Key, string, error)
	RevokeKey(ctx context.Context, ref store.KeyRef) (store.Key, error)
}

// Limits of keys.
const (
	minKeyTTL    = time.Second
	maxKeyTTL    = 3653 * 24 * time.Hour
	defaultGrace = 24 * time.Hour
	maxGrace     = 90 * 24 * time.Hour
)

// keyTenant is the tenant whose keys are meant. It is the only field that names a tenant, and takes an admin of the server.
func keyTenant(ctx context.Context, named string) (string, error) {
	c := &requests.Checker{}
	c.Label("tenant", named)
	if err := c.Err(); err != nil {
		return "", err
	}
	own := requests.TenantOf(ctx)
	if named == "" || named == own {
		return own, nil
	}
	if own != auth.DefaultTenant {
		return "", grpcserver.Denied("only admins of the tenant " + auth.DefaultTenant + " may name another tenant than their own")
	}
	return named, nil
}

func (s *KeyService) CreateKey(ctx context.Context, req *memoryv1.CreateKeyRequest) (*memoryv1.CreateKeyResponse, error) {
	tenant, err := keyTenant(ctx, req.GetTenant())
	if err != nil {
		return nil, err
	}
	c := &requests.Checker{}
	role, _ := enums.KeyRoles.From(req.GetRole())
	n := admin.NewAPIKey{
		Tenant: tenant, Role: role, UserID: c.Label("user_id", req.GetUserId()), Name: c.Name("name", req.GetName()),
		TTL: c.Span("ttl", req.GetTtl(), minKeyTTL, maxKeyTTL),
	}
	switch {
	case role == auth.RoleNone:
		c.Fault("role", "is %d; it must be agent, user, operator or admin", req.GetRole())
	case role == auth.RoleUser && n.UserID == "":
		c.Fault("user_id", "is required with the role user: the key may act for that user alone")
	case (role == auth.RoleOperator || role == auth.RoleAdmin) && n.UserID != "":
		c.Fault("user_id", "must be empty with the role %s, which is about no user or about all", role)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	k, token, err := s.Keys.CreateKey(ctx, n)
	if err != nil {
		return nil, err
	}
	return &memoryv1.CreateKeyResponse{Key: keyProto(k), Token: token}, nil
}

func (s *KeyService) ListKeys(ctx context.Context, req *memoryv1.ListKeysRequest) (*memoryv1.ListKeysResponse, error) {
	tenant, err := keyTenant(ctx, req.GetTenant())
	if err != nil {
		return nil, err
	}
	c := &requests.Checker{}
	q := store.KeyQuery{Tenant: tenant, Limit: c.Page(req.GetPageSize(), 50, 500)}
	last, err := c.PagePosition(req)
	if err != nil {
		return nil, err
	}
	q.After = string(last)
	page, more, err := s.Keys.ListKeys(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.ListKeysResponse{}
	for _, k := range page {
		out.Keys = append(out.Keys, keyProto(k))
	}
	if more {
		out.NextPageToken = requests.PageToken(req, []byte(page[len(page)-1].ID))
	}
	return out, nil
}

func keyRef(ctx context.Context, tenant, id string) (store.KeyRef, error) {
	tenant, err := keyTenant(ctx, tenant)
	if err != nil {
		return store.KeyRef{}, err
	}
	c := &requests.Checker{}
	ref := store.KeyRef{Tenant: tenant, ID: c.ID("key_id", id)}
	return ref, c.Err()
}

func (s *KeyService) RotateKey(ctx context.Context, req *memoryv1.RotateKeyRequest) (*memoryv1.RotateKeyResponse, error) {
	ref, err := keyRef(ctx, req.GetTenant(), req.GetKeyId())
	if err != nil {
		return nil, err
	}
	c, grace := &requests.Checker{}, defaultGrace
	if req.GetGrace() != nil {
		grace = c.Span("grace", req.GetGrace(), 0, maxGrace)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	k, token, err := s.Keys.RotateKey(ctx, ref, grace)
	if err != nil {
		return nil, err
	}
	return &memoryv1.RotateKeyResponse{Key: keyProto(k), Token: token}, nil
}

func (s *KeyService) RevokeKey(ctx context.Context, req *memoryv1.RevokeKeyRequest) (*memoryv1.RevokeKeyResponse, error) {
	ref, err := keyRef(ctx, req.GetTenant(), req.GetKeyId())
	if err != nil {
		return nil, err
	}
	k, err := s.Keys.RevokeKey(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &memoryv1.RevokeKeyResponse{Key: keyProto(k)}, nil
}

func keyProto(k store.Key) *memoryv1.Key {
	role, _ := auth.ParseRole(k.Role) // one that this program does not know may do nothing
	return &memoryv1.Key{
		KeyId: k.ID, Tenant: k.Tenant, Role: enums.KeyRoles.To(role), UserId: k.UserID, Name: k.Name, Prefix: auth.TokenPrefix(k.ID),
		CreateTime: timeProto(k.CreateTime), ExpireTime: timeProto(k.ExpireTime), RevokeTime: timeProto(k.RevokeTime),
		LastUseTime: timeProto(k.UseTime), OldTokenExpireTime: timeProto(k.OldUntil),
	}
}

// TenantService serves tenants and their limits.
type TenantService struct {
	memoryv1.UnimplementedTenantServiceServer
	Tenants tenants
}

// tenants handles tenants.
type tenants interface {
	Tenant(ctx context.Context, id string) (admin.TenantState, error)
	UpdateTenant(ctx context.Context, u store.TenantUpdate) (store.Tenant, error)
	ListTenants(ctx context.Context, q store.TenantQuery) (page []store.Tenant, more bool, err error)
	SuspendTenant(ctx context.Context, id string) (store.Tenant, error)
	ResumeTenant(ctx context.Context, id string) (store.Tenant, error)
	TenantExtent(ctx context.Context, id string) (admin.TenantExtent, error)
	EraseTenant(ctx context.Context, id string, wait time.Duration) (store.Tenant, error)
}

func (s *TenantService) GetTenant(ctx context.Context, req *memoryv1.GetTenantRequest) (*memoryv1.GetTenantResponse, error) {
	id, err := keyTenant(ctx, req.GetTenant())
	if err != nil {
		return nil, err
	}
	t, err := s.Tenants.Tenant(ctx, id)
	if err != nil {
		return nil, err
	}
	return &memoryv1.GetTenantResponse{
		Tenant: tenantProto(t.Tenant), Limits: limitsProto(func(l quota.Limit) (float64, bool) { return t.Limits[l], true }),
		Usage: &memoryv1.TenantUsage{
			ModelTokensToday: t.Spent.DayTokens, CostToday: t.Spent.DayCost, CostThisMonth: t.Spent.MonthCost, Messages: t.Messages,
		},
	}, nil
}

func (s *TenantService) UpdateTenant(ctx context.Context, req *memoryv1.UpdateTenantRequest) (*memoryv1.UpdateTenantResponse, error) {
	u, err := tenantUpdate(req)
	if err != nil {
		return nil, err
	}
	t, err := s.Tenants.UpdateTenant(ctx, u)
	if err != nil {
		return nil, err
	}
	return &memoryv1.UpdateTenantResponse{Tenant: tenantProto(t)}, nil
}

func tenantUpdate(req *memoryv1.UpdateTenantRequest) (store.TenantUpdate, error) {
	c, in := &requests.Checker{}, req.GetTenant()
	set := map[string]bool{"limits": false, "default_profile": in.GetDefaultProfile() != "", "models": in.GetModels() != nil}
	for _, l := range quota.All() {
		set[limitPath(l)] = in.GetLimits().ProtoReflect().Has(limitField(l))
	}
	mask := c.Mask(req.GetUpdateMask(), set)
	u := store.TenantUpdate{
		ID: c.ID("tenant.tenant", in.GetTenant()), Set: map[string]float64{},
		Profile: requests.Masked(mask, "default_profile", c.Label("tenant.default_profile", in.GetDefaultProfile())),
	}
	if mask["models"] {
		u.Models = tenantModelsFrom(c, in.GetModels())
	}
	for _, l := range quota.All() {
		switch {
		case !mask[limitPath(l)] && !mask["limits"]:
		case set[limitPath(l)]:
			u.Set[string(l)] = limitFrom(c, l, in.GetLimits().ProtoReflect().Get(limitField(l)).Float())
		default:
			u.Clear = append(u.Clear, string(l))
		}
	}
	return u, c.Err()
}

// maxURL is the most bytes of a base URL.
const maxURL = 1024

// tenantModelsFrom checks a tenant's models; nil are the server's.
func tenantModelsFrom(c *requests.Checker, in *memoryv1.TenantModels) *store.TenantModels {
	if in == nil {
		return &store.TenantModels{}
	}
	c.Bytes("tenant.models.chat_base_url", len(in.GetChatBaseUrl()), maxURL)
	return &store.TenantModels{
		BaseURL: in.GetChatBaseUrl(), Key: c.Label("tenant.models.chat_key", in.GetChatKey()),
		Summary:    c.ID("tenant.models.summary_model", in.GetSummaryModel()),
		Extraction: c.ID("tenant.models.extraction_model", in.GetExtractionModel()),
	}
}

// limitFrom checks the value of a limit.
func limitFrom(c *requests.Checker, l quota.Limit, value float64) float64 {
	switch {
	case !(value >= 0 && value <= quota.Most): // NaN is neither
		c.Fault("tenant."+limitPath(l), "is %v; it must be from 0, which is no limit, to %v", value, quota.Most)
	case l.IsWhole() && value != math.Trunc(value):
		c.Fault("tenant."+limitPath(l), "is %v; it must be a whole number", value)
	}
	return value
}

// limitPath is where a limit stands in a Tenant.
func limitPath(l quota.Limit) string { return "limits." + strings.ReplaceAll(string(l), "-", "_") }

// limitField is the field of a limit in TenantLimits.
func limitField(l quota.Limit) protoreflect.FieldDescriptor {
	name := protoreflect.Name(strings.ReplaceAll(string(l), "-", "_"))
	return (&memoryv1.TenantLimits{}).ProtoReflect().Descriptor().Fields().ByName(name)
}

// limitsProto has the limits that have a value.
func limitsProto(value func(quota.Limit) (float64, bool)) *memoryv1.TenantLimits {
	out := &memoryv1.TenantLimits{}
	for _, l := range quota.All() {
		if v, ok := value(l); ok {
			out.ProtoReflect().Set(limitField(l), protoreflect.ValueOfFloat64(v))
		}
	}
	return out
}

func (s *TenantService) ListTenants(ctx context.Context, req *memoryv1.ListTenantsRequest) (*memoryv1.ListTenantsResponse, error) {
	c := &requests.Checker{}
	q := store.TenantQuery{Limit: c.Page(req.GetPageSize(), 50, 500)}
	last, err := c.PagePosition(req)
	if err != nil {
		return nil, err
	}
	q.After = string(last)
	page, more, err := s.Tenants.ListTenants(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.ListTenantsResponse{}
	for _, t := range page {
		out.Tenants = append(out.Tenants, tenantProto(t))
	}
	if more {
		out.NextPageToken = requests.PageToken(req, []byte(page[len(page)-1].ID))
	}
	return out, nil
}

func (s *TenantService) SuspendTenant(ctx context.Context, req *memoryv1.SuspendTenantRequest) (*memoryv1.SuspendTenantResponse, error) {
	c := &requests.Checker{}
	id := c.ID("tenant", req.GetTenant())
	if id == auth.DefaultTenant {
		c.Fault("tenant", "is %s, whose admins alone could resume it: revoke its keys instead", id)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	t, err := s.Tenants.SuspendTenant(ctx, id)
	if err != nil {
		return nil, err
	}
	return &memoryv1.SuspendTenantResponse{Tenant: tenantProto(t)}, nil
}

func (s *TenantService) ResumeTenant(ctx context.Context, req *memoryv1.ResumeTenantRequest) (*memoryv1.ResumeTenantResponse, error) {
	c := &requests.Checker{}
	id := c.ID("tenant", req.GetTenant())
	if err := c.Err(); err != nil {
		return nil, err
	}
	t, err := s.Tenants.ResumeTenant(ctx, id)
	if err != nil {
		return nil, err
	}
	return &memoryv1.ResumeTenantResponse{Tenant: tenantProto(t)}, nil
}

func (s *TenantService) EraseTenant(ctx context.Context, req *memoryv1.EraseTenantRequest) (*memoryv1.EraseTenantResponse, error) {
	c := &requests.Checker{}
	id, wait := c.ID("tenant", req.GetTenant()), c.Timeout("wait", req.GetWait(), 0)
	if id == auth.DefaultTenant {
		c.Fault("tenant", "is %s, whose admins erase others: erase its users", id)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	if req.GetValidateOnly() {
		x, err := s.Tenants.TenantExtent(ctx, id)
		if err != nil {
			return nil, err
		}
		return &memoryv1.EraseTenantResponse{Extent: &memoryv1.TenantExtent{Users: x.Users, Messages: x.Messages, Keys: x.Keys}}, nil
	}
	t, err := s.Tenants.EraseTenant(ctx, id, wait)
	if err != nil {
		return nil, err
	}
	return &memoryv1.EraseTenantResponse{Tenant: tenantProto(t)}, nil
}

func tenantProto(t store.Tenant) *memoryv1.Tenant {
	out := &memoryv1.Tenant{Tenant: t.ID, SuspendTime: timeProto(t.SuspendTime), DefaultProfile: t.Profile}
	if e := t.Erasure; e != nil {
		out.Erasure = &memoryv1.TenantErasure{
			CreateTime: timeProto(e.CreateTime), DoneTime: timeProto(e.DoneTime), Users: e.Users, Stores: receiptsProto(e.Stores),
		}
	}
	if m := t.Models; m != nil {
		out.Models = &memoryv1.TenantModels{
			ChatBaseUrl: m.BaseURL, ChatKey: m.Key, SummaryModel: m.Summary, ExtractionModel: m.Extraction,
		}
	}
	if len(t.Limits) > 0 {
		out.Limits = limitsProto(func(l quota.Limit) (float64, bool) {
			v, ok := t.Limits[string(l)]
			return v, ok
		})
	}
	return out
}
