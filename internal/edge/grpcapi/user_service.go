package grpcapi

import (
	"context"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/enums"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
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
	c := &requests.Checker{}
	ref := c.UserRef(ctx, req.GetUserId())
	if err := c.Err(); err != nil {
		return nil, err
	}
	user, err := s.Users.User(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &memoryv1.GetUserResponse{User: userProto(user)}, nil
}

func (s *UserService) ListUsers(ctx context.Context, req *memoryv1.ListUsersRequest) (*memoryv1.ListUsersResponse, error) {
	c := &requests.Checker{}
	q := store.UserQuery{Tenant: requests.TenantOf(ctx), Limit: c.Page(req.GetPageSize(), 50, 500)}
	last, err := c.PagePosition(req)
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
		out.NextPageToken = requests.PageToken(req, []byte(page[len(page)-1].Ref.UserID))
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
	c, in := &requests.Checker{}, req.GetUser()
	mask := c.Mask(req.GetUpdateMask(), map[string]bool{
		"timezone": in.GetTimezone() != "", "language": in.GetLanguage() != "",
		"extract": in.GetExtract() != memoryv1.ExtractMode_EXTRACT_MODE_UNSPECIFIED,
	})
	u := store.UserUpdate{
		Ref:      memory.UserRef{Tenant: requests.TenantOf(ctx), UserID: c.ID("user.user_id", in.GetUserId())},
		Timezone: requests.Masked(mask, "timezone", timezoneFrom(c, "user.timezone", in.GetTimezone())),
		Language: requests.Masked(mask, "language", languageFrom(c, "user.language", in.GetLanguage())),
		Extract:  requests.Masked(mask, "extract", extractOrAllowFrom(c, "user.extract", in.GetExtract())),
		ETag:     c.Label("user.etag", in.GetEtag()),

		StatePatch: statePatchFrom(c, "state_patch", req.GetStatePatch()),
	}
	return u, c.Err()
}

// timezoneFrom checks an IANA name. The server's own zone, which Go calls Local, is nobody's.
func timezoneFrom(c *requests.Checker, field, s string) string {
	c.Bytes(field, len(s), requests.MaxID)
	if _, err := time.LoadLocation(s); err != nil || s == "Local" {
		c.Fault(field, "is no timezone of the IANA database, such as Asia/Seoul; leave it empty for UTC")
	}
	return s
}

func userProto(u memory.User) *memoryv1.User {
	return &memoryv1.User{
		UserId: u.Ref.UserID, Timezone: u.Timezone, Language: u.Language, Extract: enums.ExtractModes.To(u.Extract),
		CreateTime: timeProto(u.CreateTime), UpdateTime: timeProto(u.UpdateTime), Etag: u.ETag,
		State: structProto(u.State), StateRevision: u.StateRevision,
	}
}
