//! Stops the process on a signal, and asks for a reload of the configuration on another.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    exit::{ForcedExit, force_exit},
    signals::{HangupListener, SignalListener},
};

/// How long a stop may take beyond the drain timeout: closing sockets, writing records, closing files.
pub const EXIT_GRACE: Duration = Duration::from_secs(8);

/// How long a clean stop may take. It can be changed until the first signal.
#[derive(Debug, Clone)]
pub struct StopTimeout(Arc<AtomicU64>);

impl StopTimeout {
    fn new(timeout: Duration) -> Self {
        let new = Self(Arc::default());
        new.set(timeout);
        new
    }

    /// Allows the drain timeout and [`EXIT_GRACE`].
    pub fn set_drain(&self, drain: Duration) {
        self.set(drain.saturating_add(EXIT_GRACE));
    }

    fn set(&self, timeout: Duration) {
        self.0.store(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn get(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// Requests to reload the configuration. Several that arrive before one is handled count as one.
#[derive(Debug, Clone, Default)]
pub struct ReloadRequests(Arc<Notify>);

impl ReloadRequests {
    /// Asks for a reload.
    pub fn request(&self) {
        self.0.notify_one();
    }

    /// Waits for the next request. One that was made before is not lost.
    pub async fn next(&self) {
        self.0.notified().await;
    }
}

/// Receives SIGINT, SIGTERM and SIGHUP on a thread with a runtime of its own, so that they work even if every worker of the
/// server is stuck. The first SIGINT or SIGTERM starts a clean stop. The process exits immediately on a second one, or when the
/// clean stop takes too long. SIGHUP, if it is received, asks for a reload and never ends the process.
#[derive(Debug)]
pub struct StopSignals {
    stop: CancellationToken,
    reload: ReloadRequests,
    timeout: StopTimeout,
}

impl StopSignals {
    /// Starts the thread, for SIGINT and SIGTERM only. A clean stop may take `timeout`: the drain timeout and [`EXIT_GRACE`].
    pub fn listen(timeout: Duration) -> io::Result<Self> {
        Self::start(timeout, || Ok(HangupListener::never()))
    }

    /// The same, with SIGHUP. From now on it no longer ends the process, so call it first.
    pub fn listen_with_reload(timeout: Duration) -> io::Result<Self> {
        Self::start(timeout, HangupListener::new)
    }

    fn start(timeout: Duration, hangups: impl FnOnce() -> io::Result<HangupListener>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let entered = runtime.enter();
        let (mut signals, mut hangups) = (SignalListener::new()?, hangups()?);
        drop(entered);
        let (stop, timeout) = (CancellationToken::new(), StopTimeout::new(timeout));
        let reload = ReloadRequests::default();
        let (first, limit, requests) = (stop.clone(), timeout.clone(), reload.clone());
        let receives = async move {
            loop {
                tokio::select! {
                    () = signals.next() => break,
                    () = hangups.next() => requests.request(),
                }
            }
            tracing::info!("stopping: waiting for calls in progress; a second signal exits immediately");
            first.cancel();
            let limit = limit.get();
            force_exit(tokio::select! {
                () = signals.next() => ForcedExit::SecondSignal,
                () = tokio::time::sleep(limit) => ForcedExit::DrainTimeout(limit),
            })
        };
        thread::Builder::new()
            .name("toolyard-signals".to_owned())
            .spawn(move || runtime.block_on(receives))?;
        Ok(Self { stop, reload, timeout })
    }

    /// Fires with the first signal to stop.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// How long a clean stop may take.
    pub fn stop_timeout(&self) -> StopTimeout {
        self.timeout.clone()
    }

    /// The reloads that SIGHUP asks for.
    pub fn reload_requests(&self) -> ReloadRequests {
        self.reload.clone()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn requests_that_come_early_are_handled_once() {
        let requests = ReloadRequests::default();
        requests.request();
        requests.request();
        requests.next().await;
        assert!(requests.next().now_or_never().is_none());
    }

    #[test]
    fn a_stop_may_take_the_drain_timeout_and_a_grace_period() {
        let timeout = StopTimeout::new(EXIT_GRACE);
        timeout.set_drain(Duration::from_secs(20));
        assert_eq!(timeout.get(), Duration::from_secs(28));
        timeout.set_drain(Duration::MAX);
        assert!(timeout.get() > Duration::from_secs(u64::from(u32::MAX)));
    }
}
