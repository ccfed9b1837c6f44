package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/access/quota"
	"github.com/stratamem/strata/internal/contexts/compactmodel"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/jobrunner"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/learning/llm/builtin"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/memory/secret"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/store"
)

// tenantModels asks, for tenants that have chat models of their own, those, and for the others the server's. Which tenant that is, is
// who pays for the call. Where it cannot be found out which models a tenant has, nothing is asked: its conversations must not get to
// an endpoint that is not its own.
type tenantModels struct {
	cfg     config.Config
	tenants quota.Tenants
	chat    func(chatEndpoint) (llm.Chat, func(), error)

	mu   sync.Mutex
	open map[string]*ownModels // by tenant
}

// ownModels are opened models of a tenant.
type ownModels struct {
	of         store.TenantModels
	key        secret.Text
	summarizer jobrunner.Summarizer
	extractor  jobrunner.Extractor
	compact    compactmodel.Model // nil for the built-in summariser
	close      func()
}

func newTenantModels(cfg config.Config, tenants quota.Tenants, chat func(chatEndpoint) (llm.Chat, func(), error)) *tenantModels {
	return &tenantModels{cfg: cfg, tenants: tenants, chat: chat, open: map[string]*ownModels{}}
}

// Models implements jobrunner.Tenants: each tenant that has its own fails and is spared alone.
func (t *tenantModels) Models(ctx context.Context, tenant string) string {
	if known, err := t.tenants.Tenant(ctx, tenant); err == nil && known.Models == nil {
		return ""
	}
	return tenant
}

// Rests implements jobrunner.Tenants.
func (t *tenantModels) Rests(ctx context.Context, tenant string) bool {
	known, err := t.tenants.Tenant(ctx, tenant)
	return err == nil && !known.SuspendTime.IsZero()
}

// of returns the models of the tenant that ctx names; nil where those are the server's.
func (t *tenantModels) of(ctx context.Context) (*ownModels, error) {
	payer, _ := llm.PayerOf(ctx)
	tenant := payer.Tenant
	if tenant == "" {
		return nil, &llm.Error{Class: llm.ClassPermanent, Err: errors.New("nobody is named who asks the model")}
	}
	known, err := t.tenants.Tenant(ctx, tenant)
	if err != nil {
		return nil, &llm.Error{Class: llm.ClassTransient, Err: fmt.Errorf("find out which models the tenant has: %w", err)}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	opened := t.open[tenant]
	if known.Models == nil {
		t.drop(tenant)
		return nil, nil
	}
	if err := t.check(*known.Models); err != nil {
		t.drop(tenant)
		return nil, notUsable(known.Models, err)
	}
	key, err := t.key(*known.Models)
	if err != nil {
		t.drop(tenant)
		return nil, notUsable(known.Models, err)
	}
	if opened != nil && opened.of == *known.Models && opened.key == key {
		return opened, nil
	}
	t.drop(tenant)
	if opened, err = t.make(*known.Models, key); err != nil {
		return nil, notUsable(known.Models, err)
	}
	t.open[tenant] = opened
	return opened, nil
}

// notUsable is the error of models that a person has to look after.
func notUsable(m *store.TenantModels, err error) error {
	return &llm.Error{Class: llm.ClassPermanent, Model: m.Summary, Code: "tenant_models", Err: fmt.Errorf("open the models of the tenant: %w", err)}
}

// drop closes the tenant's models that are open. Calls under way end as they would.
func (t *tenantModels) drop(tenant string) {
	if opened := t.open[tenant]; opened != nil {
		opened.close()
		delete(t.open, tenant)
	}
}

// close closes all.
func (t *tenantModels) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for tenant := range t.open {
		t.drop(tenant)
	}
}

// make opens models, each behind a circuit and a bound of calls at once of its own.
func (t *tenantModels) make(m store.TenantModels, key secret.Text) (*ownModels, error) {
	out := &ownModels{of: m, key: key, summarizer: builtin.Summarizer{}, extractor: builtin.Extractor{}}
	var closers []func()
	out.close = func() {
		for _, f := range closers {
			f()
		}
	}
	open := func(model string) (llm.Chat, error) {
		chat, closeChat, err := t.chat(chatEndpoint{model: model, baseURL: t.baseURL(m), key: key})
		if err != nil {
			out.close()
			return nil, err
		}
		closers = append(closers, closeChat)
		return chat, nil
	}
	if m.Summary != store.BuiltinModel {
		chat, err := open(m.Summary)
		if err != nil {
			return nil, err
		}
		asked := llm.Prompted{Summaries: chat}
		out.summarizer, out.compact = asked, asked
	}
	if m.Extraction != store.BuiltinModel {
		chat, err := open(m.Extraction)
		if err != nil {
			return nil, err
		}
		out.extractor = llm.Prompted{Extraction: chat}
	}
	return out, nil
}

func (t *tenantModels) baseURL(m store.TenantModels) string {
	if m.BaseURL == "" {
		return t.cfg.ChatBaseURL
	}
	return m.BaseURL
}

// Check refuses models that this server cannot ask: at a host that is not allowed, or with a key that it does not have.
func (t *tenantModels) Check(m store.TenantModels) error {
	if err := t.check(m); err != nil {
		return err
	}
	_, err := t.key(m)
	return err
}

