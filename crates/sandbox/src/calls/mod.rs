//! Makes the calls of a run, on the async side: only with permission, and a limited number at a time.

mod fetch;
mod headers;

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Semaphore;
use toolyard_net::{Guard, HttpClient};

use crate::job::{RunPermissions, SandboxHost};
use crate::limits::SandboxLimits;
use crate::link::{HostCall, SettledValue};

pub(crate) struct HostCaller {
    client: HttpClient,
    guard: Guard,
    permissions: RunPermissions,
    limits: Arc<SandboxLimits>,
    at_once: Semaphore,
}

impl HostCaller {
    pub(crate) fn new(host: &SandboxHost, permissions: RunPermissions, limits: Arc<SandboxLimits>) -> Self {
        Self {
            client: host.client.clone(),
            guard: host.guard.clone(),
            permissions,
            at_once: Semaphore::new(limits.host_calls_at_once),
            limits,
        }
    }

    /// Makes a call. The error text is for the code that made it.
    pub(crate) async fn make_call(&self, ask: HostCall) -> Result<SettledValue, String> {
        let _turn = self.at_once.acquire().await.map_err(|error| error.to_string())?;
        match ask {
            HostCall::Fetch(request) => {
                let response = self.fetch(request).await.map_err(|error| error.to_string())?;
                let text = serde_json::to_string(&response).map_err(|error| error.to_string())?;
                Ok(SettledValue::Response(text))
            }
            other => self.call_storage(other).await.map(SettledValue::Value),
        }
    }

    async fn call_storage(&self, ask: HostCall) -> Result<String, String> {
        let storage = self.permissions.storage.as_ref().ok_or("storage needs the permission `storage`")?;
        let answer = match &ask {
            HostCall::Get { key } => {
                storage.get(key).await.map(|value| value.unwrap_or_else(|| "null".to_owned()))
            }
            HostCall::Set { key, value } => storage.set(key, value).await.map(|()| "null".to_owned()),
            HostCall::Delete { key } => storage.delete(key).await.map(|deleted| json!(deleted).to_string()),
            HostCall::Keys => storage.keys().await.map(|keys| json!(keys).to_string()),
            HostCall::Fetch(_) => Ok("null".to_owned()),
        };
        let text = answer.map_err(|error| error.to_string())?;
        // Stored data may be older than the limits, or come from elsewhere.
        let limit = self.limits.response_bytes;
        if text.len() > limit {
            return Err(format!("the storage response is larger than {limit} bytes"));
        }
        Ok(text)
    }
}
