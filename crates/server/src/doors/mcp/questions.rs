//! Questions of tools to clients of the handshake revisions: sent on the stream of the call, answered in a separate
//! message.

use std::sync::Arc;

use dashmap::DashMap;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use toolyard_core::{CallOwner, ports::IdGenerator};
use toolyard_protocol::{mcp::RpcError, raw::to_raw};

/// Delivers the client's answer.
type AnswerSender = oneshot::Sender<Result<Box<RawValue>, RpcError>>;

/// Unanswered questions. They are removed with their call, so the limits of calls limit them too, and those of streams
/// while a call waits for an approval.
#[derive(Default)]
pub(crate) struct QuestionRegistry(Arc<DashMap<String, (CallOwner, AnswerSender)>>);

/// The questions of one call. Removed when it ends.
pub(super) struct CallQuestions {
    open: Arc<DashMap<String, (CallOwner, AnswerSender)>>,
    ids: Vec<String>,
}

impl QuestionRegistry {
    pub(super) fn for_call(&self) -> CallQuestions {
        CallQuestions { open: self.0.clone(), ids: Vec::new() }
    }

    /// Delivers an answer. Ignored unless it comes from the client that was asked.
    pub(super) fn deliver_answer(
        &self,
        owner: &CallOwner,
        id: &RawValue,
        outcome: Result<&RawValue, RpcError>,
    ) {
        let Ok(id) = serde_json::from_str::<String>(id.get()) else { return };
        if let Some((_, (_, answer))) = self.0.remove_if(&id, |_, (asked_owner, _)| asked_owner == owner) {
            let _ = answer.send(outcome.map(RawValue::to_owned));
        }
    }
}

impl CallQuestions {
    /// Registers a question and returns the id to send it under.
    pub(super) fn add_question(
        &mut self,
        owner: &CallOwner,
        answer: AnswerSender,
        ids: &dyn IdGenerator,
    ) -> Box<RawValue> {
        let mut bytes = [0; 16];
        ids.fill_random(&mut bytes);
        let id = hex::encode(bytes);
        self.open.insert(id.clone(), (owner.clone(), answer));
        self.ids.push(id.clone());
        to_raw(&id)
    }
}

impl Drop for CallQuestions {
    fn drop(&mut self) {
        for id in &self.ids {
            self.open.remove(id);
        }
    }
}
