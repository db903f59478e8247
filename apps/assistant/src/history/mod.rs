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

use std::{path::Path, sync::Arc};

use serde::Deserialize;
use toolyard_agent::{message::Message, model::Model};
use toolyard_app_sdk::UserId;

use self::{
    kept::{Exchange, tokens},
    store::{Past, Store, StoreError, Wish},
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
}

/// How long a user wants a question kept, at the time at which it is asked. What the user wants forgotten later, by words, by
/// another choice or by the end of the session, does not come back with what was under way.
#[derive(Debug, Clone)]
pub struct Asked(Option<(Keep, Wish)>);

/// The conversation of one user at the time of a question.
#[derive(Debug, Clone)]
pub struct Before {
    /// For the model, the oldest first.
    pub messages: Vec<Message>,
    /// What fell out.
    pub summary: Option<String>,
    asked: Asked,
}

impl Before {
    /// Nothing was said before, and nothing will be kept.
    pub fn nothing() -> Self {
        Self { messages: Vec::new(), summary: None, asked: Asked(None) }
    }
}

impl History {
    /// Conversations that are kept forever are in this file.
    pub fn open(path: &Path, limits: HistoryLimits) -> Result<Self, StoreError> {
        let (forever, session) = (Store::open(path)?, Store::in_memory()?);
        Ok(Self { forever, session, limits })
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

    /// A question is asked now, to be kept so long.
    pub fn asked(&self, user: &UserId, keep: Keep) -> Asked {
        Asked(self.store(keep).map(|store| (keep, store.wish(user))))
    }

    fn of<'a>(&'a self, asked: &'a Asked) -> Option<(&'a Store, &'a Wish)> {
        let (keep, wish) = asked.0.as_ref()?;
        Some((self.store(*keep)?, wish))
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
    pub async fn before(&self, user: &UserId, asked: Asked) -> Result<Before, StoreError> {
        let past = match self.of(&asked) {
            Some((store, _)) => store.read(user).await?,
            None => Past::default(),
        };
        let fits = newest(&past, self.limits.tokens);
        let messages = past.exchanges[fits..].iter().flat_map(|(_, exchange)| exchange.messages()).collect();
        Ok(Before { messages, summary: past.summary, asked })
    }

    /// Keeps an exchange, unless the user wanted everything forgotten while it was under way. Says whether something has to
    /// fall out now.
    pub async fn remember(
        &self,
        user: &UserId,
        before: &Before,
        exchange: &Exchange,
    ) -> Result<bool, StoreError> {
        let Some((store, wish)) = self.of(&before.asked) else { return Ok(false) };
        if !store.add(user, wish, exchange).await? {
            return Ok(false);
        }
        let past = store.read(user).await?;
        Ok(newest(&past, self.limits.tokens) > 0)
    }

    /// Lets the oldest exchanges fall out, with a summary by a model where it gives one.
    pub async fn trim(
        &self,
        user: &UserId,
        before: &Before,
        model: Option<Arc<dyn Model>>,
    ) -> Result<(), StoreError> {
        let Some((store, wish)) = self.of(&before.asked) else { return Ok(()) };
        let past = store.read(user).await?;
        if newest(&past, self.limits.tokens) == 0 {
            return Ok(());
        }
        let fall = newest(&past, self.limits.tokens * AFTER_FALL.0 / AFTER_FALL.1);
        let fallen = &past.exchanges[..fall];
        let Some((up_to, _)) = fallen.last() else { return Ok(()) };
        let written = summary::write(model, past.summary.as_deref(), fallen, &self.limits).await;
        store.fold(user, wish, *up_to, &written).await?;
        Ok(())
    }

    /// The session is over.
    pub async fn session_over(&self, user: &UserId) -> Result<(), StoreError> {
        self.session.forget(user).await
    }

    /// Drops everything of a user.
    pub async fn forget(&self, user: &UserId) -> Result<(), StoreError> {
        // Both are tried: one that fails does not keep the other.
        let (session, forever) = (self.session.forget(user).await, self.forever.forget(user).await);
        session.and(forever)
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