func (t *tenantModels) check(m store.TenantModels) error {
	const field = "tenant.models.chat_base_url"
	if m.BaseURL == "" {
		if t.cfg.ChatBaseURL == "" && (m.Summary != store.BuiltinModel || m.Extraction != store.BuiltinModel) {
			return memory.InvalidField(field, "is required: the server has no chat-base-url of its own")
		}
		return nil
	}
	u, err := url.Parse(m.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return memory.InvalidField(field, "must be like https://api.openai.com/v1, without user, query or fragment")
	}
	if host := strings.ToLower(u.Host); !slices.Contains(t.hosts(), host) {
		return memory.InvalidField(field, "is at a host that tenants may have no models at: add it to the server's setting tenant-model-hosts")
	}
	return nil
}

// hosts are those at which tenants may have models.
func (t *tenantModels) hosts() []string {
	all := t.cfg.TenantHosts.List()
	if u, err := url.Parse(t.cfg.ChatBaseURL); err == nil && u.Host != "" {
		all = append(all, strings.ToLower(u.Host))
	}
	return all
}

// maxKeyBytes is the most that the file of a key may hold.
const maxKeyBytes = 64 << 10

// key reads the key of the models. The server's goes to the server's endpoint alone.
func (t *tenantModels) key(m store.TenantModels) (secret.Text, error) {
	const field = "tenant.models.chat_key"
	switch {
	case m.Key == "" && m.BaseURL == "":
		return t.cfg.ChatAPIKey, nil
	case m.Key == "":
		return secret.Text{}, nil
	case t.cfg.TenantKeys == "":
		return secret.Text{}, memory.InvalidField(field, "names a key, and the server has no folder of keys: set tenant-keys")
	case strings.ContainsAny(m.Key, `/\`) || strings.HasPrefix(m.Key, "."):
		return secret.Text{}, memory.InvalidField(field, `must be the name of a file without / and \, not beginning with a dot`)
	}
	text, err := readKeyFile(t.cfg.TenantKeys, m.Key)
	if err != nil { // which names the path of a folder of the server
		return secret.Text{}, memory.InvalidField(field, "names no file of the server's tenant-keys that can be read and holds a key")
	}
	return secret.New(text), nil
}

// readKeyFile reads a key from a file of the folder; os.Root follows no link that leads out of it.
func readKeyFile(folder, name string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close() //nolint:errcheck // nothing was written
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, errors.New("it is no file"))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyBytes))
	key := strings.TrimSpace(string(text))
	if err == nil && (key == "" || strings.ContainsAny(key, "\r\n")) {
		err = errors.New("it holds no key, or more than one")
	}
	return key, err
}

// unpriced are the models without a price that a tenant with these models asks.
func (t *tenantModels) unpriced(m *store.TenantModels) []string {
	if m == nil {
		return t.cfg.Unpriced()
	}
	chat := []string{m.Summary, m.Extraction}
	return t.cfg.UnpricedWith(slices.DeleteFunc(chat, func(name string) bool { return name == store.BuiltinModel })...)
}

// compactModel implements compactmodel.Options.Own.
func (t *tenantModels) compactModel(ctx context.Context) (compactmodel.Model, bool) {
	own, err := t.of(ctx)
	if err != nil {
		return failing{err}, true
	}
	if own == nil {
		return nil, false
	}
	return own.compact, true
}

// failing is a model that cannot be asked.
type failing struct{ err error }

func (f failing) Summarize(context.Context, summary.Task) (llm.Answer, error) {
	return llm.Answer{}, f.err
}

func (f failing) Write(context.Context, string, int64) (llm.Answer, error) {
	return llm.Answer{}, f.err
}

// asksForSummaries reports whether the tenant's summaries cost something.
func (t *tenantModels) asksForSummaries(ctx context.Context, tenant string) (bool, error) {
	known, err := t.tenants.Tenant(ctx, tenant)
	if err != nil || known.Models == nil {
		return t.cfg.SummaryModel != "", err
	}
	return known.Models.Summary != store.BuiltinModel, nil
}

// summarizerOf is a Summarizer that asks each tenant's.
type summarizerOf struct {
	own    *tenantModels
	server jobrunner.Summarizer
}

// Summarize implements jobrunner.Summarizer.
func (s summarizerOf) Summarize(ctx context.Context, task summary.Task) (llm.Answer, error) {
	own, err := s.own.of(ctx)
	switch {
	case err != nil:
		return llm.Answer{}, err
	case own == nil:
		return s.server.Summarize(ctx, task)
	}
	return own.summarizer.Summarize(ctx, task)
}

// extractorOf is an Extractor that asks each tenant's.
type extractorOf struct {
	own    *tenantModels
	server jobrunner.Extractor
}

// Extract implements jobrunner.Extractor.
func (e extractorOf) Extract(ctx context.Context, task extract.Task) (llm.Answer, error) {
	own, err := e.own.of(ctx)
	switch {
	case err != nil:
		return llm.Answer{}, err
	case own == nil:
		return e.server.Extract(ctx, task)
	}
	return own.extractor.Extract(ctx, task)
}
