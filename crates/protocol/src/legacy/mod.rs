//! The forms before MCP: tools as consoles and `tpa_config.json` had them, and whole apps as a database export has them.
//!
//! Read once, turned into definitions, and forgotten; going back is possible only where nothing would be lost. Nothing
//! else in the workspace keeps tools in these forms.

mod approximate;
mod definition;
mod documents;
mod read;
mod tool_schema;

pub use definition::LossyConversion;
pub use documents::{AppDocument, TpaConfig};
pub use read::read_tools;
pub use tool_schema::{LegacyParameter, ParameterType, ToolSchema};
