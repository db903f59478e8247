//! MCP clients as other people wrote them, unmodified, against the real server: the official SDKs for TypeScript, Python
//! and Rust, the AI SDK, the inspector, mcp-remote, and Mastra. The programs are in `tests/mcp-clients`; whatever their libraries do on the wire,
//! they do here.
#![cfg(test)]

mod ada;
mod inspector;
mod mastra;
mod oauth;
mod oauth_rust;
mod program;
mod python;
mod rust;
mod stage;
mod story;
mod typescript;
