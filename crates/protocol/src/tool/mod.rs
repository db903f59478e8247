//! Tool definitions: an MCP definition plus our extensions.
//!
//! A definition is parsed once, when it is registered, and stored as received. Only its shape is checked here; core
//! compiles its schemas.
//!
//! | look for | in |
//! | --- | --- |
//! | a definition, and how it is listed | `definition` |
//! | category, activation phrases, hints | `extensions` |
//! | reading its fields | `fields` |

mod definition;
mod extensions;
mod fields;
#[cfg(test)]
mod tests;

pub use definition::ToolDefinition;
pub use extensions::{ActivationPhrases, Category, ToolAnnotations, ToolExtensions};
pub(crate) use fields::{read_name, read_text};

/// Maximum number of tools in one app.
pub const MAX_TOOLS: usize = 1_000;
/// Largest definition of one tool, in bytes of JSON.
pub const MAX_DEFINITION_BYTES: usize = 64 * 1024;
/// Longest description, in bytes.
pub const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;
/// Maximum number of activation phrases of one tool, over all languages.
pub const MAX_PHRASES: usize = 128;
/// Longest activation phrase, in bytes.
pub const MAX_PHRASE_BYTES: usize = 200;
/// Maximum number of problems in one response.
pub const MAX_PROBLEMS: usize = 100;
