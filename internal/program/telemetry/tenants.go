package telemetry

import (
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/access/quota"
)

// maxTenants is how many tenants have a label of their own; those that come later are counted together as Other.
const maxTenants = 100

// tenantLabels gives out the labels of tenants.
type tenantLabels struct {
	mu    sync.Mutex
	known map[string]bool
}

// of is the label of a tenant: its id, without what is no UTF-8.
func (l *tenantLabels) of(tenant string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.known[tenant]:
	case len(l.known) >= maxTenants:
		return Other
	case l.known == nil:
		l.known = map[string]bool{tenant: true}
	default:
		l.known[tenant] = true
	}
	return strings.ToValidUTF8(tenant, "?")
}

// LimitRefused implements quota.Meter.
func (r *Recorder) LimitRefused(tenant string, limit quota.Limit) {
	r.limitsRefused.WithLabelValues(r.tenants.of(tenant), string(limit)).Inc()
}

// TenantUsed implements quota.Meter.
func (r *Recorder) TenantUsed(tenant string, tokens int64, cost float64) {
	label := r.tenants.of(tenant)
	r.tenantTokens.WithLabelValues(label).Add(float64(tokens))
	r.tenantCost.WithLabelValues(label).Add(cost)
}

// TenantCalled implements quota.Meter.
func (r *Recorder) TenantCalled(tenant string) {
	r.tenantCalls.WithLabelValues(r.tenants.of(tenant)).Inc()
}
