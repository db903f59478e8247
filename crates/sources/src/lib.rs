//! Runs tools. Each module implements core's source port for one kind of source.

pub mod app;
pub mod builtin;
mod links;
pub mod plugin;
pub mod upstream;
pub mod worker;

pub use app::AppSource;
pub use builtin::BuiltinSource;
pub use plugin::PluginSource;
pub use upstream::UpstreamSource;
