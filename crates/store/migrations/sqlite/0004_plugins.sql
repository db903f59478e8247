-- Plugins that users have. Stored is not believed: each one is judged again whenever it is loaded.
CREATE TABLE plugins (
    user         TEXT NOT NULL,
    id           TEXT NOT NULL,
    version      TEXT NOT NULL,
    -- Byte for byte as it came.
    manifest     TEXT NOT NULL,
    -- The content that was installed.
    hash         TEXT NOT NULL,
    -- What it was when it was installed.
    status       TEXT NOT NULL,
    -- What the user agreed to.
    granted      TEXT NOT NULL,
    enabled      INTEGER NOT NULL,
    -- Why the platform switched it off, if it did.
    stopped      TEXT,
    installed_at INTEGER NOT NULL,
    PRIMARY KEY (user, id)
) STRICT;

-- What plugins keep for users.
CREATE TABLE plugin_data (
    user  TEXT NOT NULL,
    id    TEXT NOT NULL,
    key   TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (user, id, key),
    FOREIGN KEY (user, id) REFERENCES plugins ON DELETE CASCADE
) STRICT;

-- The catalogue: what a curator of this server signed.
CREATE TABLE published_plugins (
    number       INTEGER PRIMARY KEY,
    id           TEXT NOT NULL,
    version      TEXT NOT NULL,
    name         TEXT NOT NULL,
    description  TEXT NOT NULL,
    publisher    TEXT,
    hash         TEXT NOT NULL,
    manifest     TEXT NOT NULL,
    by           TEXT NOT NULL,
    published_at INTEGER NOT NULL,
    UNIQUE (id, version)
) STRICT;

-- Documents about whom to believe, by name.
CREATE TABLE plugin_lists (
    name TEXT PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;
