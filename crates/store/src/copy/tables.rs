//! Which tables and columns are copied.

use sqlx::{PgConnection, SqliteConnection};

/// The tables, those that others refer to first. Not the change log, the nodes, and the versions of the tables: they belong to one
/// database.
pub(crate) const COPIED_TABLES: &[&str] = &[
    "apps",
    "tool_sets",
    "tool_aliases",
    "installs",
    "grants",
    "tool_settings",
    "devices",
    "runs",
    "app_storage",
    "app_settings",
    "user_preferences",
    "upstreams",
    "offers",
    "upstream_tokens",
    "plugins",
    "plugin_data",
    "published_plugins",
    "plugin_lists",
    "tokens",
    "store_state",
    "approvals",
    "tool_choices",
    "approval_grants",
    "approval_policy",
    "definition_packages",
    "definition_pins",
    "definition_changes",
    "definition_rejections",
    "definition_notes",
    "conversation_labels",
    "push_subscriptions",
    "oauth_clients",
    "client_grants",
    "authorization_codes",
    "used_ids",
    "accounts",
    "passwords",
    "passkeys",
    "identities",
    "browser_sessions",
    "device_logins",
    "audit_log",
    "audit_anchor",
    "calls",
    "call_keys",
    "call_key_totals",
];

/// Tables whose rows are numbered by the database.
const NUMBERED: [&str; 3] = ["plugin_data", "published_plugins", "definition_notes"];

/// Which rows of a table are copied: all, except what a check of writability left behind.
pub(crate) fn copied_rows(table: &str) -> &'static str {
    match table {
        "store_state" => "WHERE name <> 'probe'",
        _ => "",
    }
}

/// Columns that are a text in SQLite and bytes in PostgreSQL, where a text cannot contain U+0000.
const BYTES_IN_POSTGRES: [(&str, &str); 3] =
    [("plugin_data", "key"), ("plugin_data", "value"), ("call_keys", "key")];

/// The type of a column in PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Text,
    Bytes,
    Integer,
    Flag,
}

/// A column that both databases have.
#[derive(Debug)]
pub(crate) struct CopiedColumn {
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
}

/// The columns of a table. The node of a running approval is unknown to SQLite, which has one node: its runs were interrupted.
pub(crate) async fn columns_of(tx: &mut PgConnection, table: &str) -> Result<Vec<CopiedColumn>, sqlx::Error> {
    let query = sqlx::query!(
        r#"SELECT column_name::TEXT AS "name!", data_type::TEXT AS "kind!" FROM information_schema.columns
           WHERE table_schema = current_schema() AND table_name = $1 AND NOT ($1 = 'approvals' AND column_name = 'node')
           ORDER BY ordinal_position"#,
        table
    );
    let columns = query.fetch_all(tx).await?;
    let column = |name, kind: &str| {
        let kind = match kind {
            "text" => ColumnKind::Text,
            "bytea" => ColumnKind::Bytes,
            "bigint" => ColumnKind::Integer,
            "boolean" => ColumnKind::Flag,
            other => {
                return Err(sqlx::Error::Protocol(format!("column {name} has the unknown type {other}")));
            }
        };
        Ok(CopiedColumn { name, kind })
    };
    columns.into_iter().map(|row| column(row.name, &row.kind)).collect()
}

/// The columns of a table in SQLite, with the types that their values have in PostgreSQL. A flag is an integer.
pub(crate) async fn sqlite_columns_of(
    connection: &mut SqliteConnection,
    table: &str,
) -> Result<Vec<CopiedColumn>, sqlx::Error> {
    let sql = "SELECT name, type FROM pragma_table_info(?1) WHERE NOT (?1 = 'approvals' AND name = 'node') ORDER BY cid";
    let columns: Vec<(String, String)> = sqlx::query_as(sql).bind(table).fetch_all(connection).await?;
    let column = |(name, kind): (String, String)| {
        let kind = match kind.as_str() {
            "TEXT" if is_text_in_sqlite(table, &name) => ColumnKind::Bytes,
            "TEXT" => ColumnKind::Text,
            "BLOB" => ColumnKind::Bytes,
            "INTEGER" => ColumnKind::Integer,
            other => {
                return Err(sqlx::Error::Protocol(format!("column {name} has the unknown type {other}")));
            }
        };
        Ok(CopiedColumn { name, kind })
    };
    columns.into_iter().map(column).collect()
}

/// Whether a column of bytes is a text in SQLite.
pub(crate) fn is_text_in_sqlite(table: &str, column: &str) -> bool {
    BYTES_IN_POSTGRES.contains(&(table, column))
}

/// The columns in a statement.
pub(crate) fn column_list(columns: &[CopiedColumn]) -> String {
    let names: Vec<_> = columns.iter().map(|column| format!(r#""{}""#, column.name)).collect();
    names.join(", ")
}

/// The same in a statement for SQLite, where some texts are bytes in PostgreSQL.
pub(crate) fn source_list(table: &str, columns: &[CopiedColumn]) -> String {
    let expression = |column: &CopiedColumn| match column.kind {
        ColumnKind::Bytes => format!(r#"CAST({table}."{}" AS BLOB)"#, column.name),
        ColumnKind::Text | ColumnKind::Integer | ColumnKind::Flag => format!(r#"{table}."{}""#, column.name),
    };
    columns.iter().map(expression).collect::<Vec<_>>().join(", ")
}

/// Sets the sequences to continue after the copied rows. New nodes get ids that no copied key refers to, because the node that
/// claimed such a key no longer runs.
pub(crate) async fn continue_numbers(tx: &mut PgConnection) -> Result<(), sqlx::Error> {
    for table in NUMBERED {
        let sql = sqlx::AssertSqlSafe(format!(
            "SELECT setval(pg_get_serial_sequence('{table}', 'number'), (SELECT COALESCE(MAX(number), 0) + 1 FROM {table}), FALSE)"
        ));
        sqlx::query(sql).execute(&mut *tx).await?;
    }
    let nodes = sqlx::query!(
        "SELECT setval(pg_get_serial_sequence('ledger_nodes', 'id'), GREATEST(
             (SELECT COALESCE(MAX(node), 0) FROM call_keys), (SELECT COALESCE(MAX(id), 0) FROM ledger_nodes)) + 1, FALSE)"
    );
    nodes.fetch_one(tx).await.map(drop)
}
