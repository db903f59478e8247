//! Conversation history: stored per user for as long as the user wants, trimmed by tokens, with a summary of the older part.
//!
//! | look for | in |
//! | --- | --- |
//! | off, session, forever; forget | [`ConversationHistory`] |
//! | one exchange, and its tokens | [`exchange`] |
//! | SQLite | [`store`] |
//! | the summary | [`summary`] |

pub mod exchange;
pub mod store;
pub mod summary;

use std::{path::Path, sync::Arc};

use serde::Deserialize;
use toolyard_agent::{message::ModelMessage, model::Model};
use toolyard_app_sdk::UserId;

use self::{
    exchange::{ConversationExchange, estimate_tokens},
    store::{HistoryStore, HistoryStoreError, RetentionToken, StoredConversation},
};
use crate::choices::HistoryRetention;

/// Limits of the history.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HistoryLimits {
    /// Most tokens of exchanges that a model reads; older exchanges are summarized.
    pub tokens: usize,
    /// Most tokens of the summary. 0 means no summary.
    pub summary_tokens: u32,
    /// Timeout of a summary, in seconds.
    pub summary_s: u64,
    /// The default for users who have not chosen: `off`, `session` or `forever`.
    pub keep: HistoryRetention,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { tokens: 4_000, summary_tokens: 300, summary_s: 30, keep: HistoryRetention::Session }
    }
}

/// The share of the token limit that is kept when trimming, so that it does not happen with each question.
const AFTER_FALL: (usize, usize) = (2, 3);

/// The conversations of all users.
#[derive(Debug)]
pub struct ConversationHistory {
    forever: HistoryStore,
    session: HistoryStore,
    limits: HistoryLimits,
}

/// How long to keep a question, as the user wanted when asking it. If the user deletes the conversation meanwhile, by words, by
/// another setting or by ending the session, the running answer is not stored.
#[derive(Debug, Clone)]
pub struct QuestionRetention(Option<(HistoryRetention, RetentionToken)>);

/// The conversation before a question.
#[derive(Debug, Clone)]
pub struct PriorConversation {
    /// Messages for the model, the oldest first.
    pub messages: Vec<ModelMessage>,
    /// The summary of older exchanges.
    pub summary: Option<String>,
    retention: QuestionRetention,
}

impl PriorConversation {
    /// No conversation, and the question is not stored.
    pub fn empty() -> Self {
        Self { messages: Vec::new(), summary: None, retention: QuestionRetention(None) }
    }
}

impl ConversationHistory {
    /// Opens the history. The file holds the conversations that are kept forever.
    pub fn open(path: &Path, limits: HistoryLimits) -> Result<Self, HistoryStoreError> {
        let (forever, session) = (HistoryStore::open(path)?, HistoryStore::in_memory()?);
        Ok(Self { forever, session, limits })
    }

    /// The limits.
    pub fn limits(&self) -> &HistoryLimits {
        &self.limits
    }

    fn store_for(&self, keep: HistoryRetention) -> Option<&HistoryStore> {
        match keep {
            HistoryRetention::Off => None,
            HistoryRetention::Session => Some(&self.session),
            HistoryRetention::Forever => Some(&self.forever),
        }
    }

    /// Records that a question is asked now, with this retention.
    pub fn retention_for(&self, user: &UserId, keep: HistoryRetention) -> QuestionRetention {
        QuestionRetention(self.store_for(keep).map(|store| (keep, store.retention_token(user))))
    }

    fn resolve_store<'a>(
        &'a self,
        asked: &'a QuestionRetention,
    ) -> Option<(&'a HistoryStore, &'a RetentionToken)> {
        let (keep, wish) = asked.0.as_ref()?;
        Some((self.store_for(*keep)?, wish))
    }

    /// Applies the user's choice: deletes what should no longer be kept.
    pub async fn apply_retention(
        &self,
        user: &UserId,
        keep: HistoryRetention,
    ) -> Result<(), HistoryStoreError> {
        if keep != HistoryRetention::Forever {
            self.forever.forget_user(user).await?;
        }
        if keep == HistoryRetention::Off {
            self.session.forget_user(user).await?;
        }
        Ok(())
    }

    /// The conversation before a question, as much as fits the token limit.
    pub async fn load_prior(
        &self,
        user: &UserId,
        asked: QuestionRetention,
    ) -> Result<PriorConversation, HistoryStoreError> {
        let past = match self.resolve_store(&asked) {
            Some((store, _)) => store.load_conversation(user).await?,
            None => StoredConversation::default(),
        };
        let fits = first_fitting(&past, self.limits.tokens);
        let messages =
            past.exchanges[fits..].iter().flat_map(|(_, exchange)| exchange.to_messages()).collect();
        Ok(PriorConversation { messages, summary: past.summary, retention: asked })
    }

    /// Stores an exchange, unless the user deleted the conversation meanwhile. Returns whether the history must be trimmed.
    pub async fn remember(
        &self,
        user: &UserId,
        before: &PriorConversation,
        exchange: &ConversationExchange,
    ) -> Result<bool, HistoryStoreError> {
        let Some((store, wish)) = self.resolve_store(&before.retention) else { return Ok(false) };
        if !store.add_exchange(user, wish, exchange).await? {
            return Ok(false);
        }
        let past = store.load_conversation(user).await?;
        Ok(first_fitting(&past, self.limits.tokens) > 0)
    }

    /// Replaces the oldest exchanges with a summary, by a model if possible.
    pub async fn trim(
        &self,
        user: &UserId,
        before: &PriorConversation,
        model: Option<Arc<dyn Model>>,
    ) -> Result<(), HistoryStoreError> {
        let Some((store, wish)) = self.resolve_store(&before.retention) else { return Ok(()) };
        let past = store.load_conversation(user).await?;
        if first_fitting(&past, self.limits.tokens) == 0 {
            return Ok(());
        }
        let fall = first_fitting(&past, self.limits.tokens * AFTER_FALL.0 / AFTER_FALL.1);
        let fallen = &past.exchanges[..fall];
        let Some((up_to, _)) = fallen.last() else { return Ok(()) };
        let written = summary::write_summary(model, past.summary.as_deref(), fallen, &self.limits).await;
        store.replace_with_summary(user, wish, *up_to, &written).await?;
        Ok(())
    }

    /// Deletes the session's conversation when the session ends.
    pub async fn end_session(&self, user: &UserId) -> Result<(), HistoryStoreError> {
        self.session.forget_user(user).await
    }

    /// Deletes all conversations of a user.
    pub async fn forget(&self, user: &UserId) -> Result<(), HistoryStoreError> {
        // Both are tried, even if the first fails.
        let (session, forever) = (self.session.forget_user(user).await, self.forever.forget_user(user).await);
        session.and(forever)
    }
}

/// The index of the oldest exchange that still fits the limit together with all newer ones.
fn first_fitting(past: &StoredConversation, budget: usize) -> usize {
    let mut left = budget.saturating_sub(past.summary.as_deref().map_or(0, estimate_tokens));
    let mut first = past.exchanges.len();
    for (place, (_, exchange)) in past.exchanges.iter().enumerate().rev() {
        let Some(rest) = left.checked_sub(exchange.token_count()) else { break };
        (left, first) = (rest, place);
    }
    first
}

#[cfg(test)]
mod tests;
