-- Accounts of users.
CREATE TABLE accounts (
    user         TEXT PRIMARY KEY,
    email        TEXT UNIQUE,
    name         TEXT,
    role         TEXT NOT NULL,
    -- A JSON array, sorted.
    groups       TEXT NOT NULL,
    managed_by   TEXT,
    created_at   INTEGER NOT NULL,
    -- One-time links from before this are worthless.
    links_from   INTEGER NOT NULL,
    last_seen_at INTEGER,
    disabled_at  INTEGER
) STRICT, WITHOUT ROWID;

-- Every node refuses the credentials of a disabled user.
CREATE TRIGGER change_of_added_account AFTER INSERT ON accounts WHEN NEW.disabled_at IS NOT NULL BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('user_disabled', NEW.user, '');
END;
CREATE TRIGGER change_of_account AFTER UPDATE OF disabled_at ON accounts
    WHEN (NEW.disabled_at IS NULL) <> (OLD.disabled_at IS NULL) BEGIN
    INSERT INTO changes (kind, subject, detail)
        VALUES (CASE WHEN NEW.disabled_at IS NULL THEN 'user_enabled' ELSE 'user_disabled' END, NEW.user, '');
END;
CREATE TRIGGER change_of_removed_account AFTER DELETE ON accounts WHEN OLD.disabled_at IS NOT NULL BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('user_enabled', OLD.user, '');
END;

CREATE TABLE passwords (
    user       TEXT PRIMARY KEY REFERENCES accounts (user) ON DELETE CASCADE,
    hash       TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE passkeys (
    id           TEXT PRIMARY KEY,
    user         TEXT NOT NULL REFERENCES accounts (user) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    record       TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX passkeys_of_user ON passkeys (user, created_at);

-- Who a subject of an issuer is here.
CREATE TABLE identities (
    issuer  TEXT NOT NULL,
    subject TEXT NOT NULL,
    user    TEXT NOT NULL REFERENCES accounts (user) ON DELETE CASCADE,
    PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_of_user ON identities (user);

-- Browsers in which users are signed in. An ended one stays until it expires: its cookie is refused until then.
CREATE TABLE browser_sessions (
    id           TEXT PRIMARY KEY,
    user         TEXT NOT NULL,
    method       TEXT NOT NULL,
    device       TEXT NOT NULL,
    started_at   INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX browser_sessions_of_user ON browser_sessions (user, last_seen_at);
CREATE INDEX browser_sessions_by_end ON browser_sessions (expires_at);
CREATE TRIGGER change_of_ended_browser_session AFTER UPDATE OF ended_at ON browser_sessions
    WHEN NEW.ended_at IS NOT NULL AND OLD.ended_at IS NULL BEGIN
    INSERT INTO changes (kind, subject, detail)
        VALUES ('token_revoked', NEW.id, NEW.expires_at || ' ' || NEW.user);
END;

-- Programs on devices that wait for a person to agree in a browser. By the hash of the secret that the program has.
CREATE TABLE device_logins (
    device_hash BLOB PRIMARY KEY,
    user_code   TEXT NOT NULL UNIQUE,
    name        TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    until       INTEGER NOT NULL,
    -- NULL: nobody has answered. Otherwise who did; `role` and `days` only if they agreed.
    user        TEXT,
    role        TEXT,
    days        INTEGER,
    redeemed_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX device_logins_by_end ON device_logins (until);

-- What a user agreed to before they were disabled does not come back with them.
CREATE TRIGGER device_logins_of_disabled_account AFTER UPDATE OF disabled_at ON accounts
    WHEN NEW.disabled_at IS NOT NULL AND OLD.disabled_at IS NULL BEGIN
    DELETE FROM device_logins WHERE user = NEW.user;
END;
