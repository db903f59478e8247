-- Times are milliseconds since 1970, UTC. JSON is stored as text, byte for byte as it came. Texts compare by their bytes,
-- as in SQLite, whatever the database's own collation is. Columns have the names that they have in SQLite.

CREATE TABLE apps (
    package       TEXT COLLATE "C" PRIMARY KEY,
    details       TEXT COLLATE "C" NOT NULL,
    owner         TEXT COLLATE "C" NOT NULL,
    key_hash      BYTEA NOT NULL,
    signing       BYTEA NOT NULL,
    -- The secret before the current one, during a rotation.
    signing_old   BYTEA,
    assistant     BOOLEAN NOT NULL DEFAULT FALSE,
    -- Points into tool_sets; 0 is none yet.
    tools_version BIGINT NOT NULL DEFAULT 0,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    -- `app` or `upstream`.
    source        TEXT COLLATE "C" NOT NULL DEFAULT 'app'
);
CREATE INDEX apps_by_owner ON apps (owner, package);

-- Immutable: rows are added, never changed.
CREATE TABLE tool_sets (
    package    TEXT COLLATE "C" NOT NULL REFERENCES apps ON DELETE CASCADE,
    version    BIGINT NOT NULL,
    hash       TEXT COLLATE "C" NOT NULL,
    tools      TEXT COLLATE "C" NOT NULL,
    tool_count BIGINT NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    -- Prompts, resources and resource templates.
    items      TEXT COLLATE "C" NOT NULL DEFAULT '{}',
    PRIMARY KEY (package, version)
);

-- Who had a hashed alias first.
CREATE TABLE tool_aliases (
    alias   TEXT COLLATE "C" PRIMARY KEY,
    tool    TEXT COLLATE "C" NOT NULL,
    package TEXT COLLATE "C" NOT NULL REFERENCES apps ON DELETE CASCADE
);
CREATE INDEX tool_aliases_package ON tool_aliases (package);

CREATE TABLE installs (
    user_id      TEXT COLLATE "C" NOT NULL,
    package      TEXT COLLATE "C" NOT NULL REFERENCES apps ON DELETE CASCADE,
    installed_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, package)
);
CREATE INDEX installs_by_package ON installs (package);

-- What a user allows an app beyond its own tools.
CREATE TABLE grants (
    user_id TEXT COLLATE "C" NOT NULL,
    package TEXT COLLATE "C" NOT NULL,
    what    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, package, what),
    FOREIGN KEY (user_id, package) REFERENCES installs ON DELETE CASCADE
);

-- Only what differs from the default: the tools that are off.
CREATE TABLE tool_settings (
    user_id TEXT COLLATE "C" NOT NULL,
    tool    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, tool)
);

CREATE TABLE devices (
    user_id      TEXT COLLATE "C" PRIMARY KEY,
    capabilities TEXT COLLATE "C" NOT NULL,
    seen_at      BIGINT NOT NULL
);
CREATE INDEX devices_by_time ON devices (seen_at, user_id);

-- App sessions that were handed out and have not ended: apps reconnect under them after a restart.
CREATE TABLE runs (
    session TEXT COLLATE "C" PRIMARY KEY,
    user_id TEXT COLLATE "C" NOT NULL,
    package TEXT COLLATE "C" NOT NULL REFERENCES apps ON DELETE CASCADE,
    by_user BOOLEAN NOT NULL
);
CREATE INDEX runs_of_user ON runs (user_id);
CREATE INDEX runs_of_package ON runs (package);

CREATE TABLE app_storage (
    user_id TEXT COLLATE "C" NOT NULL,
    package TEXT COLLATE "C" NOT NULL,
    key     TEXT COLLATE "C" NOT NULL,
    value   TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, package, key),
    FOREIGN KEY (user_id, package) REFERENCES installs ON DELETE CASCADE
);

CREATE TABLE app_settings (
    user_id  TEXT COLLATE "C" NOT NULL,
    package  TEXT COLLATE "C" NOT NULL,
    settings TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, package),
    FOREIGN KEY (user_id, package) REFERENCES installs ON DELETE CASCADE
);

-- User settings that belong to no app: time zone, units.
CREATE TABLE user_preferences (
    user_id  TEXT COLLATE "C" PRIMARY KEY,
    settings TEXT COLLATE "C" NOT NULL
);

