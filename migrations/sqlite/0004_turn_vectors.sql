-- A segment may hold its messages' vectors. The embedding is the version of which all have one; 0 where some lack theirs.

ALTER TABLE segments ADD COLUMN embedding INTEGER NOT NULL DEFAULT 0;
DROP INDEX segments_user;
CREATE INDEX segments_user ON segments (uid, no, messages, bytes, replaces, analyzer, embedding);
CREATE INDEX segments_embedding ON segments (embedding, no, uid, messages);
