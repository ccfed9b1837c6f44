-- A life that was imported has a scope key of its own, and keeps the key under which its ids and bodies were hashed.

ALTER TABLE users ADD COLUMN hash_key TEXT; -- NULL for the scope key
