-- Who had a hashed alias first. Plain aliases can be undone, so no two tools share one.
CREATE TABLE tool_aliases (
    alias TEXT PRIMARY KEY,
    tool TEXT NOT NULL,
    package TEXT NOT NULL REFERENCES apps (package) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX tool_aliases_package ON tool_aliases (package);
