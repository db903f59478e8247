//! Approvals. Every change of state is one conditional statement, so that of two answers one wins.

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::PgConnection;
use toolyard_core::ports::{
    AnswerOutcome, ApprovalFilter, ApprovalRecord, ApprovalStore, AskOutcome, StoreError, StoredAnswer,
    StoredGrant, StoredOutcome,
};
use toolyard_protocol::{
    ApprovalId, CallId, UserId,
    approval::{ApprovalAnswer, ApprovalState},
};

use super::{PostgresStore, WriteLock, approval_rules::insert_grant};
use crate::rows::{
    approvals::{AnswerColumn, ApprovalRow, MAX_PAGE},
    store_error, to_i64, to_json,
};

macro_rules! select_approvals {
    ($rest:literal $(, $value:expr)* $(,)?) => {
        sqlx::query_as!(
            ApprovalRow,
            "SELECT id, user_id, caller, tool, definition, arguments_digest, summary, arguments, risk, reason,
                 can_remember, door, client, conversation, session, call, created_at, expires_at, state, answer, run,
                 outcome, delivered
             FROM approvals " + $rest
            $(, $value)*
        )
    };
}

async fn find_row(from: &mut PgConnection, id: &ApprovalId) -> Result<Option<ApprovalRecord>, StoreError> {
    let query = select_approvals!("WHERE id = $1", id.as_str());
    query.fetch_optional(from).await.map_err(store_error)?.map(ApprovalRow::into_record).transpose()
}

/// The same call of the same owner whose outcome was not delivered.
async fn find_same_call(
    tx: &mut PgConnection,
    record: &ApprovalRecord,
) -> Result<Option<ApprovalRecord>, StoreError> {
    let query = select_approvals!(
        "WHERE user_id = $1 AND tool = $2 AND arguments_digest = $3 AND NOT delivered
         AND caller = $4 AND definition = $5 AND conversation IS NOT DISTINCT FROM $6
         AND (state IN ('approved', 'running', 'denied', 'done') OR (state = 'pending' AND expires_at > $7))
         ORDER BY created_at DESC LIMIT 1",
        record.owner.user.as_str(),
        record.subject.tool.as_str(),
        record.subject.arguments.as_slice(),
        record.owner.caller.to_string(),
        record.subject.definition.as_slice(),
        record.conversation.as_deref(),
        record.created_at.as_millisecond()
    );
    query.fetch_optional(tx).await.map_err(store_error)?.map(ApprovalRow::into_record).transpose()
}

async fn insert_approval(tx: &mut PgConnection, record: &ApprovalRecord) -> Result<(), StoreError> {
    let query = sqlx::query!(
        "INSERT INTO approvals (id, user_id, caller, tool, definition, arguments_digest, summary, arguments, risk,
             reason, can_remember, door, client, conversation, session, call, created_at, expires_at, state)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)",
        record.id.as_str(),
        record.owner.user.as_str(),
        record.owner.caller.to_string(),
        record.subject.tool.as_str(),
        record.subject.definition.as_slice(),
        record.subject.arguments.as_slice(),
        record.summary,
        record.arguments.as_deref(),
        record.risk.as_str(),
        record.reason.as_str(),
        record.can_remember,
        record.door.as_str(),
        record.client.as_deref(),
        record.conversation.as_deref(),
        record.session.as_deref(),
        record.call.as_str(),
        record.created_at.as_millisecond(),
        record.expires_at.as_millisecond(),
        record.state.as_str()
    );
    query.execute(tx).await.map(drop).map_err(store_error)
}

#[async_trait]
impl ApprovalStore for PostgresStore {
    async fn ask(&self, record: &ApprovalRecord, max_open: u64) -> Result<AskOutcome, StoreError> {
        // Two nodes may be asked about the same call at once.
        let mut tx = self.begin(&[WriteLock::User(&record.owner.user)]).await?;
        if let Some(known) = find_same_call(&mut tx, record).await? {
            return Ok(AskOutcome::Known(Box::new(known)));
        }
        let open = sqlx::query_scalar!(
            r#"SELECT COUNT(*) AS "count!" FROM approvals WHERE user_id = $1 AND state = 'pending'"#,
            record.owner.user.as_str()
        );
        if open.fetch_one(&mut *tx).await.map_err(store_error)? >= to_i64(max_open) {
            return Ok(AskOutcome::QuotaReached);
        }
        insert_approval(&mut tx, record).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(AskOutcome::Asked)
    }

    async fn find_approval(&self, id: &ApprovalId) -> Result<Option<ApprovalRecord>, StoreError> {
        find_row(&mut *self.connect().await?, id).await
    }

