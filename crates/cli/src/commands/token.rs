//! `toolyard token`: makes a token as the server with the same root key would, without asking it.

use clap::{Args, ValueEnum};
use serde::Serialize;
use toolyard_protocol::{UserId, session::iso_millis};
use toolyard_server::{World, auth::Role, serve};

use super::Verdict;
use crate::{cli::Context, config::ConfigArgs, error::CliError, output::Show};

/// Longest life of a token, in days.
const MAX_DAYS: i64 = 3_650;
const DAY: i64 = 24 * 60 * 60;

const HELP: &str = "\
The token is signed with the server's root key, so run this where the server's data folder is.

Examples:
  toolyard token user ada@example.com
  toolyard token developer bob@example.com --ttl 12h --data /var/lib/toolyard
  export TOOLYARD_TOKEN=$(toolyard token operator admin)";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TokenArgs {
    /// What the token allows
    role: RoleName,
    /// Who, usually an e-mail address
    name: UserId,
    /// How long it is believed: 90s, 15m, 12h, 30d
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = seconds)]
    ttl: i64,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RoleName {
    /// Use tools
    User,
    /// Register apps, and use tools
    Developer,
    /// Sign plugins and call them back, and what developers may
    Curator,
    /// Run the platform
    Operator,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    token: String,
    name: UserId,
    role: Role,
    expires_at: String,
}

impl Show for Made {
    /// Nothing but the token, so that a script can take it as it is.
    fn text(&self) -> String {
        self.token.clone()
    }
}

pub(crate) fn run(cx: &Context, args: &TokenArgs) -> Result<Verdict, CliError> {
    let config = args.config.load(Vec::new())?;
    let file = serve::root_key_file(&config);
    let is_new = config.auth.root_key.is_none() && !file.exists();
    let tokens = serve::tokens(&config).map_err(CliError::Start)?;
    if is_new {
        cx.output.note(&format!(
            "made a new root key in {}; start the server with the same data folder",
            file.display()
        ));
    }
    let role = match args.role {
        RoleName::User => Role::User,
        RoleName::Developer => Role::Developer,
        RoleName::Curator => Role::Curator,
        RoleName::Operator => Role::Operator,
    };
    let now = World::default().clock.now();
    let token = tokens.make(args.name.as_str(), role, now, args.ttl).map_err(CliError::Token)?;
    let expires_at = jiff::Timestamp::from_second(now.as_second().saturating_add(args.ttl))
        .map(iso_millis)
        .unwrap_or_default();
    cx.output.show(&Made { token, name: args.name.clone(), role, expires_at })?;
    Ok(Verdict::Good)
}

/// `30d` in seconds.
fn seconds(text: &str) -> Result<i64, String> {
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
    fn times_have_a_unit_and_a_bound() {
        assert_eq!(
            ["90s", "15m", "12h", "30d"].map(|text| seconds(text).unwrap()),
            [90, 900, 43_200, 2_592_000]
        );
        assert!(seconds("3650d").is_ok());
        for text in ["", "d", "5", "0s", "-1d", "3651d", "5000000000s", "5w", "1ü"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
