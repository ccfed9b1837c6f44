-- A client's clock that is ahead dates nothing after a minute past its recording: what was stored before is brought back to
-- when it was summarised or last written. Weeks and months may tell of what is hidden, or of what belongs to another week in
-- the user's timezone of today: they are looked at once.

UPDATE nodes SET from_time = min(from_time, create_time + 60000000), to_time = min(to_time, create_time + 60000000)
  WHERE from_time > create_time + 60000000 OR to_time > create_time + 60000000;
UPDATE sessions SET covered_time = update_time + 60000000 WHERE covered_time > update_time + 60000000;
UPDATE users SET periods_at = update_time WHERE uid IN (SELECT uid FROM nodes WHERE kind > 1);
