//! `toolyard login ls`

use serde::Serialize;
use toolyard_protocol::{UserId, api::Role};

use crate::{
    cli::CommandContext,
    commands::CommandOutcome,
    error::CliError,
    output::RenderText,
    profiles::{ProfileName, SavedProfiles},
    text,
};

/// A profile without its token.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProfileRow {
    name: ProfileName,
    /// Whether commands use it if none is named.
    is_default: bool,
    server: String,
    user_id: UserId,
    role: Role,
    expires_at: String,
}

#[derive(Serialize)]
struct ProfileTable {
    profiles: Vec<ProfileRow>,
}

impl ProfileTable {
    fn new(saved: SavedProfiles) -> Self {
        let SavedProfiles { default, profiles } = saved;
        let rows = profiles.into_iter().map(|(name, profile)| ProfileRow {
            is_default: default.as_ref() == Some(&name),
            name,
            server: profile.server,
            user_id: profile.user_id,
            role: profile.role,
            expires_at: profile.expires_at,
        });
        Self { profiles: rows.collect() }
    }
}

impl RenderText for ProfileTable {
    fn render_text(&self) -> String {
        if self.profiles.is_empty() {
            return "No profiles yet. Sign in with `toolyard login --server URL`.".to_owned();
        }
        let head = ["PROFILE", "SERVER", "USER", "ROLE", "EXPIRES", ""].map(str::to_owned);
        let rows = self.profiles.iter().map(|row| {
            [
                row.name.to_string(),
                row.server.clone(),
                row.user_id.to_string(),
                row.role.as_str().to_owned(),
                row.expires_at.clone(),
                if row.is_default { "default".to_owned() } else { String::new() },
            ]
        });
        text::format_table(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
    }
}

pub(super) fn list_profiles(cx: &CommandContext) -> Result<CommandOutcome, CliError> {
    cx.output.print_result(&ProfileTable::new(cx.saved_profiles()?))?;
    Ok(CommandOutcome::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::tests::profile;

    #[test]
    fn tokens_are_not_listed() {
        let mut saved = SavedProfiles::default();
        saved.insert("work".parse().unwrap(), profile("http://a", "the-token"));
        let table = ProfileTable::new(saved);
        let (text, json) = (table.render_text(), serde_json::to_string(&table).unwrap());
        assert!(text.contains("work") && text.contains("default") && json.contains("ada@example.com"));
        assert!(!text.contains("the-token") && !json.contains("the-token"));
    }
}
