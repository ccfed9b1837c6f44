package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
)

type tenantsShowCmd struct {
	Tenant string `arg:"" help:"The tenant."`
}

// Run prints the tenant.
func (c *tenantsShowCmd) Run(r *terminal.Run) error {
	req := &memoryv1.GetTenantRequest{Tenant: c.Tenant}
	reply, err := terminal.Ask(r, memoryv1.NewTenantServiceClient, memoryv1.TenantServiceClient.GetTenant, req)
	if err != nil {
		return err
	}
	return showLimits(r, reply)
}

func showLimits(r *terminal.Run, reply *memoryv1.GetTenantResponse) error {
	return r.Show(reply, terminal.Views{
		Table: func(w io.Writer) {
			t, used := reply.GetTenant(), reply.GetUsage()
			r.Fields(w, [][]string{
				{"tenant", terminal.OneLine(t.GetTenant())},
				{"suspended", terminal.Clock(t.GetSuspendTime())},
				{"default profile", terminal.OneLine(t.GetDefaultProfile())},
				{"models", terminal.OneLine(modelsText(t.GetModels()))},
				{"model tokens today", strconv.FormatInt(used.GetModelTokensToday(), 10)},
				{"cost today", amount(used.GetCostToday())},
				{"cost this month", amount(used.GetCostThisMonth())},
				{"messages", strconv.FormatInt(used.GetMessages(), 10)},
			})
			if t.GetErasure() != nil {
				printTenantErasure(r, w, t)
				return
			}
			r.Table(w, slices.Concat(terminal.Whole.Columns("limit", "value"), terminal.Cut.Columns("of")), limitRows(t.GetLimits(), reply.GetLimits()))
		},
		Quiet: func(w io.Writer) { fmt.Fprintln(w, reply.GetTenant().GetTenant()) },
	})
}

// modelsText says which chat models are asked for a tenant.
func modelsText(m *memoryv1.TenantModels) string {
	if m == nil {
		return "the server's"
	}
	text := "summaries by " + m.GetSummaryModel() + ", facts by " + m.GetExtractionModel()
	if m.GetChatBaseUrl() != "" {
		text += ", at " + m.GetChatBaseUrl()
	}
	if m.GetChatKey() != "" {
		text += ", with the key " + m.GetChatKey()
	}
	return text
}

func amount(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// limitRows are the limits that hold, and whose they are.
func limitRows(own, all *memoryv1.TenantLimits) [][]string {
	var rows [][]string
	fields := all.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		f, value, of := fields.Get(i), "none", "the server"
		if v := all.ProtoReflect().Get(f).Float(); v > 0 {
			value = amount(v)
		}
		if own.ProtoReflect().Has(f) {
			of = "the tenant"
		}
		rows = append(rows, []string{strings.ReplaceAll(string(f.Name()), "_", "-"), value, of})
	}
	return rows
}

type tenantsSetCmd struct {
	Tenant string `arg:"" help:"The tenant."`
	tenantLimitFlags
	DefaultProfile string `placeholder:"NAME" help:"The profile of sessions that name none when they begin; default for the server's."`
	tenantModelFlags
}

// tenantLimitFlags are the limits of a tenant: each flag has the name of its field in memory.v1.TenantLimits.
type tenantLimitFlags struct {
	TenantRequests  string `name:"tenant-requests-per-second" placeholder:"N" help:"Calls a second of the tenant on each server. Each of these is a number, none, or default for what the server's setting of the same name says."`
	UserRequests    string `name:"user-requests-per-second" placeholder:"N" help:"Calls a second about each user."`
	KeyRequests     string `name:"key-requests-per-second" placeholder:"N" help:"Calls a second with each key."`
	TenantBytes     string `name:"tenant-bytes-per-second" placeholder:"SIZE" help:"Bytes of requests a second, such as 1MiB."`
	UserBytes       string `name:"user-bytes-per-second" placeholder:"SIZE" help:"The same about each user."`
	KeyBytes        string `name:"key-bytes-per-second" placeholder:"SIZE" help:"The same with each key."`
	TenantTokens    string `name:"tenant-model-tokens-per-day" placeholder:"N" help:"Tokens that models read and write on a day in UTC."`
	TenantDayCost   string `name:"tenant-cost-per-day" placeholder:"AMOUNT" help:"What models may cost on a day in UTC, in the unit of the prices setting."`
	TenantMonthCost string `name:"tenant-cost-per-month" placeholder:"AMOUNT" help:"What models may cost in a month in UTC."`
	TenantMessages  string `name:"tenant-messages" placeholder:"N" help:"Messages that the tenant may have stored."`
	UserMessages    string `name:"user-messages" placeholder:"N" help:"Messages that each user may have stored."`
}

