//! The formats before MCP: tools as consoles and `tpa_config.json` had them, and whole apps from a database export.
//!
//! Parsed once and converted to definitions. Converting back works only if nothing is lost. Nothing else in the workspace
//! stores tools in these formats. `docs/legacy-formats.md` lists every format of the first generation, who sends it, and
//! until when it is accepted.

mod approximate;
mod definition;
mod documents;
mod read;
mod tool_schema;

pub use definition::LossyConversion;
pub use documents::{AppDocument, TpaConfig};
pub use read::read_tools;
pub use tool_schema::{LegacyParameter, ParameterType, ToolSchema};

/// When the endpoints of the first generation were deprecated, as a `Deprecation` header (RFC 9745): 2026-11-15.
pub const DEPRECATION: &str = "@1794700800";
/// Until when the endpoints and tool formats of the first generation are accepted, as a `Sunset` header (RFC 8594):
/// 2028-01-01.
pub const SUNSET: &str = "Sat, 01 Jan 2028 00:00:00 GMT";
