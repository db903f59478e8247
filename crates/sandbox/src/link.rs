//! What a run and the async side say to each other. The run is on a thread of its own and waits for answers there; the
//! async side makes the calls. Both ways hold as much as a run can send in all, so nobody waits to write.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::outcome::LogLine;

/// From the run.
#[derive(Debug)]
pub(crate) enum ToHost {
    Log(LogLine),
    Ask { id: u32, ask: Ask },
}

/// A call of the host.
#[derive(Debug)]
pub(crate) enum Ask {
    Fetch(Request),
    Get { key: String },
    Set { key: String, value: String },
    Delete { key: String },
    Keys,
}

/// What `fetch` was asked for, within the limits of sizes but not judged otherwise.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) url: String,
    pub(crate) method: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Option<String>,
}

/// To the run.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) id: u32,
    pub(crate) outcome: Result<Settled, String>,
}

/// What a promise is settled with, as JSON.
#[derive(Debug)]
pub(crate) enum Settled {
    Value(String),
    Response(String),
}