// tenantModelFlags are the models of a tenant, which are set all together.
type tenantModelFlags struct {
	Models     string `enum:"own,default" default:"own" help:"default for the server's chat models again."`
	Summary    string `name:"summary-model" placeholder:"MODEL" help:"The tenant's own chat model that summarises, or builtin. It is set together with --extraction-model."`
	Extraction string `name:"extraction-model" placeholder:"MODEL" help:"The tenant's own chat model that extracts facts, or builtin."`
	BaseURL    string `name:"chat-base-url" placeholder:"URL" help:"Where these are: a host of the server's tenant-model-hosts. Without it the server's endpoint."`
	Key        string `name:"chat-key" placeholder:"NAME" help:"The file in the server's folder tenant-keys that holds the key for it."`
}

// models returns what the flags say; change is false where they say nothing.
func (f tenantModelFlags) models() (models *memoryv1.TenantModels, change bool, err error) {
	named := f.Summary + f.Extraction + f.BaseURL + f.Key
	switch {
	case f.Models == byDefault && named != "":
		return nil, false, terminal.UsageError{Err: errors.New("--models default goes with no other flag of models")}
	case f.Models == byDefault:
		return nil, true, nil
	case named == "":
		return nil, false, nil
	case f.Summary == "" || f.Extraction == "":
		return nil, false, terminal.UsageError{Err: errors.New("models are set all together: name --summary-model and --extraction-model, each a model or builtin")}
	}
	return &memoryv1.TenantModels{ChatBaseUrl: f.BaseURL, ChatKey: f.Key, SummaryModel: f.Summary, ExtractionModel: f.Extraction}, true, nil
}

// Run changes the tenant.
func (c *tenantsSetCmd) Run(r *terminal.Run) error {
	req, err := c.request()
	if err != nil {
		return err
	}
	var reply *memoryv1.GetTenantResponse
	err = terminal.CallOn(r, memoryv1.NewTenantServiceClient, func(ctx context.Context, client memoryv1.TenantServiceClient) (err error) {
		if _, err := client.UpdateTenant(ctx, req); err != nil {
			return err
		}
		reply, err = client.GetTenant(ctx, &memoryv1.GetTenantRequest{Tenant: c.Tenant})
		return err
	})
	if err != nil {
		return err
	}
	if err := c.warn(r, reply.GetUsage()); err != nil {
		return err
	}
	return showLimits(r, reply)
}

// warn says that the tenant has nothing yet: its name may be misspelt.
func (c *tenantsSetCmd) warn(r *terminal.Run, used *memoryv1.TenantUsage) error {
	if used.GetMessages() > 0 {
		return nil
	}
	req := &memoryv1.ListKeysRequest{Tenant: c.Tenant, PageSize: 1}
	reply, err := terminal.Ask(r, memoryv1.NewKeyServiceClient, memoryv1.KeyServiceClient.ListKeys, req)
	if err == nil && len(reply.GetKeys()) == 0 {
		fmt.Fprintf(r.Env.Stderr, "tenant %s has no key and no message yet: what was set is stored, and holds once it has; "+
			"strata tenants list shows all\n", terminal.OneLine(c.Tenant))
	}
	return err
}

// request changes what flags name.
func (c *tenantsSetCmd) request() (*memoryv1.UpdateTenantRequest, error) {
	models, change, err := c.models()
	if err != nil {
		return nil, err
	}
	limits, changed, err := c.limits()
	if err != nil {
		return nil, err
	}
	tenant := &memoryv1.Tenant{Tenant: c.Tenant, Limits: limits, Models: models}
	if change {
		changed = append(changed, "models")
	}
	if c.DefaultProfile != "" {
		changed = append(changed, "default_profile")
	}
	if c.DefaultProfile != byDefault {
		tenant.DefaultProfile = c.DefaultProfile
	}
	if len(changed) == 0 {
		return nil, terminal.UsageError{Err: errors.New("name something to set, such as --tenant-requests-per-second 50: see strata tenants set --help")}
	}
	return &memoryv1.UpdateTenantRequest{Tenant: tenant, UpdateMask: &fieldmaskpb.FieldMask{Paths: changed}}, nil
}

// limits returns what the flags say, and the paths of what they name. One that is named and not set is the server's.
func (f tenantLimitFlags) limits() (limits *memoryv1.TenantLimits, named []string, err error) {
	limits = &memoryv1.TenantLimits{}
	to, flags := limits.ProtoReflect(), reflect.ValueOf(f)
	for i := range flags.NumField() {
		name, text := flags.Type().Field(i).Tag.Get("name"), flags.Field(i).String()
		if text == "" {
			continue
		}
		field := strings.ReplaceAll(name, "-", "_")
		named = append(named, "limits."+field)
		if text == byDefault {
			continue
		}
		value, err := limitValue(name, text)
		if err != nil {
			return nil, nil, err
		}
		to.Set(to.Descriptor().Fields().ByName(protoreflect.Name(field)), protoreflect.ValueOfFloat64(value))
	}
	return limits, named, nil
}

