//! Third-party MCP clients that start `toolyard mcp` and use a server through it. The scenarios are those of the server's own
//! tests over HTTP.
#![cfg(test)]

#[path = "../../../server/tests/clients/ada.rs"]
mod ada;
mod bridge;
#[path = "../../../server/tests/clients/program.rs"]
mod program;
#[expect(dead_code, reason = "what concerns HTTP is not needed here")]
#[path = "../../../server/tests/clients/stage.rs"]
mod stage;
#[path = "../../../server/tests/clients/story.rs"]
mod story;
