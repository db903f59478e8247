//! What only chats need.

use std::sync::Arc;

use toolyard_agent::shortlist::vectors::WordVectors;
use toolyard_core::long_results::LongResults;

use super::{resume::ResumableStreams, turns::TurnGate};
use crate::{config::ChatConfig, models::ModelRegistry};

/// What only chats need: models, what they read, and the turns and streams of users.
pub(crate) struct ChatState {
    /// The models.
    pub(crate) models: Arc<ModelRegistry>,
    /// Results that are too long for a model, kept so that it can read on.
    pub(crate) long_results: Arc<LongResults>,
    /// Word vectors for choosing tools by meaning.
    pub(crate) vectors: Option<Arc<WordVectors>>,
    /// Resumable streams.
    pub(super) replays: ResumableStreams,
    /// Limits each user's turns, concurrent and per minute.
    pub(super) turns: TurnGate,
}

impl ChatState {
    /// No turn is running yet.
    pub(crate) fn new(
        config: &ChatConfig,
        models: ModelRegistry,
        long_results: Arc<LongResults>,
        vectors: Option<Arc<WordVectors>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            models: Arc::new(models),
            long_results,
            vectors,
            replays: ResumableStreams::new(config),
            turns: TurnGate::new(config),
        })
    }
}
