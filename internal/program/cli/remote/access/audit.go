package access

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// AuditCmd lists who did what to whose memory.
type AuditCmd struct {
	User      string          `placeholder:"USER" help:"Only calls that named this user, also one who was erased."`
	Session   string          `short:"s" placeholder:"SESSION" help:"Only calls that named this session; needs --user."`
	Request   string          `placeholder:"ID" help:"Only calls with this request id."`
	Principal string          `placeholder:"WHO" help:"Only calls of this principal, such as key:ID, certificate:NAME or jwt:SUBJECT."`
	Call      string          `placeholder:"CALL" help:"Only this call, such as EraseUser or UserService/EraseUser."`
	Outcome   string          `placeholder:"CODE" help:"Only calls with this code, such as OK or PERMISSION_DENIED."`
	Since     string          `placeholder:"TIME" help:"Only calls since this time, such as 2026-03-01, 2026-03-01T12:00:00Z, or 24h for the last day."`
	Until     string          `placeholder:"TIME" help:"Only calls before this time, written as with --since."`
	Limit     terminal.AtMost `default:"50" help:"The most entries to list; 0 for all."`
	tenantFlag
}

// Help says what an entry is.
func (c *AuditCmd) Help() string {
	return `The server keeps an entry of what people and admins do, of what anyone deletes and edits, and of who was refused:
who called, when, from where, about whom, and with which outcome; never what is remembered. Users, sessions and request
ids stand in it as keyed hashes. Name an id, and the server finds its entries, also after the user was erased.

The latest comes first. --output json prints each entry as a line of JSON, --output quiet their ids.`
}

// maxAuditEntries is the most that the API returns of entries at once.
const maxAuditEntries = 1000

// Run prints the entries.
func (c *AuditCmd) Run(r *terminal.Run) error {
	req, err := c.request(r)
	if err != nil {
		return err
	}
	all, err := terminal.ListAll(
		r, memoryv1.NewAuditServiceClient, memoryv1.AuditServiceClient.ListAuditEntries, req,
		(*memoryv1.ListAuditEntriesResponse).GetEntries, c.Limit, maxAuditEntries,
	)
	if err != nil {
		return err
	}
	if r.Output == "json" {
		return auditLines(r.Env.Stdout, all.GetEntries())
	}
	return r.Show(all, terminal.Views{
		Table: func(w io.Writer) {
			r.Table(w, slices.Concat(terminal.Whole.Columns("time"), terminal.Cut.Columns("principal", "call", "outcome", "user"), terminal.Spare.Columns("about", "items"),
				terminal.Cut.Columns("address")), auditRows(all.GetEntries()))
			terminal.More(r, all.GetNextPageToken())
		},
		Quiet: func(w io.Writer) {
			for _, e := range all.GetEntries() {
				fmt.Fprintln(w, e.GetAuditEntryId())
			}
		},
	})
}

func (c *AuditCmd) request(r *terminal.Run) (*memoryv1.ListAuditEntriesRequest, error) {
	if c.Session != "" && c.User == "" {
		return nil, terminal.Usagef("--session: give --user too")
	}
	since, err := c.time(r, "--since", c.Since)
	if err != nil {
		return nil, err
	}
	until, err := c.time(r, "--until", c.Until)
	if err != nil {
		return nil, err
	}
	return &memoryv1.ListAuditEntriesRequest{
		Tenant: c.Tenant, UserId: c.User, SessionId: c.Session, RequestId: c.Request, Principal: c.Principal, Call: c.Call,
		Outcome: strings.ToUpper(c.Outcome), Since: since, Until: until,
	}, nil
}

// time reads a day, a time, or how long ago.
func (c *AuditCmd) time(r *terminal.Run, flag, text string) (*timestamppb.Timestamp, error) {
	if text == "" {
		return nil, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return timestamppb.New(t), nil
		}
	}
	ago, err := time.ParseDuration(text)
	if err != nil || ago < 0 {
		return nil, terminal.Usagef("%s %s: write a day such as 2026-03-01, a time such as 2026-03-01T12:00:00Z, or how long ago, such as 24h", flag, text)
	}
	return timestamppb.New(r.Env.Now().Add(-ago)), nil
}

func auditLines(w io.Writer, entries []*memoryv1.AuditEntry) error {
	out := &bytes.Buffer{}
	for _, e := range entries {
		b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode an entry: %w", err)
		}
		if err := json.Compact(out, b); err != nil {
			return fmt.Errorf("compact an entry: %w", err)
		}
		out.WriteByte('\n')
	}
	_, err := out.WriteTo(w)
	return err
}

func auditRows(entries []*memoryv1.AuditEntry) [][]string {
	var rows [][]string
	for _, e := range entries {
		_, call, _ := strings.Cut(e.GetCall(), "/")
		if e.GetDryRun() {
			call += " (dry)"
		}
		outcome := e.GetReason()
		if outcome == "" {
			outcome = e.GetOutcome()
		}
		about := strings.TrimSpace(e.GetThing() + " " + e.GetTargetTenant())
		items := ""
		if e.GetItems() != 0 {
			items = fmt.Sprint(e.GetItems())
		}
		user := e.GetUserHash()
		rows = append(rows, []string{
			terminal.Clock(e.GetCreateTime()), terminal.OneLine(e.GetPrincipal()), call, outcome, user[:min(len(user), 8)],
			terminal.OneLine(about), items, terminal.OneLine(e.GetAddress()),
		})
	}
	return rows
}
