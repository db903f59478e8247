//! Messages between the parent and a worker: a length in four bytes, little endian, then JSON.

use std::io::{self, Read, Write};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::SandboxError;
use crate::limits::SandboxLimits;
use crate::link::{HostCall, HostCallReply};
use crate::outcome::LogLine;

/// Length prefix of each message, in bytes.
pub(super) const LENGTH_BYTES: usize = 4;

/// Size of a message besides the texts in it.
const ENVELOPE_BYTES: usize = 64 * 1024;

/// Most bytes that one character of a text takes in JSON (`\u0000`).
const ESCAPED: usize = 6;

/// Largest message that a worker accepts. Only the parent writes to it, so this guards against mistakes, not attacks.
const MAX_TO_WORKER: usize = 256 * 1024 * 1024;

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToWorker {
    /// The first message: the limits of every run.
    Setup(Box<SandboxLimits>),
    Run(RunMessage),
    Answer(HostCallReply),
    /// The caller left.
    Stop,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunMessage {
    pub(super) work: WorkerTask,
    pub(super) name: String,
    pub(super) args: Box<RawValue>,
    /// The current time in milliseconds, if the code may know it.
    pub(super) now: Option<i64>,
    /// The remaining wall time.
    pub(super) time: Duration,
}

/// What to run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum WorkerTask {
    /// The body of an async function over `args`.
    Code(String),
    /// A native function, by its name.
    Native(String),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromWorker {
    /// An engine is prepared.
    Ready {
        /// Whether the process runs with a system call filter.
        confined: bool,
    },
    Log(LogLine),
    Ask {
        id: u32,
        ask: HostCall,
    },
    Done(Result<DoneMessage, SandboxError>),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DoneMessage {
    pub(super) json: Box<RawValue>,
    pub(super) compute: Duration,
    pub(super) memory: usize,
}

/// The largest message that a run within its limits can send.
pub(super) fn max_from_worker(limits: &SandboxLimits) -> usize {
    let headers = limits.request_headers.saturating_mul(limits.header_length + 256);
    let texts = [
        limits.output_bytes,
        limits.request_bytes.saturating_add(headers),
        limits.value_bytes,
        limits.log_line_length,
        limits.error_length,
    ];
    let longest = texts.into_iter().max().unwrap_or(0);
    longest.saturating_mul(ESCAPED).saturating_add(ENVELOPE_BYTES)
}

/// Encodes a message with its length prefix.
pub(super) fn encode_message(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; LENGTH_BYTES];
    serde_json::to_writer(&mut bytes, message)?;
    let length = u32::try_from(bytes.len() - LENGTH_BYTES).map_err(|_| io::ErrorKind::FileTooLarge)?;
    bytes[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// Writes a message, on the worker's side.
pub(super) fn write_message(mut to: impl Write, message: &FromWorker) -> io::Result<()> {
    to.write_all(&encode_message(message)?)
}

/// Waits for a message, on the worker's side.
pub(super) fn read_message<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut length = [0; LENGTH_BYTES];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_TO_WORKER {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::FetchRequest;

    fn round(message: &FromWorker) -> FromWorker {
        let bytes = encode_message(message).unwrap();
        read_message(&bytes[..]).unwrap()
    }

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let json = RawValue::from_string(r#"{"a":[1,"é"]}"#.to_owned()).unwrap();
        let done = FromWorker::Done(Ok(DoneMessage { json, compute: Duration::from_micros(7), memory: 9 }));
        let FromWorker::Done(Ok(done)) = round(&done) else { panic!("another message") };
        assert_eq!((done.json.get(), done.memory), (r#"{"a":[1,"é"]}"#, 9));
        let error = SandboxError::TimedOut { limit: Duration::from_millis(1_500), stuck: false };
        let FromWorker::Done(Err(told)) = round(&FromWorker::Done(Err(error.clone()))) else { panic!() };
        assert_eq!(told, error);
    }

    #[test]
    fn the_largest_call_within_its_limits_fits_into_a_message() {
        let limits = SandboxLimits::default();
        let text = |length: usize| "\u{1}".repeat(length);
        let headers = (0..limits.request_headers).map(|i| (format!("{i:0>200}"), text(limits.header_length)));
        let request = FetchRequest {
            url: text(toolyard_net::MAX_URL_LENGTH),
            method: "POST".to_owned(),
            headers: headers.collect(),
            body: Some(text(limits.request_bytes)),
        };
        let bytes = encode_message(&FromWorker::Ask { id: u32::MAX, ask: HostCall::Fetch(request) }).unwrap();
        assert!(bytes.len() <= max_from_worker(&limits), "{}", bytes.len());
    }

    #[test]
    fn an_invalid_length_is_refused() {
        let error = read_message::<ToWorker>(&u32::MAX.to_le_bytes()[..]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
