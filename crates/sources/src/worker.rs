//! The worker processes of a server. They run plugins, and built-in functions that cannot always be interrupted.

use toolyard_sandbox::process::{self, NativeFunction};

use crate::builtin::CALCULATE;

pub use toolyard_sandbox::process::{WORKER_ARGUMENT, WorkerCommand};

/// Functions that a worker offers besides running plugins.
const NATIVES: &[NativeFunction] = &[CALCULATE];

/// Serves as a worker until the server is gone. Does not return.
pub fn serve_worker() -> ! {
    process::serve_worker(NATIVES)
}
