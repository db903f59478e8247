//! SIGINT and SIGTERM, as futures.

use std::io;

/// Which one came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C: somebody has enough of what is under way.
    Interrupt,
    /// The process shall end.
    Terminate,
}

/// Waits for somebody who wants the process to end.
#[cfg(unix)]
pub struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// The next signal.
    pub async fn next(&mut self) {
        self.which().await;
    }

    /// The next signal, and which it is.
    pub async fn which(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }
}

/// Waits for somebody who wants the process to end.
#[cfg(not(unix))]
pub struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "the same signature as on unix")]
    pub fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// The next signal.
    pub async fn next(&mut self) {
        self.which().await;
    }

    /// The next signal, and which it is.
    pub async fn which(&mut self) -> Signal {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
        Signal::Interrupt
    }
}
