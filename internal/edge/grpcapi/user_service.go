package grpcapi

import (
	"context"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcserver"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// UserService serves what holds for all sessions of a user.
type UserService struct {
	memoryv1.UnimplementedUserServiceServer
	Users    users
	Eraser   userEraser
	Porter   userPorter
	Patience time.Duration // how long the client of a stream may send nothing
}

// users reads and changes users.
type users interface {
	User(ctx context.Context, ref memory.UserRef) (memory.User, error)
	ListUsers(ctx context.Context, q store.UserQuery) (page []memory.User, more bool, err error)
	UpdateUser(ctx context.Context, u store.UserUpdate) (memory.User, error)
}

func (s *UserService) GetUser(ctx context.Context, req *memoryv1.GetUserRequest) (*memoryv1.GetUserResponse, error) {
	c := &checker{}
	ref := c.userRef(ctx, req.GetUserId())
	if err := c.err(); err != nil {
		return nil, err
	}
	user, err := s.Users.User(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &memoryv1.GetUserResponse{User: userProto(user)}, nil
}

func (s *UserService) ListUsers(ctx context.Context, req *memoryv1.ListUsersRequest) (*memoryv1.ListUsersResponse, error) {
	c := &checker{}
	q := store.UserQuery{Tenant: tenantOf(ctx), Limit: c.page(req.GetPageSize(), 50, 500)}
	last, err := c.pagePosition(req)
	if err != nil {
		return nil, err
	}
	q.After = string(last)
	if bound := grpcserver.PrincipalOf(ctx).UserID; bound != "" {
		return s.listOnly(ctx, memory.UserRef{Tenant: q.Tenant, UserID: bound})
	}
	page, more, err := s.Users.ListUsers(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.ListUsersResponse{} // 500 users stay far below a reply's limit
	for _, u := range page {
		out.Users = append(out.Users, userProto(u))
	}
	if more {
		out.NextPageToken = pageToken(req, []byte(page[len(page)-1].Ref.UserID))
	}
	return out, nil
}

// listOnly is the list for a principal that is bound to a user: that one, once it is stored.
func (s *UserService) listOnly(ctx context.Context, ref memory.UserRef) (*memoryv1.ListUsersResponse, error) {
	user, err := s.Users.User(ctx, ref)
	if memory.IsGone(err) {
		return &memoryv1.ListUsersResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	return &memoryv1.ListUsersResponse{Users: []*memoryv1.User{userProto(user)}}, nil
}

func (s *UserService) UpdateUser(ctx context.Context, req *memoryv1.UpdateUserRequest) (*memoryv1.UpdateUserResponse, error) {
	update, err := userUpdate(ctx, req)
	if err != nil {
		return nil, err
	}
	user, err := s.Users.UpdateUser(ctx, update)
	if err != nil {
		return nil, err
	}
	return &memoryv1.UpdateUserResponse{User: userProto(user)}, nil
}

func userUpdate(ctx context.Context, req *memoryv1.UpdateUserRequest) (store.UserUpdate, error) {
	c, in := &checker{}, req.GetUser()
	mask := c.mask(req.GetUpdateMask(), map[string]bool{
		"timezone": in.GetTimezone() != "", "language": in.GetLanguage() != "",
		"extract": in.GetExtract() != memoryv1.ExtractMode_EXTRACT_MODE_UNSPECIFIED,
	})
	u := store.UserUpdate{
		Ref:      memory.UserRef{Tenant: tenantOf(ctx), UserID: c.id("user.user_id", in.GetUserId())},
		Timezone: masked(mask, "timezone", timezoneFrom(c, "user.timezone", in.GetTimezone())),
		Language: masked(mask, "language", languageFrom(c, "user.language", in.GetLanguage())),
		Extract:  masked(mask, "extract", extractOrAllowFrom(c, "user.extract", in.GetExtract())),
		ETag:     c.label("user.etag", in.GetEtag()),

		StatePatch: statePatchFrom(c, "state_patch", req.GetStatePatch()),
	}
	return u, c.err()
}

// timezoneFrom checks an IANA name. The server's own zone, which Go calls Local, is nobody's.
func timezoneFrom(c *checker, field, s string) string {
	c.bytes(field, len(s), maxID)
	if _, err := time.LoadLocation(s); err != nil || s == "Local" {
		c.fault(field, "is no timezone of the IANA database, such as Asia/Seoul; leave it empty for UTC")
	}
	return s
}

func userProto(u memory.User) *memoryv1.User {
	return &memoryv1.User{
		UserId: u.Ref.UserID, Timezone: u.Timezone, Language: u.Language, Extract: extractModes.to(u.Extract),
		CreateTime: timeProto(u.CreateTime), UpdateTime: timeProto(u.UpdateTime), Etag: u.ETag,
		State: structProto(u.State), StateRevision: u.StateRevision,
	}
}
