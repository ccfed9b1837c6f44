package store

import (
	"encoding/hex"
	"strconv"

	"github.com/stratamem/strata/internal/memory"
)

// UserETag is the etag of a user at a revision. It never repeats for a user id: a later life has another scope key, of which a
// hash may be shown.
func UserETag(scope memory.ScopeKey, revision int64) string {
	hash := memory.HashKey(scope).Keyed(memory.IDDigest("etag"))
	return hex.EncodeToString(hash[:4]) + "-" + strconv.FormatInt(revision, 36)
}

// SessionETag is the etag of a session at a revision. It never repeats for a session id: a later session of the same id has
// another key.
func SessionETag(key memory.SessionKey, revision int64) string {
	return string(key[:min(8, len(key))]) + "-" + strconv.FormatInt(revision, 36)
}