-- Upstream MCP servers are packages like apps: installed, switched off and called in the same way.
CREATE TABLE upstreams (
    package  TEXT COLLATE "C" PRIMARY KEY REFERENCES apps ON DELETE CASCADE,
    -- Without the values that are secret.
    details  TEXT COLLATE "C" NOT NULL,
    -- Those values.
    sealed   BYTEA NOT NULL,
    -- Whether everybody has it without installing it.
    for_all  BOOLEAN NOT NULL,
    -- Whether it is in a configuration file, and whether it was removed from it.
    managed  BOOLEAN NOT NULL,
    disabled BOOLEAN NOT NULL
);

-- What an upstream offered last. The user is empty where it is the same for all.
CREATE TABLE offers (
    package    TEXT COLLATE "C" NOT NULL REFERENCES apps ON DELETE CASCADE,
    user_id    TEXT COLLATE "C" NOT NULL,
    hash       TEXT COLLATE "C" NOT NULL,
    lists      TEXT COLLATE "C" NOT NULL,
    fetched_at BIGINT NOT NULL,
    PRIMARY KEY (package, user_id)
);
CREATE INDEX offers_of_user ON offers (user_id) WHERE user_id <> '';

-- Tokens of users at upstreams, sealed.
CREATE TABLE upstream_tokens (
    package TEXT COLLATE "C" NOT NULL REFERENCES apps ON DELETE CASCADE,
    user_id TEXT COLLATE "C" NOT NULL,
    sealed  BYTEA NOT NULL,
    PRIMARY KEY (package, user_id)
);
CREATE INDEX upstream_tokens_of_user ON upstream_tokens (user_id);

-- Plugins that users have. Each one is verified again whenever it is loaded.
CREATE TABLE plugins (
    user_id      TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    version      TEXT COLLATE "C" NOT NULL,
    -- Byte for byte as it came.
    manifest     TEXT COLLATE "C" NOT NULL,
    -- The content that was installed.
    hash         TEXT COLLATE "C" NOT NULL,
    -- What it was when it was installed.
    status       TEXT COLLATE "C" NOT NULL,
    -- What the user agreed to.
    granted      TEXT COLLATE "C" NOT NULL,
    enabled      BOOLEAN NOT NULL,
    -- Why the platform switched it off, if it did.
    stopped      TEXT COLLATE "C",
    installed_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, id)
);

-- What plugins store for users. It belongs to the signer of the plugin, too.
CREATE TABLE plugin_data (
    -- Grows with each write.
    number  BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    user_id TEXT COLLATE "C" NOT NULL,
    id      TEXT COLLATE "C" NOT NULL,
    -- The id of a key, or `unsigned`.
    signer  TEXT COLLATE "C" NOT NULL,
    -- As bytes: plugins may use any character, and a text in PostgreSQL cannot contain U+0000.
    key     BYTEA NOT NULL,
    value   BYTEA NOT NULL,
    UNIQUE (user_id, id, signer, key),
    FOREIGN KEY (user_id, id) REFERENCES plugins ON DELETE CASCADE
);

-- The catalogue: what a curator of this server signed.
CREATE TABLE published_plugins (
    number       BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    id           TEXT COLLATE "C" NOT NULL,
    version      TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    description  TEXT COLLATE "C" NOT NULL,
    publisher    TEXT COLLATE "C",
    hash         TEXT COLLATE "C" NOT NULL,
    manifest     TEXT COLLATE "C" NOT NULL,
    by           TEXT COLLATE "C" NOT NULL,
    published_at BIGINT NOT NULL,
    UNIQUE (id, version)
);

-- Lists of trusted keys and revoked plugins, by name.
CREATE TABLE plugin_lists (
    name TEXT COLLATE "C" PRIMARY KEY,
    text TEXT COLLATE "C" NOT NULL
);

-- Issued tokens, to list and revoke them. Never the tokens themselves.
CREATE TABLE tokens (
    id         TEXT COLLATE "C" PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL,
    subject    TEXT COLLATE "C" NOT NULL,
    role       TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    revoked_at BIGINT,
    -- The token that issued it: revoked with that one.
    made_with  TEXT COLLATE "C"
);
CREATE INDEX tokens_by_subject ON tokens (subject, created_at);
CREATE INDEX tokens_by_end ON tokens (expires_at);
CREATE INDEX tokens_made_with ON tokens (made_with) WHERE made_with IS NOT NULL;

