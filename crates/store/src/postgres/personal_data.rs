//! Everything about one user: exported as a whole, deleted as a whole.

use async_trait::async_trait;
use serde_json::{Map, Value};
use sqlx::AssertSqlSafe;
use toolyard_core::ports::{PersonalDataStore, StoreError};
use toolyard_protocol::UserId;

use super::{PostgresStore, WriteLock};
use crate::rows::{
    from_json,
    personal_data::{CALLS_AT_A_TIME, Deletion, PERSONAL_TABLES, PersonalTable},
    store_error,
};

/// Columns that are texts, but stored as bytes, because a text in PostgreSQL cannot contain U+0000.
const TEXTS_AS_BYTES: [(&str, &str); 3] =
    [("plugin_data", "key"), ("plugin_data", "value"), ("call_keys", "key")];

impl PostgresStore {
    /// The columns of a table that can be exported, each as a name and an expression.
    async fn exported_columns(&self, table: &PersonalTable) -> Result<Vec<String>, StoreError> {
        let query = sqlx::query!(
            r#"SELECT column_name::TEXT AS "name!", data_type = 'bytea' AS "is_bytes!" FROM information_schema.columns
               WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position"#,
            table.name
        );
        let columns = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        let mut pairs = Vec::new();
        for column in columns {
            let name = column.name;
            if table.hidden.contains(&name.as_str()) {
                continue;
            }
            if !column.is_bytes {
                pairs.push(format!(r#"'{name}', "{name}""#));
            } else if TEXTS_AS_BYTES.contains(&(table.name, &name)) {
                // What is no text for PostgreSQL is shown with escapes.
                pairs.push(format!(
                    r#"'{name}', CASE WHEN position('\x00'::BYTEA IN "{name}") = 0 THEN convert_from("{name}", 'UTF8')
                       ELSE encode("{name}", 'escape') END"#
                ));
            }
        }
        Ok(pairs)
    }
}

#[async_trait]
impl PersonalDataStore for PostgresStore {
    async fn export_user(&self, user: &UserId, max_rows: u32) -> Result<Value, StoreError> {
        let mut document = Map::new();
        for table in PERSONAL_TABLES {
            let pairs = self.exported_columns(table).await?.join(", ");
            // Only names from this crate and from the schema; values are bound.
            let sql = AssertSqlSafe(format!(
                r#"SELECT json_build_object({pairs})::TEXT FROM {} WHERE "{}" = $1 ORDER BY "{}" DESC LIMIT $2"#,
                table.name, table.user, table.newest_by
            ));
            let rows = sqlx::query_scalar::<_, String>(sql).bind(user.as_str()).bind(i64::from(max_rows));
            let rows = rows.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
            let rows: Result<Vec<Value>, _> = rows.iter().map(|row| from_json(table.name, row)).collect();
            document.insert(table.name.to_owned(), Value::Array(rows?));
        }
        Ok(Value::Object(document))
    }

    async fn delete_user(&self, user: &UserId) -> Result<(), StoreError> {
        let mut tx = self
            .begin(&[WriteLock::User(user), WriteLock::Table("accounts"), WriteLock::Table("tokens")])
            .await?;
        // Every writer of keys locks the totals of their users first.
        let totals =
            sqlx::query!("SELECT keys FROM call_key_totals WHERE user_id = $1 FOR UPDATE", user.as_str());
        totals.fetch_optional(&mut *tx).await.map_err(store_error)?;
        for table in PERSONAL_TABLES {
            let sql = match table.deletion {
                Deletion::Rows => format!(r#"DELETE FROM {} WHERE "{}" = $1"#, table.name, table.user),
                Deletion::Anonymize(values) => {
                    format!(r#"UPDATE {} SET {values} WHERE "{}" = $1"#, table.name, table.user)
                }
                Deletion::Batches | Deletion::Follows | Deletion::Kept => continue,
            };
            let query = sqlx::query(AssertSqlSafe(sql)).bind(user.as_str());
            query.execute(&mut *tx).await.map_err(store_error)?;
        }
        let query = sqlx::query!("UPDATE tokens SET created_by = '' WHERE created_by = $1", user.as_str());
        query.execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
        loop {
            let query = sqlx::query!(
                "DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE user_id = $1 LIMIT $2)",
                user.as_str(),
                i64::from(CALLS_AT_A_TIME)
            );
            let removed = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
            if removed.rows_affected() == 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::task::TaskTracker;
    use toolyard_core::ports::StoreMaintenance as _;
    use toolyard_testkit::postgres::TestDatabase;

    use super::*;
    use crate::PostgresSettings;

    #[tokio::test]
    async fn every_table_that_names_a_user_is_listed() {
        let database = TestDatabase::create();
        let store =
            PostgresStore::open(PostgresSettings::for_url(&database.url), &TaskTracker::new()).await.unwrap();
        // Homes are live: a row goes when nothing is done for its user any more, or with its node.
        let sql = "SELECT table_name::TEXT, column_name::TEXT FROM information_schema.columns
                   WHERE table_schema = 'public' AND column_name IN ('user_id', 'subject') AND table_name NOT IN ('changes', 'user_homes')
                   AND NOT (table_name = 'identities' AND column_name = 'subject')";
        let mut found: Vec<(String, String)> =
            sqlx::query_as(sql).fetch_all(&mut *store.connect().await.unwrap()).await.unwrap();
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
