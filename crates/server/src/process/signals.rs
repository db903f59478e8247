//! SIGINT, SIGTERM and SIGHUP, as futures.

use std::io;

/// A signal that asks the process to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessSignal {
    /// SIGINT, from Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// Receives signals that ask the process to stop.
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

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        self.next_signal().await;
    }

    /// Waits for the next signal and returns it.
    pub async fn next_signal(&mut self) -> ProcessSignal {
        tokio::select! {
            _ = self.interrupt.recv() => ProcessSignal::Interrupt,
            _ = self.terminate.recv() => ProcessSignal::Terminate,
        }
    }
}

/// Receives signals that ask the process to stop.
#[cfg(not(unix))]
pub struct SignalListener;

#[cfg(not(unix))]
impl SignalListener {
    #[expect(clippy::unnecessary_wraps, reason = "the same signature as on unix")]
    pub fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) {
        self.next_signal().await;
    }

    /// Waits for the next signal and returns it.
    pub async fn next_signal(&mut self) -> ProcessSignal {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
        ProcessSignal::Interrupt
    }
}

/// Receives SIGHUP. Once it does, the signal no longer ends the process.
pub(super) struct HangupListener {
    #[cfg(unix)]
    hangup: Option<tokio::signal::unix::Signal>,
}

impl HangupListener {
    /// Receives it, on systems that have it.
    #[cfg(unix)]
    pub(super) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { hangup: Some(signal(SignalKind::hangup())?) })
    }

    /// Receives it, on systems that have it.
    #[cfg(not(unix))]
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self::never())
    }

    /// Does not receive it: it ends the process, as usual.
    pub(super) fn never() -> Self {
        Self {
            #[cfg(unix)]
            hangup: None,
        }
    }

    /// Waits for the next SIGHUP.
    pub(super) async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(hangup) = &mut self.hangup {
            hangup.recv().await;
            return;
        }
        std::future::pending().await
    }
}
