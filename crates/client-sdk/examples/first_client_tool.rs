//! A chat with one tool that runs in this program.
//!
//! `cargo run -p toolyard-client-sdk --example first_client_tool -- http://127.0.0.1:8787 ada@example.com`

use std::io::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolyard_client_sdk::{ChatError, Client, ToolContext, create_tool};

/// The arguments of the tool. The model reads these comments.
#[derive(Deserialize, JsonSchema)]
struct Shelf {
    /// The thing to look for, such as "milk"
    item: String,
}

/// Asks a question that only this program can answer.
pub(crate) async fn ask(client: &Client, question: &str) -> Result<String, ChatError> {
    let answer = client.ask(question).await?;
    Ok(answer.text)
}

/// A client with the tool.
pub(crate) fn shopkeeper(server: &str, user: &str) -> Result<Client, Box<dyn std::error::Error>> {
    let stock =
        create_tool("stock", "How many of a thing are left.", |shelf: Shelf, _: ToolContext| async move {
            match shelf.item.as_str() {
                "milk" => Ok(json!({ "item": "milk", "left": 3 })),
                // The model reads this error, and can report it or try another word.
                other => Err(format!("there is no shelf for {other}")),
            }
        });
    let client = Client::builder(server).user(user).build()?;
    client.register_tool(stock)?;
    Ok(client)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().unwrap_or_else(|| "http://127.0.0.1:8787".to_owned());
    let user = arguments.next().unwrap_or_else(|| "ada@example.com".to_owned());
    let client = shopkeeper(&server, &user)?;
    let answer = ask(&client, "How much milk is left?").await?;
    writeln!(std::io::stdout(), "{answer}")?;
    Ok(())
}
