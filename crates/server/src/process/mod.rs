//! The process around the server: signals, forced exit, stuck workers, file descriptors.
//!
//! A worker thread can get stuck in code that never yields. Nothing here depends on workers: signals are received on a thread
//! with a runtime of its own, which also exits the process if the drain takes too long, and the watchdog is a plain thread.

mod descriptors;
mod exit;
mod signals;
mod stop;
mod watchdog;

pub(crate) use self::{
    descriptors::connection_limit,
    watchdog::{Watchdog, WorkerHealth},
};
pub use self::{
    exit::ForcedExit,
    signals::{ProcessSignal, SignalListener},
    stop::{EXIT_GRACE, ReloadRequests, StopSignals, StopTimeout},
};