-- The store's own state. `root_key_check` verifies the root key. `probe` is written to check whether writes work.
CREATE TABLE store_state (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value BYTEA NOT NULL
);

-- Questions to users about one exact call each.
CREATE TABLE approvals (
    id               TEXT COLLATE "C" PRIMARY KEY,
    user_id          TEXT COLLATE "C" NOT NULL,
    caller           TEXT COLLATE "C" NOT NULL,
    tool             TEXT COLLATE "C" NOT NULL,
    definition       BYTEA NOT NULL,
    arguments_digest BYTEA NOT NULL,
    -- Sealed. The arguments are removed when nothing more can run.
    summary          BYTEA NOT NULL,
    arguments        BYTEA,
    risk             TEXT COLLATE "C" NOT NULL,
    reason           TEXT COLLATE "C" NOT NULL,
    can_remember     BOOLEAN NOT NULL,
    door             TEXT COLLATE "C" NOT NULL,
    client           TEXT COLLATE "C",
    conversation     TEXT COLLATE "C",
    call             TEXT COLLATE "C" NOT NULL,
    created_at       BIGINT NOT NULL,
    expires_at       BIGINT NOT NULL,
    state            TEXT COLLATE "C" NOT NULL,
    -- The answer as JSON, and the call that ran after a yes.
    answer           TEXT COLLATE "C",
    run              TEXT COLLATE "C",
    outcome          TEXT COLLATE "C",
    delivered        BOOLEAN NOT NULL DEFAULT FALSE,
    -- The session of the call that asked.
    session          TEXT COLLATE "C",
    -- The node that runs the call.
    node             BIGINT
);
CREATE INDEX approvals_of_user ON approvals (user_id, created_at, id);
CREATE INDEX approvals_by_time ON approvals (created_at, id);
-- The same call, asked about again.
CREATE INDEX approvals_of_call ON approvals (user_id, tool, arguments_digest) WHERE NOT delivered;
CREATE INDEX approvals_in_progress ON approvals (state, expires_at) WHERE state IN ('pending', 'approved', 'running');

-- What users chose for a tool: always, ask, never.
CREATE TABLE tool_choices (
    user_id    TEXT COLLATE "C" NOT NULL,
    tool       TEXT COLLATE "C" NOT NULL,
    choice     TEXT COLLATE "C" NOT NULL,
    chosen_at  BIGINT NOT NULL,
    until      BIGINT,
    definition BYTEA,
    PRIMARY KEY (user_id, tool)
);

-- A yes that was given in advance, or remembered.
CREATE TABLE approval_grants (
    id               TEXT COLLATE "C" PRIMARY KEY,
    user_id          TEXT COLLATE "C" NOT NULL,
    tool             TEXT COLLATE "C" NOT NULL,
    definition       BYTEA NOT NULL,
    arguments_digest BYTEA,
    predicates       TEXT COLLATE "C" NOT NULL,
    conversation     TEXT COLLATE "C",
    created_at       BIGINT NOT NULL,
    until            BIGINT,
    uses             BIGINT
);
CREATE INDEX approval_grants_of_user ON approval_grants (user_id, created_at);

-- The operator's policy, if it was changed at run time. One row at most.
CREATE TABLE approval_policy (
    only_one BIGINT PRIMARY KEY CHECK (only_one = 1),
    policy   TEXT COLLATE "C" NOT NULL
);

-- Packages whose definitions were reviewed. Every write of pins, changes or answers raises the revision once, so that one
-- change is announced for each.
CREATE TABLE definition_packages (
    package    TEXT COLLATE "C" PRIMARY KEY REFERENCES apps ON DELETE CASCADE,
    first_seen BIGINT NOT NULL,
    revision   BIGINT NOT NULL
);

