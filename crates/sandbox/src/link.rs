//! Messages between a run and the async side. The run has its own thread, where it waits for replies; the async side
//! makes the calls. Both channels hold everything that a run can send, so sending never blocks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toolyard_net::MAX_URL_LENGTH;

use crate::limits::SandboxLimits;
use crate::outcome::LogLine;

/// A message from the run.
#[derive(Debug)]
pub(crate) enum ToHost {
    Log(LogLine),
    Ask { id: u32, ask: HostCall },
}

/// A call to the host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HostCall {
    Fetch(FetchRequest),
    Get { key: String },
    Set { key: String, value: String },
    Delete { key: String },
    Keys,
}

/// A `fetch` request, with its sizes checked but nothing else.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FetchRequest {
    pub(crate) url: String,
    pub(crate) method: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Option<String>,
}

/// The reply to a host call.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HostCallReply {
    pub(crate) id: u32,
    pub(crate) outcome: Result<SettledValue, String>,
}

/// The value with which a promise is settled, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum SettledValue {
    Value(String),
    Response(String),
}

impl HostCall {
    /// Checks sizes. The script inside the engine has checked them before it made copies, but messages may come from a
    /// process that foreign code has taken over.
    pub(crate) fn check_sizes(&self, limits: &SandboxLimits) -> Result<(), String> {
        match self {
            Self::Fetch(request) => request.check_sizes(limits),
            Self::Get { key } | Self::Delete { key } => check_key(key, limits),
            Self::Set { key, value } => {
                check_key(key, limits)?;
                check_size(value.len(), limits.value_bytes, "the value", "bytes")
            }
            Self::Keys => Ok(()),
        }
    }
}

impl FetchRequest {
    fn check_sizes(&self, limits: &SandboxLimits) -> Result<(), String> {
        check_size(self.body.as_ref().map_or(0, String::len), limits.request_bytes, "the body", "bytes")?;
        check_size(self.url.encode_utf16().count(), MAX_URL_LENGTH, "the URL", "characters")?;
        if self.headers.len() > limits.request_headers {
            return Err(format!("fetch takes at most {} headers", limits.request_headers));
        }
        for value in self.headers.values() {
            check_size(value.encode_utf16().count(), limits.header_length, "a header", "characters")?;
        }
        Ok(())
    }
}

fn check_key(key: &str, limits: &SandboxLimits) -> Result<(), String> {
    check_size(key.encode_utf16().count(), limits.key_length, "the key", "characters")
}

fn check_size(size: usize, limit: usize, what: &str, unit: &str) -> Result<(), String> {
    if size > limit { Err(format!("{what} is larger than {limit} {unit}")) } else { Ok(()) }
}
