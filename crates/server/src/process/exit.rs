//! The one place where the process ends itself.

use std::{
    fmt,
    io::Write as _,
    sync::mpsc,
    thread::{self, Builder},
    time::Duration,
};

/// How long the last line may take to be written: stderr can be a pipe that nobody reads.
const LAST_LINE: Duration = Duration::from_millis(500);
/// How long the libraries of the process may take to clean up.
const CLEANUP: Duration = Duration::from_secs(1);

/// Why the process ends without a clean stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForcedExit {
    /// A second signal came.
    SecondSignal,
    /// The server did not stop in time after the first signal.
    DrainTimeout(Duration),
}

impl ForcedExit {
    /// The exit code: 130 as shells have it for an interrupt, 124 as `timeout` has it.
    pub fn exit_code(self) -> i32 {
        match self {
            Self::SecondSignal => 130,
            Self::DrainTimeout(_) => 124,
        }
    }
}

impl fmt::Display for ForcedExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SecondSignal => write!(f, "toolyard: stopped by a second signal"),
            Self::DrainTimeout(after) => write!(
                f,
                "toolyard: still running {} ms after the signal to stop, so the process ends now; \
                 calls under way are cut off",
                after.as_millis()
            ),
        }
    }
}

/// Ends the process, whatever its other threads do.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub(super) fn force_exit(reason: ForcedExit) -> ! {
    let (written, line) = mpsc::sync_channel(1);
    let writes = move || {
        let _ = writeln!(std::io::stderr(), "{reason}");
        let _ = written.send(());
    };
    if Builder::new().spawn(writes).is_ok() {
        let _ = line.recv_timeout(LAST_LINE);
    }
    // The cleanup of a library may wait for a thread that is stuck.
    let _ = Builder::new().spawn(|| {
        thread::sleep(CLEANUP);
        std::process::abort()
    });
    std::process::exit(reason.exit_code())
}
