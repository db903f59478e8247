//! The command line: the global flags and the list of commands.

use std::{ffi::OsString, process::ExitCode, sync::OnceLock};

use clap::{
    Args, Parser, Subcommand,
    builder::{StringValueParser, TypedValueParser as _},
};
use toolyard_protocol::{UserId, secret::SecretText};

use crate::{
    client::ApiClient,
    commands::{
        approvals, apps, audit, backup, calls, chat, clients, completions, connect, definitions, doctor,
        eval, glasses, health, keys,
        legacy::{import::AppImportArgs, migrate::MigrateArgs},
        login, logout, man, mcp, models, plugin, restore, schema, serve, store, token, tools, upstreams,
        users, whoami,
    },
    config,
    connection::{ConnectionFlags, ServerConnection, choose_connection},
    error::CliError,
    output::CliOutput,
    profiles::{ProfileName, ProfileStore, SavedProfiles},
};

const EXAMPLES: &str = "\
Examples:
  toolyard serve                                        start a server on 127.0.0.1:8787
  toolyard login --server https://tools.example.com     sign in to another server in the browser
  toolyard apps add --package com.example.todo --url http://127.0.0.1:7010 --kind tools-only
  toolyard apps install com.example.todo --user ada@example.com
  toolyard glasses --user ada@example.com               simulate glasses in the terminal
  toolyard tools ls --user ada@example.com
  toolyard tools call com.example.todo:add_todo todo_item=milk --user ada@example.com
  toolyard calls --follow                               print calls as they finish
  toolyard approvals watch --user ada@example.com       answer the questions of calls that need your approval
  toolyard chat --user ada@example.com                  chat with a model that can call these tools
  toolyard chat --local --files ~/notes                 the same, without a server
  toolyard upstreams add files --for-all -- npx -y @modelcontextprotocol/server-filesystem /srv/files
  toolyard upstreams import ~/.cursor/mcp.json          add the MCP servers of another client
  toolyard plugin new hello                             create a plugin: tools in JavaScript
  toolyard connect cursor                               show how to connect Cursor to the server
  toolyard mcp --user ada@example.com                   serve all tools to an MCP client over stdio

With --json, every command except `mcp` writes JSON to stdout. Exit codes: 0 success, 1 failure, 2 usage error,
3 the call waits for an approval.";

/// A tool platform for AI assistants: apps bring tools, and any assistant can call them for a user, on any device
#[derive(Debug, Parser)]
#[command(name = "toolyard", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// The flags that every command takes.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Write JSON to stdout, errors included
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// URL of the server [default: that of the profile, or http://127.0.0.1:8787]
    #[arg(long, global = true, value_name = "URL", env = "TOOLYARD_URL", help_heading = "Global options")]
    pub(crate) server: Option<String>,
    /// The profile with server and token, from `toolyard login` [default: that of the last login]
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        env = "TOOLYARD_PROFILE",
        help_heading = "Global options"
    )]
    pub(crate) profile: Option<String>,
    /// A token, or `package:key` of an app, instead of a profile; not needed if the server is in dev mode
    #[arg(
        long,
        global = true,
        env = "TOOLYARD_TOKEN",
        hide_env_values = true,
        value_parser = StringValueParser::new().map(SecretText::new),
        help_heading = "Global options"
    )]
    pub(crate) token: Option<SecretText>,
    /// The user to act for, usually an email address
    #[arg(long, global = true, env = "TOOLYARD_USER", help_heading = "Global options")]
    pub(crate) user: Option<UserId>,
}

