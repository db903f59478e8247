//! The limits of a turn, and how much of them is used.

use std::time::Duration;

use tokio::time::Instant;

use crate::{event::TurnLimitKind, model::ModelUsage};

/// The limits of a turn. All of them are settings.
#[derive(Debug, Clone)]
pub struct TurnLimits {
    /// Requests to the model. The last one offers no tools.
    pub steps: usize,
    /// Input and output tokens of all steps.
    pub tokens: u64,
    /// From the first request to the end of the last response.
    pub time: Duration,
    /// Tools that a model is offered at once.
    pub tools: usize,
    /// Calls in one step. Further ones fail.
    pub calls: usize,
    /// Characters of a result that a model reads at once.
    pub result_chars: usize,
    /// Calls in a turn that cannot be run as written. After them the model must answer in text.
    pub corrections: usize,
    /// How often one tool may fail, or be called with the same arguments, in a turn.
    pub repeats: usize,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            steps: 16,
            tokens: 400_000,
            time: Duration::from_secs(300),
            tools: 24,
            calls: 16,
            result_chars: 16_000,
            corrections: 3,
            repeats: 3,
        }
    }
}

/// What is used of the limits.
#[derive(Debug)]
pub(super) struct TurnBudget {
    pub(super) steps: usize,
    pub(super) usage: ModelUsage,
    max_steps: usize,
    max_tokens: u64,
    pub(super) deadline: Instant,
}

impl TurnBudget {
    pub(super) fn start(limits: &TurnLimits) -> Self {
        Self {
            steps: 0,
            usage: ModelUsage::default(),
            max_steps: limits.steps.max(1),
            max_tokens: limits.tokens,
            deadline: Instant::now() + limits.time,
        }
    }

    pub(super) fn spend(&mut self, usage: Option<ModelUsage>) {
        self.steps += 1;
        self.usage += usage.unwrap_or_default();
    }

    pub(super) fn is_last_step(&self) -> bool {
        self.steps + 1 >= self.max_steps
    }

    /// The limit that is reached, if any.
    pub(super) fn reached_limit(&self) -> Option<TurnLimitKind> {
        if self.steps >= self.max_steps {
            Some(TurnLimitKind::Steps)
        } else if self.usage.input.saturating_add(self.usage.output) >= self.max_tokens {
            Some(TurnLimitKind::Tokens)
        } else if Instant::now() >= self.deadline {
            Some(TurnLimitKind::Time)
        } else {
            None
        }
    }
}
