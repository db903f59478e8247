//! The doors: REST, MCP, chat and WebSockets. A door reads a request, calls a verb of the platform or the executor, and
//! writes the response. It contains no rules.

pub(crate) mod chat;
pub(crate) mod mcp;
pub(crate) mod oauth;
pub(crate) mod rest;
pub(crate) mod sign_in;
pub(crate) mod ws;
