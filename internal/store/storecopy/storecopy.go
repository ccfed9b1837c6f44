// Package storecopy copies everything that one primary store holds into another one of the same or of another kind.
package storecopy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"math"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

// Copy moves everything from one primary store to another, user by user, and compares what arrived. It may be interrupted and
// called again: a user whose records are the same on both sides is passed over. A user is served by the target only once
// all of it has arrived. Nobody may write to either side meanwhile, nor between an interruption and the call that goes on.
type Copy struct {
	From store.Source
	To   store.Target
	// Progress is called after each user; nil for none.
	Progress func(Progress)
}

// Progress says how far a copy has come.
type Progress struct {
	Users     int   // looked at so far
	Unchanged int   // of them, those that were there already
	Records   int64 // copied
}

// copyBatch is how many records are handed over at once; copyBytes bounds them together, as JSON.
const (
	copyBatch = 200
	copyBytes = 4 << 20
)

// Run copies, and fails at the first user whose copy differs.
func (c Copy) Run(ctx context.Context) (Progress, error) {
	var p Progress
	if err := c.embeddings(ctx); err != nil {
		return p, err
	}
	if err := c.secret(ctx); err != nil {
		return p, err
	}
	if err := c.access(ctx); err != nil {
		return p, err
	}
	if err := c.audit(ctx); err != nil {
		return p, err
	}
	tenants, err := c.From.Tenants(ctx)
	if err != nil {
		return p, fmt.Errorf("list tenants: %w", err)
	}
	for _, tenant := range tenants {
		if err := c.tenant(ctx, tenant, &p); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (c Copy) embeddings(ctx context.Context) error {
	versions, err := c.From.Embeddings(ctx)
	if err != nil {
		return fmt.Errorf("read embedding versions: %w", err)
	}
	counts, err := c.From.QuarantineCounts(ctx)
	if err != nil {
		return fmt.Errorf("read counts of refused operations: %w", err)
	}
	if err := c.To.ImportEmbeddings(ctx, versions, counts); err != nil {
		return fmt.Errorf("store embedding versions: %w", err)
	}
	return nil
}

// secret makes the target know what was rendered from the source. A source that never served has none.
func (c Copy) secret(ctx context.Context) error {
	secret, err := c.From.FenceSecret(ctx, nil)
	if err != nil {
		return fmt.Errorf("read the secret of fences: %w", err)
	}
	if secret == nil {
		return nil
	}
	if err := c.To.ImportFenceSecret(ctx, secret); err != nil {
		return fmt.Errorf("store the secret of fences: %w", err)
	}
	return nil
}

// access copies the API keys of all tenants, what was decided about them and what they used.
func (c Copy) access(ctx context.Context) error {
	for t, err := range store.AllTenants(ctx, c.From.ListTenants) {
		if err != nil {
			return err
		}
		if err := c.keys(ctx, t.ID); err != nil {
			return err
		}
		if err := c.To.ImportTenant(ctx, t); err != nil {
			return fmt.Errorf("copy what was decided about a tenant: %w", err)
		}
		days, err := c.From.UsageDays(ctx, t.ID, 0, math.MaxInt64)
		if err != nil {
			return fmt.Errorf("read what a tenant used: %w", err)
		}
		if err := c.To.ImportUsage(ctx, t.ID, days); err != nil {
			return fmt.Errorf("copy what a tenant used: %w", err)
		}
	}
	return nil
}

func (c Copy) keys(ctx context.Context, tenant string) error {
	for k, err := range store.AllKeys(ctx, c.From.ListKeys, tenant) {
		if err != nil {
			return err
		}
		if err := c.To.ImportKey(ctx, k); err != nil {
			return fmt.Errorf("copy key %s: %w", k.ID, err)
		}
	}
	return nil
}

// audit copies who did what: it is there before the users, so that nobody is served without it.
func (c Copy) audit(ctx context.Context) error {
	for after := (store.AuditCursor{}); ; {
		entries, err := c.From.ExportAuditEntries(ctx, after, auditPage)
		if err != nil {
			return fmt.Errorf("read the audit: %w", err)
		}
		if err := c.To.AddAuditEntries(ctx, entries); err != nil {
			return fmt.Errorf("copy the audit: %w", err)
		}
		if len(entries) < auditPage {
			return nil
		}
		last := entries[len(entries)-1]
		after = store.AuditCursor{Time: last.Time, ID: last.ID}
	}
}

// auditPage is how many entries of the audit are copied at once.
const auditPage = 500

func (c Copy) tenant(ctx context.Context, tenant string, p *Progress) error {
	for u, err := range store.AllUsers(ctx, c.From.ListUsers, tenant) {
		if err != nil {
			return err
		}
		if err := c.user(ctx, u.Ref, p); err != nil {
			return fmt.Errorf("copy user %d: %w", p.Users+1, err)
		}
		p.Users++
		if c.Progress != nil {
			c.Progress(*p)
		}
	}
	return nil
}

// user copies one user, unless the copy is there.
func (c Copy) user(ctx context.Context, user memory.UserRef, p *Progress) error {
	want, err := digestOf(ctx, c.From, user)
	if err != nil {
		return fmt.Errorf("read the source: %w", err)
	}
	got, err := digestOf(ctx, c.To, user)
	if err == nil && got == want {
		p.Unchanged++
		return c.end(ctx, user)
	}
	if err != nil && memory.ReasonOf(err) != memory.ReasonUserNotFound {
		return fmt.Errorf("read the target: %w", err)
	}
	if err := c.records(ctx, user, p); err != nil {
		return err
	}
	if got, err = digestOf(ctx, c.To, user); err != nil {
		return fmt.Errorf("read the copy: %w", err)
	}
	if got != want {
		return fmt.Errorf("the copy is not what the source is (%d records, %d in the source): "+
			"one of them was written to, now or since an earlier copy was interrupted: "+
			"let nobody write, and copy into an empty database", got.records, want.records)
	}
	return c.end(ctx, user)
}

func (c Copy) end(ctx context.Context, user memory.UserRef) error {
	if err := c.To.EndImport(ctx, user); err != nil {
		return fmt.Errorf("end the copy: %w", err)
	}
	return nil
}

func (c Copy) records(ctx context.Context, user memory.UserRef, p *Progress) error {
	var batch []store.Record
	size := 0
	flush := func() error {
		if err := c.To.Import(ctx, user, batch); err != nil {
			return fmt.Errorf("store %d records: %w", len(batch), err)
		}
		p.Records += int64(len(batch))
		batch, size = nil, 0
		return nil
	}
	err := c.From.Export(ctx, user, func(r store.Record) error {
		encoded, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("measure a record: %w", err)
		}
		if len(batch) > 0 && (len(batch) == copyBatch || size+len(encoded) > copyBytes) {
			if err := flush(); err != nil {
				return err
			}
		}
		batch, size = append(batch, r), size+len(encoded)
		return nil
	})
	if err != nil || len(batch) == 0 {
		return err
	}
	return flush()
}

// digest shows whether two sides hold the same records of a user.
type digest struct {
	records int
	sum     [sha256.Size]byte
}

func digestOf(ctx context.Context, from store.Source, user memory.UserRef) (digest, error) {
	var d digest
	h := sha256.New()
	err := from.Export(ctx, user, func(r store.Record) error {
		d.records++
		return hashRecord(h, r)
	})
	copy(d.sum[:], h.Sum(nil))
	return d, err
}

func hashRecord(h hash.Hash, r store.Record) error {
	encoded, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a record: %w", err)
	}
	_, err = h.Write(encoded)
	return err
}
