//! MCP clients as other people wrote them, which start `toolyard mcp` themselves and talk to a server through it. The
//! stories are those that the server's own tests play over HTTP.
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
