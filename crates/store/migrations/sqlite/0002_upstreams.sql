-- MCP servers in the world are packages like apps: installed, switched off and called in the same way.
ALTER TABLE apps ADD COLUMN source TEXT NOT NULL DEFAULT 'app';

CREATE TABLE upstreams (
    package  TEXT PRIMARY KEY REFERENCES apps ON DELETE CASCADE,
    -- What the operator says of it, without the values that are secret.
    details  TEXT NOT NULL,
    -- Those values.
    sealed   BLOB NOT NULL,
    -- Whether everybody has it without installing it.
    for_all  INTEGER NOT NULL,
    -- Whether it stands in the configuration file, and whether it left it.
    managed  INTEGER NOT NULL,
    disabled INTEGER NOT NULL
) STRICT;

-- What an upstream offered last. The user is empty where it is the same for all.
CREATE TABLE offers (
    package    TEXT NOT NULL REFERENCES apps ON DELETE CASCADE,
    user       TEXT NOT NULL,
    hash       TEXT NOT NULL,
    lists      TEXT NOT NULL,
    fetched_at INTEGER NOT NULL,
    PRIMARY KEY (package, user)
) STRICT;

-- Tokens of users at upstreams, sealed.
CREATE TABLE upstream_tokens (
    package TEXT NOT NULL REFERENCES apps ON DELETE CASCADE,
    user    TEXT NOT NULL,
    sealed  BLOB NOT NULL,
    PRIMARY KEY (package, user)
) STRICT;
