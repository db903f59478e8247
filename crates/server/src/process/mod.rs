//! The process around the server: signals, its forced end, stuck workers, descriptors.
//!
//! A worker thread can be stuck in code that never yields. Nothing here depends on one: signals are received on a thread
//! with a runtime of its own, which also ends the process when the drain takes too long, and the watchdog is a plain thread.

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
    stop::{EXIT_GRACE, StopSignals},
};
