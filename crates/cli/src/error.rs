//! Errors of commands: the message, the next step for the user, and the exit code.

use std::{io, path::PathBuf, time::Duration};

use toolyard_net::{NetError, UrlRefused};
use toolyard_protocol::Problem;
use toolyard_server::{
    backup::{ArchiveError, BackupError, LoadError, RestoreError, SnapshotError},
    config::ConfigLoadError,
    serve::{CopyError, ServerStartError},
};

use crate::{client::ServerRefusal, text};

/// An error that ends a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("cannot start: {0}")]
    Runtime(io::Error),
    #[error("`{server}` is not a valid server URL: {error}")]
    BadServer { server: String, error: UrlRefused },
    #[error("cannot reach the server at {server}: {error}")]
    Unreachable { server: String, error: NetError },
    #[error("the server at {server} did not respond: {error}")]
    NoResponse { server: String, error: NetError },
    #[error("the server at {server} did not respond within {wait:?}")]
    TimedOut { server: String, wait: Duration },
    #[error("invalid response from {server}: {why}; is that a Toolyard server?")]
    InvalidResponse { server: String, why: String },
    #[error("{0}")]
    Refused(Box<ServerRefusal>),
    #[error("cannot read {}: {error}", .file.display())]
    Unreadable { file: PathBuf, error: io::Error },
    #[error("cannot write {}: {error}", .file.display())]
    Unwritable { file: PathBuf, error: io::Error },
    #[error("{} can be read or changed by other users of this machine (mode {mode:o})", .file.display())]
    ExposedFile { file: PathBuf, mode: u32 },
    #[error("{} is larger than {limit} bytes", .file.display())]
    TooLarge { file: PathBuf, limit: usize },
    #[error("cannot use {what}")]
    Problems { what: String, problems: Vec<Problem> },
    #[error("cannot read {url}: {why}")]
    Fetch { url: String, why: String },
    #[error(transparent)]
    Config(ConfigLoadError),
    #[error("cannot start logging: {0}")]
    Log(String),
    #[error("the server cannot start: {0}")]
    Start(ServerStartError),
    #[error("{message}")]
    Usage { message: String, next: String },
    #[error("the audit log was not verified: {0}")]
    AuditVerify(ServerStartError),
    #[error("the store was not copied: {0}")]
    StoreCopy(CopyError),
    #[error("no backup was made: {0}")]
    Backup(BackupError),
    #[error("{} cannot be used: {error}", .file.display())]
    BackupFile { file: PathBuf, error: ArchiveError },
    #[error("{} was not restored: {error}", .file.display())]
    Restore { file: PathBuf, error: RestoreError },
    #[error("nothing was changed")]
    NotConfirmed,
    #[error("the sign-in was refused, or the code expired")]
    LoginRefused,
    #[error("{0}; the token is not revoked, and its profile was not removed")]
    TokenNotRevoked(Box<CliError>),
    #[error("stopped before you were signed in")]
    LoginStopped,
    #[error("the server refused the device: {0}")]
    DeviceRefused(String),
    #[error("the server closed the connection: {0}")]
    DeviceClosed(String),
    #[error("the connection to the server keeps failing: {0}")]
    ConnectionLost(String),
    #[error("stopped before open calls had finished")]
    Interrupted,
    #[error("stopped before the answer was complete")]
    Stopped,
    #[error("no model is available")]
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
    /// A usage error: what was wrong, and what to write instead.
    pub(crate) fn usage(message: impl Into<String>, next: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), next: next.into() }
    }

    /// A short code that scripts can act on. Errors of the server keep the server's code.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Refused(refused) => &refused.code,
            Self::BadServer { .. } | Self::Usage { .. } => "USAGE",
            Self::Unreachable { .. } => "UNREACHABLE",
            Self::NoResponse { .. } | Self::TimedOut { .. } => "NO_ANSWER",
            Self::InvalidResponse { .. } => "BAD_ANSWER",
            Self::Unreadable { .. } | Self::TooLarge { .. } => "UNREADABLE_FILE",
            Self::ExposedFile { .. } => "EXPOSED_FILE",
            Self::Unwritable { .. } => "UNWRITABLE_FILE",
            Self::Problems { .. } => "INVALID_DOCUMENT",
            Self::Fetch { .. } => "UNREADABLE_URL",
            Self::Config(_) => "CONFIGURATION",
            Self::Start(_) | Self::Runtime(_) | Self::Log(_) => "START",
            Self::AuditVerify(_) => "AUDIT_VERIFY",
            Self::StoreCopy(_) => "STORE_COPY",
            Self::Backup(_) => "BACKUP",
            Self::BackupFile { .. } => "BACKUP_FILE",
            Self::Restore { .. } => "RESTORE",
            Self::NotConfirmed => "NOT_CONFIRMED",
            Self::DeviceRefused(_) => "DEVICE_REFUSED",
            Self::DeviceClosed(_) => "DEVICE_CLOSED",
            Self::ConnectionLost(_) => "CONNECTION_LOST",
            Self::TokenNotRevoked(error) => error.code(),
            Self::LoginRefused => "SIGN_IN_FAILED",
            Self::Interrupted | Self::Stopped | Self::LoginStopped => "INTERRUPTED",
            Self::NoModel => "NO_MODEL",
            Self::AnswerFailed(_) => "ANSWER",
            Self::ToolFailed(_) => "EXECUTION_ERROR",
            Self::Eval(_) => "INVALID_DOCUMENT",
            Self::Output(_) => "OUTPUT",
        }
    }

    /// The next step for the user.
    pub(crate) fn next_step(&self) -> Option<String> {
        let hint = |text: &str| Some(text.to_owned());
        match self {
            Self::Refused(refused) => refused.next_step().map(str::to_owned),
            Self::Usage { next, .. } => Some(next.clone()),
            Self::Unreachable { .. } => hint(
                "start a server with `toolyard serve`, or name another one with --server, TOOLYARD_URL or --profile",
            ),
            Self::BadServer { .. } => {
                hint("write it like http://127.0.0.1:8787, in --server or TOOLYARD_URL")
            }
            Self::NoResponse { .. } | Self::TimedOut { .. } | Self::ConnectionLost(_) => {
                hint("check the server's log, then try again")
            }
            Self::InvalidResponse { .. } => hint("check --server and TOOLYARD_URL"),
            Self::Problems { .. } => {
                hint("nothing was changed; fix the listed problems and run the command again")
            }
            Self::Fetch { .. } => hint(
                "save the file and register the app with `toolyard apps add --package NAME --url URL --tools FILE`",
            ),
            Self::Config(_) => hint("`toolyard schema config` prints every setting with its description"),
            Self::Start(ServerStartError::Listen { .. }) => {
                hint("choose another address with --listen, or stop the program that listens there")
            }
            Self::Start(_) => hint("`toolyard doctor` checks the configuration and the files"),
            Self::DeviceClosed(_) => {
                hint("a user can have one device at a time; run the command again to connect this one")
            }
            Self::DeviceRefused(_) => hint(
                "set the user with --user (dev mode), or sign in with `toolyard login`, or pass a token with --token",
            ),
            Self::ExposedFile { file, .. } => {
                let command = text::shell_quote(["chmod", "600", &file.to_string_lossy()]);
                Some(format!(
                    "run `{command}`; if others may have read it, revoke its tokens with `toolyard logout`"
                ))
            }
            Self::TokenNotRevoked(_) => {
                hint("try again, or only remove the profile with `toolyard logout --local`")
            }
            Self::LoginRefused | Self::LoginStopped => hint("run `toolyard login` again for a new code"),
            Self::NoModel => hint(
                "`toolyard models` shows what was searched for and how to add a model; --local searches this machine",
            ),
            Self::AnswerFailed(_) => hint("try again, or choose another model: `toolyard models` lists them"),
            Self::AuditVerify(_) => hint(
                "name the data folder of the server with --data, or its configuration file with --config",
            ),
            Self::StoreCopy(CopyError::NoSource(_)) => hint("name the database file with --from"),
            Self::StoreCopy(CopyError::Open(_)) => {
                hint("stop the server that uses the file; check the URL of the destination")
            }
            Self::StoreCopy(CopyError::NotEmpty { .. }) => hint("create a new database with `createdb`"),
            Self::StoreCopy(CopyError::Database { .. } | CopyError::Differs { .. }) => {
                hint("the destination is unchanged; check both databases, then run the command again")
            }
            Self::Backup(error) => backup_step(error).map(str::to_owned),
            Self::BackupFile { error, .. } => archive_step(error).map(str::to_owned),
            Self::Restore { error, .. } => restore_step(error).map(str::to_owned),
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

    /// Every problem of a rejected document.
    pub(crate) fn problems(&self) -> &[Problem] {
        match self {
            Self::Refused(refused) => &refused.problems,
            Self::Problems { problems, .. } => problems,
            _ => &[],
        }
    }

    /// 2 for usage and configuration errors, 130 after a signal as shells do, otherwise 1.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage { .. } | Self::BadServer { .. } | Self::Config(_) => 2,
            Self::Interrupted | Self::Stopped | Self::LoginStopped => 130,
            _ => 1,
        }
    }

    /// Whether the reader closed our output, as `head` does. That is not reported as an error.
    pub(crate) fn is_closed_output(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

fn backup_step(error: &BackupError) -> Option<&'static str> {
    match error {
        BackupError::KeyNeedsEncryption => Some("name a file with a passphrase: --passphrase-file FILE"),
        BackupError::Snapshot(SnapshotError::Empty(_)) => {
            Some("name the data folder with --data, or the configuration with --config")
        }
        BackupError::Snapshot(_) => Some("`toolyard doctor` checks the configuration and the store"),
        BackupError::RootKey(_) | BackupError::Output(_) => None,
    }
}

