//! `toolyard users ls`

use clap::Args;
use serde::{Deserialize, Serialize};
use toolyard_protocol::{UserId, api::Role};
use url::form_urlencoded::Serializer;

use crate::{cli::CommandContext, commands::CommandOutcome, error::CliError, output::RenderText, text};

/// Most users per page of the server.
const MAX_PAGE: u32 = 200;
/// Users that are listed by default.
const DEFAULT_LIMIT: u32 = 1_000;
/// Most users that are listed.
const MAX_LIMIT: i64 = 100_000;
/// How much of a name is shown, in characters.
const SHOWN_CHARS: usize = 40;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  toolyard users ls --query ada\n  toolyard users ls --limit 5000 --json")]
pub(crate) struct UserListArgs {
    /// Only users whose id, e-mail address or name contains this text
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    query: String,
    /// Most users to list
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT, value_parser = clap::value_parser!(u32).range(1..=MAX_LIMIT))]
    limit: u32,
}

impl Default for UserListArgs {
    fn default() -> Self {
        Self { query: String::new(), limit: DEFAULT_LIMIT }
    }
}

/// One page, or several.
#[derive(Serialize, Deserialize)]
struct UserList {
    users: Vec<UserRow>,
    /// Where the next page starts.
    next: Option<UserId>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserRow {
    user_id: UserId,
    live: bool,
    device_model: Option<String>,
    apps: u64,
    has_account: bool,
    email: Option<String>,
    name: Option<String>,
    role: Option<Role>,
    groups: Vec<String>,
    created_at: Option<String>,
    last_seen_at: Option<String>,
    disabled: bool,
}

impl RenderText for UserList {
    fn render_text(&self) -> String {
        if self.users.is_empty() {
            return "No users match. Add one with `toolyard users add USER`.".to_owned();
        }
        let head = ["USER", "NAME", "ROLE", "GROUPS", "APPS", "LAST SEEN", "STATE"].map(str::to_owned);
        text::format_table(&std::iter::once(head).chain(self.users.iter().map(user_row)).collect::<Vec<_>>())
    }
}

fn user_row(user: &UserRow) -> [String; 7] {
    let or_dash = |text: Option<&str>| text.filter(|text| !text.is_empty()).unwrap_or("-").to_owned();
    let name = user.name.as_deref().or(user.email.as_deref());
    let state = match (user.disabled, user.live, user.has_account) {
        (true, _, _) => "disabled",
        (false, true, _) => "live",
        (false, false, true) => "-",
        (false, false, false) => "no account",
    };
    [
        user.user_id.to_string(),
        text::truncate_text(&or_dash(name), SHOWN_CHARS),
        or_dash(user.role.map(Role::as_str)),
        or_dash(Some(&user.groups.join(" "))),
        user.apps.to_string(),
        or_dash(user.last_seen_at.as_deref()),
        state.to_owned(),
    ]
}

/// The path of one page.
fn page_path(query: &str, limit: u32, after: Option<&UserId>) -> String {
    let mut parameters = Serializer::new(String::new());
    parameters.append_pair("limit", &limit.to_string());
    if !query.is_empty() {
        parameters.append_pair("q", query);
    }
    if let Some(after) = after {
        parameters.append_pair("after", after.as_str());
    }
    format!("api/users?{}", parameters.finish())
}

pub(super) async fn list_users(cx: &CommandContext, args: &UserListArgs) -> Result<CommandOutcome, CliError> {
    let client = cx.client()?;
    let mut all = UserList { users: Vec::new(), next: None };
    loop {
        let missing = args.limit.saturating_sub(u32::try_from(all.users.len()).unwrap_or(u32::MAX));
        let path = page_path(&args.query, missing.min(MAX_PAGE), all.next.as_ref());
        let page: UserList = client.get(&path).await?;
        let is_empty = page.users.is_empty();
        all.users.extend(page.users);
        all.next = page.next;
        // An empty page with a next one would never end.
        if all.next.is_none() || is_empty || all.users.len() >= args.limit as usize {
            break;
        }
    }
    if all.next.is_some() && !cx.output.is_json() {
        cx.output.print_note("more users match; raise --limit, or narrow the list with --query");
    }
    cx.output.print_result(&all)?;
    Ok(CommandOutcome::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_is_encoded() {
        assert_eq!(page_path("", 5, None), "api/users?limit=5");
        let after = "a&b=c@example.com".parse().unwrap();
        assert_eq!(
            page_path("Ada & Bob", 200, Some(&after)),
            "api/users?limit=200&q=Ada+%26+Bob&after=a%26b%3Dc%40example.com"
        );
    }
}
