//! Which tables have rows that belong to users, and what happens to the rows when a user is deleted.

/// Calls that are deleted at a time, so that other writes come in between.
pub(crate) const CALLS_AT_A_TIME: u32 = 5_000;

/// A table with rows that belong to users.
pub(crate) struct PersonalTable {
    pub(crate) name: &'static str,
    /// The column with the user.
    pub(crate) user: &'static str,
    /// Columns that are not exported: secrets, and what only means something to this server. Bytes are never exported.
    pub(crate) hidden: &'static [&'static str],
    /// The column by which the newest rows are found.
    pub(crate) newest_by: &'static str,
    pub(crate) deletion: Deletion,
}

pub(crate) enum Deletion {
    Rows,
    /// The rows say which credentials are revoked. They stay until those expire, without the user: with these values.
    /// Whatever is valid now was revoked before; what is left over must not become valid for a namesake.
    Anonymize(&'static str),
    /// Some at a time, because there may be millions.
    Batches,
    /// A trigger does it, or the deletion of the account.
    Follows,
    /// The rows stay: who did what must remain known after a user is gone, and retention removes them in time.
    Kept,
}

const fn table(name: &'static str, newest_by: &'static str) -> PersonalTable {
    PersonalTable { name, user: "user_id", hidden: &[], newest_by, deletion: Deletion::Rows }
}

/// Every table with a column that names a user; a test compares it with the schema.
pub(crate) const PERSONAL_TABLES: &[PersonalTable] = &[
    table("accounts", "created_at"),
    PersonalTable { hidden: &["hash"], deletion: Deletion::Follows, ..table("passwords", "changed_at") },
    PersonalTable { hidden: &["record"], deletion: Deletion::Follows, ..table("passkeys", "created_at") },
    PersonalTable { deletion: Deletion::Follows, ..table("identities", "issuer") },
    PersonalTable {
        deletion: Deletion::Anonymize("user_id = '', device = '', ended_at = COALESCE(ended_at, started_at)"),
        ..table("browser_sessions", "last_seen_at")
    },
    PersonalTable {
        user: "subject",
        deletion: Deletion::Anonymize(
            "name = '', created_by = '', subject = '', revoked_at = COALESCE(revoked_at, created_at)",
        ),
        ..table("tokens", "created_at")
    },
    PersonalTable {
        deletion: Deletion::Anonymize("user_id = '', revoked_at = COALESCE(revoked_at, created_at)"),
        ..table("client_grants", "created_at")
    },
    table("device_logins", "created_at"),
    table("installs", "installed_at"),
    table("grants", "package"),
    table("tool_settings", "tool"),
    table("tool_choices", "chosen_at"),
    table("user_preferences", "user_id"),
    table("devices", "seen_at"),
    table("runs", "session"),
    table("app_storage", "package"),
    table("app_settings", "package"),
    PersonalTable { hidden: &["lists"], ..table("offers", "fetched_at") },
    table("upstream_tokens", "package"),
    table("plugins", "installed_at"),
    table("plugin_data", "number"),
    table("approvals", "created_at"),
    table("approval_grants", "created_at"),
    table("definition_pins", "at"),
    table("definition_changes", "at"),
    table("definition_rejections", "at"),
    table("conversation_labels", "until"),
    PersonalTable { hidden: &["endpoint", "server_key"], ..table("push_subscriptions", "created_at") },
    table("call_keys", "begun_at"),
    table("call_key_totals", "user_id"),
    PersonalTable { deletion: Deletion::Batches, ..table("calls", "started_at") },
    PersonalTable { deletion: Deletion::Kept, ..table("audit_log", "number") },
];
