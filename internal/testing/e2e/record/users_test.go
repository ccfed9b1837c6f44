package record_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
)

func TestUsers(t *testing.T) {
	t.Parallel()
	t.Run("an unknown user is NOT_FOUND until something is recorded", func(t *testing.T) {
		h := e2e.Start(t)
		_, err := h.Users().GetUser(h.Ctx, &memoryv1.GetUserRequest{UserId: "ada"})
		e2e.Refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
		h.RecordAs(t, "ada")
		u := e2e.Must(h.Users().GetUser(h.Ctx, &memoryv1.GetUserRequest{UserId: "ada"}))(t).GetUser()
		if u.GetUserId() != "ada" || u.GetTimezone() != "" || u.GetCreateTime() == nil || u.GetEtag() == "" || u.GetExtract() != memoryv1.ExtractMode_EXTRACT_MODE_ALLOW {
			t.Errorf("user %v", u)
		}
	})
	t.Run("an update creates the user, and is kept over a restart", func(t *testing.T) {
		h := e2e.Start(t)
		u := &memoryv1.User{UserId: "ada", Timezone: "Asia/Seoul", Language: "KO", Extract: memoryv1.ExtractMode_EXTRACT_MODE_NONE}
		got := e2e.Must(h.Users().UpdateUser(h.Ctx, &memoryv1.UpdateUserRequest{User: u}))(t).GetUser()
		if got.GetTimezone() != "Asia/Seoul" || got.GetLanguage() != "ko" || got.GetExtract() != memoryv1.ExtractMode_EXTRACT_MODE_NONE {
			t.Errorf("user %v", got)
		}
		h.Stop()
		h = e2e.StartOn(t, h.Data, e2e.NoChange)
		if again := e2e.Must(h.Users().GetUser(h.Ctx, &memoryv1.GetUserRequest{UserId: "ada"}))(t).GetUser(); !proto.Equal(got, again) {
			t.Errorf("before %v\nafter %v", got, again)
		}
	})
	t.Run("an update changes what its mask names, and takes away what it names without a value", func(t *testing.T) {
		h := e2e.Start(t)
		u := &memoryv1.User{UserId: "ada", Timezone: "Asia/Seoul", Language: "ko"}
		e2e.Must(h.Users().UpdateUser(h.Ctx, &memoryv1.UpdateUserRequest{User: u}))(t)
		got := e2e.Must(h.Users().UpdateUser(h.Ctx, &memoryv1.UpdateUserRequest{
			User: &memoryv1.User{UserId: "ada", Language: "en"}, UpdateMask: e2e.MaskOf("timezone"),
		}))(t).GetUser()
		if got.GetTimezone() != "" || got.GetLanguage() != "ko" {
			t.Errorf("user %v", got)
		}
	})
	t.Run("a stale etag is refused, and with an etag nobody is created", func(t *testing.T) {
		h := e2e.Start(t)
		update := func(timezone, etag string) (*memoryv1.UpdateUserResponse, error) {
			return h.Users().UpdateUser(h.Ctx, &memoryv1.UpdateUserRequest{User: &memoryv1.User{UserId: "ada", Timezone: timezone, Etag: etag}})
		}
		_, err := update("Asia/Seoul", "some")
		e2e.Refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
		first := e2e.Must(update("Asia/Seoul", ""))(t).GetUser().GetEtag()
		e2e.Must(update("Europe/Rome", first))(t)
		_, err = update("Europe/Bern", first)
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "user.timezone")
		_, err = update("Europe/Zurich", first)
		e2e.Refused(t, err, codes.Aborted, "ETAG_MISMATCH", "")
	})
	t.Run("users are listed by id, in pages", func(t *testing.T) {
		h := e2e.Start(t)
		for _, id := range []string{"eve", "ada", "Bob"} {
			h.RecordAs(t, id)
		}
		req, seen := &memoryv1.ListUsersRequest{PageSize: 2}, []string(nil)
		for range 2 {
			page := e2e.Must(h.Users().ListUsers(h.Ctx, req))(t)
			for _, u := range page.GetUsers() {
				seen = append(seen, u.GetUserId())
			}
			req.PageToken = page.GetNextPageToken()
		}
		if req.GetPageToken() != "" || !slices.Equal(seen, []string{"Bob", "ada", "eve"}) {
			t.Errorf("users %q, token %q", seen, req.GetPageToken())
		}
	})
	t.Run("bad input names its field", func(t *testing.T) {
		h := e2e.Start(t)
		for name, row := range map[string]struct {
			user  *memoryv1.User
			mask  []string
			field string
		}{
			"no id":                     {&memoryv1.User{}, nil, "user.user_id"},
			"an over-long id":           {&memoryv1.User{UserId: strings.Repeat("x", 256)}, nil, "user.user_id"},
			"a timezone that is none":   {&memoryv1.User{UserId: "ada", Timezone: "Mars/Olympus"}, nil, "user.timezone"},
			"the server's own timezone": {&memoryv1.User{UserId: "ada", Timezone: "Local"}, nil, "user.timezone"},
			"a path for a timezone":     {&memoryv1.User{UserId: "ada", Timezone: "../../etc/passwd"}, nil, "user.timezone"},
			"a language that is none":   {&memoryv1.User{UserId: "ada", Language: "??"}, nil, "user.language"},
			"an unknown extract mode":   {&memoryv1.User{UserId: "ada", Extract: 9}, nil, "user.extract"},
			"a mask of other fields":    {&memoryv1.User{UserId: "ada"}, []string{"create_time"}, "update_mask"},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := h.Users().UpdateUser(h.Ctx, &memoryv1.UpdateUserRequest{User: row.user, UpdateMask: e2e.MaskOf(row.mask...)})
				e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", row.field)
			})
		}
	})
}
