-- What conversations have read: private data, content from outside. Names of tools, never data.
CREATE TABLE conversation_labels (
    user         TEXT NOT NULL,
    -- A conversation, an MCP session, or what a credential does outside of both.
    conversation TEXT NOT NULL,
    -- JSON lists: the first few names that brought it.
    private      TEXT NOT NULL,
    untrusted    TEXT NOT NULL,
    until        INTEGER NOT NULL,
    PRIMARY KEY (user, conversation)
) STRICT, WITHOUT ROWID;
CREATE INDEX conversation_labels_by_end ON conversation_labels (until);
CREATE INDEX conversation_labels_of_user ON conversation_labels (user, until);

-- An approved call counts for the session of the call that asked.
ALTER TABLE approvals ADD COLUMN session TEXT;
