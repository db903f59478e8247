//! `toolyard mcp --embedded`: the whole platform in this process, for one user.

use std::{collections::btree_map::Entry, path::Path, time::Duration};

use tempfile::TempDir;
use tokio::io::{stdin, stdout};
use toolyard_protocol::{UserId, upstream::UpstreamAuth};
use toolyard_server::{
    ServerDependencies,
    config::Config,
    embedded::EmbeddedServer,
    process::{EXIT_GRACE, StopSignals},
    telemetry,
};

use super::McpArgs;
use crate::{
    cli::CommandContext,
    client_file::{self, EntryOutcome},
    commands::CommandOutcome,
    config::{DATABASE, env_variables},
    error::CliError,
    output::CliOutput,
};

/// The user if --user is not set.
pub(crate) const DEFAULT_USER: &str = "local";
/// How long the first response waits for the tool lists of upstreams. Clients wait at least a minute.
const FIRST_LISTS: Duration = Duration::from_secs(20);

pub(super) async fn run_embedded(cx: &CommandContext, args: &McpArgs) -> Result<CommandOutcome, CliError> {
    let mut config = args.config.load_config(Vec::new())?;
    if let Some(file) = &args.servers {
        add_servers(&mut config, file, cx.output)?;
    }
    offer_upstreams_to_all(&mut config, cx.output);
    let _temporary_folder = use_temporary_store(&mut config)?;
    let user = match cx.user() {
        Some(user) => user.clone(),
        None => DEFAULT_USER
            .parse::<UserId>()
            .map_err(|error| CliError::usage(error.to_string(), "pass --user"))?,
    };
    let _log = telemetry::init_log(&config.log).map_err(CliError::Log)?;
    let drain = Duration::from_millis(config.server.drain_ms);
    let stop = StopSignals::listen(drain.saturating_add(EXIT_GRACE)).map_err(CliError::Runtime)?.stop_token();
    let world = ServerDependencies::with_environment(&env_variables().collect::<Vec<_>>());
    let platform = EmbeddedServer::start(config, world).await.map_err(CliError::Start)?;
    tokio::select! {
        () = platform.wait_for_upstream_lists(FIRST_LISTS) => {}
        () = stop.cancelled() => {}
    }
    platform.serve_mcp(user, stdin(), stdout(), stop).await;
    Ok(CommandOutcome::Success)
}

/// Adds the servers of a client file as upstreams. Upstreams of the configuration win; invalid servers are reported.
fn add_servers(config: &mut Config, file: &Path, output: CliOutput) -> Result<(), CliError> {
    for entry in client_file::read_client_file(file)? {
        let upstream = match entry.outcome {
            EntryOutcome::Upstream(upstream) => *upstream,
            EntryOutcome::Disabled => continue,
            EntryOutcome::Rejected(why) => {
                output.print_note(&format!("skipped {}: {why}", entry.name));
                continue;
            }
        };
        for remark in &upstream.remarks {
            output.print_note(&format!("{}: {remark}", entry.name));
        }
        match config.upstreams.entry(upstream.id) {
            Entry::Vacant(place) => drop(place.insert(upstream.details)),
            Entry::Occupied(_) => {
                let name = &entry.name;
                output.print_note(&format!("skipped {name}: the configuration has an upstream with that id"));
            }
        }
    }
    Ok(())
}

/// Gives all upstreams to the one user, who has no way to install them.
pub(crate) fn offer_upstreams_to_all(config: &mut Config, output: CliOutput) {
    for (id, upstream) in &mut config.upstreams {
        upstream.for_all = true;
        if upstream.auth == UpstreamAuth::OAuth {
            let note = "must be authorized in a browser, which needs a server: `toolyard serve`";
            output.print_note(&format!("upstream {id} {note}"));
        }
    }
}

/// Uses a temporary folder if none is configured: clients start this program in any folder, and several times at once.
pub(crate) fn use_temporary_store(config: &mut Config) -> Result<Option<TempDir>, CliError> {
    if config.store.path != Config::default().store.path {
        return Ok(None);
    }
    let folder = tempfile::Builder::new().prefix("toolyard-").tempdir().map_err(CliError::Runtime)?;
    config.store.path = folder.path().join(DATABASE);
    Ok(Some(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_a_file_join_the_configuration_for_the_user() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp.json");
        let servers =
            r#"{"mcpServers":{"a":{"command":"theirs"},"b":{"command":"x"},"c":{},"d":{"disabled":true}}}"#;
        std::fs::write(&file, servers).unwrap();
        let mut config = Config::default();
        let ours = serde_json::from_str(r#"{"command":"ours"}"#).unwrap();
        config.upstreams.insert("a".to_owned(), ours);
        add_servers(&mut config, &file, CliOutput::new(false)).unwrap();
        offer_upstreams_to_all(&mut config, CliOutput::new(false));
        let found: Vec<_> =
            config.upstreams.iter().map(|(id, one)| (id.as_str(), one.command.as_deref())).collect();
        assert_eq!(found, [("a", Some("ours")), ("b", Some("x"))]);
        assert!(config.upstreams.values().all(|upstream| upstream.for_all));
    }

    #[test]
    fn data_without_a_folder_is_temporary() {
        let mut config = Config::default();
        let folder = use_temporary_store(&mut config).unwrap().unwrap();
        assert!(config.store.path.starts_with(folder.path()));
        config.store.path = "here/x.db".into();
        assert!(use_temporary_store(&mut config).unwrap().is_none());
        assert_eq!(config.store.path.to_str(), Some("here/x.db"));
    }
}
