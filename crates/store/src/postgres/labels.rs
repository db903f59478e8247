//! What conversations have read.

use async_trait::async_trait;
use toolyard_core::ports::{LabelStore, StoreError, StoredLabels};
use toolyard_protocol::UserId;

use super::{PostgresStore, WriteLock};
use crate::rows::{approval_rules::ConversationLabelsRow, store_error, to_json};

#[async_trait]
impl LabelStore for PostgresStore {
    async fn conversation_labels(
        &self,
        user: &UserId,
        conversation: &str,
    ) -> Result<Option<StoredLabels>, StoreError> {
        let query = sqlx::query_as!(
            ConversationLabelsRow,
            "SELECT private, untrusted, until FROM conversation_labels WHERE user_id = $1 AND conversation = $2",
            user.as_str(),
            conversation
        );
        let row = query.fetch_optional(&mut *self.connect().await?).await.map_err(store_error)?;
        row.map(ConversationLabelsRow::into_labels).transpose()
    }

    async fn set_conversation_labels(
        &self,
        user: &UserId,
        conversation: &str,
        labels: &StoredLabels,
        max: u32,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin(&[WriteLock::User(user)]).await?;
        let query = sqlx::query!(
            "INSERT INTO conversation_labels (user_id, conversation, private, untrusted, until)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (user_id, conversation) DO UPDATE SET private = excluded.private, untrusted = excluded.untrusted,
             until = excluded.until",
            user.as_str(),
            conversation,
            to_json("private", &labels.private)?,
            to_json("untrusted", &labels.untrusted)?,
            labels.until.as_millisecond()
        );
        query.execute(&mut *tx).await.map_err(store_error)?;
        let query = sqlx::query!(
            "DELETE FROM conversation_labels WHERE user_id = $1 AND conversation IN
             (SELECT conversation FROM conversation_labels WHERE user_id = $1
              ORDER BY conversation = $3 DESC, until DESC OFFSET $2)",
            user.as_str(),
            i64::from(max),
            conversation
        );
        query.execute(&mut *tx).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)
    }
}
