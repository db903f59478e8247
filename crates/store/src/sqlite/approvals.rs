//! Approvals. Every change of state is one conditional statement, so that of two answers one wins.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::SqliteConnection;
use toolyard_core::ports::{
    AnswerOutcome, ApprovalFilter, ApprovalRecord, ApprovalStore, AskOutcome, StoreError, StoredAnswer,
    StoredGrant, StoredOutcome,
};
use toolyard_protocol::{
    ApprovalId, CallId, UserId,
    approval::{ApprovalAnswer, ApprovalState},
};

use super::{SqliteStore, approval_rules::insert_grant, count_rows};
use crate::rows::{
    approvals::{AnswerColumn, ApprovalRow, MAX_PAGE},
    store_error, to_json,
};

async fn find_row(
    from: &mut SqliteConnection,
    id: &ApprovalId,
) -> Result<Option<ApprovalRecord>, StoreError> {
    let query = sqlx::query_as::<_, ApprovalRow>("SELECT * FROM approvals WHERE id = ?").bind(id.as_str());
    query.fetch_optional(from).await.map_err(store_error)?.map(ApprovalRow::into_record).transpose()
}

/// The same call of the same owner whose outcome was not delivered.
async fn find_same_call(
    tx: &mut SqliteConnection,
    record: &ApprovalRecord,
) -> Result<Option<ApprovalRecord>, StoreError> {
    let query = sqlx::query_as::<_, ApprovalRow>(
        "SELECT * FROM approvals WHERE user_id = ? AND tool = ? AND arguments_digest = ? AND delivered = 0
         AND caller = ? AND definition = ? AND conversation IS ?
         AND (state IN ('approved', 'running', 'denied', 'done') OR (state = 'pending' AND expires_at > ?))
         ORDER BY created_at DESC LIMIT 1",
    );
    let query = query
        .bind(record.owner.user.as_str())
        .bind(record.subject.tool.as_str())
        .bind(record.subject.arguments.as_slice())
        .bind(record.owner.caller.to_string())
        .bind(record.subject.definition.as_slice())
        .bind(record.conversation.as_deref())
        .bind(record.created_at.as_millisecond());
    query.fetch_optional(tx).await.map_err(store_error)?.map(ApprovalRow::into_record).transpose()
}

async fn insert_approval(tx: &mut SqliteConnection, record: &ApprovalRecord) -> Result<(), StoreError> {
    let query = sqlx::query(
        "INSERT INTO approvals (id, user_id, caller, tool, definition, arguments_digest, summary, arguments, risk, reason,
         can_remember, door, client, conversation, session, call, created_at, expires_at, state)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    );
    let query = query
        .bind(record.id.as_str())
        .bind(record.owner.user.as_str())
        .bind(record.owner.caller.to_string())
        .bind(record.subject.tool.as_str())
        .bind(record.subject.definition.as_slice())
        .bind(record.subject.arguments.as_slice())
        .bind(&record.summary)
        .bind(&record.arguments)
        .bind(record.risk.as_str())
        .bind(record.reason.as_str())
        .bind(record.can_remember)
        .bind(record.door.as_str())
        .bind(record.client.as_deref())
        .bind(record.conversation.as_deref())
        .bind(record.session.as_deref())
        .bind(record.call.as_str())
        .bind(record.created_at.as_millisecond())
        .bind(record.expires_at.as_millisecond())
        .bind(record.state.as_str());
    query.execute(tx).await.map(drop).map_err(store_error)
}

#[async_trait]
impl ApprovalStore for SqliteStore {
    async fn ask(&self, record: &ApprovalRecord, max_open: u64) -> Result<AskOutcome, StoreError> {
        let mut tx = self.begin_write().await?;
        if let Some(known) = find_same_call(&mut tx, record).await? {
            return Ok(AskOutcome::Known(Box::new(known)));
        }
        let sql = "SELECT COUNT(*) FROM approvals WHERE user_id = ? AND state = 'pending'";
        if count_rows(&mut tx, sql, record.owner.user.as_str()).await? >= max_open {
            return Ok(AskOutcome::QuotaReached);
        }
        insert_approval(&mut tx, record).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(AskOutcome::Asked)
    }

    async fn find_approval(&self, id: &ApprovalId) -> Result<Option<ApprovalRecord>, StoreError> {
        let mut connection = self.read.acquire().await.map_err(store_error)?;
        find_row(&mut connection, id).await
    }

    async fn list_approvals(
        &self,
        filter: &ApprovalFilter,
        now: Timestamp,
    ) -> Result<Vec<ApprovalRecord>, StoreError> {
        let query = sqlx::query_as::<_, ApprovalRow>(
            "SELECT * FROM approvals WHERE user_id = ?1
             AND (?2 IS NULL OR CASE WHEN state = 'pending' AND expires_at <= ?3 THEN 'expired' ELSE state END = ?2)
             AND (?4 IS NULL OR (created_at, id) < (SELECT created_at, id FROM approvals WHERE id = ?4))
             ORDER BY created_at DESC, id DESC LIMIT ?5",
        );
        let query = query
            .bind(filter.user.as_str())
            .bind(filter.state.map(ApprovalState::as_str))
            .bind(now.as_millisecond())
            .bind(filter.before.as_ref().map(ApprovalId::as_str))
            .bind(filter.limit.clamp(1, MAX_PAGE));
        let rows = query.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(|row| Ok(row.into_record()?.at(now))).collect()
    }

