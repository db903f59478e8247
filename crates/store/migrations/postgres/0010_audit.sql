-- Administrative actions, each linked to the one before by its hash. Only appended to; the oldest are pruned.
CREATE TABLE audit_log (
    number     BIGINT PRIMARY KEY,
    at         BIGINT NOT NULL,
    actor_kind TEXT COLLATE "C" NOT NULL,
    actor      TEXT COLLATE "C" NOT NULL,
    credential TEXT COLLATE "C" NOT NULL,
    action     TEXT COLLATE "C" NOT NULL,
    target     TEXT COLLATE "C" NOT NULL,
    -- Whom it is about; empty if no user.
    user_id    TEXT COLLATE "C" NOT NULL,
    -- A JSON object.
    detail     TEXT COLLATE "C" NOT NULL,
    previous   BYTEA NOT NULL,
    hash       BYTEA NOT NULL,
    -- Proves with a key derived from the root key that a server wrote the hash.
    mac        BYTEA NOT NULL
);
CREATE INDEX audit_log_by_time ON audit_log (at);
CREATE INDEX audit_log_of_user ON audit_log (user_id, number);

-- The last entry that was pruned. One row at most.
CREATE TABLE audit_anchor (
    only_one BIGINT PRIMARY KEY CHECK (only_one = 1),
    number   BIGINT NOT NULL,
    hash     BYTEA NOT NULL,
    mac      BYTEA NOT NULL
);
