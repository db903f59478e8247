//! Formats of the first generation, converted where a verb receives them. `docs/legacy-formats.md` lists all of them, who
//! sends them, and until when they are accepted.

mod tools;
mod tpa_config;

pub use tools::to_definitions;
pub(crate) use tpa_config::complete_from_file;
