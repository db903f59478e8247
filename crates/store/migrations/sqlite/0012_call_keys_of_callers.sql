-- Each opening of the store is a node. A key that is open belongs to the node that began its call.
CREATE TABLE ledger_nodes (id INTEGER PRIMARY KEY AUTOINCREMENT) STRICT;

-- Keys belong to a user and a caller together. `outcome` is missing while the call runs, and where it was not kept.
CREATE TABLE call_keys_of_callers (
    user     TEXT NOT NULL,
    -- `*` where a key is older than this column and nobody knows whose it was: it is used up for all.
    caller   TEXT NOT NULL,
    key      TEXT NOT NULL,
    digest   BLOB NOT NULL,
    call     TEXT NOT NULL,
    node     INTEGER NOT NULL,
    begun_at INTEGER NOT NULL,
    ended_at INTEGER,
    outcome  TEXT,
    PRIMARY KEY (user, caller, key)
) STRICT, WITHOUT ROWID;
INSERT INTO call_keys_of_callers (user, caller, key, digest, call, node, begun_at, ended_at, outcome)
    SELECT user, COALESCE((SELECT c.caller FROM calls c WHERE c.id = k.call), '*'), key, digest, call, 0, begun_at,
        ended_at, outcome
    FROM call_keys k;
DROP TABLE call_keys;
ALTER TABLE call_keys_of_callers RENAME TO call_keys;
CREATE INDEX call_keys_by_time ON call_keys (begun_at);
-- Which outcomes make room first.
CREATE INDEX call_keys_kept ON call_keys (user, begun_at) WHERE outcome IS NOT NULL;

-- How much there is of each user, so that nobody has to count.
CREATE TABLE call_key_totals (
    user  TEXT PRIMARY KEY,
    keys  INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO call_key_totals (user, keys, bytes)
    SELECT user, COUNT(*), COALESCE(SUM(LENGTH(CAST(outcome AS BLOB))), 0) FROM call_keys GROUP BY user;
CREATE TRIGGER call_keys_added AFTER INSERT ON call_keys BEGIN
    INSERT INTO call_key_totals (user, keys, bytes)
        VALUES (NEW.user, 1, COALESCE(LENGTH(CAST(NEW.outcome AS BLOB)), 0))
        ON CONFLICT (user) DO UPDATE SET keys = keys + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER call_keys_changed AFTER UPDATE OF outcome ON call_keys BEGIN
    UPDATE call_key_totals SET bytes = bytes + COALESCE(LENGTH(CAST(NEW.outcome AS BLOB)), 0)
        - COALESCE(LENGTH(CAST(OLD.outcome AS BLOB)), 0) WHERE user = NEW.user;
END;
CREATE TRIGGER call_keys_removed AFTER DELETE ON call_keys BEGIN
    UPDATE call_key_totals SET keys = keys - 1, bytes = bytes - COALESCE(LENGTH(CAST(OLD.outcome AS BLOB)), 0)
        WHERE user = OLD.user;
    DELETE FROM call_key_totals WHERE user = OLD.user AND keys = 0;
END;