-- Accepted definitions. The user is empty if it is accepted for everyone.
CREATE TABLE definition_pins (
    package  TEXT COLLATE "C" NOT NULL REFERENCES definition_packages ON DELETE CASCADE,
    user_id  TEXT COLLATE "C" NOT NULL,
    kind     TEXT COLLATE "C" NOT NULL,
    name     TEXT COLLATE "C" NOT NULL,
    digest   TEXT COLLATE "C" NOT NULL,
    content  TEXT COLLATE "C" NOT NULL,
    -- Digests that were accepted before, as JSON.
    earlier  TEXT COLLATE "C" NOT NULL,
    origin   TEXT COLLATE "C" NOT NULL,
    by       TEXT COLLATE "C",
    at       BIGINT NOT NULL,
    findings TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (package, user_id, kind, name)
);
CREATE INDEX definition_pins_of_user ON definition_pins (user_id) WHERE user_id <> '';

-- Changes that are not in use. The user is empty if everyone is offered the change.
CREATE TABLE definition_changes (
    id       TEXT COLLATE "C" NOT NULL UNIQUE,
    package  TEXT COLLATE "C" NOT NULL REFERENCES definition_packages ON DELETE CASCADE,
    user_id  TEXT COLLATE "C" NOT NULL,
    kind     TEXT COLLATE "C" NOT NULL,
    name     TEXT COLLATE "C" NOT NULL,
    change   TEXT COLLATE "C" NOT NULL,
    other    TEXT COLLATE "C",
    digest   TEXT COLLATE "C" NOT NULL,
    content  TEXT COLLATE "C" NOT NULL,
    changes  TEXT COLLATE "C" NOT NULL,
    findings TEXT COLLATE "C" NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (package, kind, name, user_id)
);

-- Rejected versions, the last one of each subject. The user is empty if it is rejected for everyone.
CREATE TABLE definition_rejections (
    package TEXT COLLATE "C" NOT NULL REFERENCES definition_packages ON DELETE CASCADE,
    user_id TEXT COLLATE "C" NOT NULL,
    kind    TEXT COLLATE "C" NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    digest  TEXT COLLATE "C" NOT NULL,
    by      TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (package, user_id, kind, name)
);

-- What was applied without a question.
CREATE TABLE definition_notes (
    number  BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    package TEXT COLLATE "C" NOT NULL REFERENCES definition_packages ON DELETE CASCADE,
    kind    TEXT COLLATE "C" NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    text    TEXT COLLATE "C" NOT NULL
);
CREATE INDEX definition_notes_of_package ON definition_notes (package, number);

-- What conversations have read: private data, content from outside. Names of tools, never data.
CREATE TABLE conversation_labels (
    user_id      TEXT COLLATE "C" NOT NULL,
    -- A conversation, an MCP session, or what a credential does outside of both.
    conversation TEXT COLLATE "C" NOT NULL,
    -- JSON lists: the first few names that brought it.
    private      TEXT COLLATE "C" NOT NULL,
    untrusted    TEXT COLLATE "C" NOT NULL,
    until        BIGINT NOT NULL,
    PRIMARY KEY (user_id, conversation)
);
CREATE INDEX conversation_labels_by_end ON conversation_labels (until);
CREATE INDEX conversation_labels_of_user ON conversation_labels (user_id, until);

-- Browsers that users want to be notified in. Not sealed: a push service accepts messages only if they are signed with the key
-- that the browser subscribed with, and that key is derived from the root key.
CREATE TABLE push_subscriptions (
    -- Derived from the endpoint: all users of a browser share its subscription.
    id           TEXT COLLATE "C" PRIMARY KEY,
    user_id      TEXT COLLATE "C" NOT NULL,
    endpoint     TEXT COLLATE "C" NOT NULL,
    receiver_key BYTEA NOT NULL,
    auth_secret  BYTEA NOT NULL,
    server_key   TEXT COLLATE "C" NOT NULL,
    label        TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    last_sent_at BIGINT,
    problem      TEXT COLLATE "C"
);
CREATE INDEX push_subscriptions_of_user ON push_subscriptions (user_id, created_at);

