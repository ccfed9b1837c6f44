package app

import (
	"fmt"
	"io"
	"os"

	"github.com/stratamem/strata/internal/access/audit"
	"github.com/stratamem/strata/internal/program/config"
)

// openAudit makes what keeps the audit; nil while that is off.
func (b base) openAudit(secret []byte) (*audit.Trail, error) {
	if b.cfg.Audit == config.AuditOff {
		return nil, nil
	}
	lines, err := auditLines(b.cfg.AuditLog)
	if err != nil {
		return nil, err
	}
	return audit.NewTrail(audit.Options{
		Store: b.store, Hasher: audit.NewHasher(secret), Lines: lines, Now: b.store.Now, NewID: newID, Meter: b.recorder, Log: b.log,
	}), nil
}

// auditLines is where lines of the audit go; nil for nowhere.
func auditLines(to string) (io.Writer, error) {
	switch to {
	case "":
		return nil, nil
	case config.AuditToStderr:
		return os.Stderr, nil
	}
	f, err := audit.OpenFile(to)
	if err != nil {
		return nil, fmt.Errorf("audit-log: %w", err)
	}
	return f, nil
}
