//! Everything about one user: exported as a whole, deleted as a whole.

use async_trait::async_trait;
use serde_json::{Map, Value};
use sqlx::AssertSqlSafe;
use toolyard_core::ports::{PersonalDataStore, StoreError};
use toolyard_protocol::UserId;

use super::{SqliteStore, rows::from_json, store_error};

/// Calls that are deleted at a time: nothing else can write meanwhile.
const CALLS_AT_A_TIME: u32 = 5_000;

/// A table with rows that belong to users.
struct PersonalTable {
    name: &'static str,
    /// The column with the user.
    user: &'static str,
    /// Columns that are not exported: secrets, and what only means something to this server. Bytes are never exported.
    hidden: &'static [&'static str],
    /// The column by which the newest rows are found.
    newest_by: &'static str,
    deletion: Deletion,
}

#[derive(PartialEq)]
enum Deletion {
    Rows,
    /// The rows say which credentials are revoked. They stay until those expire, without the user.
    Anonymize,
    /// Some at a time, because there may be millions.
    Batches,
    /// A trigger does it, or the deletion of the account.
    Follows,
}

const fn table(name: &'static str, newest_by: &'static str) -> PersonalTable {
    PersonalTable { name, user: "user", hidden: &[], newest_by, deletion: Deletion::Rows }
}

/// Every table with a column that names a user; a test compares it with the schema.
const TABLES: &[PersonalTable] = &[
    PersonalTable { deletion: Deletion::Rows, ..table("accounts", "created_at") },
    PersonalTable { hidden: &["hash"], deletion: Deletion::Follows, ..table("passwords", "changed_at") },
    PersonalTable { hidden: &["record"], deletion: Deletion::Follows, ..table("passkeys", "created_at") },
    PersonalTable { deletion: Deletion::Follows, ..table("identities", "issuer") },
    PersonalTable { deletion: Deletion::Anonymize, ..table("browser_sessions", "last_seen_at") },
    PersonalTable { user: "subject", deletion: Deletion::Anonymize, ..table("tokens", "created_at") },
    PersonalTable { deletion: Deletion::Anonymize, ..table("client_grants", "created_at") },
    table("device_logins", "created_at"),
    table("installs", "installed_at"),
    table("grants", "package"),
    table("tool_settings", "tool"),
    table("tool_choices", "chosen_at"),
    table("user_preferences", "user"),
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
    PersonalTable { deletion: Deletion::Follows, ..table("call_key_totals", "user") },
    PersonalTable { deletion: Deletion::Batches, ..table("calls", "started_at") },
];

impl SqliteStore {
    /// The columns of a table that can be exported.
    async fn exported_columns(&self, table: &PersonalTable) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT name FROM pragma_table_info(?) WHERE type <> 'BLOB'";
        let columns = sqlx::query_scalar::<_, String>(sql).bind(table.name);
        let mut columns = columns.fetch_all(&self.read).await.map_err(store_error)?;
        columns.retain(|column| !table.hidden.contains(&column.as_str()));
        Ok(columns)
    }
}

#[async_trait]
impl PersonalDataStore for SqliteStore {
    async fn export_user(&self, user: &UserId, max_rows: u32) -> Result<Value, StoreError> {
        let mut document = Map::new();
        for table in TABLES {
            let columns = self.exported_columns(table).await?;
            let pairs: Vec<_> = columns.iter().map(|column| format!(r#"'{column}', "{column}""#)).collect();
            // Only names from this file and from the schema; values are bound.
            let sql = AssertSqlSafe(format!(
                r#"SELECT json_object({}) FROM {} WHERE "{}" = ? ORDER BY "{}" DESC LIMIT ?"#,
                pairs.join(", "),
                table.name,
                table.user,
                table.newest_by
            ));
            let rows = sqlx::query_scalar::<_, String>(sql).bind(user.as_str()).bind(max_rows);
            let rows = rows.fetch_all(&self.read).await.map_err(store_error)?;
            let rows: Result<Vec<Value>, _> = rows.iter().map(|row| from_json(table.name, row)).collect();
            document.insert(table.name.to_owned(), Value::Array(rows?));
        }
        Ok(Value::Object(document))
    }

    async fn delete_user(&self, user: &UserId) -> Result<(), StoreError> {
        let mut tx = self.begin_write().await?;
        for table in TABLES {
            let sql = match table.deletion {
                Deletion::Rows => format!(r#"DELETE FROM {} WHERE "{}" = ?"#, table.name, table.user),
                Deletion::Anonymize => {
                    // Whatever is valid now was revoked before; what is left over must not become valid for a namesake.
                    let description = match table.name {
                        "tokens" => {
                            "name = '', created_by = '', subject = '', revoked_at = COALESCE(revoked_at, created_at)"
                        }
                        "client_grants" => "user = '', revoked_at = COALESCE(revoked_at, created_at)",
                        _ => "user = '', device = '', ended_at = COALESCE(ended_at, started_at)",
                    };
                    format!(r#"UPDATE {} SET {description} WHERE "{}" = ?"#, table.name, table.user)
                }
                Deletion::Batches | Deletion::Follows => continue,
            };
            let query = sqlx::query(AssertSqlSafe(sql)).bind(user.as_str());
            query.execute(&mut *tx).await.map_err(store_error)?;
        }
        let sql = "UPDATE tokens SET created_by = '' WHERE created_by = ?";
        sqlx::query(sql).bind(user.as_str()).execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        loop {
            let sql = "DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE user = ? LIMIT ?)";
            let query = sqlx::query(sql).bind(user.as_str()).bind(CALLS_AT_A_TIME);
            if query.execute(&self.write).await.map_err(store_error)?.rows_affected() == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::task::TaskTracker;
    use toolyard_core::ports::StoreMaintenance as _;

    use super::*;
    use crate::StoreSettings;

    #[tokio::test]
    async fn every_table_that_names_a_user_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let settings = StoreSettings::for_file(folder.path().join("t.db"));
        let store = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
        let sql = "SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
                   WHERE m.type = 'table' AND c.name IN ('user', 'subject') AND m.name <> 'changes'
                   AND NOT (m.name = 'identities' AND c.name = 'subject')";
        let mut found: Vec<(String, String)> = sqlx::query_as(sql).fetch_all(&store.read).await.unwrap();
        let mut listed: Vec<_> =
            TABLES.iter().map(|table| (table.name.to_owned(), table.user.to_owned())).collect();
        found.sort();
        listed.sort();
        assert_eq!(found, listed);
        let ada = "ada".parse().unwrap();
        let exported = store.export_user(&ada, 10).await.unwrap();
        assert_eq!(exported.as_object().unwrap().len(), TABLES.len(), "every query is valid SQL");
        store.delete_user(&ada).await.unwrap();
        store.close().await;
    }
}
