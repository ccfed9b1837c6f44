// Package access has the commands about who may call a server and what was called: keys, tenants and the audit. They call a running
// server.
package access

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// KeysCmd groups the commands about API keys.
type KeysCmd struct {
	Create keysCreateCmd `cmd:"" help:"Make a key and print its token, once."`
	List   keysListCmd   `cmd:"" help:"List the keys, without their tokens."`
	Rotate keysRotateCmd `cmd:"" help:"Give a key a new token; the old one is good for a while still."`
	Revoke keysRevokeCmd `cmd:"" help:"End a key for good."`
}

// tenantFlag names the tenant that a key is of.
type tenantFlag struct {
	Tenant string `placeholder:"NAME" help:"The tenant; that of your own key without. Only admins of the tenant default may name another one."`
}

type keysCreateCmd struct {
	Role string        `required:"" enum:"agent,user,operator,admin" placeholder:"ROLE" help:"What the key may do: agent (record, read, correct), user (that, export and erase, of one user), operator (background work) or admin (everything in the tenant)."`
	User string        `placeholder:"USER" help:"The one user that the key may act for. Required with user, allowed with agent."`
	Name string        `placeholder:"TEXT" help:"A name for people."`
	TTL  time.Duration `name:"ttl" placeholder:"DURATION" help:"How long the key is good, such as 720h; for ever without."`
	tenantFlag
}

// Run makes the key.
func (c *keysCreateCmd) Run(r *terminal.Run) error {
	req := &memoryv1.CreateKeyRequest{
		Tenant: c.Tenant, Role: memoryv1.KeyRole(memoryv1.KeyRole_value["KEY_ROLE_"+strings.ToUpper(c.Role)]), UserId: c.User, Name: c.Name,
	}
	if c.TTL != 0 {
		req.Ttl = durationpb.New(c.TTL)
	}
	reply, err := terminal.Ask(r, memoryv1.NewKeyServiceClient, memoryv1.KeyServiceClient.CreateKey, req)
	if err != nil {
		return err
	}
	return r.Show(reply, tokenViews(r, reply.GetKey(), reply.GetToken()))
}

// tokenViews show a token. It stands alone on stdout where a program reads it.
func tokenViews(r *terminal.Run, k *memoryv1.Key, token string) terminal.Views {
	return terminal.Views{
		Table: func(w io.Writer) {
			r.Fields(w, keyFields(k))
			fmt.Fprintln(w, "token", token) // in one line however narrow the table is: who copies it must get all of it
			fmt.Fprintln(r.Env.Stderr, "keep the token now: it is stored nowhere and shown once; give it to clients as STRATA_KEY or --key-file")
		},
		Quiet: func(w io.Writer) { fmt.Fprintln(w, token) },
	}
}

func keyRoleName(r memoryv1.KeyRole) string {
	return strings.ToLower(strings.TrimPrefix(r.String(), "KEY_ROLE_"))
}

func keyFields(k *memoryv1.Key) [][]string {
	fields := [][]string{
		{"key", k.GetKeyId()},
		{"tenant", terminal.OneLine(k.GetTenant())},
		{"role", keyRoleName(k.GetRole())},
		{"user", terminal.OneLine(k.GetUserId())},
		{"name", terminal.OneLine(k.GetName())},
		{"created", terminal.Clock(k.GetCreateTime())},
	}
	if k.GetExpireTime() != nil {
		fields = append(fields, []string{"expires", terminal.Clock(k.GetExpireTime())})
	}
	if k.GetOldTokenExpireTime() != nil {
		fields = append(fields, []string{"old token good until", terminal.Clock(k.GetOldTokenExpireTime())})
	}
	if k.GetRevokeTime() != nil {
		fields = append(fields, []string{"revoked", terminal.Clock(k.GetRevokeTime())})
	}
	return fields
}

type keysListCmd struct {
	Limit terminal.AtMost `default:"50" help:"The most keys to list; 0 for all."`
	tenantFlag
}

// Run prints the keys.
func (c *keysListCmd) Run(r *terminal.Run) error {
	all, err := terminal.ListAll(
		r, memoryv1.NewKeyServiceClient, memoryv1.KeyServiceClient.ListKeys, &memoryv1.ListKeysRequest{Tenant: c.Tenant},
		(*memoryv1.ListKeysResponse).GetKeys, c.Limit, terminal.MaxUsers,
	)
	if err != nil {
		return err
	}
	return r.Show(all, terminal.Views{
		Table: func(w io.Writer) {
			var rows [][]string
			for _, k := range all.GetKeys() {
				rows = append(rows, []string{
					k.GetKeyId(), keyRoleName(k.GetRole()), keyState(r, k), terminal.Clock(k.GetLastUseTime()),
					terminal.OneLine(k.GetUserId()), terminal.OneLine(k.GetName()),
				})
			}
			r.Table(w, slices.Concat(terminal.Whole.Columns("key", "role", "state"), terminal.Spare.Columns("last used"), terminal.Cut.Columns("user", "name")), rows)
			terminal.More(r, all.GetNextPageToken())
		},
		Quiet: func(w io.Writer) {
			for _, k := range all.GetKeys() {
				fmt.Fprintln(w, k.GetKeyId())
			}
		},
	})
}

// keyState says whether the key is good.
func keyState(r *terminal.Run, k *memoryv1.Key) string {
	switch {
	case k.GetRevokeTime() != nil:
		return "revoked"
	case k.GetExpireTime() == nil:
		return "good"
	case !r.Env.Now().Before(k.GetExpireTime().AsTime()):
		return "expired"
	}
	return "good until " + terminal.Clock(k.GetExpireTime())
}

