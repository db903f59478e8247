//! Where tools run. Each module implements the source port of core for one kind of source.

pub mod app;
mod links;
pub mod upstream;

pub use app::AppSource;
pub use upstream::UpstreamSource;