    async fn answer_approval(
        &self,
        id: &ApprovalId,
        user: &UserId,
        answer: &StoredAnswer,
        grant: Option<&StoredGrant>,
    ) -> Result<AnswerOutcome, StoreError> {
        let state = match answer.answer {
            ApprovalAnswer::Approve => ApprovalState::Approved,
            ApprovalAnswer::Deny => ApprovalState::Denied,
        };
        let mut tx = self.begin_write().await?;
        let query = sqlx::query(
            "UPDATE approvals SET state = ?3, answer = ?4, arguments = CASE ?3 WHEN 'denied' THEN NULL ELSE arguments END
             WHERE id = ?1 AND user_id = ?2 AND state = 'pending' AND expires_at > ?5",
        );
        let query = query
            .bind(id.as_str())
            .bind(user.as_str())
            .bind(state.as_str())
            .bind(to_json("answer", &AnswerColumn::new(answer))?)
            .bind(answer.at.as_millisecond());
        let is_answered = query.execute(&mut *tx).await.map_err(store_error)?.rows_affected() > 0;
        let Some(record) = find_row(&mut tx, id).await?.filter(|record| record.owner.user == *user) else {
            return Ok(AnswerOutcome::NotFound);
        };
        if !is_answered {
            return Ok(AnswerOutcome::Conflict(Box::new(record)));
        }
        if let Some(grant) = grant {
            insert_grant(&mut tx, grant).await?;
        }
        tx.commit().await.map_err(store_error)?;
        Ok(AnswerOutcome::Answered(Box::new(record)))
    }

    async fn begin_run(&self, id: &ApprovalId, run: &CallId) -> Result<bool, StoreError> {
        let sql =
            "UPDATE approvals SET state = 'running', run = ?, node = ? WHERE id = ? AND state = 'approved'";
        let mut connection = self.write.acquire().await.map_err(store_error)?;
        // After a power failure the run must not begin a second time; nothing else on this connection needs that.
        sqlx::query("PRAGMA synchronous = FULL").execute(&mut *connection).await.map_err(store_error)?;
        let query = sqlx::query(sql).bind(run.as_str()).bind(self.node.0).bind(id.as_str());
        let began = query.execute(&mut *connection).await;
        sqlx::query("PRAGMA synchronous = NORMAL").execute(&mut *connection).await.map_err(store_error)?;
        Ok(began.map_err(store_error)?.rows_affected() > 0)
    }

    async fn end_approval(
        &self,
        id: &ApprovalId,
        state: ApprovalState,
        outcome: Option<StoredOutcome>,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(
            "UPDATE approvals SET state = ?, outcome = ?, arguments = NULL
             WHERE id = ? AND state IN ('approved', 'running')",
        );
        let query = query.bind(state.as_str()).bind(outcome).bind(id.as_str());
        query.execute(&self.write).await.map(drop).map_err(store_error)
    }

    async fn withdraw_approval(&self, id: &ApprovalId, outcome: StoredOutcome) -> Result<bool, StoreError> {
        let query = sqlx::query(
            "UPDATE approvals SET state = 'void', outcome = ?, arguments = NULL, delivered = 1
             WHERE id = ? AND state = 'pending'",
        );
        let withdrawn = query.bind(outcome).bind(id.as_str()).execute(&self.write).await;
        Ok(withdrawn.map_err(store_error)?.rows_affected() > 0)
    }

    async fn mark_delivered(&self, id: &ApprovalId) -> Result<bool, StoreError> {
        let query = sqlx::query("UPDATE approvals SET delivered = 1 WHERE id = ? AND delivered = 0");
        let marked = query.bind(id.as_str()).execute(&self.write).await.map_err(store_error)?;
        Ok(marked.rows_affected() > 0)
    }

    async fn approved_calls(&self, limit: u32) -> Result<Vec<ApprovalRecord>, StoreError> {
        let sql = "SELECT * FROM approvals WHERE state = 'approved' ORDER BY expires_at LIMIT ?";
        let rows = sqlx::query_as::<_, ApprovalRow>(sql).bind(limit.min(MAX_PAGE));
        let rows = rows.fetch_all(&self.read).await.map_err(store_error)?;
        rows.into_iter().map(ApprovalRow::into_record).collect()
    }

    async fn end_interrupted_runs(&self, outcome: StoredOutcome) -> Result<u64, StoreError> {
        let query = sqlx::query(
            "UPDATE approvals SET state = 'done', outcome = ?, arguments = NULL WHERE state = 'running' AND node IS NOT ?",
        );
        let ended = query.bind(outcome).bind(self.node.0).execute(&self.write).await.map_err(store_error)?;
        Ok(ended.rows_affected())
    }

    async fn expire_approvals(&self, now: Timestamp, limit: u32) -> Result<Vec<ApprovalRecord>, StoreError> {
        // Usually there are none, and then the write lock is not taken.
        let sql = "SELECT EXISTS (SELECT 1 FROM approvals WHERE state = 'pending' AND expires_at <= ?)";
        let any = sqlx::query_scalar::<_, bool>(sql).bind(now.as_millisecond()).fetch_one(&self.read);
        if !any.await.map_err(store_error)? {
            return Ok(Vec::new());
        }
        let query = sqlx::query_as::<_, ApprovalRow>(
            "UPDATE approvals SET state = 'expired', arguments = NULL WHERE id IN
             (SELECT id FROM approvals WHERE state = 'pending' AND expires_at <= ? LIMIT ?) RETURNING *",
        );
        let query = query.bind(now.as_millisecond()).bind(limit.min(MAX_PAGE));
        let rows = query.fetch_all(&self.write).await.map_err(store_error)?;
        rows.into_iter().map(ApprovalRow::into_record).collect()
    }
}
