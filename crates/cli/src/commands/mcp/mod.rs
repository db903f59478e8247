//! `toolyard mcp`: one MCP server for a local client on stdin and stdout: a Toolyard server somewhere, or, embedded, the
//! whole platform inside this process. Stdout has messages and nothing else; words go to stderr.

mod bridge;
pub(crate) mod embedded;
mod reconnect;
mod resumable_session;
mod wire;

use std::path::PathBuf;

use clap::Args;
use http::StatusCode;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _, BufReader, stdin, stdout},
    sync::mpsc,
    time::timeout,
};
use tokio_tungstenite::WebSocketStream;
use toolyard_net::DialedStream;
use toolyard_protocol::JsonLine;

use self::{
    bridge::StdioBridge,
    wire::{ServerConnector, StdioConnectError},
};
use super::CommandOutcome;
use crate::{
    cli::CommandContext,
    client::ServerRefusal,
    config::ConfigArgs,
    error::CliError,
    signals::SignalListener,
    socket::{DialError, ServerDialer, SocketEndpoint},
};

/// The socket of MCP clients.
const DOOR: SocketEndpoint =
    SocketEndpoint { path: "mcp/ws", protocol: Some("mcp"), max_message: 64 * 1024 * 1024 };
/// Messages that wait for a slow client.
const QUEUE: usize = 256;
/// How long the last messages may take to be written.
const FLUSH_WAIT: std::time::Duration = std::time::Duration::from_secs(2);

const HELP: &str = "\
For clients that start their servers themselves, such as Claude Desktop and editors. In the client's file:
  {\"mcpServers\": {\"toolyard\": {\"command\": \"toolyard\", \"args\": [\"mcp\", \"--user\", \"ada@example.com\"]}}}
When the server goes away, it is tried again for a minute; what was under way is answered with an error.
With --embedded no server is needed: the upstreams of the configuration file, and of --servers, are all the user's.
Without --data nothing is kept. Upstreams that users have to authorize need a server.

Examples:
  toolyard mcp --user ada@example.com
  toolyard mcp --server https://tools.example.com --token \"$TOKEN\"
  toolyard mcp --embedded --config toolyard.toml --data ~/.toolyard
  toolyard mcp --embedded --servers ~/.cursor/mcp.json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct McpArgs {
    /// Longest message of the client, in bytes; a server takes no more unless server.socket_message_bytes says so
    #[arg(long, value_name = "BYTES", default_value_t = 1024 * 1024)]
    max_line: usize,
    /// Run everything in this process, for --user or else for `local`
    #[arg(long)]
    embedded: bool,
    /// Embedded: take the servers of this file of an MCP client as upstreams, too
    #[arg(long, value_name = "FILE", requires = "embedded")]
    servers: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(crate) async fn run_mcp(cx: &CommandContext, args: McpArgs) -> Result<CommandOutcome, CliError> {
    if args.embedded {
        return embedded::run_embedded(cx, &args).await;
    }
    let ConfigArgs { config, data, settings } = &args.config;
    if config.is_some() || data.is_some() || !settings.is_empty() {
        let message = "--config, --data and --set are about a server in this process";
        return Err(CliError::usage(message, "add --embedded, or leave them out"));
    }
    let server = RemoteServer(ServerDialer::new(cx, &DOOR)?);
    let mut signals = SignalListener::new().map_err(CliError::Runtime)?;
    let (out, messages) = mpsc::channel(QUEUE);
    let bridge = StdioBridge::new(BufReader::new(stdin()), args.max_line, out, cx.output);
    let writing = write_messages(messages, stdout());
    tokio::pin!(writing);
    let ended = tokio::select! {
        ended = bridge.run(&server) => ended,
        // The client is gone: nobody is left to talk to.
        () = &mut writing => return Ok(CommandOutcome::Success),
        () = signals.next() => return Ok(CommandOutcome::Success),
    };
    if timeout(FLUSH_WAIT, writing).await.is_err() {
        cx.output.print_note("the client did not read its last messages");
    }
    ended.map(|()| CommandOutcome::Success)
}

/// Writes messages, one a line, until there are no more or nobody reads them.
async fn write_messages(mut messages: mpsc::Receiver<JsonLine>, mut to: impl AsyncWrite + Unpin) {
    while let Some(message) = messages.recv().await {
        let message = message.into_terminated();
        if to.write_all(message.as_bytes()).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

/// A server somewhere.
struct RemoteServer(ServerDialer);

impl ServerConnector for RemoteServer {
    type Stream = DialedStream;

    async fn dial(&self) -> Result<WebSocketStream<DialedStream>, StdioConnectError> {
        self.0.dial().await.map_err(|error| match error {
            DialError::NotReached(error) => StdioConnectError::Temporary(self.0.connection_error(error)),
            DialError::Refused { status, body } => {
                let refused = ServerRefusal::from_response(status, &body).into();
                match status {
                    StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => StdioConnectError::Permanent(refused),
                    // A proxy says all kinds of things while the server behind it starts.
                    _ => StdioConnectError::Temporary(refused),
                }
            }
        })
    }
}
