//! The worker processes of a server: they run plugins, and those built-in functions that cannot always be interrupted.

use toolyard_sandbox::process::{self, NativeFunction};

use crate::builtin::CALCULATE;

pub use toolyard_sandbox::process::{WORKER_ARGUMENT, WorkerCommand};

/// What a worker can do besides running plugins.
const NATIVES: &[NativeFunction] = &[CALCULATE];

/// Serves as a worker until the server is gone. Does not return.
pub fn serve_worker() -> ! {
    process::serve_worker(NATIVES)
}
