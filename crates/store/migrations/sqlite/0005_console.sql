-- Reports read a span of time, and old calls are removed by it.
CREATE INDEX calls_by_time ON calls (started_at);

-- Tokens that were made, by which they are called back. Never the tokens themselves.
CREATE TABLE tokens (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    role       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    revoked_at INTEGER
) STRICT;
CREATE INDEX tokens_by_subject ON tokens (subject, created_at);
CREATE INDEX tokens_by_end ON tokens (expires_at);
