//! `toolyard mcp`: an MCP server for a local client on stdin and stdout. It relays to a Toolyard server or, with
//! `--embedded`, runs the whole platform in this process. Only messages go to stdout; notes and errors go to stderr.

mod bridge;
pub(crate) mod embedded;
mod reconnect;
mod resumable_session;
mod wire;

use std::path::PathBuf;

use clap::Args;
use http::StatusCode;
use tokio::{
    io::{AsyncWrite, AsyncWriteExt as _, stdin, stdout},
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

/// The WebSocket of MCP clients.
const DOOR: SocketEndpoint =
    SocketEndpoint { path: "mcp/ws", protocol: Some("mcp"), max_message: 64 * 1024 * 1024 };
/// Most messages that wait for a slow client.
const QUEUE: usize = 256;
/// Timeout for writing the last messages.
const FLUSH_WAIT: std::time::Duration = std::time::Duration::from_secs(2);

const HELP: &str = "\
For clients that start MCP servers as child processes, such as Claude Desktop and editors. In the client's configuration:
  {\"mcpServers\": {\"toolyard\": {\"command\": \"toolyard\", \"args\": [\"mcp\", \"--user\", \"ada@example.com\"]}}}
If the connection to the server is lost, it reconnects for up to a minute; pending requests get an error response.
With --embedded no server is needed: the user has all upstreams of the configuration file and of --servers. Without
--data nothing is stored. Upstreams with OAuth need a server.

Examples:
  toolyard mcp --user ada@example.com
  toolyard mcp --server https://tools.example.com --token \"$TOKEN\"
  toolyard mcp --embedded --config toolyard.toml --data ~/.toolyard
  toolyard mcp --embedded --servers ~/.cursor/mcp.json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct McpArgs {
    /// Longest message of the client, in bytes; for more, raise server.socket_message_bytes on the server too
    #[arg(long, value_name = "BYTES", default_value_t = 1024 * 1024)]
    max_line: usize,
    /// Run everything in this process, without a server, for --user [default user: `local`]
    #[arg(long)]
    embedded: bool,
    /// With --embedded: also use the MCP servers of this client file as upstreams
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
        let message = "--config, --data and --set have no effect without --embedded";
        return Err(CliError::usage(message, "add --embedded, or omit them"));
    }
    let server = RemoteServer(ServerDialer::new(cx, &DOOR)?);
    let mut signals = SignalListener::new().map_err(CliError::Runtime)?;
    let (out, messages) = mpsc::channel(QUEUE);
    let bridge = StdioBridge::new(stdin(), args.max_line, out, cx.output);
    let writing = write_messages(messages, stdout());
    tokio::pin!(writing);
    let ended = tokio::select! {
        ended = bridge.run(&server) => ended,
        // The client has closed its end.
        () = &mut writing => return Ok(CommandOutcome::Success),
        () = signals.next() => return Ok(CommandOutcome::Success),
    };
    if timeout(FLUSH_WAIT, writing).await.is_err() {
        cx.output.print_note("the client did not read its last messages");
    }
    ended.map(|()| CommandOutcome::Success)
}

/// Writes messages, one per line, until there are no more or the client stops reading.
async fn write_messages(mut messages: mpsc::Receiver<JsonLine>, mut to: impl AsyncWrite + Unpin) {
    while let Some(message) = messages.recv().await {
        let message = message.into_terminated();
        if to.write_all(message.as_bytes()).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

/// A remote server.
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
                    // A proxy may respond with anything while the server behind it starts.
                    _ => StdioConnectError::Temporary(refused),
                }
            }
        })
    }
}
