-- Since when a job has been failing of what may pass, and the parked ones by their reason, those to be tried again first.

ALTER TABLE slots ADD COLUMN failing_since INTEGER;
CREATE INDEX slots_parked ON slots (reason, not_before) WHERE state = 3;
