-- Clients that registered themselves.
CREATE TABLE oauth_clients (
    id         TEXT PRIMARY KEY,
    record     TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX oauth_clients_by_time ON oauth_clients (created_at);

-- What users granted clients. The id is that of the access tokens.
CREATE TABLE client_grants (
    id           TEXT PRIMARY KEY,
    user         TEXT NOT NULL,
    client_id    TEXT NOT NULL,
    client_name  TEXT NOT NULL,
    client_host  TEXT NOT NULL,
    scopes       TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    -- The token with which the user agreed, if it is listed: the grant ends with it.
    made_with    TEXT,
    -- Which refresh token is the current one, and since when.
    generation   INTEGER NOT NULL,
    rotated_at   INTEGER,
    revoked_at   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX client_grants_of_user ON client_grants (user, created_at);
CREATE INDEX client_grants_of_client ON client_grants (client_id);
CREATE INDEX client_grants_by_end ON client_grants (expires_at);
CREATE INDEX client_grants_made_with ON client_grants (made_with);

-- Every node refuses the access tokens of a revoked grant, as it refuses other revoked tokens.
CREATE TRIGGER change_of_client_grant AFTER INSERT ON client_grants BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('token_issued', NEW.user, '');
END;
CREATE TRIGGER change_of_revoked_client_grant AFTER UPDATE OF revoked_at ON client_grants
    WHEN NEW.revoked_at IS NOT NULL AND OLD.revoked_at IS NULL BEGIN
    INSERT INTO changes (kind, subject, detail)
        VALUES ('token_revoked', NEW.id, NEW.expires_at || ' ' || NEW.user);
END;

-- Authorization codes by their hash. A used one stays until it expires, to notice a copy.
CREATE TABLE authorization_codes (
    hash    BLOB PRIMARY KEY,
    grant_id TEXT NOT NULL,
    binding TEXT NOT NULL,
    until   INTEGER NOT NULL,
    used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX authorization_codes_by_end ON authorization_codes (until);

-- Ids that may be used once: of client assertions and identity assertions.
CREATE TABLE used_ids (
    id    TEXT PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX used_ids_by_end ON used_ids (until);
