//! `--mcp`: the MCP servers of a client's file as tools of this terminal.

use std::{collections::HashMap, path::Path};

use toolyard_client_sdk::plugins::mcp::{
    Bridge, McpOptions, ServerState,
    file::{self, FileError},
};

use crate::{config::environment, error::CliError, output::Output, text};

/// Most tools that are told of one by one because they are not offered.
const TOLD_ASIDE: usize = 5;

/// Reads the file, and says what is odd about it. Nothing is started yet.
pub(super) fn open(path: &Path, output: Output) -> Result<Bridge, CliError> {
    let variables: HashMap<String, String> = environment().collect();
    let options = McpOptions::new(move |name| variables.get(name).cloned());
    let found = file::servers(path, &options.environment).map_err(|error| match error {
        FileError::Unreadable { file, error } => CliError::Unreadable { file, error },
        FileError::TooLarge { file, limit } => CliError::TooLarge { file, limit },
        FileError::Problem { file, problem } => {
            CliError::Problems { what: file.display().to_string(), problems: vec![problem] }
        }
    })?;
    for (server, remark) in &found.remarks {
        output.note(&text::line(&format!("MCP server {server}: {remark}")));
    }
    Ok(Bridge::new(found.servers, options))
}

/// Says which servers cannot be used, and which tools.
pub(super) fn tell(bridge: &Bridge, output: Output) {
    for server in bridge.servers() {
        if let ServerState::Down(why) = &server.state {
            output.note(&text::line(&format!("MCP server {} cannot be used: {why}", server.name)));
        }
    }
    let aside = bridge.set_aside();
    for one in aside.iter().take(TOLD_ASIDE) {
        let told = format!("{} of the MCP server {} is not offered: {}", one.tool, one.server, one.reason);
        output.note(&text::line(&told));
    }
    if aside.len() > TOLD_ASIDE {
        output.note(&format!("{} more tools of MCP servers are not offered", aside.len() - TOLD_ASIDE));
    }
}
