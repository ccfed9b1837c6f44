package remote

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// RetentionCmd lists what the profiles' retention lets go.
type RetentionCmd struct{}

// Help says what becomes of what is listed.
func (c *RetentionCmd) Help() string {
	return `The server looks at all users when it starts and each hour, and erases what is due by the retention of its profiles
(profiles.NAME.retention in the configuration): sessions nobody speaks in, old messages, facts that are old or that no
context uses, and what is above the greatest number of messages and facts. Pinned messages and facts are always kept.

This command lists what is due now and erases nothing. A server with --retention report erases nothing either: so a new
retention can be looked at before it counts.`
}

// Run lists all that is due.
func (c *RetentionCmd) Run(r *terminal.Run) error {
	all := &memoryv1.ListExpiringResponse{}
	for token := ""; ; {
		var page *memoryv1.ListExpiringResponse
		ask := func(ctx context.Context, client memoryv1.MaintenanceServiceClient) (err error) {
			page, err = client.ListExpiring(ctx, &memoryv1.ListExpiringRequest{PageToken: token})
			return err
		}
		err := terminal.CallOn(r, memoryv1.NewMaintenanceServiceClient, ask)
		if err != nil {
			return err
		}
		all.Expiring = append(all.Expiring, page.GetExpiring()...)
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	return r.Show(all, terminal.Views{
		Table: func(w io.Writer) {
			r.Table(w, slices.Concat(terminal.Cut.Columns("user", "what"), terminal.Whole.Columns("rule")), expiringRows(all.GetExpiring()))
		},
		Quiet: func(w io.Writer) {
			for _, e := range all.GetExpiring() {
				fmt.Fprintln(w, strings.TrimSpace(e.GetSessionId()+e.GetFactId()))
			}
		},
	})
}

func expiringRows(all []*memoryv1.Expiring) [][]string {
	var rows [][]string
	ids := make([]string, len(all))
	for i, e := range all {
		ids[i] = e.GetFactId()
	}
	short := terminal.ShortIDs(ids)
	for i, e := range all {
		what := "fact " + short[i]
		switch {
		case e.GetMessages() > 0:
			what = fmt.Sprintf("%d messages of session %s", e.GetMessages(), terminal.OneLine(e.GetSessionId()))
		case e.GetSessionId() != "":
			what = "session " + terminal.OneLine(e.GetSessionId())
		}
		rule := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(e.GetRule().String(), "RETENTION_RULE_")), "_", " ")
		rows = append(rows, []string{terminal.OneLine(e.GetUserId()), what, rule})
	}
	return rows
}
