//! The formats before MCP: tools as consoles and `tpa_config.json` had them, and whole apps from a database export.
//!
//! Parsed once and converted to definitions. Converting back works only if nothing is lost. Nothing else in the workspace
//! stores tools in these formats.

mod approximate;
mod definition;
mod documents;
mod read;
mod tool_schema;

pub use definition::LossyConversion;
pub use documents::{AppDocument, TpaConfig};
pub use read::read_tools;
pub use tool_schema::{LegacyParameter, ParameterType, ToolSchema};
