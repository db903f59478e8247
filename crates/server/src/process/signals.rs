//! SIGINT and SIGTERM, as futures.

use std::io;

/// Which one came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessSignal {
    /// Ctrl-C: somebody has enough of what is under way.
    Interrupt,
    /// The process shall end.
    Terminate,
}

/// Waits for somebody who wants the process to end.
#[cfg(unix)]
pub struct SignalListener {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl SignalListener {
    pub fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// The next signal.
    pub async fn next(&mut self) {
        self.next_signal().await;
    }

    /// The next signal, and which it is.
    pub async fn next_signal(&mut self) -> ProcessSignal {
        tokio::select! {
            _ = self.interrupt.recv() => ProcessSignal::Interrupt,
            _ = self.terminate.recv() => ProcessSignal::Terminate,
        }
    }
}

/// Waits for somebody who wants the process to end.
#[cfg(not(unix))]
pub struct Signals;

#[cfg(not(unix))]
impl SignalListener {
    #[expect(clippy::unnecessary_wraps, reason = "the same signature as on unix")]
    pub fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// The next signal.
    pub async fn next(&mut self) {
        self.which().await;
    }

    /// The next signal, and which it is.
    pub async fn which(&mut self) -> ProcessSignal {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
        ProcessSignal::Interrupt
    }
}
