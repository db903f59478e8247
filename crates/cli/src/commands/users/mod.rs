//! `toolyard users`: the users of the platform and their accounts, for operators.

mod add;
mod delete;
mod export;
mod formatting;
mod link;
mod ls;
mod set;
mod show;
mod sign_out;
mod switch;

use clap::{
    Args, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use toolyard_protocol::{UserId, api::Role};

use super::CommandOutcome;
use crate::{cli::CommandContext, client::path_segment, error::CliError};

const HELP: &str = "\
Without a command, it lists the users. Requires the role operator.

Examples:
  toolyard users
  toolyard users ls --query example.com
  toolyard users add ada@example.com --name 'Ada Lovelace' --role developer --group research --invite
  toolyard users set ada@example.com --role operator
  toolyard users set ada@example.com --email ''         remove the e-mail address
  toolyard users link ada@example.com                   a link that signs her in once
  toolyard users sign-out ada@example.com --tokens --clients
  toolyard users disable ada@example.com
  toolyard users export ada@example.com -o ada.json
  toolyard users delete ada@example.com";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct UsersArgs {
    #[command(subcommand)]
    command: Option<UsersCommand>,
}

#[derive(Debug, Subcommand)]
enum UsersCommand {
    /// List users by id: those with an account, an app or a session
    Ls(ls::UserListArgs),
    /// Show an account: how the user signs in, and what they have open
    #[command(after_help = "Examples:\n  toolyard users show ada@example.com")]
    Show(AccountArg),
    /// Add an account, with a link to sign in if you want one
    Add(add::UserAddArgs),
    /// Change an account
    Set(set::UserSetArgs),
    /// Disable an account: sessions end, tokens are revoked, clients are disconnected
    #[command(after_help = "Examples:\n  toolyard users disable ada@example.com")]
    Disable(AccountArg),
    /// Enable a disabled account
    #[command(after_help = "Examples:\n  toolyard users enable ada@example.com")]
    Enable(AccountArg),
    /// Create a link that signs the user in once
    #[command(after_help = "Examples:\n  toolyard users link ada@example.com")]
    Link(AccountArg),
    /// End all browser sessions of a user
    SignOut(sign_out::UserSignOutArgs),
    /// Export everything that is stored about a user, except secrets
    Export(export::UserExportArgs),
    /// Delete a user and everything that is stored about them
    Delete(delete::UserDeleteArgs),
}

/// The user that a command is about. Not `user`: that is the flag for the user to act for.
#[derive(Debug, Args)]
struct AccountArg {
    /// The user's id, usually an email address
    #[arg(value_name = "USER")]
    account: UserId,
}

pub(crate) async fn run_users_command(
    cx: &CommandContext,
    args: UsersArgs,
) -> Result<CommandOutcome, CliError> {
    match args.command {
        None => ls::list_users(cx, &ls::UserListArgs::default()).await,
        Some(UsersCommand::Ls(args)) => ls::list_users(cx, &args).await,
        Some(UsersCommand::Show(args)) => show::show_user(cx, &args.account).await,
        Some(UsersCommand::Add(args)) => add::add_user(cx, args).await,
        Some(UsersCommand::Set(args)) => set::change_user(cx, args).await,
        Some(UsersCommand::Disable(args)) => switch::switch_account(cx, args.account, true).await,
        Some(UsersCommand::Enable(args)) => switch::switch_account(cx, args.account, false).await,
        Some(UsersCommand::Link(args)) => link::create_link(cx, &args.account).await,
        Some(UsersCommand::SignOut(args)) => sign_out::sign_out_user(cx, args).await,
        Some(UsersCommand::Export(args)) => export::export_user(cx, &args).await,
        Some(UsersCommand::Delete(args)) => delete::delete_user(cx, args).await,
    }
}

/// The path of a user in the API.
fn user_path(user: &UserId) -> String {
    format!("api/users/{}", path_segment(user.as_str()))
}

/// Points to the list if a user was not found.
fn with_list_hint(error: CliError) -> CliError {
    match error {
        CliError::Refused(refused) => refused
            .with_not_found_hint(
                "`toolyard users` lists the users; `toolyard users add USER` creates an account",
            )
            .into(),
        other => other,
    }
}

/// Parses a role; shells complete it.
fn role_parser() -> impl TypedValueParser<Value = Role> {
    PossibleValuesParser::new(Role::ALL.map(Role::as_str)).try_map(|text| {
        Role::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| format!("no role `{text}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_user_id_is_one_segment_of_a_path() {
        let user = |text: &str| text.parse::<UserId>().unwrap();
        assert_eq!(user_path(&user("Ada@example.com")), "api/users/ada%40example.com");
        assert_eq!(user_path(&user("a/../b?c#d")), "api/users/a%2F..%2Fb%3Fc%23d");
    }
}
