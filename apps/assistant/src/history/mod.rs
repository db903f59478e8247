//! What was said before: kept per user for as long as that user wants, trimmed by tokens, with a summary of what fell out.
//!
//! | look for | in |
//! | --- | --- |
//! | off, session, forever; forget | [`ConversationHistory`] |
//! | one exchange, and its tokens | [`kept`] |
//! | SQLite | [`store_for`] |
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

/// How much is kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HistoryLimits {
    /// Tokens of the exchanges that a model reads again; older ones fall out.
    pub tokens: usize,
    /// Tokens of the summary of what fell out. 0 is no summary.
    pub summary_tokens: u32,
    /// Seconds that a summary may take.
    pub summary_s: u64,
    /// What a user gets who has not chosen: `off`, `session` or `forever`.
    pub keep: HistoryRetention,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { tokens: 4_000, summary_tokens: 300, summary_s: 30, keep: HistoryRetention::Session }
    }
}

/// What is left of the budget after something fell out: so that it does not happen with each question.
const AFTER_FALL: (usize, usize) = (2, 3);

/// The conversations of all users.
#[derive(Debug)]
pub struct ConversationHistory {
    forever: HistoryStore,
    session: HistoryStore,
    limits: HistoryLimits,
}

/// How long a user wants a question kept, at the time at which it is asked. What the user wants forgotten later, by words, by
/// another choice or by the end of the session, does not come back with what was under way.
#[derive(Debug, Clone)]
pub struct QuestionRetention(Option<(HistoryRetention, RetentionToken)>);

/// The conversation of one user at the time of a question.
#[derive(Debug, Clone)]
pub struct PriorConversation {
    /// For the model, the oldest first.
    pub messages: Vec<ModelMessage>,
    /// What fell out.
    pub summary: Option<String>,
    retention: QuestionRetention,
}

impl PriorConversation {
    /// Nothing was said before, and nothing will be kept.
    pub fn empty() -> Self {
        Self { messages: Vec::new(), summary: None, retention: QuestionRetention(None) }
    }
}

impl ConversationHistory {
    /// Conversations that are kept forever are in this file.
    pub fn open(path: &Path, limits: HistoryLimits) -> Result<Self, HistoryStoreError> {
        let (forever, session) = (HistoryStore::open(path)?, HistoryStore::in_memory()?);
        Ok(Self { forever, session, limits })
    }

    /// The bounds.
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

    /// A question is asked now, to be kept so long.
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

    /// The user chose how long to keep: what was kept for longer is dropped.
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

    /// What was said before a question: as much as fits the budget.
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

    /// Keeps an exchange, unless the user wanted everything forgotten while it was under way. Says whether something has to
    /// fall out now.
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

    /// Lets the oldest exchanges fall out, with a summary by a model where it gives one.
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

    /// The session is over.
    pub async fn end_session(&self, user: &UserId) -> Result<(), HistoryStoreError> {
        self.session.forget_user(user).await
    }

    /// Drops everything of a user.
    pub async fn forget(&self, user: &UserId) -> Result<(), HistoryStoreError> {
        // Both are tried: one that fails does not keep the other.
        let (session, forever) = (self.session.forget_user(user).await, self.forever.forget_user(user).await);
        session.and(forever)
    }
}

/// The first of the newest exchanges that fit the budget together.
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