impl Cli {
    /// Parses the arguments of this process. Exits after `--help` and `--version`, and with a usage error if the arguments
    /// are invalid. The error is JSON if `--json` is among them.
    pub(crate) fn parse_arguments() -> Result<Self, ExitCode> {
        let arguments: Vec<OsString> = std::env::args_os().collect();
        match Self::try_parse_from(&arguments) {
            Ok(mut cli) => {
                // An MCP client expects only messages on stdout, so errors go to stderr as text.
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

/// Whether errors must be JSON. Searched by hand, because the arguments could not be parsed. `mcp` never writes JSON
/// errors: its stdout carries messages.
fn wants_json(arguments: &[OsString]) -> bool {
    let mut before_values = arguments.iter().skip(1).take_while(|argument| *argument != "--");
    let is_mcp = before_values.clone().find(|argument| !argument.to_string_lossy().starts_with('-'));
    before_values.any(|argument| argument == "--json") && is_mcp.is_none_or(|command| command != "mcp")
}

/// The error text of clap, without colours and without the usage line, which `--help` repeats.
fn usage_error(error: &clap::Error) -> CliError {
    let text = error.render().to_string();
    let message = text.split("\n\nUsage:").next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message).trim();
    CliError::usage(message, "run the command with `--help` to see its arguments")
}

/// Every command.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run a server
    Serve(serve::ServeArgs),
    /// Register, install and manage apps
    #[command(subcommand)]
    Apps(apps::AppsCommand),
    /// List and call tools, and switch them on or off
    #[command(subcommand)]
    Tools(tools::ToolsCommand),
    /// List and answer approvals of calls, and choose what runs without one
    Approvals(approvals::ApprovalsArgs),
    /// List the clients that you connected, and disconnect them
    Clients(clients::ClientsArgs),
    /// Show how to connect a client such as Claude, Cursor or VS Code
    Connect(connect::ConnectArgs),
    /// List, accept and reject changed definitions of tools
    Definitions(definitions::DefinitionsArgs),
    /// List calls, show one call, or follow calls as they finish
    Calls(Box<calls::CallsArgs>),
    /// Add, list and check MCP servers as sources of tools
    #[command(subcommand)]
    Upstreams(upstreams::UpstreamsCommand),
    /// Create, pack, sign, run, inspect, publish and install plugins
    #[command(subcommand)]
    Plugin(plugin::PluginCommand),
    /// Create and show the keys that sign plugins
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Chat with a model that can call the user's tools
    Chat(Box<chat::ChatArgs>),
    /// List the available models, and what was searched for and not found
    Models(models::ModelsArgs),
    /// Serve the user's tools to an MCP client on this machine, over stdin and stdout
    Mcp(Box<mcp::McpArgs>),
    /// Convert tools in an older format to MCP definitions
    Migrate(MigrateArgs),
    /// Register apps from a database export of the older platform
    Import(AppImportArgs),
    /// Simulate glasses in the terminal: see what apps show, and type what you would say
    Glasses(glasses::GlassesArgs),
    /// Create tokens (works without a running server), list and revoke them
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Write everything that is stored to a file, while a server runs or without one
    Backup(Box<backup::BackupArgs>),
    /// Restore a backup into an empty store (works without a running server)
    Restore(restore::RestoreArgs),
    /// Move what is stored to another database (works without a running server)
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// List, add, change, disable and delete users; for operators
    Users(users::UsersArgs),
    /// List, export and verify the record of administrative actions; for operators
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Sign in to a server in the browser, and store the token in a profile
    Login(login::LoginArgs),
    /// Revoke the token of a profile, and remove the profile
    Logout(logout::LogoutArgs),
    /// Show who you are on the server, and how you are authenticated
    Whoami(whoami::WhoamiArgs),
    /// Check configuration, files, server and apps, and suggest fixes
    Doctor(doctor::DoctorArgs),
    /// Check whether the server on this machine accepts requests, for health checks
    Health(health::HealthArgs),
    /// Measure how well tools are chosen, on your own data
    #[command(subcommand)]
    Eval(eval::EvalCommand),
    /// Print shell completions
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write one page per command
    Man(man::ManArgs),
    /// Print the JSON Schema of the configuration, or the OpenAPI document
    Schema(schema::SchemaArgs),
}

/// What commands share.
#[derive(Debug)]
pub(crate) struct CommandContext {
    /// Where results go.
    pub(crate) output: CliOutput,
    globals: GlobalArgs,
    /// Chosen when it is first needed: the profiles do not matter to commands without a server.
    connection: OnceLock<ServerConnection>,
}

impl CommandContext {
    pub(crate) fn new(globals: GlobalArgs) -> Self {
        Self { output: CliOutput::new(globals.json), globals, connection: OnceLock::new() }
    }

    /// The server and the credential for it.
    pub(crate) fn connection(&self) -> Result<&ServerConnection, CliError> {
        if let Some(connection) = self.connection.get() {
            return Ok(connection);
        }
        let profile = self.profile_name()?;
        let flags = ConnectionFlags {
            server: self.server_flag(),
            token: self.token_flag(),
            profile: profile.as_ref(),
        };
        let chosen = choose_connection(flags, || self.saved_profiles())?;
        if let (Some(name), Some(server)) = (&profile, &chosen.withheld) {
            self.output.print_note(&format!(
                "the token of profile `{name}` is not sent: the profile is for {server}, not for {}",
                chosen.server
            ));
        }
        Ok(self.connection.get_or_init(|| chosen))
    }

    /// URL of the server.
    pub(crate) fn server_url(&self) -> Result<&str, CliError> {
        Ok(&self.connection()?.server)
    }

    /// The token.
    pub(crate) fn token(&self) -> Result<Option<&SecretText>, CliError> {
        Ok(self.connection()?.token())
    }

    /// `--server` or `TOOLYARD_URL`.
    pub(crate) fn server_flag(&self) -> Option<&str> {
        self.globals.server.as_deref()
    }

    /// `--token` or `TOOLYARD_TOKEN`. An empty one counts as none: scripts pass it when a variable is unset.
    pub(crate) fn token_flag(&self) -> Option<&SecretText> {
        self.globals.token.as_ref().filter(|token| !token.expose().is_empty())
    }

    /// `--profile` or `TOOLYARD_PROFILE`, with the same rule.
    pub(crate) fn profile_name(&self) -> Result<Option<ProfileName>, CliError> {
        let name = self.globals.profile.as_deref().filter(|name| !name.is_empty());
        let invalid = |error| CliError::usage(error, "check --profile and TOOLYARD_PROFILE");
        name.map(|name| name.parse().map_err(invalid)).transpose()
    }

    /// Where profiles are stored. `None` if the environment names no folder for configuration.
    pub(crate) fn profile_store(&self) -> Option<ProfileStore> {
        ProfileStore::from_environment(config::env_variables())
    }

    /// The profiles of the user.
    pub(crate) fn saved_profiles(&self) -> Result<SavedProfiles, CliError> {
        self.profile_store().map_or_else(|| Ok(SavedProfiles::default()), |store| store.read())
    }

    pub(crate) fn user(&self) -> Option<&UserId> {
        self.globals.user.as_ref()
    }

    /// A client of the server.
    pub(crate) fn client(&self) -> Result<ApiClient, CliError> {
        self.client_for(self.server_url()?)
    }

    /// A client of another server, with the same user and token. The token of a profile is for its own server only.
    pub(crate) fn client_for(&self, server: &str) -> Result<ApiClient, CliError> {
        let token = self.connection()?.token_for(server).cloned();
        ApiClient::new(server, token, self.user().cloned())
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

    /// clap does not report it: the flag of the command would hide the global one.
    #[test]
    fn no_command_has_a_flag_of_all_commands() {
        fn check(command: &clap::Command, globals: &[String]) {
            for argument in command.get_arguments() {
                assert!(
                    !globals.contains(&argument.get_id().to_string()),
                    "{}: {argument}",
                    command.get_name()
                );
            }
            command.get_subcommands().for_each(|command| check(command, globals));
        }
        let command = Cli::command();
        let globals: Vec<_> = command.get_arguments().map(|argument| argument.get_id().to_string()).collect();
        assert!(globals.contains(&"profile".to_owned()));
        command.get_subcommands().for_each(|command| check(command, &globals));
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
