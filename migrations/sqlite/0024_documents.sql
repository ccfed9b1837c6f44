-- Documents that callers file under namespaces, and what is left of deleted ones: keyed hashes of their places. A namespace is its
-- labels, each ended by the character 31.

CREATE TABLE documents (
  uid            INTEGER NOT NULL,
  namespace      TEXT NOT NULL,
  key            TEXT NOT NULL,
  etag           TEXT NOT NULL,
  create_time    INTEGER NOT NULL,
  update_time    INTEGER NOT NULL,
  ttl            INTEGER NOT NULL, -- microseconds; 0 for ever
  expire_time    INTEGER,
  fields         TEXT, -- JSON
  unindexed      INTEGER NOT NULL,
  vector_version INTEGER,
  vector         BLOB,
  value          TEXT NOT NULL, -- JSON
  PRIMARY KEY (uid, namespace, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX document_heads ON documents (uid, namespace, key, etag, update_time, expire_time);
CREATE INDEX documents_expiring ON documents (expire_time) WHERE expire_time IS NOT NULL;

CREATE TABLE deleted_documents (
  uid  INTEGER NOT NULL,
  hash BLOB NOT NULL,
  time INTEGER NOT NULL,
  PRIMARY KEY (uid, hash)
) STRICT, WITHOUT ROWID;
