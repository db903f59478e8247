//! Stops the process on a signal.

use std::{io, thread, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{
    exit::{ForcedExit, force_exit},
    signals::SignalListener,
};

/// How long a stop may take beyond the drain timeout: closing sockets, writing records, closing files.
pub const EXIT_GRACE: Duration = Duration::from_secs(8);

/// Receives SIGINT and SIGTERM on a thread with a runtime of its own, so that they work even if every worker of the server is
/// stuck. The first signal starts a clean stop. The process exits immediately on a second one, or when the clean stop takes too
/// long.
#[derive(Debug)]
pub struct StopSignals {
    stop: CancellationToken,
}

impl StopSignals {
    /// Starts the thread. A clean stop may take `timeout`: the drain timeout and [`EXIT_GRACE`].
    pub fn listen(timeout: Duration) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let entered = runtime.enter();
        let mut signals = SignalListener::new()?;
        drop(entered);
        let stop = CancellationToken::new();
        let first = stop.clone();
        let receives = async move {
            signals.next().await;
            tracing::info!("stopping: waiting for calls in progress; a second signal exits immediately");
            first.cancel();
            force_exit(tokio::select! {
                () = signals.next() => ForcedExit::SecondSignal,
                () = tokio::time::sleep(timeout) => ForcedExit::DrainTimeout(timeout),
            })
        };
        thread::Builder::new()
            .name("toolyard-signals".to_owned())
            .spawn(move || runtime.block_on(receives))?;
        Ok(Self { stop })
    }

    /// Fires with the first signal.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }
}
