//! Built-in plugins. Each has its own feature of this crate, so that you build only what you use.
//!
//! | plugin | tools | feature |
//! | --- | --- | --- |
//! | `files` | read, write, list and search files in folders that you name | `toolbox` |
//! | `fetch` | a page of the web as text | `toolbox` |
//! | `sqlite` | query a SQLite database, read-only | `sqlite` |
//! | `mcp` | the tools of MCP servers, by command or by URL | `mcp` |
//! | the id in its manifest | a signed plugin in JavaScript, in a sandbox | `js` |
//!
//! The modules also offer their tools without the plugin (`fetch_tool`, `file_tools`, `sqlite_tools`), for a client that registers
//! single tools.

#[cfg(feature = "toolbox")]
mod boxed;
#[cfg(feature = "toolbox")]
pub mod fetch;
#[cfg(feature = "toolbox")]
pub mod files;
#[cfg(feature = "js")]
pub mod js;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(feature = "sqlite")]
pub mod sqlite;

#[cfg(feature = "js")]
pub use self::js::js;
#[cfg(feature = "mcp")]
pub use self::mcp::mcp;
#[cfg(feature = "sqlite")]
pub use self::sqlite::sqlite;
#[cfg(feature = "toolbox")]
pub use self::{fetch::fetch, files::files};

/// The version of the built-in plugins.
#[cfg(any(feature = "js", feature = "mcp", feature = "sqlite", feature = "toolbox"))]
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The guide, included so that its examples are compiled.
#[cfg(all(doctest, feature = "mcp", feature = "sqlite", feature = "toolbox"))]
#[doc = include_str!("../../../../docs/plugins-that-ship.md")]
struct PluginsGuide;
