//! The only place where the process exits by itself.

use std::{
    fmt,
    io::Write as _,
    sync::mpsc,
    thread::{self, Builder},
    time::Duration,
};

/// How long it may take to write the last line: stderr can be a pipe that is not read.
const LAST_LINE: Duration = Duration::from_millis(500);
/// How long the libraries of the process may take to clean up.
const CLEANUP: Duration = Duration::from_secs(1);

/// Why the process exits without a clean stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForcedExit {
    /// A second signal was received.
    SecondSignal,
    /// The server did not stop in time after the first signal.
    DrainTimeout(Duration),
}

impl ForcedExit {
    /// The exit code: 130 as shells use for an interrupt, 124 as `timeout` uses.
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
                "toolyard: still running {} ms after the signal to stop, so the process exits now; \
                 calls in progress are cancelled",
                after.as_millis()
            ),
        }
    }
}

/// Exits the process, whatever its other threads do.
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
    // The exit handler of a library may wait for a thread that is stuck.
    let _ = Builder::new().spawn(|| {
        thread::sleep(CLEANUP);
        std::process::abort()
    });
    std::process::exit(reason.exit_code())
}
