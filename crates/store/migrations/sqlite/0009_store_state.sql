-- What the store knows of itself. `root_key_check`: by which the root key is recognised. `probe`: written to find out whether
-- the store takes writes.
CREATE TABLE store_state (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
