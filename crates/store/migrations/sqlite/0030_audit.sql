-- Administrative actions, each linked to the one before by its hash. Only appended to; the oldest are pruned.
CREATE TABLE audit_log (
    number     INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    actor_kind TEXT NOT NULL,
    actor      TEXT NOT NULL,
    credential TEXT NOT NULL,
    action     TEXT NOT NULL,
    target     TEXT NOT NULL,
    -- Whom it is about; empty if no user.
    user_id    TEXT NOT NULL,
    -- A JSON object.
    detail     TEXT NOT NULL,
    previous   BLOB NOT NULL,
    hash       BLOB NOT NULL,
    -- Proves with a key derived from the root key that a server wrote the hash.
    mac        BLOB NOT NULL
) STRICT;
CREATE INDEX audit_log_by_time ON audit_log (at);
CREATE INDEX audit_log_of_user ON audit_log (user_id, number);

-- The last entry that was pruned. One row at most.
CREATE TABLE audit_anchor (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    number   INTEGER NOT NULL,
    hash     BLOB NOT NULL,
    mac      BLOB NOT NULL
) STRICT;
