//! Runs code in child processes, which can be killed. Some built-in functions of the engine cannot be interrupted, and
//! a fault in the engine is a fault of its process; here both end with one child.
//!
//! | look for | in |
//! | --- | --- |
//! | the entry point, idle workers, what happens to a worker after a run | `pool` |
//! | who may run, and who is next | `slots` |
//! | one run, seen from the parent: calls, lines, limits, the result | `supervise` |
//! | one child process: start, messages, end | `worker` |
//! | the messages and their sizes | `wire` |
//! | the child itself | `child`, `confine` |
//!
//! The parent makes every call to `fetch` and `storage` and checks every permission. It trusts nothing that a child
//! sends: messages are counted and limited, and the result is checked again.

mod child;
mod confine;
mod pool;
mod slots;
mod supervise;
mod wire;
mod worker;

pub use child::{NativeFunction, serve_worker};
pub use pool::{NativeRequest, PoolParts, RUNS_PER_WORKER, RunRequest, WorkerPool};
pub use slots::{RunOwner, SlotLimits};
pub use worker::{WorkerCommand, WorkerError};

/// The argument with which the `toolyard` program becomes a worker.
pub const WORKER_ARGUMENT: &str = "sandbox-worker";
