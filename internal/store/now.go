package store

import "time"

// Now returns the time.
type Now func() time.Time

// Stored returns the time as stores keep it: in UTC and cut to microseconds.
func (n Now) Stored() time.Time { return n().UTC().Truncate(time.Microsecond) }
