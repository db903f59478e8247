//! From a signal to the end of the process.

use std::{io, thread, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{
    exit::{ForcedExit, force_exit},
    signals::SignalListener,
};

/// What a stop may take beyond the time for calls under way: closing sockets, writing records, closing files.
pub const EXIT_GRACE: Duration = Duration::from_secs(8);

/// Receives SIGINT and SIGTERM on a thread and a runtime of its own, so that they are noticed when every worker of the
/// server is stuck. The first one asks for a clean stop. The process ends at once when a second one comes, and in any case
/// when the clean stop takes longer than it may.
#[derive(Debug)]
pub struct StopSignals {
    stop: CancellationToken,
}

impl StopSignals {
    /// Starts the thread. `most` is the time that a clean stop may take: that for calls under way, and [`EXIT_GRACE`].
    pub fn listen(most: Duration) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let entered = runtime.enter();
        let mut signals = SignalListener::new()?;
        drop(entered);
        let stop = CancellationToken::new();
        let first = stop.clone();
        let receives = async move {
            signals.next().await;
            tracing::info!("stopping: calls under way may finish; a second signal ends the server at once");
            first.cancel();
            force_exit(tokio::select! {
                () = signals.next() => ForcedExit::SecondSignal,
                () = tokio::time::sleep(most) => ForcedExit::DrainTimeout(most),
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
