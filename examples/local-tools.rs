//! A program that offers two functions of its own as MCP tools, over stdio. Any MCP client can start it:
//! `cargo run --example local-tools`, or `toolyard upstreams add sums -- local-tools`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use toolyard_core::service::{LocalTool, ToolService};
use toolyard_protocol::result::McpResult;

/// The arguments of `add`; the model reads these words.
#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The first number
    a: i64,
    /// The second number
    b: i64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = ToolService::new("sums");
    tools.register(LocalTool::typed("add", "Adds two numbers", |numbers: Add| async move {
        let sum = numbers.a.checked_add(numbers.b).ok_or("The sum is too large.")?;
        Ok(McpResult::from_text(&sum.to_string()))
    }))?;
    let shout = json!({ "name": "shout", "description": "Says it louder", "inputSchema": {
        "type": "object", "properties": { "text": { "type": "string", "minLength": 1 } }, "required": ["text"] } });
    tools.register(LocalTool::with_definition(shout, |arguments| async move {
        Ok(McpResult::from_text(&arguments["text"].as_str().unwrap_or_default().to_uppercase()))
    }))?;
    let (mut lines, mut out) = (BufReader::new(tokio::io::stdin()).lines(), tokio::io::stdout());
    while let Some(line) = lines.next_line().await? {
        if let Some(answer) = tools.handle_message(&line).await {
            out.write_all(format!("{answer}\n").as_bytes()).await?;
            out.flush().await?;
        }
    }
    Ok(())
}