// What a flag may say beside a number.
const (
	byDefault = "default" // the server's setting
	without   = "none"    // no limit
)

func limitValue(name, text string) (float64, error) {
	if text == without {
		return 0, nil
	}
	if strings.HasSuffix(name, "-bytes-per-second") {
		var size config.Bytes
		if err := size.UnmarshalText([]byte(text)); err != nil {
			return 0, terminal.UsageError{Err: fmt.Errorf("--%s: %w", name, err)}
		}
		return float64(size), nil
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, terminal.UsageError{Err: fmt.Errorf("--%s: %q is neither a number nor %s nor %s", name, text, without, byDefault)}
	}
	return value, nil
}

type tenantsEraseCmd struct {
	Tenant string `arg:"" help:"The tenant."`
	terminal.ConfirmFlags
	Wait time.Duration `default:"2s" help:"Wait so long at most until all of it is gone; strata tenants show shows how far it is."`
}

// Help says more than the command's one line.
func (tenantsEraseCmd) Help() string {
	return "The tenant's calls are refused at once and for good. Its users are then erased as by strata users erase, and after them its " +
		"keys, limits, profile and models are deleted. Its name is not given again. What it used in tokens and money stays."
}

// Run erases the tenant.
func (c *tenantsEraseCmd) Run(r *terminal.Run) error {
	erase := func(validateOnly bool, wait time.Duration) (*memoryv1.EraseTenantResponse, error) {
		req := &memoryv1.EraseTenantRequest{Tenant: c.Tenant, ValidateOnly: validateOnly, Wait: terminal.SentWait(wait)}
		return terminal.Ask(r, memoryv1.NewTenantServiceClient, memoryv1.TenantServiceClient.EraseTenant, req)
	}
	if c.DryRun || !c.Yes {
		would, err := erase(true, 0)
		if err != nil {
			return err
		}
		if c.DryRun {
			return r.Show(would.GetExtent(), terminal.Views{
				Table: func(w io.Writer) {
					fmt.Fprintf(w, "would erase %s, and what was made of them\n", tenantExtentText(would.GetExtent()))
				},
				Quiet: func(w io.Writer) { fmt.Fprintln(w, would.GetExtent().GetUsers()) },
			})
		}
		goes := tenantExtentText(would.GetExtent())
		asked := fmt.Sprintf("This erases tenant %s for good: %s, and what was made of them.", terminal.OneLine(c.Tenant), goes)
		if err := terminal.Confirm(r, asked, c.Tenant); err != nil {
			return err
		}
	}
	since := r.Env.Now()
	until := since.Add(c.Wait)
	reply, err := erase(false, c.Wait)
	if err != nil {
		return err
	}
	for reply.GetTenant().GetErasure().GetDoneTime() == nil {
		left := terminal.BeforeNext(r, since, until)
		if left <= 0 {
			break
		}
		if reply, err = erase(false, left); err != nil { // a repeat waits on
			return err
		}
	}
	return r.Show(reply.GetTenant(), terminal.Views{
		Table: func(w io.Writer) { printTenantErasure(r, w, reply.GetTenant()) },
		Quiet: func(w io.Writer) { fmt.Fprintln(w, reply.GetTenant().GetTenant()) },
	})
}

func tenantExtentText(x *memoryv1.TenantExtent) string {
	return terminal.Counted(x.GetUsers(), "user") + ", " + terminal.Counted(x.GetMessages(), "message") + ", " + terminal.Counted(x.GetKeys(), "key")
}

// printTenantErasure prints the receipt.
func printTenantErasure(r *terminal.Run, w io.Writer, t *memoryv1.Tenant) {
	e := t.GetErasure()
	fields := [][]string{{"tenant", terminal.OneLine(t.GetTenant())}, {"erased since", terminal.Clock(e.GetCreateTime())}, {"users", fmt.Sprint(e.GetUsers())}}
	if e.GetDoneTime() != nil {
		fields = append(fields, []string{"done", terminal.Clock(e.GetDoneTime())})
	} else {
		fmt.Fprintf(r.Env.Stderr, "its calls are refused; it is being erased in the background: strata tenants show %s\n",
			terminal.ShellWord(t.GetTenant()))
	}
	r.Fields(w, fields)
	terminal.PrintStores(r, w, e.GetStores())
}
