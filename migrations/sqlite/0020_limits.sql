-- What tenants may use, where that differs from the server's settings, and what they used of what costs something.

ALTER TABLE tenants ADD COLUMN limits TEXT;  -- JSON: a number for each limit by its name; NULL for none
ALTER TABLE tenants ADD COLUMN profile TEXT; -- of sessions that name none; NULL for the server's
ALTER TABLE tenants ADD COLUMN erasure TEXT; -- JSON: how far the tenant is erased; NULL where it is not

CREATE TABLE tenant_usage (
  tenant TEXT NOT NULL,
  day    INTEGER NOT NULL, -- since 1970-01-01 in UTC
  tokens INTEGER NOT NULL, -- that models read and wrote
  cost   INTEGER NOT NULL, -- in billionths of the unit of the prices
  PRIMARY KEY (tenant, day)
) STRICT, WITHOUT ROWID;
