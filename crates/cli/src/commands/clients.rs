//! `toolyard clients`: clients that you connected, and how to connect one.

use clap::{Args, Subcommand};
use http::Method;
use serde::Serialize;
use toolyard_protocol::{
    TokenId,
    oauth::{ConnectedClient, ConnectedClientList},
};

use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError, output::RenderText, text};

const HELP: &str = "\
Without a command, it lists the clients that you connected. `toolyard connect` shows how to connect
one. It opens a page in your browser, where you decide what it may do.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ClientsArgs {
    #[command(subcommand)]
    command: Option<ClientsCommand>,
}

#[derive(Debug, Subcommand)]
enum ClientsCommand {
    /// List the clients that you connected, newest first
    Ls,
    /// Disconnect a client: its tokens, streams and sockets end at once
    Disconnect(DisconnectArgs),
}

#[derive(Debug, Args)]
struct DisconnectArgs {
    /// The id, as `toolyard clients` shows it
    id: TokenId,
}

/// Response to `GET /api/clients`.
#[derive(Serialize)]
#[serde(transparent)]
struct ClientTable(ConnectedClientList);

impl RenderText for ClientTable {
    fn render_text(&self) -> String {
        if self.0.clients.is_empty() {
            return "No clients are connected.".to_owned();
        }
        let head = ["CLIENT", "RETURNS TO", "MAY", "APPS", "LAST USED", "UNTIL", "ID"].map(str::to_owned);
        let rows = self.0.clients.iter().map(client_row);
        text::format_table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

fn client_row(client: &ConnectedClient) -> [String; 7] {
    let apps: Vec<_> = client.apps.iter().map(ToString::to_string).collect();
    [
        client.name.clone(),
        client.host.clone(),
        client.scopes.join(" "),
        if apps.is_empty() { "all".to_owned() } else { apps.join(" ") },
        client.last_used_at.clone(),
        client.expires_at.clone(),
        client.id.to_string(),
    ]
}

/// A disconnected client.
#[derive(Serialize)]
struct DisconnectedClient {
    disconnected: TokenId,
}

impl RenderText for DisconnectedClient {
    fn render_text(&self) -> String {
        format!("disconnected {}", self.disconnected)
    }
}

pub(crate) async fn run_clients_command(
    cx: &CommandContext,
    args: ClientsArgs,
) -> Result<CommandOutcome, CliError> {
    let client = cx.client()?;
    match args.command {
        None | Some(ClientsCommand::Ls) => {
            cx.output.print_result(&ClientTable(client.get("api/clients").await?))?;
        }
        Some(ClientsCommand::Disconnect(DisconnectArgs { id })) => {
            client.send_empty(Method::DELETE, &format!("api/clients/{id}")).await?;
            cx.output.print_result(&DisconnectedClient { disconnected: id })?;
        }
    }
    Ok(CommandOutcome::Success)
}
