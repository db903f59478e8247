//! `toolyard token`: creates tokens without a running server; lists and revokes the tokens of a server.

mod ls;
mod make;
mod revoke;

use clap::Subcommand;
use toolyard_server::auth::Role;

pub(crate) use self::make::{MAX_NAME_CHARS, parse_token_name};
use super::CommandOutcome;
use crate::{cli::CommandContext, error::CliError};

const HELP: &str = "\
A token is signed with the server's root key, so create it on the machine with the server's data folder. It is recorded
there and can be revoked. `ls` and `revoke` send requests to the server.

Examples:
  toolyard token user ada@example.com
  toolyard token user ada@example.com --name 'Claude on my laptop'
  toolyard token developer bob@example.com --ttl 12h --data /var/lib/toolyard
  export TOOLYARD_TOKEN=$(toolyard token operator admin)
  toolyard token ls
  toolyard token revoke 0123456789abcdef0123456789abcdef";

#[derive(Debug, Subcommand)]
#[command(after_help = HELP)]
pub(crate) enum TokenCommand {
    /// Create a token for a user, to call tools
    User(make::TokenMakeArgs),
    /// Create a token for a developer, to register apps and call tools
    Developer(make::TokenMakeArgs),
    /// Create a token for a curator, to sign and revoke plugins, with all permissions of a developer
    Curator(make::TokenMakeArgs),
    /// Create a token for an operator, to run the platform
    Operator(make::TokenMakeArgs),
    /// List your tokens; operators see all
    Ls,
    /// Revoke a token; the server refuses it from then on
    Revoke(revoke::TokenRevokeArgs),
}

pub(crate) async fn run_token_command(
    cx: &CommandContext,
    command: TokenCommand,
) -> Result<CommandOutcome, CliError> {
    match command {
        TokenCommand::User(args) => make::create_token(cx, Role::User, &args).await,
        TokenCommand::Developer(args) => make::create_token(cx, Role::Developer, &args).await,
        TokenCommand::Curator(args) => make::create_token(cx, Role::Curator, &args).await,
        TokenCommand::Operator(args) => make::create_token(cx, Role::Operator, &args).await,
        TokenCommand::Ls => ls::list_tokens(cx).await,
        TokenCommand::Revoke(args) => revoke::revoke_token(cx, args).await,
    }
}
