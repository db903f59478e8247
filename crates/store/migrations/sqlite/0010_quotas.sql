-- The devices that were seen longest ago go first.
CREATE INDEX devices_by_time ON devices (seen_at, user);
