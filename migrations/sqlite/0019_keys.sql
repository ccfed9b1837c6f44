-- Who may call: API keys, of which only hashes of their secrets are here, and tenants about which something was decided.

CREATE TABLE api_keys (
  id          TEXT PRIMARY KEY,
  tenant      TEXT NOT NULL,
  role        TEXT NOT NULL,
  user_id     TEXT NOT NULL, -- '' for all users of the tenant
  name        TEXT NOT NULL,
  hash        BLOB NOT NULL, -- SHA-256
  old_hash    BLOB,          -- valid until old_until
  old_until   INTEGER,
  create_time INTEGER NOT NULL,
  expire_time INTEGER,
  revoke_time INTEGER,
  use_time    INTEGER        -- an hour
) STRICT, WITHOUT ROWID;

CREATE INDEX api_keys_of_tenant ON api_keys (tenant, id);

CREATE TABLE tenants (id TEXT PRIMARY KEY, suspend_time INTEGER) STRICT, WITHOUT ROWID;
