package grpcserver

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stratamem/strata/internal/access/audit"
	"github.com/stratamem/strata/internal/access/auth"
)

// Auditor keeps entries of calls.
type Auditor interface {
	// Write must store the entry before it returns. Its error is what the caller gets in place of the reply.
	Write(ctx context.Context, c audit.Call) error
	// Note must have it stored soon, and not block.
	Note(ctx context.Context, c audit.Call)
	// NoteRefused is Note of a call that was refused; of too many some may have no entry.
	NoteRefused(ctx context.Context, c audit.Call)
}

// auditor says which calls have entries, and makes them.
type auditor struct {
	to     Auditor // nil while the audit is off
	agents bool    // whether what agents do each day has entries too
	api    API
	log    *slog.Logger
}

// keeping is how the entry of a call is kept.
type keeping int

const (
	noEntry     keeping = iota
	entrySoon           // the call does not wait for it
	entryFirst          // stored before the caller has the reply
	entrySparse         // of a refused call: with too many others it is left out
)

// keep decides about a call's entry by its row in the table, who called and what came of it. Whoever is refused has an entry whatever he
// called, also where the error says that another user than his own is not found.
func (a *auditor) keep(p auth.Principal, d done) keeping {
	row, outcome := a.api.Calls[d.method].Audited, status.Code(d.err)
	isDue := row == Always || row == ByAdmins && p.Role == auth.RoleAdmin && p.Method != auth.MethodOff
	named := a.api.namedUser(d.req)
	switch {
	case outcome == codes.Unauthenticated, outcome == codes.PermissionDenied, isDue && outcome == codes.ResourceExhausted,
		outcome == codes.NotFound && p.UserID != "" && named != "" && named != p.UserID:
		return entrySparse
	case isDue && (outcome == codes.Unavailable || outcome == codes.DeadlineExceeded || outcome == codes.Canceled):
		return entrySoon // a store that did not take the change would have the caller wait as long again for its entry
	case isDue:
		return entryFirst
	case row == ByAdmins && a.agents:
		return entrySoon
	}
	return noEntry
}

// unary makes the entries of calls that are no streams. It stands outside what maps errors, and sees what the caller gets.
func (a *auditor) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	reply, err := next(ctx, req)
	found := verdict{ctx: ctx}
	if v, ok := ctx.Value(verdictKey{}).(verdict); ok {
		found = v
	}
	if e := a.done(found, done{info.FullMethod, req, reply, err}); e != nil {
		return nil, e
	}
	return reply, err
}

// done is a call that is over.
type done struct {
	method string
	req    any // nil where none was decoded
	reply  any
	err    error // as the caller gets it
}

// done makes the entry of a call, where it is to have one. Its error is what the caller gets in place of the reply.
func (a *auditor) done(found verdict, d done) error {
	if a.to == nil {
		return nil
	}
	ctx := found.ctx
	p, _ := auth.From(ctx)
	switch a.keep(p, d) {
	case entrySparse:
		a.to.NoteRefused(ctx, a.callOf(found, p, d))
	case entrySoon:
		a.to.Note(ctx, a.callOf(found, p, d))
	case entryFirst:
		if err := a.to.Write(ctx, a.callOf(found, p, d)); err != nil && d.err == nil {
			return a.status(ctx, d.method, 0, err)
		}
	}
	return nil
}

// callOf is what the audit records of a call: nothing that its caller wrote but ids, which are hashed or name things that are there.
func (a *auditor) callOf(found verdict, p auth.Principal, d done) audit.Call {
	c := audit.Call{
		Principal: p, Method: strings.TrimPrefix(d.method, "/"+APIPackage+"."), Outcome: code.Code(status.Code(d.err)).String(), //nolint:gosec // below 17
		Reason: reasonOf(d.err), Items: a.itemsOf(d.reply), Address: addressOf(found.ctx), UserAgent: userAgentOf(found.ctx),
	}
	if refusal, ok := errors.AsType[*auth.Refusal](found.err); ok {
		c.KeyID, c.Reason = refusal.KeyID, "CREDENTIAL_"+strings.ToUpper(string(refusal.Cause))
	} else if auth.CauseOf(found.err) == auth.CauseNone {
		c.Reason = "CREDENTIAL_NONE"
	}
	req, ok := d.req.(proto.Message)
	if !ok || c.Outcome == code.Code_UNAUTHENTICATED.String() { // whose request was not read
		return c
	}
	c.UserID, c.SessionID, c.RequestID = a.api.namedUser(req), textIn(req, "session_id"), textIn(req, "request_id")
	c.DryRun = flagIn(req, "validate_only") || flagIn(req, "dry_run")
	if d.err == nil { // so these are there
		c.Target, c.Thing = textIn(req, "tenant"), thingOf(req, d.reply)
	}
	return c
}

func reasonOf(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// textIn is a text of the message, or of the one resource in it that has it; "" where there is none.
func textIn(m proto.Message, name protoreflect.Name) string {
	in := m.ProtoReflect()
	if f := in.Descriptor().Fields().ByName(name); f != nil && f.Kind() == protoreflect.StringKind && !f.IsList() {
		return in.Get(f).String()
	}
	text := ""
	in.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Kind() != protoreflect.MessageKind || f.IsList() || f.IsMap() {
			return true
		}
		if g := f.Message().Fields().ByName(name); g != nil && g.Kind() == protoreflect.StringKind && !g.IsList() {
			text = v.Message().Get(g).String()
		}
		return text == ""
	})
	return text
}

func flagIn(m proto.Message, name protoreflect.Name) bool {
	f := m.ProtoReflect().Descriptor().Fields().ByName(name)
	return f != nil && f.Kind() == protoreflect.BoolKind && m.ProtoReflect().Get(f).Bool()
}

// thingOf names what a call was about that has an id of ours, as its request or its reply names it.
func thingOf(req proto.Message, reply any) string {
	messages := []proto.Message{req}
	if m, ok := reply.(proto.Message); ok {
		messages = append(messages, m)
	}
	for _, kind := range []string{"fact", "job", "key"} {
		for _, m := range messages {
			if id := textIn(m, protoreflect.Name(kind+"_id")); id != "" {
				return kind + ":" + id
			}
		}
	}
	return ""
}

// itemsOf is how many things a reply lists, or says were changed.
func (a *auditor) itemsOf(reply any) int64 {
	m, ok := reply.(proto.Message)
	if !ok {
		return 0
	}
	return a.api.Items(m)
}

// addressOf is where a call came from, without its port.
func addressOf(ctx context.Context) string {
	from, ok := peer.FromContext(ctx)
	if !ok || from.Addr == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(from.Addr.String())
	if err != nil {
		return from.Addr.String()
	}
	return host
}

func userAgentOf(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)
	return strings.Join(md.Get("user-agent"), " ")
}
