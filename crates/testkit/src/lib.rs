//! For tests only: the outside world, faked; time, held still; and the suite that every store has to pass.

pub mod authorization;
mod clock;
pub mod conformance;
mod fake_app;
pub mod model;
pub mod page;
pub mod store_suite;
mod tls;
pub mod upstream;

pub use clock::FixedClock;
pub use fake_app::{AppBehavior, AppSession, FakeApp, OnWebhook, RecordedAppRequest};
pub use tls::TlsServer;
pub use upstream::FakeUpstream;
