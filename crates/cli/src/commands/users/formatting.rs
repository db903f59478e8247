//! An account as text.

use serde::Serialize;
use toolyard_protocol::accounts::{AccountInfo, BrowserSessionInfo};

use crate::{output::RenderText, text};

/// An account, for the commands that show or change one.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct AccountOutput(pub(super) AccountInfo);

impl RenderText for AccountOutput {
    fn render_text(&self) -> String {
        let Self(account) = self;
        let (managed, disabled) = (account.managed_by.as_ref(), account.disabled_at.as_ref());
        let rows = [
            ("user", account.user_id.to_string()),
            ("state", disabled.map(|at| format!("disabled since {at}")).unwrap_or_default()),
            ("name", account.name.clone().unwrap_or_default()),
            ("email", account.email.clone().unwrap_or_default()),
            ("role", account.role.as_str().to_owned()),
            ("groups", account.groups.join(", ")),
            ("managed by", managed.map(|name| format!("{name}: role and groups")).unwrap_or_default()),
            ("signs in with", sign_in_methods(account)),
            ("created", account.created_at.clone()),
            ("last seen", account.last_seen_at.clone().unwrap_or_else(|| "never".to_owned())),
            ("tokens", account.tokens.to_string()),
            ("clients", account.clients.to_string()),
            ("apps", account.apps.to_string()),
            ("calls in 30 days", account.calls_30_days.to_string()),
        ];
        let filled = rows.into_iter().filter(|(_, value)| !value.is_empty());
        let details: Vec<_> = filled.map(|(name, value)| [name.to_owned(), value]).collect();
        let mut parts = vec![text::format_table(&details)];
        if !account.sessions.is_empty() {
            let head = ["BROWSER", "SIGNED IN WITH", "LAST SEEN", "UNTIL"].map(str::to_owned);
            let rows = account.sessions.iter().map(session_row);
            parts.push(text::format_table(&std::iter::once(head).chain(rows).collect::<Vec<_>>()));
        }
        parts.join("\n\n")
    }
}

fn session_row(session: &BrowserSessionInfo) -> [String; 4] {
    [
        session.device.clone(),
        session.method.as_str().to_owned(),
        session.last_seen_at.clone(),
        session.ends_at.clone(),
    ]
}

fn sign_in_methods(account: &AccountInfo) -> String {
    let passkeys = (account.passkeys > 0).then(|| count(account.passkeys, "passkey"));
    let password = account.has_password.then(|| "a password".to_owned());
    let methods: Vec<_> = [account.managed_by.clone(), password, passkeys].into_iter().flatten().collect();
    if methods.is_empty() { "nothing yet; create a link".to_owned() } else { methods.join(", ") }
}

/// A number with its noun.
pub(super) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
