package audit

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// line is an entry as JSON, with the names that the API has for it. What is not set is left out.
type line struct {
	ID        string    `json:"audit_entry_id"`
	Time      time.Time `json:"create_time"`
	Tenant    string    `json:"tenant"`
	Principal string    `json:"principal,omitempty"`
	Role      string    `json:"role,omitempty"`
	Call      string    `json:"call"`
	Outcome   string    `json:"outcome"`
	Reason    string    `json:"reason,omitempty"`
	User      string    `json:"user_hash,omitempty"`
	Session   string    `json:"session_hash,omitempty"`
	Request   string    `json:"request_hash,omitempty"`
	Target    string    `json:"target_tenant,omitempty"`
	Thing     string    `json:"thing,omitempty"`
	Items     int64     `json:"items,omitempty"`
	DryRun    bool      `json:"dry_run,omitempty"`
	Address   string    `json:"address,omitempty"`
	UserAgent string    `json:"user_agent,omitempty"`
	LeftOut   int64     `json:"left_out,omitempty"`
}

// Line is the entry as one line of JSON, with its end.
func Line(e store.AuditEntry) ([]byte, error) {
	b, err := json.Marshal(line{
		ID: e.ID, Time: e.Time, Tenant: e.Tenant, Principal: e.Principal, Role: e.Role, Call: e.Call, Outcome: e.Outcome, Reason: e.Reason,
		User: HashText(e.User), Session: HashText(e.Session), Request: HashText(e.Request), Target: e.Target, Thing: e.Thing,
		Items: e.Items, DryRun: e.DryRun, Address: e.Address, UserAgent: e.UserAgent, LeftOut: e.LeftOut,
	})
	if err != nil {
		return nil, fmt.Errorf("encode an entry of the audit: %w", err)
	}
	return append(b, '\n'), nil
}

// HashText is a hash as the API and the lines show it; "" for one of nothing.
func HashText(h memory.KeyedHash) string {
	if h == (memory.KeyedHash{}) {
		return ""
	}
	return hex.EncodeToString(h[:])
}

// File appends to the file at a path. It opens the file anew for each line, so that whoever rotates the logs may move the file away, or
// copy it and cut it to nothing, whenever he likes.
type File struct{ path string }

// OpenFile returns the file at the path, which is made where there is none.
func OpenFile(path string) (File, error) {
	f := File{path}
	if _, err := f.Write(nil); err != nil {
		return File{}, err
	}
	return f, nil
}

var _ io.Writer = File{}

// Write implements io.Writer, by one write to the end of the file.
func (f File) Write(b []byte) (n int, err error) {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	if len(b) > 0 {
		n, err = file.Write(b)
	}
	if e := file.Close(); err == nil {
		err = e
	}
	return n, err
}
