//! Makes the calls of a run, on the async side: only what the permissions name, only so many at a time.

mod fetch;
mod headers;

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Semaphore;
use toolyard_net::{Guard, HttpClient};

use crate::job::{Host, Permissions};
use crate::limits::Limits;
use crate::link::{Ask, Settled};

pub(crate) struct Calls {
    client: HttpClient,
    guard: Guard,
    permissions: Permissions,
    limits: Arc<Limits>,
    at_once: Semaphore,
}

impl Calls {
    pub(crate) fn new(host: &Host, permissions: Permissions, limits: Arc<Limits>) -> Self {
        Self {
            client: host.client.clone(),
            guard: host.guard.clone(),
            permissions,
            at_once: Semaphore::new(limits.host_calls_at_once),
            limits,
        }
    }

    /// Makes a call. The text of an error is for the code that made it.
    pub(crate) async fn make(&self, ask: Ask) -> Result<Settled, String> {
        let _turn = self.at_once.acquire().await.map_err(|error| error.to_string())?;
        match ask {
            Ask::Fetch(request) => {
                let response = self.fetch(request).await.map_err(|error| error.to_string())?;
                let text = serde_json::to_string(&response).map_err(|error| error.to_string())?;
                Ok(Settled::Response(text))
            }
            other => self.store(other).await.map(Settled::Value),
        }
    }

    async fn store(&self, ask: Ask) -> Result<String, String> {
        let storage = self.permissions.storage.as_ref().ok_or("storage needs the permission `storage`")?;
        let answer = match &ask {
            Ask::Get { key } => {
                storage.get(key).await.map(|value| value.unwrap_or_else(|| "null".to_owned()))
            }
            Ask::Set { key, value } => storage.set(key, value).await.map(|()| "null".to_owned()),
            Ask::Delete { key } => storage.delete(key).await.map(|deleted| json!(deleted).to_string()),
            Ask::Keys => storage.keys().await.map(|keys| json!(keys).to_string()),
            Ask::Fetch(_) => Ok("null".to_owned()),
        };
        let text = answer.map_err(|error| error.to_string())?;
        // What is stored may be older than the limits, or come from elsewhere.
        let limit = self.limits.response_bytes;
        if text.len() > limit {
            return Err(format!("the storage has more than {limit} bytes to answer"));
        }
        Ok(text)
    }
}
