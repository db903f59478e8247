//! What can go wrong, what to do next, and how the process ends.

use std::{io, path::PathBuf, time::Duration};

use toolyard_net::{NetError, UrlRefused};
use toolyard_protocol::Problem;
use toolyard_server::{config::ConfigLoadError, serve::ServerStartError};

use crate::client::ServerRefusal;

/// Everything that ends a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("cannot start: {0}")]
    Runtime(io::Error),
    #[error("`{server}` is no address of a server: {error}")]
    BadServer { server: String, error: UrlRefused },
    #[error("cannot reach the server at {server}: {error}")]
    Unreachable { server: String, error: NetError },
    #[error("the server at {server} did not answer: {error}")]
    NoResponse { server: String, error: NetError },
    #[error("the server at {server} did not answer within {wait:?}")]
    TimedOut { server: String, wait: Duration },
    #[error("the answer of {server} cannot be read: {why}; is that a Toolyard server?")]
    InvalidResponse { server: String, why: String },
    #[error("{0}")]
    Refused(Box<ServerRefusal>),
    #[error("cannot read {}: {error}", .file.display())]
    Unreadable { file: PathBuf, error: io::Error },
    #[error("cannot write {}: {error}", .file.display())]
    Unwritable { file: PathBuf, error: io::Error },
    #[error("{} is larger than {limit} bytes", .file.display())]
    TooLarge { file: PathBuf, limit: usize },
    #[error("{what} cannot be used")]
    Problems { what: String, problems: Vec<Problem> },
    #[error("cannot read {url}: {why}")]
    Fetch { url: String, why: String },
    #[error(transparent)]
    Config(ConfigLoadError),
    #[error("the log cannot be started: {0}")]
    Log(String),
    #[error("the server cannot start: {0}")]
    Start(ServerStartError),
    #[error("{message}")]
    Usage { message: String, next: String },
    #[error("nothing was changed")]
    NotConfirmed,
    #[error("the server refused the device: {0}")]
    DeviceRefused(String),
    #[error("the server closed the connection: {0}")]
    DeviceClosed(String),
    #[error("the connection to the server was lost again and again: {0}")]
    ConnectionLost(String),
    #[error("stopped before the drain was over")]
    Interrupted,
    #[error("stopped before the answer was through")]
    Stopped,
    #[error("there is no model to ask")]
    NoModel,
    #[error("the answer failed: {0}")]
    AnswerFailed(String),
    #[error("the tool failed: {0}")]
    ToolFailed(String),
    #[error("nothing was measured: {0}")]
    Eval(String),
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl CliError {
    /// Called wrongly; says what was wrong and what to write instead.
    pub(crate) fn usage(message: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), next: next.into() }
    }

    /// A short code that scripts can act on. What the server said keeps the server's code.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Refused(refused) => &refused.code,
            Self::BadServer { .. } | Self::Usage { .. } => "USAGE",
            Self::Unreachable { .. } => "UNREACHABLE",
            Self::NoResponse { .. } | Self::TimedOut { .. } => "NO_ANSWER",
            Self::InvalidResponse { .. } => "BAD_ANSWER",
            Self::Unreadable { .. } | Self::TooLarge { .. } => "UNREADABLE_FILE",
            Self::Unwritable { .. } => "UNWRITABLE_FILE",
            Self::Problems { .. } => "INVALID_DOCUMENT",
            Self::Fetch { .. } => "UNREADABLE_URL",
            Self::Config(_) => "CONFIGURATION",
            Self::Start(_) | Self::Runtime(_) | Self::Log(_) => "START",
            Self::NotConfirmed => "NOT_CONFIRMED",
            Self::DeviceRefused(_) => "DEVICE_REFUSED",
            Self::DeviceClosed(_) => "DEVICE_CLOSED",
            Self::ConnectionLost(_) => "CONNECTION_LOST",
            Self::Interrupted | Self::Stopped => "INTERRUPTED",
            Self::NoModel => "NO_MODEL",
            Self::AnswerFailed(_) => "ANSWER",
            Self::ToolFailed(_) => "EXECUTION_ERROR",
            Self::Eval(_) => "INVALID_DOCUMENT",
            Self::Output(_) => "OUTPUT",
        }
    }

    /// What to do now.
    pub(crate) fn next_step(&self) -> Option<String> {
        let said = |text: &str| Some(text.to_owned());
        match self {
            Self::Refused(refused) => refused.next_step().map(str::to_owned),
            Self::Usage { next, .. } => Some(next.clone()),
            Self::Unreachable { .. } => said(
                "start a server with `toolyard serve`, or name another one with --server or TOOLYARD_URL",
            ),
            Self::BadServer { .. } => {
                said("write it like http://127.0.0.1:8787, in --server or TOOLYARD_URL")
            }
            Self::NoResponse { .. } | Self::TimedOut { .. } | Self::ConnectionLost(_) => {
                said("look at the server's log, then try again")
            }
            Self::InvalidResponse { .. } => said("check --server and TOOLYARD_URL"),
            Self::Problems { .. } => {
                said("nothing was changed; repair what is listed and run the command again")
            }
            Self::Fetch { .. } => said(
                "save the file and register the app with `toolyard apps add --package NAME --url URL --tools FILE`",
            ),
            Self::Config(_) => said("`toolyard schema config` prints every setting with its meaning"),
            Self::Start(ServerStartError::Listen { .. }) => {
                said("choose another address with --listen, or stop what listens there")
            }
            Self::Start(_) => said("`toolyard doctor` checks configuration and files"),
            Self::DeviceClosed(_) => {
                said("a user has one device at a time; run the command again to take it back")
            }
            Self::DeviceRefused(_) => {
                said("name the user with --user (dev mode), or pass a token: `toolyard token user NAME`")
            }
            Self::NoModel => said(
                "`toolyard models` says what was looked for and how to add it; `--local` looks from here",
            ),
            Self::AnswerFailed(_) => said("try again, or ask another model: `toolyard models` lists them"),
            Self::Runtime(_)
            | Self::Unreadable { .. }
            | Self::Unwritable { .. }
            | Self::TooLarge { .. }
            | Self::Log(_)
            | Self::NotConfirmed
            | Self::Interrupted
            | Self::Stopped
            | Self::ToolFailed(_)
            | Self::Eval(_)
            | Self::Output(_) => None,
        }
    }

    /// Every place that is wrong, where a document was refused.
    pub(crate) fn problems(&self) -> &[Problem] {
        match self {
            Self::Refused(refused) => &refused.problems,
            Self::Problems { problems, .. } => problems,
            _ => &[],
        }
    }

    /// 2 where the command was called or set up wrongly, 130 after a second signal as shells have it, else 1.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage { .. } | Self::BadServer { .. } | Self::Config(_) => 2,
            Self::Interrupted | Self::Stopped => 130,
            _ => 1,
        }
    }

    /// Whether somebody closed our output, as `head` does. That is no failure worth a word.
    pub(crate) fn is_closed_output(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}