-- Clients that registered themselves.
CREATE TABLE oauth_clients (
    id         TEXT COLLATE "C" PRIMARY KEY,
    record     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX oauth_clients_by_time ON oauth_clients (created_at);

-- What users granted clients. The id is that of the access tokens.
CREATE TABLE client_grants (
    id           TEXT COLLATE "C" PRIMARY KEY,
    user_id      TEXT COLLATE "C" NOT NULL,
    client_id    TEXT COLLATE "C" NOT NULL,
    client_name  TEXT COLLATE "C" NOT NULL,
    client_host  TEXT COLLATE "C" NOT NULL,
    scopes       TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    -- The token with which the user agreed, if it is listed: the grant ends with it.
    made_with    TEXT COLLATE "C",
    -- Which refresh token is the current one, and since when.
    generation   BIGINT NOT NULL,
    rotated_at   BIGINT,
    revoked_at   BIGINT
);
CREATE INDEX client_grants_of_user ON client_grants (user_id, created_at);
CREATE INDEX client_grants_of_client ON client_grants (client_id);
CREATE INDEX client_grants_by_end ON client_grants (expires_at);
CREATE INDEX client_grants_made_with ON client_grants (made_with);

-- Authorization codes by their hash. A used one stays until it expires, to notice a copy.
CREATE TABLE authorization_codes (
    hash     BYTEA PRIMARY KEY,
    grant_id TEXT COLLATE "C" NOT NULL,
    binding  TEXT COLLATE "C" NOT NULL,
    until    BIGINT NOT NULL,
    used_at  BIGINT
);
CREATE INDEX authorization_codes_by_end ON authorization_codes (until);

-- Ids that may be used once: of client assertions and identity assertions.
CREATE TABLE used_ids (
    id    TEXT COLLATE "C" PRIMARY KEY,
    until BIGINT NOT NULL
);
CREATE INDEX used_ids_by_end ON used_ids (until);

CREATE TABLE accounts (
    user_id      TEXT COLLATE "C" PRIMARY KEY,
    email        TEXT COLLATE "C" UNIQUE,
    name         TEXT COLLATE "C",
    role         TEXT COLLATE "C" NOT NULL,
    -- A JSON array, sorted.
    groups       TEXT COLLATE "C" NOT NULL,
    managed_by   TEXT COLLATE "C",
    created_at   BIGINT NOT NULL,
    -- One-time links from before this are invalid.
    links_from   BIGINT NOT NULL,
    last_seen_at BIGINT,
    disabled_at  BIGINT
);

CREATE TABLE passwords (
    user_id    TEXT COLLATE "C" PRIMARY KEY REFERENCES accounts ON DELETE CASCADE,
    hash       TEXT COLLATE "C" NOT NULL,
    changed_at BIGINT NOT NULL
);

CREATE TABLE passkeys (
    id           TEXT COLLATE "C" PRIMARY KEY,
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES accounts ON DELETE CASCADE,
    name         TEXT COLLATE "C" NOT NULL,
    record       TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT
);
CREATE INDEX passkeys_of_user ON passkeys (user_id, created_at);

-- Who a subject of an issuer is here.
CREATE TABLE identities (
    issuer  TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL REFERENCES accounts ON DELETE CASCADE,
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_of_user ON identities (user_id);

-- Browsers in which users are signed in. An ended one stays until it expires: its cookie is refused until then.
CREATE TABLE browser_sessions (
    id           TEXT COLLATE "C" PRIMARY KEY,
    user_id      TEXT COLLATE "C" NOT NULL,
    method       TEXT COLLATE "C" NOT NULL,
    device       TEXT COLLATE "C" NOT NULL,
    started_at   BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    ended_at     BIGINT
);
CREATE INDEX browser_sessions_of_user ON browser_sessions (user_id, last_seen_at);
CREATE INDEX browser_sessions_by_end ON browser_sessions (expires_at);

-- Programs on devices that wait for a person to agree in a browser. By the hash of the secret that the program has.
CREATE TABLE device_logins (
    device_hash BYTEA PRIMARY KEY,
    user_code   TEXT COLLATE "C" NOT NULL UNIQUE,
    name        TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT NOT NULL,
    until       BIGINT NOT NULL,
    -- NULL: nobody has answered. Otherwise who did; `role` and `days` only if they agreed.
    user_id     TEXT COLLATE "C",
    role        TEXT COLLATE "C",
    days        BIGINT,
    redeemed_at BIGINT
);
CREATE INDEX device_logins_by_end ON device_logins (until);
