-- What a context policy keeps of a session, however long ago it was said: messages that are pinned, that have tags, or that
-- an agent recalled (origin 4).

CREATE INDEX messages_marked ON messages (key) WHERE pinned = 1 OR tags IS NOT NULL OR origin = 4;
