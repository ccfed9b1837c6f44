package grpcserver

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/access/quota"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/safegroup"
	"github.com/stratamem/strata/internal/store"
)

// Check fails where a method of the server has no row in the table, or one that cannot be enforced: a principal that is bound to
// a user may call only what names the user in its request.
func (a API) Check(services map[string]grpc.ServiceInfo) error {
	var errs []error
	for _, service := range slices.Sorted(maps.Keys(services)) {
		for _, m := range services[service].Methods {
			method := "/" + service + "/" + m.Name
			r, ok := a.Calls[method]
			if !ok {
				errs = append(errs, fmt.Errorf("%s has no row in the table of who may call what", method))
				continue
			}
			if r.Audited == undecided {
				errs = append(errs, fmt.Errorf("%s: nobody decided whether it has entries in the audit", method))
			}
			if r.Scope == Open {
				continue
			}
			request, err := requestOf(method)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if named := len(a.userFields(request)) > 0; named != (r.Scope == OfUser) {
				errs = append(errs, fmt.Errorf("%s: whether its request names a user contradicts its row in the table of who may call what", method))
			}
		}
	}
	return errors.Join(errs...)
}

func requestOf(method string) (protoreflect.MessageDescriptor, error) {
	name := protoreflect.FullName(strings.ReplaceAll(strings.Trim(method, "/"), "/", "."))
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	m, ok := d.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is no method", method)
	}
	return m.Input(), nil
}

// userField is where a request names the user: user_id of the request itself, or of the one resource in it.
type userField struct {
	resource protoreflect.FieldDescriptor // nil for the request itself
	field    protoreflect.FieldDescriptor
}

// userFields are all places where requests of the type name a user.
func (a API) userFields(d protoreflect.MessageDescriptor) []userField {
	if slices.Contains(a.NoUsers, d.FullName()) {
		return nil
	}
	isUser := func(f protoreflect.FieldDescriptor) bool {
		return f != nil && f.Kind() == protoreflect.StringKind && !f.IsList()
	}
	var all []userField
	if f := d.Fields().ByName("user_id"); isUser(f) {
		all = append(all, userField{nil, f})
	}
	for i := range d.Fields().Len() {
		in := d.Fields().Get(i)
		if in.Kind() != protoreflect.MessageKind || in.IsList() || in.IsMap() {
			continue
		}
		if f := in.Message().Fields().ByName("user_id"); isUser(f) {
			all = append(all, userField{in, f})
		}
	}
	return all
}

// Denied refuses a call that the caller's role may not make.
func Denied(why string) error {
	return &memory.Error{Kind: memory.KindDenied, Reason: memory.ReasonRoleDenied, Message: why}
}

// guard lets calls in.
type guard struct {
	verifier auth.Verifier // nil while authentication is off
	refusals Refusals
	api      API
	limits   Limiter
}

// Refusals counts calls whose credential was refused. It must not block.
type Refusals interface {
	// CredentialRefused counts a refusal by its cause.
	CredentialRefused(cause auth.Cause)
}

type uncounted struct{}

func (uncounted) CredentialRefused(auth.Cause) {}

func newGuard(o Options) *guard {
	g := &guard{verifier: o.Access.Verifier, refusals: o.Access.Refusals, api: o.API, limits: o.Access.Limits}
	if g.limits == nil {
		g.limits = unlimited{}
	}
	if g.refusals == nil {
		g.refusals = uncounted{}
	}
	return g
}

// unary lets calls in, as their principal.
func (g *guard) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	v, ok := ctx.Value(verdictKey{}).(verdict)
	if !ok {
		v.ctx, v.err = g.admit(ctx, info.FullMethod)
	}
	if v.err != nil {
		return nil, v.err
	}
	if p, ok := auth.From(v.ctx); ok {
		ctx = llm.ForTenant(auth.With(ctx, p), p.Tenant)
	}
	if err := g.confine(ctx, req); err != nil {
		return nil, err
	}
	if err := g.takeRequest(ctx, req, bytesOf(ctx)); err != nil {
		return nil, err
	}
	reply, err := next(ctx, req)
	if p, ok := auth.From(ctx); ok && err == nil && p.Role == auth.RoleOperator {
		withoutIDs(reply)
	}
	return reply, err
}

// early registers services whose calls are verified before their requests are decoded, so that nobody without a credential makes the
// server do more than read a message. The interceptors go by what was found, and a refused call passes them like any other.
type early struct {
	grpc.ServiceRegistrar
	guard *guard
}

// verdict is what was found out about a call before its request was decoded.
type verdict struct {
	ctx context.Context //nolint:containedctx // of the call, with its principal
	err error
}

type verdictKey struct{}

// RegisterService implements grpc.ServiceRegistrar.
func (r early) RegisterService(d *grpc.ServiceDesc, impl any) {
	own := *d
	own.Methods = slices.Clone(d.Methods)
	for i, m := range d.Methods {
		method := "/" + d.ServiceName + "/" + m.MethodName
		own.Methods[i].Handler = func(srv any, ctx context.Context, decode func(any) error, chain grpc.UnaryServerInterceptor) (any, error) {
			v := verdict{}
			if err := safegroup.Contain(func() error { v.ctx, v.err = r.guard.admit(ctx, method); return nil }); err != nil {
				v.err = err
			}
			if v.err != nil {
				decode = func(any) error { return nil }
			}
			return m.Handler(srv, context.WithValue(ctx, verdictKey{}, v), decode, chain)
		}
	}
	r.ServiceRegistrar.RegisterService(&own, impl)
}

