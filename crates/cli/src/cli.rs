//! The command line: the flags that every command takes, and the list of commands.

use std::{ffi::OsString, process::ExitCode};

use clap::{
    Args, Parser, Subcommand,
    builder::{StringValueParser, TypedValueParser as _},
};
use toolyard_protocol::{UserId, secret::SecretText};

use crate::{
    client::ApiClient,
    commands::{
        apps, calls, chat, completions, doctor, eval, glasses, import, keys, man, mcp, migrate, models,
        plugin, schema, serve, token, tools, upstreams,
    },
    error::CliError,
    output::CliOutput,
};

const EXAMPLES: &str = "\
Examples:
  toolyard serve                                        start a server on 127.0.0.1:8787
  toolyard apps add --package com.example.todo --url http://127.0.0.1:7010 --kind tools-only
  toolyard apps install com.example.todo --user ada@example.com
  toolyard glasses --user ada@example.com               a pair of glasses in the terminal
  toolyard tools ls --user ada@example.com
  toolyard tools call com.example.todo:add_todo todo_item=milk --user ada@example.com
  toolyard calls --follow                               calls as they end
  toolyard chat --user ada@example.com                  talk to a model that has these tools
  toolyard chat --local --files ~/notes                 the same without a server
  toolyard upstreams add files --for-all -- npx -y @modelcontextprotocol/server-filesystem /srv/files
  toolyard upstreams import ~/.cursor/mcp.json          the MCP servers of another client
  toolyard plugin new hello                             begin a plugin: tools in JavaScript
  toolyard mcp --user ada@example.com                   all tools, for a client that speaks MCP over stdio

Every command but `mcp` takes --json and then writes JSON to stdout. Exit codes: 0 it worked, 1 it failed, 2 it was called wrongly.";

/// Apps bring tools; any assistant calls them, for each user, on whatever device that user wears.
#[derive(Debug, Parser)]
#[command(name = "toolyard", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Write JSON to stdout, errors included
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) json: bool,
    /// The server to talk to
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "TOOLYARD_URL",
        default_value = "http://127.0.0.1:8787",
        help_heading = "Everywhere"
    )]
    pub(crate) server: String,
    /// A token, or `package:key` of an app; not needed where the server is in dev mode
    #[arg(
        long,
        global = true,
        env = "TOOLYARD_TOKEN",
        hide_env_values = true,
        value_parser = StringValueParser::new().map(SecretText::new),
        help_heading = "Everywhere"
    )]
    pub(crate) token: Option<SecretText>,
    /// The user for whom this is done, usually an e-mail address
    #[arg(long, global = true, env = "TOOLYARD_USER", help_heading = "Everywhere")]
    pub(crate) user: Option<UserId>,
}

impl Cli {
    /// Parses the arguments of this process. Ends it with a usage error where they do not fit, as JSON if `--json` is among
    /// them, and after `--help` and `--version`.
    pub(crate) fn parse_arguments() -> Result<Self, ExitCode> {
        let arguments: Vec<OsString> = std::env::args_os().collect();
        match Self::try_parse_from(&arguments) {
            Ok(mut cli) => {
                // A client of MCP reads messages from stdout, and chokes on everything else: errors are words on stderr.
                cli.globals.json &= !matches!(cli.command, CliCommand::Mcp(_));
                Ok(cli)
            }
            Err(error) if error.use_stderr() && wants_json(&arguments) => {
                Err(CliOutput::new(true).report_error(&usage_error(&error)))
            }
            Err(error) => error.exit(),
        }
    }
}

/// Whether errors are for programs. Looked up by hand, because the arguments could not be parsed; `mcp` never writes JSON
/// errors, as its stdout carries messages.
fn wants_json(arguments: &[OsString]) -> bool {
    let mut before_values = arguments.iter().skip(1).take_while(|argument| *argument != "--");
    let is_mcp = before_values.clone().find(|argument| !argument.to_string_lossy().starts_with('-'));
    before_values.any(|argument| argument == "--json") && is_mcp.is_none_or(|command| command != "mcp")
}

