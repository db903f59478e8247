//! SIGINT and SIGTERM, as the server waits for them.

pub(crate) use toolyard_server::process::{ProcessSignal, SignalListener};
