//! `toolyard users set`

use clap::Args;
use toolyard_protocol::{UserId, accounts::AccountChange, api::Role};

use super::{formatting::AccountOutput, role_parser, user_path, with_list_hint};
use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError};

const HELP: &str = "\
An empty e-mail address or name removes it. --group replaces all groups; an empty one alone removes them all.

Examples:
  toolyard users set ada@example.com --role developer --group research --group math
  toolyard users set ada@example.com --name 'Ada King' --email ''
  toolyard users set ada@example.com --group ''";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct UserSetArgs {
    /// The user's id
    #[arg(value_name = "USER")]
    account: UserId,
    /// The e-mail address; empty removes it
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// The name; empty removes it
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// What the user may do
    #[arg(long, value_parser = role_parser())]
    role: Option<Role>,
    /// A group, instead of the present ones; can be repeated
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
}

impl UserSetArgs {
    fn change(&self) -> Result<AccountChange, CliError> {
        let replacement =
            |text: &Option<String>| text.clone().map(|text| Some(text).filter(|text| !text.is_empty()));
        let groups = self.groups.iter().filter(|group| !group.is_empty()).cloned().collect();
        let change = AccountChange {
            email: replacement(&self.email),
            name: replacement(&self.name),
            role: self.role,
            groups: (!self.groups.is_empty()).then_some(groups),
            disabled: None,
        };
        let AccountChange { email: None, name: None, role: None, groups: None, .. } = change else {
            return Ok(change);
        };
        Err(CliError::usage("nothing to change", "add --email, --name, --role or --group"))
    }
}

pub(super) async fn change_user(cx: &CommandContext, args: UserSetArgs) -> Result<CommandOutcome, CliError> {
    let change = args.change()?;
    let account = cx.client()?.patch(&user_path(&args.account), &change).await.map_err(with_list_hint)?;
    cx.output.print_result(&AccountOutput(account))?;
    Ok(CommandOutcome::Success)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn args(email: Option<&str>, groups: &[&str]) -> UserSetArgs {
        UserSetArgs {
            account: "ada".parse().unwrap(),
            email: email.map(str::to_owned),
            name: None,
            role: None,
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        }
    }

    #[test]
    fn empty_texts_remove_and_missing_flags_change_nothing() {
        let sent = |args: UserSetArgs| serde_json::to_value(args.change().unwrap()).unwrap();
        assert_eq!(sent(args(Some("a@example.com"), &[])), json!({ "email": "a@example.com" }));
        assert_eq!(sent(args(Some(""), &[])), json!({ "email": null }));
        assert_eq!(sent(args(None, &["a", "b"])), json!({ "groups": ["a", "b"] }));
        assert_eq!(sent(args(None, &[""])), json!({ "groups": [] }));
        assert!(matches!(args(None, &[]).change(), Err(CliError::Usage { .. })));
    }
}
