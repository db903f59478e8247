//! The server through its front door: the real router on a real store; only the outside world is faked.

mod faults;
mod idempotency;
mod limits;
mod listing;
mod platform;
mod progress;
mod sockets;
mod stop;
mod wake;
