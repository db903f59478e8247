-- Times are milliseconds since 1970, UTC. JSON is stored as text.

CREATE TABLE apps (
    package       TEXT PRIMARY KEY,
    details       TEXT NOT NULL,
    owner         TEXT NOT NULL,
    key_hash      BLOB NOT NULL,
    signing       BLOB NOT NULL,
    -- The secret before the current one, during a rotation.
    signing_old   BLOB,
    assistant     INTEGER NOT NULL DEFAULT 0,
    -- Points into tool_sets; 0 is none yet.
    tools_version INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX apps_by_owner ON apps (owner, package);

-- Immutable: rows are added, never changed.
CREATE TABLE tool_sets (
    package    TEXT NOT NULL REFERENCES apps ON DELETE CASCADE,
    version    INTEGER NOT NULL,
    hash       TEXT NOT NULL,
    tools      TEXT NOT NULL,
    tool_count INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (package, version)
) STRICT;

CREATE TABLE installs (
    user         TEXT NOT NULL,
    package      TEXT NOT NULL REFERENCES apps ON DELETE CASCADE,
    installed_at INTEGER NOT NULL,
    PRIMARY KEY (user, package)
) STRICT;
CREATE INDEX installs_by_package ON installs (package);

-- What a user allows an app beyond its own tools.
CREATE TABLE grants (
    user    TEXT NOT NULL,
    package TEXT NOT NULL,
    what    TEXT NOT NULL,
    PRIMARY KEY (user, package, what),
    FOREIGN KEY (user, package) REFERENCES installs ON DELETE CASCADE
) STRICT;

-- Only what differs from the default: the tools that are off.
CREATE TABLE tool_settings (
    user TEXT NOT NULL,
    tool TEXT NOT NULL,
    PRIMARY KEY (user, tool)
) STRICT;

CREATE TABLE devices (
    user         TEXT PRIMARY KEY,
    capabilities TEXT NOT NULL,
    seen_at      INTEGER NOT NULL
) STRICT;

-- App sessions that were handed out and have not ended: apps reconnect under them after a restart.
CREATE TABLE runs (
    session TEXT PRIMARY KEY,
    user    TEXT NOT NULL,
    package TEXT NOT NULL REFERENCES apps ON DELETE CASCADE,
    by_user INTEGER NOT NULL
) STRICT;

CREATE TABLE app_storage (
    user    TEXT NOT NULL,
    package TEXT NOT NULL,
    key     TEXT NOT NULL,
    value   TEXT NOT NULL,
    PRIMARY KEY (user, package, key),
    FOREIGN KEY (user, package) REFERENCES installs ON DELETE CASCADE
) STRICT;

CREATE TABLE app_settings (
    user       TEXT NOT NULL,
    package    TEXT NOT NULL,
    settings   TEXT NOT NULL,
    PRIMARY KEY (user, package),
    FOREIGN KEY (user, package) REFERENCES installs ON DELETE CASCADE
) STRICT;

-- One row a call. Ids sort by time. No arguments, no results.
CREATE TABLE calls (
    id           TEXT PRIMARY KEY,
    user         TEXT NOT NULL,
    tool         TEXT NOT NULL,
    package      TEXT,
    source       TEXT NOT NULL,
    door         TEXT NOT NULL,
    caller       TEXT NOT NULL,
    error        TEXT,
    replayed     INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    duration_us  INTEGER NOT NULL,
    -- Microseconds of each step: find, validate, authorize, ready, invoke, check.
    steps        TEXT NOT NULL,
    bytes_in     INTEGER NOT NULL,
    bytes_out    INTEGER NOT NULL,
    -- Trace id, span id, parent span id and flag as one text.
    trace        TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX calls_by_user ON calls (user, id);

-- Keys under which callers make a call once. `outcome` is missing while the call runs.
CREATE TABLE call_keys (
    user     TEXT NOT NULL,
    key      TEXT NOT NULL,
    digest   BLOB NOT NULL,
    call     TEXT NOT NULL,
    begun_at INTEGER NOT NULL,
    ended_at INTEGER,
    outcome  TEXT,
    PRIMARY KEY (user, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX call_keys_by_time ON call_keys (begun_at);
