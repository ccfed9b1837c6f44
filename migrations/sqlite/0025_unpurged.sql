-- Says that bytes of deleted facts or documents may be left in the file: one row, which a pass that overwrote them takes away unless more
-- were deleted meanwhile.

CREATE TABLE unpurged (
  id        INTEGER PRIMARY KEY CHECK (id = 1),
  deletions INTEGER NOT NULL
) STRICT;
