-- Who did what to whose memory. Users, sessions and request ids are keyed hashes; nothing of what was said is here.

CREATE TABLE audit (
  time       INTEGER NOT NULL,
  id         TEXT NOT NULL,
  tenant     TEXT NOT NULL,
  principal  TEXT,
  role       TEXT,
  call       TEXT NOT NULL,
  outcome    TEXT NOT NULL,
  reason     TEXT,
  user       BLOB, -- keyed hash, as are session and request
  session    BLOB,
  request    BLOB,
  target     TEXT,
  thing      TEXT,
  items      INTEGER NOT NULL,
  dry_run    INTEGER NOT NULL,
  address    TEXT,
  user_agent TEXT,
  left_out   INTEGER NOT NULL,
  PRIMARY KEY (time, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX audit_ids ON audit (id);
CREATE INDEX audit_of_tenant ON audit (tenant, time, id);
CREATE INDEX audit_of_user ON audit (user, time, id) WHERE user IS NOT NULL;

CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit
BEGIN
  SELECT RAISE(ABORT, 'an entry of the audit is never changed');
END;
