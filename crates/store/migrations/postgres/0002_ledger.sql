-- Each opening of the store is a node. A node that is alive updates `seen_at` by the clock of the database, so that the clocks
-- of the nodes do not matter. A key that is open belongs to the node that began its call.
CREATE TABLE ledger_nodes (
    id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    seen_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);

-- One row a call. Ids sort by time. No arguments, no results.
CREATE TABLE calls (
    id            TEXT COLLATE "C" PRIMARY KEY,
    user_id       TEXT COLLATE "C" NOT NULL,
    tool          TEXT COLLATE "C" NOT NULL,
    package       TEXT COLLATE "C",
    source        TEXT COLLATE "C" NOT NULL,
    door          TEXT COLLATE "C" NOT NULL,
    caller        TEXT COLLATE "C" NOT NULL,
    error         TEXT COLLATE "C",
    replayed      BOOLEAN NOT NULL,
    started_at    BIGINT NOT NULL,
    duration_us   BIGINT NOT NULL,
    -- Microseconds of each step: find, validate, authorize, ready, invoke, check.
    steps         TEXT COLLATE "C" NOT NULL,
    bytes_in      BIGINT NOT NULL,
    bytes_out     BIGINT NOT NULL,
    -- Trace id, span id, parent span id and flag as one text.
    trace         TEXT COLLATE "C" NOT NULL,
    -- What a failed call said, truncated. Removed long before the call itself.
    error_message TEXT COLLATE "C",
    approval      TEXT COLLATE "C",
    -- What it waited for when it ended: 1 an approval, 2 a sign-in.
    waiting       BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX calls_by_user ON calls (user_id, id);
CREATE INDEX calls_by_time ON calls (started_at);
CREATE INDEX calls_by_package ON calls (package, id);
CREATE INDEX calls_with_message ON calls (started_at) WHERE error_message IS NOT NULL;

-- Idempotency keys. They belong to a user and a caller together. `outcome` is missing while the call runs, and where it was
-- not stored.
CREATE TABLE call_keys (
    user_id  TEXT COLLATE "C" NOT NULL,
    -- `*` for keys from before they belonged to a caller: used up for all.
    caller   TEXT COLLATE "C" NOT NULL,
    -- As bytes: a key may have any character, and a text in PostgreSQL cannot contain U+0000.
    key      BYTEA NOT NULL,
    digest   BYTEA NOT NULL,
    call     TEXT COLLATE "C" NOT NULL,
    node     BIGINT NOT NULL,
    begun_at BIGINT NOT NULL,
    ended_at BIGINT,
    outcome  TEXT COLLATE "C",
    PRIMARY KEY (user_id, caller, key)
);
CREATE INDEX call_keys_by_time ON call_keys (begun_at);
-- Which outcomes are evicted first.
CREATE INDEX call_keys_kept ON call_keys (user_id, begun_at) WHERE outcome IS NOT NULL;

-- The totals of each user, so that nothing has to be counted. The row is also the lock of the user's keys: a transaction that
-- writes keys locks the rows of all their users first, in the order of their ids.
CREATE TABLE call_key_totals (
    user_id TEXT COLLATE "C" PRIMARY KEY,
    keys    BIGINT NOT NULL,
    bytes   BIGINT NOT NULL
);

-- Once for each statement, not for each row: a batch may write hundreds of keys of one user.
CREATE FUNCTION count_added_keys() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO call_key_totals AS totals (user_id, keys, bytes)
        SELECT user_id, COUNT(*), COALESCE(SUM(OCTET_LENGTH(outcome)), 0) FROM added GROUP BY user_id ORDER BY user_id
        ON CONFLICT (user_id) DO UPDATE SET keys = totals.keys + excluded.keys, bytes = totals.bytes + excluded.bytes;
    RETURN NULL;
END $$;
CREATE TRIGGER call_keys_added AFTER INSERT ON call_keys
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_added_keys();

CREATE FUNCTION count_changed_keys() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE call_key_totals AS totals SET bytes = totals.bytes + changed.bytes
        FROM (SELECT user_id, SUM(bytes) AS bytes FROM (
                SELECT user_id, COALESCE(OCTET_LENGTH(outcome), 0) AS bytes FROM later
                UNION ALL SELECT user_id, -COALESCE(OCTET_LENGTH(outcome), 0) FROM earlier) AS both_states
              GROUP BY user_id) AS changed
        WHERE totals.user_id = changed.user_id AND changed.bytes <> 0;
    RETURN NULL;
END $$;
CREATE TRIGGER call_keys_changed AFTER UPDATE ON call_keys
    REFERENCING OLD TABLE AS earlier NEW TABLE AS later FOR EACH STATEMENT EXECUTE FUNCTION count_changed_keys();

CREATE FUNCTION count_removed_keys() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE call_key_totals AS totals SET keys = totals.keys - removed_now.keys, bytes = totals.bytes - removed_now.bytes
        FROM (SELECT user_id, COUNT(*) AS keys, COALESCE(SUM(OCTET_LENGTH(outcome)), 0) AS bytes FROM removed
              GROUP BY user_id) AS removed_now
        WHERE totals.user_id = removed_now.user_id;
    RETURN NULL;
END $$;
CREATE TRIGGER call_keys_removed AFTER DELETE ON call_keys
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_removed_keys();
