-- Packages whose definitions were reviewed. Every write of pins, changes or answers raises the revision once, so that one
-- change is announced for each.
CREATE TABLE definition_packages (
    package    TEXT PRIMARY KEY REFERENCES apps ON DELETE CASCADE,
    first_seen INTEGER NOT NULL,
    revision   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Accepted definitions. The user is empty if it is accepted for everyone.
CREATE TABLE definition_pins (
    package  TEXT NOT NULL REFERENCES definition_packages ON DELETE CASCADE,
    user     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    name     TEXT NOT NULL,
    digest   TEXT NOT NULL,
    content  TEXT NOT NULL,
    -- Digests that were accepted before, as JSON.
    earlier  TEXT NOT NULL,
    origin   TEXT NOT NULL,
    by       TEXT,
    at       INTEGER NOT NULL,
    findings TEXT NOT NULL,
    PRIMARY KEY (package, user, kind, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX definition_pins_of_user ON definition_pins (user) WHERE user <> '';

-- Changes that are not in use. The user is empty if everyone is offered the change.
CREATE TABLE definition_changes (
    id       TEXT NOT NULL UNIQUE,
    package  TEXT NOT NULL REFERENCES definition_packages ON DELETE CASCADE,
    user     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    name     TEXT NOT NULL,
    change   TEXT NOT NULL,
    other    TEXT,
    digest   TEXT NOT NULL,
    content  TEXT NOT NULL,
    changes  TEXT NOT NULL,
    findings TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (package, kind, name, user)
) STRICT, WITHOUT ROWID;

-- Rejected versions, the last one of each subject. The user is empty if it is rejected for everyone.
CREATE TABLE definition_rejections (
    package TEXT NOT NULL REFERENCES definition_packages ON DELETE CASCADE,
    user    TEXT NOT NULL,
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    digest  TEXT NOT NULL,
    by      TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (package, user, kind, name)
) STRICT, WITHOUT ROWID;

-- What was applied without a question.
CREATE TABLE definition_notes (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    package TEXT NOT NULL REFERENCES definition_packages ON DELETE CASCADE,
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    text    TEXT NOT NULL
) STRICT;
CREATE INDEX definition_notes_of_package ON definition_notes (package, number);

CREATE TRIGGER change_of_reviewed_package AFTER INSERT ON definition_packages BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('definitions_changed', NEW.package, '');
END;
CREATE TRIGGER change_of_definitions AFTER UPDATE ON definition_packages BEGIN
    INSERT INTO changes (kind, subject, detail) VALUES ('definitions_changed', NEW.package, '');
END;