/// What clap says, without its colours and its usage line, which `--help` repeats.
fn usage_error(error: &clap::Error) -> CliError {
    let text = error.render().to_string();
    let message = text.split("\n\nUsage:").next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message).trim();
    CliError::usage(message, "`--help` after the command shows its arguments")
}

/// Every command.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run a server
    Serve(serve::ServeArgs),
    /// Register, install and change apps
    #[command(subcommand)]
    Apps(apps::AppsCommand),
    /// List and call tools
    #[command(subcommand)]
    Tools(tools::ToolsCommand),
    /// List calls, show one, or follow calls as they end
    Calls(Box<calls::CallsArgs>),
    /// Add, list and check MCP servers as sources of tools
    #[command(subcommand)]
    Upstreams(upstreams::UpstreamsCommand),
    /// Write, pack, sign, try and look at plugins
    #[command(subcommand)]
    Plugin(plugin::PluginCommand),
    /// Make and show keys that sign plugins
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Talk to a model that has the user's tools
    Chat(Box<chat::ChatArgs>),
    /// List the models that can be asked, and what was looked for and not found
    Models(models::ModelsArgs),
    /// Be the MCP server of a client on this machine, over stdin and stdout
    Mcp(Box<mcp::McpArgs>),
    /// Turn tools of older forms into MCP definitions
    Migrate(migrate::MigrateArgs),
    /// Register apps from a database export of the older platform
    Import(import::AppImportArgs),
    /// A pair of glasses in the terminal: see what apps show, type what you would say
    Glasses(glasses::GlassesArgs),
    /// Make a token, which works without a running server; list and revoke tokens
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Check configuration, files, server and apps, and say what to do
    Doctor(doctor::DoctorArgs),
    /// Measure how well tools are chosen, on a set of your own
    #[command(subcommand)]
    Eval(eval::EvalCommand),
    /// Print the completions of a shell
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write the pages of all commands
    Man(man::ManArgs),
    /// Print the schema of the configuration, or the OpenAPI document
    Schema(schema::SchemaArgs),
}

/// What commands share.
#[derive(Debug)]
pub(crate) struct CommandContext {
    /// Where results go.
    pub(crate) output: CliOutput,
    globals: GlobalArgs,
}

impl CommandContext {
    pub(crate) fn new(globals: GlobalArgs) -> Self {
        Self { output: CliOutput::new(globals.json), globals }
    }

    /// The server that was named.
    pub(crate) fn server_url(&self) -> &str {
        &self.globals.server
    }

    /// The token; an empty one, as an unset variable of a script leaves it, is none.
    pub(crate) fn token(&self) -> Option<&SecretText> {
        self.globals.token.as_ref().filter(|token| !token.expose().is_empty())
    }

    pub(crate) fn user(&self) -> Option<&UserId> {
        self.globals.user.as_ref()
    }

    /// A client of the server that was named.
    pub(crate) fn client(&self) -> Result<ApiClient, CliError> {
        self.client_for(self.server_url())
    }

    /// A client of another server, with the same credentials.
    pub(crate) fn client_for(&self, server: &str) -> Result<ApiClient, CliError> {
        ApiClient::new(server, self.token().cloned(), self.user().cloned())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_of_all_commands_come_before_or_after() {
        for line in [
            "toolyard --json --user Ada@example.com tools ls",
            "toolyard tools ls --json --user Ada@example.com",
        ] {
            let cli = Cli::parse_from(line.split(' '));
            assert!(cli.globals.json);
            assert_eq!(cli.globals.user.unwrap().as_str(), "ada@example.com");
        }
    }

    #[test]
    fn a_token_does_not_reach_a_log() {
        let cli = Cli::parse_from(["toolyard", "apps", "ls", "--token", "the-key"]);
        assert!(!format!("{cli:?}").contains("the-key"));
    }
}
