//! `toolyard token ROLE NAME`: creates a token with the server's root key, without a request to the server.

use clap::Args;
use serde::Serialize;
use toolyard_protocol::{TokenId, UserId, session::iso_millis};
use toolyard_server::{
    auth::{Role, TokenDetails, TokenListing, issue_offline},
    serve,
};

use crate::{
    cli::CommandContext, commands::CommandOutcome, config::ConfigArgs, error::CliError, output::RenderText,
};

/// Longest lifetime of a token, in days.
const MAX_DAYS: i64 = 3_650;
const DAY: i64 = 24 * 60 * 60;
/// The default name of tokens that are created here.
const MADE_BY: &str = "toolyard token";
/// Longest name of a token, as in the API.
pub(crate) const MAX_NAME_CHARS: usize = 100;

#[derive(Debug, Args)]
pub(crate) struct TokenMakeArgs {
    /// The user that the token is for, usually an email address
    #[arg(value_name = "USER")]
    subject: UserId,
    /// What the token is for, as `toolyard token ls` shows it
    #[arg(long, value_name = "TEXT", default_value = MADE_BY, value_parser = parse_token_name)]
    name: String,
    /// Lifetime, such as 90s, 15m, 12h or 30d
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = parse_ttl)]
    ttl: i64,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewTokenOutput {
    token: String,
    /// The subject.
    name: UserId,
    /// What the token is for.
    label: String,
    role: Role,
    expires_at: String,
    /// The id to revoke it with.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<TokenId>,
}

impl RenderText for NewTokenOutput {
    /// Only the token, so that a script can use the output as it is.
    fn render_text(&self) -> String {
        self.token.clone()
    }
}

pub(super) async fn create_token(
    cx: &CommandContext,
    role: Role,
    args: &TokenMakeArgs,
) -> Result<CommandOutcome, CliError> {
    let config = args.config.load_config(Vec::new())?;
    let file = serve::root_key_file(&config);
    let is_new = config.auth.root_key.is_none() && !file.exists();
    let subject = args.subject.as_str();
    let wanted =
        TokenDetails { name: &args.name, subject, role, seconds: args.ttl, by: MADE_BY, made_with: None };
    let made = issue_offline(&config, wanted).await.map_err(CliError::Start)?;
    if is_new {
        cx.output.print_note(&format!(
            "created a new root key in {}; start the server with the same data folder",
            file.display()
        ));
    }
    let id = match made.listing {
        TokenListing::Listed(id) => Some(id),
        TokenListing::NotListed(why) => {
            cx.output.print_note(&format!(
                "the token is valid, but could not be recorded and cannot be revoked: {why}"
            ));
            None
        }
    };
    if let Some(why) = &made.audit_problem {
        cx.output.print_note(&format!("the token is valid, but is not in the audit log: {why}"));
    }
    let expires_at = iso_millis(made.expires_at);
    let (name, label) = (args.subject.clone(), args.name.clone());
    cx.output.print_result(&NewTokenOutput { token: made.token, name, label, role, expires_at, id })?;
    Ok(CommandOutcome::Success)
}

/// Checks the name of a token.
pub(crate) fn parse_token_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    let fits = (1..=MAX_NAME_CHARS).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    if fits { Ok(name.to_owned()) } else { Err(format!("expected 1 to {MAX_NAME_CHARS} visible characters")) }
}

/// A lifetime such as `30d`, in seconds.
fn parse_ttl(text: &str) -> Result<i64, String> {
    let expected = || format!("expected a time such as 90s, 15m, 12h or 30d, at most {MAX_DAYS}d");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(expected)?;
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => DAY,
        _ => return Err(expected()),
    };
    let number: u32 = number.parse().map_err(|_| expected())?;
    let seconds = i64::from(number).saturating_mul(unit);
    if (1..=MAX_DAYS * DAY).contains(&seconds) { Ok(seconds) } else { Err(expected()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_have_a_unit_and_a_limit() {
        assert_eq!(
            ["90s", "15m", "12h", "30d"].map(|text| parse_ttl(text).unwrap()),
            [90, 900, 43_200, 2_592_000]
        );
        assert!(parse_ttl("3650d").is_ok());
        for text in ["", "d", "5", "0s", "-1d", "3651d", "5000000000s", "5w", "1ü"] {
            assert!(parse_ttl(text).is_err(), "{text}");
        }
    }
}