// admit verifies who calls and whether that role may call the method at all. The context that it returns has the principal, also where
// that one is refused.
func (g *guard) admit(ctx context.Context, method string) (context.Context, error) {
	r, ok := g.api.Calls[method]
	if !ok {
		return ctx, Denied("no role may call " + method)
	}
	if r.Scope == Open {
		return ctx, nil
	}
	p, err := g.verify(ctx)
	if err != nil {
		return ctx, err
	}
	ctx = llm.ForTenant(auth.With(ctx, p), p.Tenant)
	if !slices.Contains(r.Roles, p.Role) {
		return ctx, Denied("the role " + p.Role.String() + " may not call " + method)
	}
	if r.Scope == OfServer && p.Tenant != auth.DefaultTenant {
		return ctx, Denied(method + " is about all tenants: only keys of the tenant " + auth.DefaultTenant + " may call it")
	}
	return ctx, g.limits.Call(ctx, quota.Caller{Tenant: p.Tenant, Key: p.KeyID})
}

func (g *guard) verify(ctx context.Context) (auth.Principal, error) {
	if g.verifier == nil {
		return auth.Unauthenticated(), nil
	}
	p, err := g.verifier.Verify(ctx, credentialOf(ctx))
	if err == nil && !p.Valid() {
		err = auth.Refuse(auth.CauseClaims)
	}
	if err == nil {
		return p, nil
	}
	if cause := auth.CauseOf(err); cause != "" {
		g.refusals.CredentialRefused(cause)
		return auth.Principal{}, unauthenticated(err)
	}
	return auth.Principal{}, err
}

// credentialOf is what the call came with. More than one authorization is none that anyone could mean.
func credentialOf(ctx context.Context) auth.Credential {
	var c auth.Credential
	md, _ := metadata.FromIncomingContext(ctx)
	if values := md.Get("authorization"); len(values) == 1 {
		if scheme, token, ok := strings.Cut(values[0], " "); ok && strings.EqualFold(scheme, "bearer") {
			c.Token = strings.TrimSpace(token)
		}
	}
	c.Peer = peerOf(ctx)
	return c
}

// mayCall implements Entrance.MayCall.
func (g *guard) mayCall(r *http.Request, method string) error {
	ctx := metadata.NewIncomingContext(r.Context(), metadata.MD{"authorization": r.Header.Values("Authorization")})
	if r.TLS != nil {
		ctx = peer.NewContext(ctx, &peer.Peer{AuthInfo: credentials.TLSInfo{State: *r.TLS}})
	}
	if _, err := g.admit(ctx, method); err != nil {
		st, _ := g.api.Status(err)
		return st.Err()
	}
	return nil
}

// peerOf is the client's certificate, where the handshake verified it.
func peerOf(ctx context.Context) *x509.Certificate {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := from.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 || len(info.State.VerifiedChains[0]) == 0 {
		return nil
	}
	return info.State.VerifiedChains[0][0]
}

// unauthenticated has one text for all causes: who guesses learns nothing.
func unauthenticated(cause error) error {
	return &memory.Error{
		Kind: memory.KindUnauthenticated, Reason: memory.ReasonUnauthenticated, Err: cause,
		Message: `the call has no credential that is good: send "authorization: Bearer <token>" with the token of strata keys create`,
	}
}

// confine keeps a principal that is bound to a user to that one: a request that names nobody is about the bound one, and any other user
// is not found, whether it exists or not. Operators name no user: whether one exists is not theirs to know.
func (g *guard) confine(ctx context.Context, req any) error {
	p, ok := auth.From(ctx)
	m, is := req.(proto.Message)
	if !ok || !is || p.UserID == "" && p.Role != auth.RoleOperator {
		return nil
	}
	in := m.ProtoReflect()
	for _, u := range g.api.userFields(in.Descriptor()) {
		at := in
		if u.resource != nil {
			if !in.Has(u.resource) {
				continue
			}
			at = in.Mutable(u.resource).Message()
		}
		switch named := at.Get(u.field).String(); {
		case p.UserID == "" && named != "":
			return Denied("the role " + p.Role.String() + " may name no user")
		case p.UserID == "":
		case named == "":
			at.Set(u.field, protoreflect.ValueOfString(p.UserID))
		case named != p.UserID:
			if err := g.api.CheckUser(named); err != nil {
				return err
			}
			return store.UserNotFound(memory.UserRef{Tenant: p.Tenant, UserID: named})
		}
	}
	return nil
}

// withoutIDs takes the ids of users and sessions, and the places of messages, out of a reply, however deep.
func withoutIDs(reply any) {
	if m, ok := reply.(proto.Message); ok {
		clearIDs(m.ProtoReflect())
	}
}

func clearIDs(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Name() == "user_id" || f.Name() == "session_id":
			m.Clear(f)
		case f.Kind() != protoreflect.MessageKind || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				clearIDs(v.List().Get(i).Message())
			}
		default:
			clearIDs(v.Message())
		}
		return true
	})
}

// PrincipalOf returns who calls. A call that did not pass the guard has nobody, which is a fault of the server.
func PrincipalOf(ctx context.Context) auth.Principal {
	p, ok := auth.From(ctx)
	if !ok {
		panic("no principal in context: every RPC must pass the guard")
	}
	return p
}
