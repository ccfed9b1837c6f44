-- An import may go to a user who is there already.

ALTER TABLE users ADD COLUMN merge_into TEXT;       -- JSON: whom an import goes to, once all of it has come; NULL elsewhere
ALTER TABLE sessions ADD COLUMN hashed_under TEXT;  -- the key of its hashes where it came from another user; NULL for the user's
ALTER TABLE erasures ADD COLUMN session_hash BLOB;  -- keyed, of the id of an erased session, so that no import brings it back

CREATE INDEX erasures_session ON erasures (scope_key, session_hash) WHERE session_hash IS NOT NULL;
