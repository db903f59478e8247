//! `toolyard chat --local`: an embedded server in this process, without a port.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use tempfile::TempDir;
use toolyard_protocol::UserId;
use toolyard_server::{
    ServerDependencies,
    config::{Config, RootConfig},
    embedded::EmbeddedServer,
    telemetry::{self, LogGuard},
};

use super::backend::ChatBackend;
use crate::{
    cli::CommandContext,
    commands::mcp::embedded::{DEFAULT_USER, offer_upstreams_to_all, use_temporary_store},
    config::{ConfigArgs, env_variables},
    error::CliError,
};

/// How long the first request waits for the tool lists of upstreams.
const FIRST_LISTS: Duration = Duration::from_secs(20);
/// The name of the folder, with which its paths start.
const ROOT: &str = "files";

/// The flags of a chat without a server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Chat without a server")]
pub(super) struct LocalArgs {
    /// Run everything in this process, without a server, for --user [default user: `local`]
    #[arg(long)]
    pub(super) local: bool,
    /// With --local: a folder whose files the model can list, read and search
    #[arg(long, value_name = "DIR", requires = "local")]
    files: Option<PathBuf>,
    /// With --files: the model can also write files in that folder
    #[arg(long, requires = "files")]
    write: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Resources that must live as long as the chat.
pub(super) struct LocalChatGuard {
    _folder: Option<TempDir>,
    _log: LogGuard,
}

impl LocalArgs {
    /// Refuses configuration flags without --local: they would have no effect.
    pub(super) fn check_flags(&self) -> Result<(), CliError> {
        let ConfigArgs { config, data, settings } = &self.config;
        if !self.local && (config.is_some() || data.is_some() || !settings.is_empty()) {
            let message = "--config, --data and --set have no effect without --local";
            return Err(CliError::usage(message, "add --local, or omit them"));
        }
        Ok(())
    }

    /// Starts the embedded server.
    pub(super) async fn start_backend(
        &self,
        cx: &CommandContext,
        rounds: u32,
    ) -> Result<(ChatBackend, LocalChatGuard), CliError> {
        let mut config = self.config.load_config(Vec::new())?;
        self.add_files(&mut config);
        silence_default_log(&mut config);
        offer_upstreams_to_all(&mut config, cx.output);
        let folder = use_temporary_store(&mut config)?;
        let user = match cx.user() {
            Some(user) => user.clone(),
            None => DEFAULT_USER
                .parse::<UserId>()
                .map_err(|error| CliError::usage(error.to_string(), "pass --user"))?,
        };
        let log = telemetry::init_log(&config.log).map_err(CliError::Log)?;
        let world = ServerDependencies::with_environment(&env_variables().collect::<Vec<_>>());
        let platform = EmbeddedServer::start(config, world).await.map_err(CliError::Start)?;
        platform.wait_for_upstream_lists(FIRST_LISTS).await;
        let guard = LocalChatGuard { _folder: folder, _log: log };
        Ok((ChatBackend::new_local(platform, user, rounds)?, guard))
    }

    /// Adds the folder to those of the configuration. It replaces one with the same name.
    fn add_files(&self, config: &mut Config) {
        if let Some(folder) = &self.files {
            let roots = &mut config.builtin.roots;
            roots.retain(|root| root.name != ROOT);
            // There is only one user, so the folder can be shared.
            roots.push(RootConfig {
                name: ROOT.to_owned(),
                folder: folder.clone(),
                write: self.write,
                shared: Some(true),
                hidden: false,
            });
            if self.write {
                // `--write` is the approval: the tools of this program may change the folder.
                config.approvals.allow_tools("toolyard:*");
            }
        }
    }
}

/// Log lines would mix with the answer. A filter that the user has set is kept.
fn silence_default_log(config: &mut Config) {
    if config.log.filter == Config::default().log.filter {
        config.log.filter = "error".to_owned();
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: LocalArgs,
    }

    fn args(line: &str) -> LocalArgs {
        Line::try_parse_from(line.split(' ')).unwrap().args
    }

    #[test]
    fn a_folder_is_read_only_unless_said_otherwise() {
        let mut config = Config::default();
        let other = RootConfig {
            name: "notes".to_owned(),
            folder: "/n".into(),
            write: true,
            shared: None,
            hidden: false,
        };
        config.builtin.roots = vec![other.clone(), RootConfig { name: ROOT.to_owned(), ..other }];
        args("chat --local --files /srv").add_files(&mut config);
        let roots = |config: &Config| {
            let roots = config.builtin.roots.iter();
            roots
                .map(|root| format!("{} {} {}", root.name, root.folder.display(), root.write))
                .collect::<Vec<_>>()
        };
        assert_eq!(roots(&config), ["notes /n true", "files /srv false"]);
        args("chat --local --files /srv --write").add_files(&mut config);
        assert_eq!(roots(&config), ["notes /n true", "files /srv true"]);
    }

    #[test]
    fn flags_without_effect_are_refused() {
        for line in ["chat --files /srv", "chat --local --write"] {
            assert!(Line::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
        assert!(args("chat --set chat.steps=2").check_flags().is_err());
        assert!(args("chat --local --set chat.steps=2").check_flags().is_ok());
    }

    #[test]
    fn only_the_default_log_filter_is_silenced() {
        let mut config = Config::default();
        silence_default_log(&mut config);
        assert_eq!(config.log.filter, "error");
        config.log.filter = "debug".to_owned();
        silence_default_log(&mut config);
        assert_eq!(config.log.filter, "debug");
    }
}
