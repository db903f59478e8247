//! `toolyard chat --local`: the doors of a server in this process, with no address.

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

/// How long the first question may wait for the tools of upstreams.
const FIRST_LISTS: Duration = Duration::from_secs(20);
/// What paths in the folder begin with.
const ROOT: &str = "files";

/// Everything about a chat without a server.
#[derive(Debug, Args)]
pub(super) struct LocalArgs {
    /// Run everything in this process, for --user or else for `local`: no server is needed
    #[arg(long)]
    pub(super) local: bool,
    /// Local: a folder in which files may be listed, read and searched
    #[arg(long, value_name = "DIR", requires = "local")]
    files: Option<PathBuf>,
    /// Local: files in that folder may be written, too
    #[arg(long, requires = "files")]
    write: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// What has to live as long as the chat.
pub(super) struct LocalChatGuard {
    _folder: Option<TempDir>,
    _log: LogGuard,
}

impl LocalArgs {
    /// Configuration without --local would be without effect.
    pub(super) fn check_flags(&self) -> Result<(), CliError> {
        let ConfigArgs { config, data, settings } = &self.config;
        if !self.local && (config.is_some() || data.is_some() || !settings.is_empty()) {
            let message = "--config, --data and --set are about a chat without a server";
            return Err(CliError::usage(message, "add --local, or leave them out"));
        }
        Ok(())
    }

    /// Starts everything.
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
        let kept = LocalChatGuard { _folder: folder, _log: log };
        Ok((ChatBackend::new_local(platform, user, rounds)?, kept))
    }

    /// The folder stands beside those of the configuration, and takes the place of one with its name.
    fn add_files(&self, config: &mut Config) {
        if let Some(folder) = &self.files {
            let roots = &mut config.builtin.roots;
            roots.retain(|root| root.name != ROOT);
            // There is one user, and the folder is theirs.
            roots.push(RootConfig {
                name: ROOT.to_owned(),
                folder: folder.clone(),
                write: self.write,
                shared: Some(true),
                hidden: false,
            });
        }
    }
}

/// A log between the words helps nobody; whoever wants one says so.
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
    fn what_has_no_effect_is_refused() {
        for line in ["chat --files /srv", "chat --local --write"] {
            assert!(Line::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
        assert!(args("chat --set chat.steps=2").check_flags().is_err());
        assert!(args("chat --local --set chat.steps=2").check_flags().is_ok());
    }

    #[test]
    fn only_the_usual_log_is_silenced() {
        let mut config = Config::default();
        silence_default_log(&mut config);
        assert_eq!(config.log.filter, "error");
        config.log.filter = "debug".to_owned();
        silence_default_log(&mut config);
        assert_eq!(config.log.filter, "debug");
    }
}
