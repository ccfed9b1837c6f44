package remote

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// UsersCmd groups the commands about users.
type UsersCmd struct {
	List   usersListCmd   `cmd:"" help:"List the users by their ids."`
	Show   usersShowCmd   `cmd:"" aliases:"get" help:"Show a user."`
	Edit   usersEditCmd   `cmd:"" aliases:"set" help:"Set a user's timezone, language and state, and whether facts are learnt."`
	Export usersExportCmd `cmd:"" help:"Write everything that is stored of a user to a file."`
	Import usersImportCmd `cmd:"" help:"Store a user from a file of users export."`
	Erase  usersEraseCmd  `cmd:"" help:"Erase a user with everything, for good."`
}

type usersListCmd struct {
	Limit terminal.AtMost `default:"50" help:"The most users to list; 0 for all."`
}

// Run prints the users, page by page from the server.
func (c *usersListCmd) Run(r *terminal.Run) error {
	all, err := terminal.ListAll(
		r, memoryv1.NewUserServiceClient, memoryv1.UserServiceClient.ListUsers, &memoryv1.ListUsersRequest{},
		(*memoryv1.ListUsersResponse).GetUsers, c.Limit, terminal.MaxUsers,
	)
	if err != nil {
		return err
	}
	return r.Show(all, terminal.Views{
		Table: func(w io.Writer) {
			r.Table(w, slices.Concat(terminal.Whole.Columns("created"), terminal.Cut.Columns("timezone", "language"), terminal.Whole.Columns("extract"), terminal.Cut.Columns("user")),
				userRows(all.GetUsers()))
			terminal.More(r, all.GetNextPageToken())
		},
		Quiet: func(w io.Writer) {
			for _, u := range all.GetUsers() {
				fmt.Fprintln(w, u.GetUserId())
			}
		},
	})
}

func userRows(users []*memoryv1.User) [][]string {
	var rows [][]string
	for _, u := range users {
		rows = append(rows, []string{
			terminal.Clock(u.GetCreateTime()), terminal.OneLine(u.GetTimezone()), terminal.OneLine(u.GetLanguage()),
			extractName(u.GetExtract()), terminal.OneLine(u.GetUserId()),
		})
	}
	return rows
}

// extractName returns whether facts are learnt.
func extractName(m memoryv1.ExtractMode) string {
	if m == memoryv1.ExtractMode_EXTRACT_MODE_NONE {
		return "none"
	}
	return "allow"
}

// extractOf is the mode that a flag names.
func extractOf(name string) memoryv1.ExtractMode {
	return memoryv1.ExtractMode(memoryv1.ExtractMode_value["EXTRACT_MODE_"+strings.ToUpper(name)])
}

type usersShowCmd struct {
	User string `arg:"" help:"The user."`
}

// Run prints the user.
func (c *usersShowCmd) Run(r *terminal.Run) error {
	reply, err := terminal.Ask(r, memoryv1.NewUserServiceClient, memoryv1.UserServiceClient.GetUser, &memoryv1.GetUserRequest{UserId: c.User})
	if err != nil {
		return err
	}
	return showUser(r, reply.GetUser())
}

func showUser(r *terminal.Run, u *memoryv1.User) error {
	return r.Show(u, terminal.Views{
		Table: func(w io.Writer) { r.Fields(w, userFields(u)) },
		Quiet: func(w io.Writer) { fmt.Fprintln(w, u.GetUserId()) },
	})
}

func userFields(u *memoryv1.User) [][]string {
	return [][]string{
		{"user", terminal.OneLine(u.GetUserId())},
		{"timezone", terminal.OneLine(u.GetTimezone())},
		{"language", terminal.OneLine(u.GetLanguage())},
		{"extract", extractName(u.GetExtract())},
		{"state", objectText(u.GetState())},
		{"created", terminal.Clock(u.GetCreateTime())},
		{"updated", terminal.Clock(u.GetUpdateTime())},
		{"etag", terminal.OneLine(u.GetEtag())},
	}
}

type usersEditCmd struct {
	User     string  `arg:"" help:"The user; created when there is none."`
	Timezone *string `placeholder:"ZONE" help:"The IANA name of the timezone, such as Asia/Seoul; empty for UTC."`
	Language *string `placeholder:"TAG" help:"The language as a BCP 47 tag, such as ko; empty when unknown."`
	Extract  string  `default:"" enum:",allow,none" placeholder:"MODE" help:"Whether facts are learnt from the user's messages: allow or none."`
	State    string  `placeholder:"JSON" help:"A JSON object to merge into the user's state, such as {\"notes/tone\": \"formal\"}; null deletes a key."`
	ETag     string  `name:"etag" help:"Refuse the change unless this is the user's etag."`
}

// Run changes the user and prints it.
func (c *usersEditCmd) Run(r *terminal.Run) error {
	req, err := c.request()
	if err != nil {
		return err
	}
	reply, err := terminal.Ask(r, memoryv1.NewUserServiceClient, memoryv1.UserServiceClient.UpdateUser, req)
	if err != nil {
		return err
	}
	return showUser(r, reply.GetUser())
}

func (c *usersEditCmd) request() (*memoryv1.UpdateUserRequest, error) {
	u := &memoryv1.User{UserId: c.User, Etag: c.ETag}
	mask := &fieldmaskpb.FieldMask{}
	if c.Timezone != nil {
		u.Timezone, mask.Paths = *c.Timezone, append(mask.Paths, "timezone")
	}
	if c.Language != nil {
		u.Language, mask.Paths = *c.Language, append(mask.Paths, "language")
	}
	if c.Extract != "" {
		u.Extract, mask.Paths = extractOf(c.Extract), append(mask.Paths, "extract")
	}
	patch, err := parseObject("--state", c.State)
	if err != nil {
		return nil, err
	}
	if len(mask.Paths) == 0 && patch == nil {
		return nil, terminal.Usagef("nothing to change: give --timezone, --language, --extract or --state")
	}
	return &memoryv1.UpdateUserRequest{User: u, UpdateMask: mask, StatePatch: patch}, nil
}
