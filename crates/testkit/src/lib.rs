//! For tests only: the outside world, faked; time, held still; and the suite that every store has to pass.

mod clock;
mod fake_app;
pub mod store_suite;

pub use clock::FixedClock;
pub use fake_app::{Act, AppSession, FakeApp, OnWebhook, Seen};
