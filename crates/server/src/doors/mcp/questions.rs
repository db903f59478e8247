//! Questions of tools to clients of the handshake revisions: sent on the stream of the call, answered by a message of
//! their own.

use std::sync::Arc;

use dashmap::DashMap;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use toolyard_core::{CallOwner, ports::Ids};
use toolyard_protocol::{mcp::RpcError, raw::to_raw};

/// What comes back.
type Answer = oneshot::Sender<Result<Box<RawValue>, RpcError>>;

/// Questions that are not answered yet. Those of a call go with it, so the bounds of calls bound them.
#[derive(Default)]
pub(crate) struct Questions(Arc<DashMap<String, (CallOwner, Answer)>>);

/// The questions of one call; they go when it ends.
pub(super) struct Asked {
    open: Arc<DashMap<String, (CallOwner, Answer)>>,
    ids: Vec<String>,
}

impl Questions {
    pub(super) fn of_a_call(&self) -> Asked {
        Asked { open: self.0.clone(), ids: Vec::new() }
    }

    /// An answer came. Only whoever was asked can give it.
    pub(super) fn answered(&self, owner: &CallOwner, id: &RawValue, outcome: Result<&RawValue, RpcError>) {
        let Ok(id) = serde_json::from_str::<String>(id.get()) else { return };
        if let Some((_, (_, answer))) = self.0.remove_if(&id, |_, (asked, _)| asked == owner) {
            let _ = answer.send(outcome.map(RawValue::to_owned));
        }
    }
}

impl Asked {
    /// Remembers a question, and says under which id to send it.
    pub(super) fn ask(&mut self, owner: &CallOwner, answer: Answer, ids: &dyn Ids) -> Box<RawValue> {
        let mut bytes = [0; 16];
        ids.fill(&mut bytes);
        let id = hex::encode(bytes);
        self.open.insert(id.clone(), (owner.clone(), answer));
        self.ids.push(id.clone());
        to_raw(&id)
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        for id in &self.ids {
            self.open.remove(id);
        }
    }
}
