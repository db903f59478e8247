//! What was said before: kept per user for as long as that user wants, trimmed by tokens, with a summary of what fell out.
//!
//! | look for | in |
//! | --- | --- |
//! | off, session, forever; forget | [`History`] |
//! | one exchange, and its tokens | [`kept`] |
//! | SQLite | [`store`] |
//! | the summary | [`summary`] |

pub mod kept;
pub mod store;
pub mod summary;

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use serde::Deserialize;
use toolyard_agent::{message::Message, model::Model};
use toolyard_app_sdk::UserId;

use self::{
    kept::{Exchange, tokens},
    store::{Past, Store, StoreError},
};
use crate::choices::Keep;

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
    pub keep: Keep,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { tokens: 4_000, summary_tokens: 300, summary_s: 30, keep: Keep::Session }
    }
}

/// What is left of the budget after something fell out: so that it does not happen with each question.
const AFTER_FALL: (usize, usize) = (2, 3);

/// The conversations of all users.
#[derive(Debug)]
pub struct History {
    forever: Store,
    session: Store,
    limits: HistoryLimits,
    /// How often each user wanted everything forgotten. What was asked before does not come back after.
    forgotten: Mutex<HashMap<UserId, u64>>,
}

/// The conversation of one user at the time of a question.
#[derive(Debug, Clone)]
pub struct Before {
    /// For the model, the oldest first.
    pub messages: Vec<Message>,
    /// What fell out.
    pub summary: Option<String>,
    keep: Keep,
    forgotten: u64,
}

impl Before {
    /// Nothing was said before, and nothing will be kept.
    pub fn nothing() -> Self {
        Self { messages: Vec::new(), summary: None, keep: Keep::Off, forgotten: 0 }
    }
}

impl History {
    /// Conversations that are kept forever are in this file.
    pub fn open(path: &Path, limits: HistoryLimits) -> Result<Self, StoreError> {
        let (forever, session) = (Store::open(path)?, Store::in_memory()?);
        Ok(Self { forever, session, limits, forgotten: Mutex::default() })
    }

    /// The bounds.
    pub fn limits(&self) -> &HistoryLimits {
        &self.limits
    }

    fn store(&self, keep: Keep) -> Option<&Store> {
        match keep {
            Keep::Off => None,
            Keep::Session => Some(&self.session),
            Keep::Forever => Some(&self.forever),
        }
    }

    fn times(&self, user: &UserId) -> u64 {
        self.forgotten.lock().unwrap_or_else(PoisonError::into_inner).get(user).copied().unwrap_or(0)
    }

    /// The user chose how long to keep: what was kept for longer is dropped.
    pub async fn choose(&self, user: &UserId, keep: Keep) -> Result<(), StoreError> {
        if keep != Keep::Forever {
            self.forever.forget(user).await?;
        }
        if keep == Keep::Off {
            self.session.forget(user).await?;
        }
        Ok(())
    }

    /// What was said before a question: as much as fits the budget.
    pub async fn before(&self, user: &UserId, keep: Keep) -> Result<Before, StoreError> {
        let forgotten = self.times(user);
        let past = match self.store(keep) {
            Some(store) => store.read(user).await?,
            None => Past::default(),
        };
        let fits = newest(&past, self.limits.tokens);
        let messages = past.exchanges[fits..].iter().flat_map(|(_, exchange)| exchange.messages()).collect();
        Ok(Before { messages, summary: past.summary, keep, forgotten })
    }

    /// Keeps an exchange, unless the user wanted everything forgotten while it was under way. Says whether something has to
    /// fall out now.
    pub async fn remember(
        &self,
        user: &UserId,
        before: &Before,
        exchange: &Exchange,
    ) -> Result<bool, StoreError> {
        let Some(store) = self.store(before.keep).filter(|_| self.times(user) == before.forgotten) else {
            return Ok(false);
        };
        store.add(user, exchange).await?;
        let past = store.read(user).await?;
        Ok(newest(&past, self.limits.tokens) > 0)
    }

    /// Lets the oldest exchanges fall out, with a summary by a model where it gives one.
    pub async fn trim(
        &self,
        user: &UserId,
        keep: Keep,
        model: Option<Arc<dyn Model>>,
    ) -> Result<(), StoreError> {
        let Some(store) = self.store(keep) else { return Ok(()) };
        let past = store.read(user).await?;
        if newest(&past, self.limits.tokens) == 0 {
            return Ok(());
        }
        let fall = newest(&past, self.limits.tokens * AFTER_FALL.0 / AFTER_FALL.1);
        let fallen = &past.exchanges[..fall];
        let Some((up_to, _)) = fallen.last() else { return Ok(()) };
        let written = summary::write(model, past.summary.as_deref(), fallen, &self.limits).await;
        store.fold(user, *up_to, &written).await?;
        Ok(())
    }

    /// The session is over.
    pub async fn session_over(&self, user: &UserId) -> Result<(), StoreError> {
        // Nothing is under way any more that could come back.
        self.forgotten.lock().unwrap_or_else(PoisonError::into_inner).remove(user);
        self.session.forget(user).await
    }

    /// Drops everything of a user.
    pub async fn forget(&self, user: &UserId) -> Result<(), StoreError> {
        *self.forgotten.lock().unwrap_or_else(PoisonError::into_inner).entry(user.clone()).or_default() += 1;
        self.session.forget(user).await?;
        self.forever.forget(user).await
    }
}

/// The first of the newest exchanges that fit the budget together.
fn newest(past: &Past, budget: usize) -> usize {
    let mut left = budget.saturating_sub(past.summary.as_deref().map_or(0, tokens));
    let mut first = past.exchanges.len();
    for (place, (_, exchange)) in past.exchanges.iter().enumerate().rev() {
        let Some(rest) = left.checked_sub(exchange.tokens()) else { break };
        (left, first) = (rest, place);
    }
    first
}

#[cfg(test)]
mod tests;
