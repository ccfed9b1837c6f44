// Package writeplan decides what the writes of the primary store do, without reading or writing anything: every driver gives it what
// is stored, and stores what it returns. Its times are microseconds since 1970, as all drivers keep them.
package writeplan
