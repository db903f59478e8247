//! Questions of tools to clients of the handshake revisions: sent on the stream of the call, answered by a message of
//! their own.

use std::sync::Arc;

use dashmap::DashMap;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use toolyard_core::{CallOwner, ports::IdGenerator};
use toolyard_protocol::{mcp::RpcError, raw::to_raw};

/// What comes back.
type AnswerSender = oneshot::Sender<Result<Box<RawValue>, RpcError>>;

/// Questions that are not answered yet. Those of a call go with it, so the bounds of calls bound them.
#[derive(Default)]
pub(crate) struct QuestionRegistry(Arc<DashMap<String, (CallOwner, AnswerSender)>>);

/// The questions of one call; they go when it ends.
pub(super) struct CallQuestions {
    open: Arc<DashMap<String, (CallOwner, AnswerSender)>>,
    ids: Vec<String>,
}

impl QuestionRegistry {
    pub(super) fn for_call(&self) -> CallQuestions {
        CallQuestions { open: self.0.clone(), ids: Vec::new() }
    }

    /// An answer came. Only whoever was asked can give it.
    pub(super) fn deliver_answer(
        &self,
        owner: &CallOwner,
        id: &RawValue,
        outcome: Result<&RawValue, RpcError>,
    ) {
        let Ok(id) = serde_json::from_str::<String>(id.get()) else { return };
        if let Some((_, (_, answer))) = self.0.remove_if(&id, |_, (asked, _)| asked == owner) {
            let _ = answer.send(outcome.map(RawValue::to_owned));
        }
    }
}

impl CallQuestions {
    /// Remembers a question, and says under which id to send it.
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
