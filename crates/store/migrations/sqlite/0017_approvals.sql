-- Questions to users about one exact call each.
CREATE TABLE approvals (
    id            TEXT PRIMARY KEY,
    user          TEXT NOT NULL,
    caller        TEXT NOT NULL,
    tool          TEXT NOT NULL,
    definition    BLOB NOT NULL,
    arguments_digest BLOB NOT NULL,
    -- Sealed. The arguments go when nothing more can run.
    summary       BLOB NOT NULL,
    arguments     BLOB,
    risk          TEXT NOT NULL,
    reason        TEXT NOT NULL,
    can_remember  INTEGER NOT NULL,
    door          TEXT NOT NULL,
    client        TEXT,
    conversation  TEXT,
    call          TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    state         TEXT NOT NULL,
    -- The answer as JSON, and the call that ran after a yes.
    answer        TEXT,
    run           TEXT,
    outcome       TEXT,
    delivered     INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX approvals_of_user ON approvals (user, created_at, id);
CREATE INDEX approvals_by_time ON approvals (created_at, id);
-- The same call, asked about again.
CREATE INDEX approvals_of_call ON approvals (user, tool, arguments_digest) WHERE delivered = 0;
CREATE INDEX approvals_in_progress ON approvals (state, expires_at) WHERE state IN ('pending', 'approved', 'running');

CREATE TRIGGER change_of_asked_approval AFTER INSERT ON approvals BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('approval_requested', NEW.user, NEW.id);
END;
CREATE TRIGGER change_of_answered_approval AFTER UPDATE OF state ON approvals
    WHEN OLD.state = 'pending' AND NEW.state <> 'pending' BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('approval_answered', NEW.user, NEW.id);
END;

-- What users chose for a tool: always, ask, never.
CREATE TABLE tool_choices (
    user       TEXT NOT NULL,
    tool       TEXT NOT NULL,
    choice     TEXT NOT NULL,
    chosen_at  INTEGER NOT NULL,
    until      INTEGER,
    definition BLOB,
    PRIMARY KEY (user, tool)
) STRICT, WITHOUT ROWID;

-- A yes that was given in advance, or remembered.
CREATE TABLE approval_grants (
    id           TEXT PRIMARY KEY,
    user         TEXT NOT NULL,
    tool         TEXT NOT NULL,
    definition   BLOB NOT NULL,
    arguments_digest BLOB,
    predicates   TEXT NOT NULL,
    conversation TEXT,
    created_at   INTEGER NOT NULL,
    until        INTEGER,
    uses         INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX approval_grants_of_user ON approval_grants (user, created_at);

CREATE TRIGGER change_of_choice AFTER INSERT ON tool_choices BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('approval_rules_changed', NEW.user, '');
END;
CREATE TRIGGER change_of_changed_choice AFTER UPDATE ON tool_choices BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('approval_rules_changed', NEW.user, '');
END;
CREATE TRIGGER change_of_removed_choice AFTER DELETE ON tool_choices BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('approval_rules_changed', OLD.user, '');
END;
CREATE TRIGGER change_of_approval_grant AFTER INSERT ON approval_grants BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('approval_rules_changed', NEW.user, '');
END;
CREATE TRIGGER change_of_removed_approval_grant AFTER DELETE ON approval_grants BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('approval_rules_changed', OLD.user, '');
END;

-- The operator's policy, if it was changed at run time. One row at most.
CREATE TABLE approval_policy (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    policy   TEXT NOT NULL
) STRICT;
CREATE TRIGGER change_of_policy AFTER INSERT ON approval_policy BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('approval_policy_changed', '', '');
END;
CREATE TRIGGER change_of_changed_policy AFTER UPDATE ON approval_policy BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('approval_policy_changed', '', '');
END;
CREATE TRIGGER change_of_removed_policy AFTER DELETE ON approval_policy BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('approval_policy_changed', '', '');
END;

-- The ledger links a call with its approval; a call that only asked is not an outcome.
ALTER TABLE calls ADD COLUMN approval TEXT;
ALTER TABLE calls ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0;
