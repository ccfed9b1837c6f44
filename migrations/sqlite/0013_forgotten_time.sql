-- When a fact was deleted: what is said later may be learnt again. Rows of before have none, and hold for ever.

ALTER TABLE forgotten_facts ADD COLUMN time INTEGER; -- µs since 1970