    async fn list_approvals(
        &self,
        filter: &ApprovalFilter,
        now: Timestamp,
    ) -> Result<Vec<ApprovalRecord>, StoreError> {
        let query = select_approvals!(
            "WHERE user_id = $1
             AND ($2::TEXT IS NULL OR CASE WHEN state = 'pending' AND expires_at <= $3 THEN 'expired' ELSE state END = $2)
             AND ($4::TEXT IS NULL OR (created_at, id) < (SELECT created_at, id FROM approvals WHERE id = $4))
             ORDER BY created_at DESC, id DESC LIMIT $5",
            filter.user.as_str(),
            filter.state.map(ApprovalState::as_str),
            now.as_millisecond(),
            filter.before.as_ref().map(ApprovalId::as_str),
            i64::from(filter.limit.clamp(1, MAX_PAGE))
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
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
        // The user's grants have a bound.
        let mut tx = self.begin(&[WriteLock::User(user)]).await?;
        let query = sqlx::query!(
            "UPDATE approvals SET state = $3, answer = $4,
                 arguments = CASE $3 WHEN 'denied' THEN NULL ELSE arguments END
             WHERE id = $1 AND user_id = $2 AND state = 'pending' AND expires_at > $5",
            id.as_str(),
            user.as_str(),
            state.as_str(),
            to_json("answer", &AnswerColumn::new(answer))?,
            answer.at.as_millisecond()
        );
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
        let query = sqlx::query!(
            "UPDATE approvals SET state = 'running', run = $1, node = $2 WHERE id = $3 AND state = 'approved'",
            run.as_str(),
            self.node.mark.id,
            id.as_str()
        );
        let began = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(began.rows_affected() > 0)
    }

    async fn end_approval(
        &self,
        id: &ApprovalId,
        state: ApprovalState,
        outcome: Option<StoredOutcome>,
    ) -> Result<(), StoreError> {
        let query = sqlx::query!(
            "UPDATE approvals SET state = $1, outcome = $2, arguments = NULL
             WHERE id = $3 AND state IN ('approved', 'running')",
            state.as_str(),
            outcome,
            id.as_str()
        );
        query.execute(&mut *self.connect().await?).await.map(drop).map_err(store_error)
    }

    async fn withdraw_approval(&self, id: &ApprovalId, outcome: StoredOutcome) -> Result<bool, StoreError> {
        let query = sqlx::query!(
            "UPDATE approvals SET state = 'void', outcome = $1, arguments = NULL, delivered = TRUE
             WHERE id = $2 AND state = 'pending'",
            outcome,
            id.as_str()
        );
        let withdrawn = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(withdrawn.rows_affected() > 0)
    }

    async fn mark_delivered(&self, id: &ApprovalId) -> Result<bool, StoreError> {
        let query = sqlx::query!(
            "UPDATE approvals SET delivered = TRUE WHERE id = $1 AND NOT delivered",
            id.as_str()
        );
        let marked = query.execute(&mut *self.connect().await?).await.map_err(store_error)?;
        Ok(marked.rows_affected() > 0)
    }

    async fn approved_calls(&self, limit: u32) -> Result<Vec<ApprovalRecord>, StoreError> {
        let query = select_approvals!(
            "WHERE state = 'approved' ORDER BY expires_at LIMIT $1",
            i64::from(limit.min(MAX_PAGE))
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(ApprovalRow::into_record).collect()
    }

    async fn end_interrupted_runs(&self, outcome: StoredOutcome) -> Result<u64, StoreError> {
        // A live node ends its runs itself.
        let query = sqlx::query!(
            "UPDATE approvals SET state = 'done', outcome = $1, arguments = NULL WHERE state = 'running'
             AND NOT EXISTS (SELECT 1 FROM ledger_nodes WHERE ledger_nodes.id = approvals.node
                 AND seen_at > clock_timestamp() - make_interval(secs => $2))",
            outcome,
            self.node.mark.timeout.as_secs_f64()
        );
        Ok(query.execute(&mut *self.connect().await?).await.map_err(store_error)?.rows_affected())
    }

    async fn expire_approvals(&self, now: Timestamp, limit: u32) -> Result<Vec<ApprovalRecord>, StoreError> {
        // What another node expires at the same moment is not waited for.
        let query = sqlx::query_as!(
            ApprovalRow,
            "UPDATE approvals SET state = 'expired', arguments = NULL WHERE id IN
                 (SELECT id FROM approvals WHERE state = 'pending' AND expires_at <= $1 LIMIT $2
                  FOR UPDATE SKIP LOCKED)
             RETURNING id, user_id, caller, tool, definition, arguments_digest, summary, arguments, risk, reason,
                 can_remember, door, client, conversation, session, call, created_at, expires_at, state, answer, run,
                 outcome, delivered",
            now.as_millisecond(),
            i64::from(limit.min(MAX_PAGE))
        );
        let rows = query.fetch_all(&mut *self.connect().await?).await.map_err(store_error)?;
        rows.into_iter().map(ApprovalRow::into_record).collect()
    }
}
