//! `--mcp`: the MCP servers of a client's file, as tools of this terminal.

use std::{collections::HashMap, path::Path};

use toolyard_client_sdk::plugins::mcp::{
    McpBridge, McpOptions, ServerState,
    file::{self, ClientFileError},
};

use crate::{config::env_variables, error::CliError, output::CliOutput, text};

/// Most unavailable tools that are listed one by one.
const MAX_LISTED_SKIPPED: usize = 5;

/// Reads the file and prints its warnings. Starts nothing.
pub(super) fn open_mcp_bridge(path: &Path, output: CliOutput) -> Result<McpBridge, CliError> {
    let variables: HashMap<String, String> = env_variables().collect();
    let options = McpOptions::new(move |name| variables.get(name).cloned());
    let found = file::read_servers(path, &options.environment).map_err(|error| match error {
        ClientFileError::Unreadable { file, error } => CliError::Unreadable { file, error },
        ClientFileError::TooLarge { file, limit } => CliError::TooLarge { file, limit },
        ClientFileError::Problem { file, problem } => {
            CliError::Problems { what: file.display().to_string(), problems: vec![problem] }
        }
    })?;
    for (server, remark) in &found.remarks {
        output.print_note(&text::sanitize_line(&format!("MCP server {server}: {remark}")));
    }
    Ok(McpBridge::new(found.servers, options))
}

/// Prints which servers and tools are not available.
pub(super) fn report_unavailable(bridge: &McpBridge, output: CliOutput) {
    for server in bridge.server_statuses() {
        if let ServerState::Down(why) = &server.state {
            output.print_note(&text::sanitize_line(&format!(
                "MCP server {} is not available: {why}",
                server.name
            )));
        }
    }
    let aside = bridge.set_aside();
    for one in aside.iter().take(MAX_LISTED_SKIPPED) {
        let note = format!("tool {} of MCP server {} is not available: {}", one.tool, one.server, one.reason);
        output.print_note(&text::sanitize_line(&note));
    }
    if aside.len() > MAX_LISTED_SKIPPED {
        output.print_note(&format!(
            "{} more tools of MCP servers are not available",
            aside.len() - MAX_LISTED_SKIPPED
        ));
    }
}
