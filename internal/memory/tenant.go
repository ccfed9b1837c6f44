package memory

import "time"

// TenantErasure is how far a tenant is erased. It outlives what it erased.
type TenantErasure struct {
	CreateTime time.Time      `json:"c"`
	DoneTime   time.Time      `json:"d,omitzero"` // zero while something may lie in a store still
	Users      int64          `json:"u,omitempty"`
	Stores     []StoreReceipt `json:"s,omitempty"` // of all users together, by store; once it is done
}
