-- What agents keep about a user over all sessions. It stands apart from the user, who is read with every call; absent means
-- empty.

CREATE TABLE user_state (uid INTEGER PRIMARY KEY REFERENCES users, state TEXT NOT NULL) STRICT;
ALTER TABLE users ADD COLUMN state_revision INTEGER NOT NULL DEFAULT 0; -- how often it was changed
