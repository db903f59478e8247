//! For tests only: fakes of external systems, a fixed clock, and the suite that every store must pass.

pub mod authorization;
mod clock;
pub mod conformance;
pub mod demo_model;
mod fake_app;
pub mod model;
pub mod nats;
pub mod page;
pub mod postgres;
pub mod store_suite;
mod tls;
pub mod upstream;
mod word_vectors;

pub use clock::FixedClock;
pub use fake_app::{AppBehavior, AppSession, FakeApp, OnWebhook, RecordedAppRequest};
pub use tls::TlsServer;
pub use upstream::FakeUpstream;
pub use word_vectors::word_vectors_folder;
