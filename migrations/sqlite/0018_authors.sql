-- Who made a person's change of a fact or a summary, as the call named them.

ALTER TABLE fact_revisions ADD COLUMN author TEXT;
ALTER TABLE summary_revisions ADD COLUMN author TEXT;