fn archive_step(error: &ArchiveError) -> Option<&'static str> {
    match error {
        ArchiveError::NeedsPassphrase | ArchiveError::WrongPassphrase => {
            Some("name the file with its passphrase: --passphrase-file FILE")
        }
        ArchiveError::NotEncrypted => Some("if it is the right one, leave --passphrase-file out"),
        ArchiveError::Truncated | ArchiveError::Damaged(_) | ArchiveError::Rows(_) => {
            Some("use another copy of it, or an earlier backup")
        }
        ArchiveError::Unreadable(_) | ArchiveError::NotBackup | ArchiveError::NewerFormat(_) => None,
    }
}

fn restore_step(error: &RestoreError) -> Option<&'static str> {
    match error {
        RestoreError::Archive(error) => archive_step(error),
        RestoreError::OtherRootKey(_) => Some(
            "move that key away if the backup has its own, or put the key of the backup there; nothing was changed",
        ),
        RestoreError::Load(LoadError::NotEmpty { .. }) => {
            Some("restore to another folder with --data, or to a new database in store.url")
        }
        RestoreError::Load(LoadError::Open(_)) => {
            Some("stop the server that uses the store; `toolyard doctor` checks the configuration")
        }
        RestoreError::Load(_) => Some("nothing was restored; check the database, then run the command again"),
        RestoreError::NewerTables(_) | RestoreError::OlderTables(_) | RestoreError::RootKey(_) => None,
    }
}
