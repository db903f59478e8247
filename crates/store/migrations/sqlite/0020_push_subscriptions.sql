-- Browsers that users want to be notified in. Nothing here is sealed: a push service accepts messages only if they are signed
-- with the key that the browser subscribed with, and that key is derived from the root key.
CREATE TABLE push_subscriptions (
    -- Derived from the endpoint: all users of a browser share its subscription.
    id           TEXT PRIMARY KEY,
    user         TEXT NOT NULL,
    endpoint     TEXT NOT NULL,
    receiver_key BLOB NOT NULL,
    auth_secret  BLOB NOT NULL,
    server_key   TEXT NOT NULL,
    label        TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_sent_at INTEGER,
    problem      TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX push_subscriptions_of_user ON push_subscriptions (user, created_at);
