//! Everything about one user: exported as a whole, deleted as a whole.

use async_trait::async_trait;
use serde_json::{Map, Value};
use sqlx::AssertSqlSafe;
use toolyard_core::ports::{PersonalDataStore, StoreError};
use toolyard_protocol::UserId;

use super::SqliteStore;
use crate::rows::{
    from_json,
    personal_data::{CALLS_AT_A_TIME, Deletion, PERSONAL_TABLES, PersonalTable},
    store_error,
};

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
        for table in PERSONAL_TABLES {
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
        for table in PERSONAL_TABLES {
            let sql = match table.deletion {
                Deletion::Rows => format!(r#"DELETE FROM {} WHERE "{}" = ?"#, table.name, table.user),
                Deletion::Anonymize(values) => {
                    format!(r#"UPDATE {} SET {values} WHERE "{}" = ?"#, table.name, table.user)
                }
                Deletion::Batches | Deletion::Follows | Deletion::Kept => continue,
            };
            let query = sqlx::query(AssertSqlSafe(sql)).bind(user.as_str());
            query.execute(&mut *tx).await.map_err(store_error)?;
        }
        let sql = "UPDATE tokens SET created_by = '' WHERE created_by = ?";
        sqlx::query(sql).bind(user.as_str()).execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        loop {
            let sql = "DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE user_id = ? LIMIT ?)";
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
    use crate::SqliteSettings;

    #[tokio::test]
    async fn every_table_that_names_a_user_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let settings = SqliteSettings::for_file(folder.path().join("t.db"));
        let store = SqliteStore::open(settings, &TaskTracker::new()).await.unwrap();
        let sql = "SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
                   WHERE m.type = 'table' AND c.name IN ('user_id', 'subject') AND m.name <> 'changes'
                   AND NOT (m.name = 'identities' AND c.name = 'subject')";
        let mut found: Vec<(String, String)> = sqlx::query_as(sql).fetch_all(&store.read).await.unwrap();
        let mut listed: Vec<_> =
            PERSONAL_TABLES.iter().map(|table| (table.name.to_owned(), table.user.to_owned())).collect();
        found.sort();
        listed.sort();
        assert_eq!(found, listed);
        let ada = "ada".parse().unwrap();
        let exported = store.export_user(&ada, 10).await.unwrap();
        assert_eq!(exported.as_object().unwrap().len(), PERSONAL_TABLES.len(), "every query is valid SQL");
        store.delete_user(&ada).await.unwrap();
        store.close().await;
    }
}
