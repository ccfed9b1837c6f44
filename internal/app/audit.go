package app

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/stratamem/strata/internal/audit"
	"github.com/stratamem/strata/internal/config"
	"github.com/stratamem/strata/internal/grpcapi"
)

// openAudit makes what keeps the audit, unless it is off.
func (a *App) openAudit(ctx context.Context, meter audit.Meter) error {
	if a.cfg.Audit == config.AuditOff {
		return nil
	}
	secret, err := a.fenceSecret(ctx)
	if err != nil {
		return err
	}
	lines, err := a.auditLines()
	if err != nil {
		return err
	}
	a.audit = audit.NewTrail(audit.Options{
		Store: a.store, Hasher: audit.NewHasher(secret), Lines: lines, Now: a.store.Now, NewID: newID, Meter: meter, Log: a.log,
	})
	return nil
}

// auditLines is where lines of the audit go; nil for nowhere.
func (a *App) auditLines() (io.Writer, error) {
	switch a.cfg.AuditLog {
	case "":
		return nil, nil
	case config.AuditToStderr:
		return os.Stderr, nil
	}
	f, err := audit.OpenFile(a.cfg.AuditLog)
	if err != nil {
		return nil, fmt.Errorf("audit-log: %w", err)
	}
	return f, nil
}

// audited are the options of a server whose calls have entries in the audit, where there is one.
func (a *App) audited(o grpcapi.Options) grpcapi.Options {
	if a.audit != nil {
		o.Audit, o.AuditEntries, o.AuditAgents = a.audit, a.audit, a.cfg.Audit == config.AuditAgents
	}
	return o
}

func (a *App) auditing() Feature {
	if a.audit == nil {
		return Feature{Name: "audit", Why: "who did what is not recorded: set audit to on"}
	}
	why := "who did what to whose memory: strata audit"
	if a.cfg.Audit == config.AuditAgents {
		why += "; what agents record and read too"
	}
	return Feature{Name: "audit", On: true, Why: why}
}
