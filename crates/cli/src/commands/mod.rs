//! The commands, one file each.

pub(crate) mod approvals;
pub(crate) mod apps;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod calls;
pub(crate) mod chat;
pub(crate) mod clients;
pub(crate) mod completions;
pub(crate) mod connect;
pub(crate) mod definitions;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod glasses;
pub(crate) mod health;
pub(crate) mod keys;
pub(crate) mod legacy;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod plugin;
pub(crate) mod restore;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod store;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod upstreams;
pub(crate) mod users;
pub(crate) mod whoami;

use crate::{
    cli::{Cli, CliCommand, CommandContext},
    error::CliError,
};

/// How a command ended that has printed its own output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandOutcome {
    /// Exit code 0.
    Success,
    /// The command ran, but a check or an action in it failed: exit code 1.
    Failure,
    /// A call waits for the user's approval or sign-in: exit code 3.
    AwaitingUser,
}

/// Runs a command.
pub(crate) async fn run_command(cli: Cli) -> Result<CommandOutcome, CliError> {
    let cx = CommandContext::new(cli.globals);
    match cli.command {
        CliCommand::Serve(args) => serve::run_server(&cx, args).await,
        CliCommand::Apps(command) => apps::run_apps_command(&cx, command).await,
        CliCommand::Tools(command) => tools::run_tools_command(&cx, command).await,
        CliCommand::Approvals(args) => approvals::run_approvals_command(&cx, args).await,
        CliCommand::Clients(args) => clients::run_clients_command(&cx, args).await,
        CliCommand::Connect(args) => connect::show_client_guide(&cx, args).await,
        CliCommand::Definitions(args) => definitions::run_definitions_command(&cx, args).await,
        CliCommand::Calls(args) => calls::show_calls(&cx, *args).await,
        CliCommand::Upstreams(command) => upstreams::run_upstreams_command(&cx, command).await,
        CliCommand::Chat(args) => chat::run_chat(&cx, *args).await,
        CliCommand::Models(args) => models::list_models(&cx, args).await,
        CliCommand::Plugin(command) => plugin::run_plugin_command(&cx, command).await,
        CliCommand::Keys(command) => keys::run_keys_command(&cx, command),
        CliCommand::Mcp(args) => mcp::run_mcp(&cx, *args).await,
        CliCommand::Migrate(args) => legacy::migrate::migrate_tools(&cx, args).await,
        CliCommand::Import(args) => legacy::import::import_apps(&cx, args).await,
        CliCommand::Glasses(args) => glasses::run_glasses(&cx, args).await,
        CliCommand::Token(command) => token::run_token_command(&cx, command).await,
        CliCommand::Backup(args) => backup::run_backup_command(&cx, *args).await,
        CliCommand::Restore(args) => restore::restore_from_file(&cx, args).await,
        CliCommand::Store(command) => store::run_store_command(&cx, command).await,
        CliCommand::Audit(command) => audit::run_audit_command(&cx, command).await,
        CliCommand::Users(args) => users::run_users_command(&cx, args).await,
        CliCommand::Login(args) => login::run_login_command(&cx, args).await,
        CliCommand::Logout(args) => logout::sign_out(&cx, &args).await,
        CliCommand::Whoami(args) => whoami::show_caller(&cx, args).await,
        CliCommand::Doctor(args) => doctor::run_doctor(&cx, &args).await,
        CliCommand::Health(args) => health::check_health(&cx, args).await,
        CliCommand::Eval(command) => eval::run_eval_command(&cx, command).await,
        CliCommand::Completions(args) => completions::print_completions(&cx, &args),
        CliCommand::Man(args) => man::write_manual(&cx, &args),
        CliCommand::Schema(args) => schema::print_schema(&cx, &args),
    }
}
