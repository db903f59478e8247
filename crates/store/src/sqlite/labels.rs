//! What conversations have read.

use async_trait::async_trait;
use toolyard_core::ports::{LabelStore, StoreError, StoredLabels};
use toolyard_protocol::UserId;

use super::SqliteStore;
use crate::rows::{approval_rules::ConversationLabelsRow, store_error, to_json};

#[async_trait]
impl LabelStore for SqliteStore {
    async fn conversation_labels(
        &self,
        user: &UserId,
        conversation: &str,
    ) -> Result<Option<StoredLabels>, StoreError> {
        let sql = "SELECT private, untrusted, until FROM conversation_labels WHERE user_id = ? AND conversation = ?";
        let query = sqlx::query_as::<_, ConversationLabelsRow>(sql).bind(user.as_str()).bind(conversation);
        let row = query.fetch_optional(&self.read).await.map_err(store_error)?;
        row.map(ConversationLabelsRow::into_labels).transpose()
    }

    async fn set_conversation_labels(
        &self,
        user: &UserId,
        conversation: &str,
        labels: &StoredLabels,
        max: u32,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin_write().await?;
        let query = sqlx::query(
            "INSERT INTO conversation_labels (user_id, conversation, private, untrusted, until) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT (user_id, conversation) DO UPDATE SET private = excluded.private, untrusted = excluded.untrusted,
             until = excluded.until",
        );
        let query = query
            .bind(user.as_str())
            .bind(conversation)
            .bind(to_json("private", &labels.private)?)
            .bind(to_json("untrusted", &labels.untrusted)?)
            .bind(labels.until.as_millisecond());
        query.execute(&mut *tx).await.map_err(store_error)?;
        let query = sqlx::query(
            "DELETE FROM conversation_labels WHERE user_id = ?1 AND conversation IN
             (SELECT conversation FROM conversation_labels WHERE user_id = ?1
              ORDER BY conversation = ?3 DESC, until DESC LIMIT -1 OFFSET ?2)",
        );
        query
            .bind(user.as_str())
            .bind(max)
            .bind(conversation)
            .execute(&mut *tx)
            .await
            .map_err(store_error)?;
        tx.commit().await.map_err(store_error)
    }
}
