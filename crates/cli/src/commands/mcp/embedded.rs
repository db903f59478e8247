//! `toolyard mcp --embedded`: the whole platform in this process, for one user.

use std::{collections::btree_map::Entry, path::Path, time::Duration};

use tempfile::TempDir;
use tokio::io::{stdin, stdout};
use toolyard_protocol::{UserId, upstream::UpstreamAuth};
use toolyard_server::{
    World,
    config::Config,
    embedded::Embedded,
    process::{EXIT_GRACE, StopSignals},
    telemetry,
};

use super::McpArgs;
use crate::{
    cli::Context,
    client_file::{self, Found},
    commands::Verdict,
    config::{DATABASE, environment},
    error::CliError,
    output::Output,
};

/// Who it is for, where nobody is named.
pub(crate) const USER: &str = "local";
/// How long the first answer may wait for the lists of upstreams. Clients wait for a minute at least.
const FIRST_LISTS: Duration = Duration::from_secs(20);

pub(super) async fn run(cx: &Context, args: &McpArgs) -> Result<Verdict, CliError> {
    let mut config = args.config.load(Vec::new())?;
    if let Some(file) = &args.servers {
        add_servers(&mut config, file, cx.output)?;
    }
    everybodys(&mut config, cx.output);
    let _kept_until_the_end = without_a_place(&mut config)?;
    let user = match cx.user() {
        Some(user) => user.clone(),
        None => USER.parse::<UserId>().map_err(|error| CliError::usage(error.to_string(), "pass --user"))?,
    };
    let _log = telemetry::init_log(&config.log).map_err(CliError::Log)?;
    let drain = Duration::from_millis(config.server.drain_ms);
    let stop = StopSignals::listen(drain.saturating_add(EXIT_GRACE)).map_err(CliError::Runtime)?.token();
    let world = World::of(&environment().collect::<Vec<_>>());
    let platform = Embedded::start(config, world).await.map_err(CliError::Start)?;
    tokio::select! {
        () = platform.first_lists(FIRST_LISTS) => {}
        () = stop.cancelled() => {}
    }
    platform.serve(user, stdin(), stdout(), stop).await;
    Ok(Verdict::Good)
}

/// Takes the servers of a client's file. What stands in the configuration is stronger; what is bad is told.
fn add_servers(config: &mut Config, file: &Path, output: Output) -> Result<(), CliError> {
    for entry in client_file::open(file)? {
        let upstream = match entry.found {
            Found::Upstream(upstream) => *upstream,
            Found::Disabled => continue,
            Found::Bad(why) => {
                output.note(&format!("{} is left out: {why}", entry.name));
                continue;
            }
        };
        for remark in &upstream.remarks {
            output.note(&format!("{}: {remark}", entry.name));
        }
        match config.upstreams.entry(upstream.id) {
            Entry::Vacant(place) => drop(place.insert(upstream.details)),
            Entry::Occupied(_) => {
                let name = &entry.name;
                output.note(&format!("{name} is left out: the configuration has an upstream of that id"));
            }
        }
    }
    Ok(())
}

/// Here is one user, and nobody who could install anything.
pub(crate) fn everybodys(config: &mut Config, output: Output) {
    for (id, upstream) in &mut config.upstreams {
        upstream.for_all = true;
        if upstream.auth == UpstreamAuth::OAuth {
            let words = "it has to be authorized in a browser, and that needs a server: `toolyard serve`";
            output.note(&format!("{id}: {words}"));
        }
    }
}

/// A folder that goes with the process, where nobody named one: clients start this wherever they like, and as often.
pub(crate) fn without_a_place(config: &mut Config) -> Result<Option<TempDir>, CliError> {
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
    fn servers_join_the_configuration_and_everything_is_the_users() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcp.json");
        let servers =
            r#"{"mcpServers":{"a":{"command":"theirs"},"b":{"command":"x"},"c":{},"d":{"disabled":true}}}"#;
        std::fs::write(&file, servers).unwrap();
        let mut config = Config::default();
        let ours = serde_json::from_str(r#"{"command":"ours"}"#).unwrap();
        config.upstreams.insert("a".to_owned(), ours);
        add_servers(&mut config, &file, Output::new(false)).unwrap();
        everybodys(&mut config, Output::new(false));
        let found: Vec<_> =
            config.upstreams.iter().map(|(id, one)| (id.as_str(), one.command.as_deref())).collect();
        assert_eq!(found, [("a", Some("ours")), ("b", Some("x"))]);
        assert!(config.upstreams.values().all(|upstream| upstream.for_all));
    }

    #[test]
    fn data_without_a_place_goes_with_the_process() {
        let mut config = Config::default();
        let folder = without_a_place(&mut config).unwrap().unwrap();
        assert!(config.store.path.starts_with(folder.path()));
        config.store.path = "here/x.db".into();
        assert!(without_a_place(&mut config).unwrap().is_none());
        assert_eq!(config.store.path.to_str(), Some("here/x.db"));
    }
}
