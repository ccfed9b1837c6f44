-- The chat models that a tenant has of its own. Keys are not among it: a key's name is.

ALTER TABLE tenants ADD COLUMN models TEXT; -- JSON; NULL where the server's are asked