type keysRotateCmd struct {
	Key   string        `arg:"" help:"The key's id, as keys list shows it."`
	Grace time.Duration `default:"24h" help:"How long the old token is good still; 0 to end it now."`
	tenantFlag
}

// Run gives the key a new token.
func (c *keysRotateCmd) Run(r *terminal.Run) error {
	var reply *memoryv1.RotateKeyResponse
	err := terminal.CallOn(r, memoryv1.NewKeyServiceClient, func(ctx context.Context, client memoryv1.KeyServiceClient) (err error) {
		reply, err = client.RotateKey(ctx, &memoryv1.RotateKeyRequest{
			Tenant: c.Tenant, KeyId: keyIDOf(c.Key), Grace: durationpb.New(c.Grace),
		})
		return err
	})
	if err != nil {
		return err
	}
	return r.Show(reply, tokenViews(r, reply.GetKey(), reply.GetToken()))
}

// keyIDOf is the id in the prefix of a token, strata_<id>_; whatever else it is given it returns as it is.
func keyIDOf(s string) string {
	id, isPrefix := strings.CutPrefix(s, "strata_")
	if !isPrefix {
		return s
	}
	return strings.TrimSuffix(id, "_")
}

type keysRevokeCmd struct {
	Key string `arg:"" help:"The key's id, as keys list shows it."`
	tenantFlag
}

// Run ends the key.
func (c *keysRevokeCmd) Run(r *terminal.Run) error {
	req := &memoryv1.RevokeKeyRequest{Tenant: c.Tenant, KeyId: keyIDOf(c.Key)}
	reply, err := terminal.Ask(r, memoryv1.NewKeyServiceClient, memoryv1.KeyServiceClient.RevokeKey, req)
	if err != nil {
		return err
	}
	return r.Show(reply.GetKey(), terminal.Views{
		Table: func(w io.Writer) { r.Fields(w, keyFields(reply.GetKey())) },
		Quiet: func(w io.Writer) { fmt.Fprintln(w, reply.GetKey().GetKeyId()) },
	})
}

// TenantsCmd groups the commands about tenants.
type TenantsCmd struct {
	List    tenantsListCmd    `cmd:"" help:"List the tenants that have a user or a key, or about which something was decided."`
	Show    tenantsShowCmd    `cmd:"" help:"Show a tenant's limits and what it used of them."`
	Set     tenantsSetCmd     `cmd:"" help:"Give a tenant limits or a profile of its own."`
	Suspend tenantsSuspendCmd `cmd:"" help:"Refuse every call of a tenant until it is resumed; what is stored stays."`
	Resume  tenantsResumeCmd  `cmd:"" help:"Let a tenant call again."`
	Erase   tenantsEraseCmd   `cmd:"" help:"Erase a tenant: all its users, then its keys and settings."`
}

type tenantsListCmd struct {
	Limit terminal.AtMost `default:"50" help:"The most tenants to list; 0 for all."`
}

// Run prints the tenants.
func (c *tenantsListCmd) Run(r *terminal.Run) error {
	all, err := terminal.ListAll(
		r, memoryv1.NewTenantServiceClient, memoryv1.TenantServiceClient.ListTenants, &memoryv1.ListTenantsRequest{},
		(*memoryv1.ListTenantsResponse).GetTenants, c.Limit, terminal.MaxUsers,
	)
	if err != nil {
		return err
	}
	return r.Show(all, terminal.Views{
		Table: func(w io.Writer) {
			r.Table(w, slices.Concat(terminal.Whole.Columns("suspended"), terminal.Cut.Columns("tenant")), tenantRows(all.GetTenants()))
			terminal.More(r, all.GetNextPageToken())
		},
		Quiet: func(w io.Writer) {
			for _, t := range all.GetTenants() {
				fmt.Fprintln(w, t.GetTenant())
			}
		},
	})
}

func tenantRows(all []*memoryv1.Tenant) [][]string {
	var rows [][]string
	for _, t := range all {
		rows = append(rows, []string{terminal.Clock(t.GetSuspendTime()), terminal.OneLine(t.GetTenant())})
	}
	return rows
}

func showTenant(r *terminal.Run, t *memoryv1.Tenant) error {
	return r.Show(t, terminal.Views{
		Table: func(w io.Writer) {
			r.Table(w, slices.Concat(terminal.Whole.Columns("suspended"), terminal.Cut.Columns("tenant")), tenantRows([]*memoryv1.Tenant{t}))
		},
		Quiet: func(w io.Writer) { fmt.Fprintln(w, t.GetTenant()) },
	})
}

type tenantsSuspendCmd struct {
	Tenant string `arg:"" help:"The tenant."`
}

// Run suspends the tenant.
func (c *tenantsSuspendCmd) Run(r *terminal.Run) error {
	req := &memoryv1.SuspendTenantRequest{Tenant: c.Tenant}
	reply, err := terminal.Ask(r, memoryv1.NewTenantServiceClient, memoryv1.TenantServiceClient.SuspendTenant, req)
	if err != nil {
		return err
	}
	return showTenant(r, reply.GetTenant())
}

type tenantsResumeCmd struct {
	Tenant string `arg:"" help:"The tenant."`
}

// Run resumes the tenant.
func (c *tenantsResumeCmd) Run(r *terminal.Run) error {
	req := &memoryv1.ResumeTenantRequest{Tenant: c.Tenant}
	reply, err := terminal.Ask(r, memoryv1.NewTenantServiceClient, memoryv1.TenantServiceClient.ResumeTenant, req)
	if err != nil {
		return err
	}
	return showTenant(r, reply.GetTenant())
}
