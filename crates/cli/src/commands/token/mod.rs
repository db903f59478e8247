//! `toolyard token`: makes tokens without asking a server; lists and revokes them at one.

mod ls;
mod make;
mod revoke;

use clap::Subcommand;
use toolyard_server::auth::Role;

use super::Verdict;
use crate::{cli::Context, error::CliError};

const HELP: &str = "\
A token is signed with the server's root key, so make it where the server's data folder is. It is listed there, too, and can be
revoked; `ls` and `revoke` ask the server.

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
    /// Make a token to use tools
    User(make::MakeArgs),
    /// Make a token to register apps, and use tools
    Developer(make::MakeArgs),
    /// Make a token to sign plugins and call them back, and for what developers may
    Curator(make::MakeArgs),
    /// Make a token to run the platform
    Operator(make::MakeArgs),
    /// List your tokens; operators see all
    Ls,
    /// Revoke a token: the server refuses it from then on
    Revoke(revoke::RevokeArgs),
}

pub(crate) async fn run(cx: &Context, command: TokenCommand) -> Result<Verdict, CliError> {
    match command {
        TokenCommand::User(args) => make::run(cx, Role::User, &args).await,
        TokenCommand::Developer(args) => make::run(cx, Role::Developer, &args).await,
        TokenCommand::Curator(args) => make::run(cx, Role::Curator, &args).await,
        TokenCommand::Operator(args) => make::run(cx, Role::Operator, &args).await,
        TokenCommand::Ls => ls::run(cx).await,
        TokenCommand::Revoke(args) => revoke::run(cx, args).await,
    }
}
