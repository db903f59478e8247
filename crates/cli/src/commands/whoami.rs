//! `toolyard whoami`

use clap::Args;
use serde::{Deserialize, Serialize};
use toolyard_protocol::{UserId, accounts::OwnAccount, api::Role};

use super::CommandOutcome;
use crate::{
    cli::CommandContext, connection::CredentialSource, error::CliError, output::RenderText,
    profiles::ProfileName, text,
};

const HELP: &str = "\
Examples:
  toolyard whoami
  toolyard whoami --profile work
  toolyard whoami --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct WhoamiArgs {}

/// The parts of `GET /api/me` that are about the caller.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallerResponse {
    name: String,
    role: Role,
    user_id: Option<UserId>,
    #[serde(default)]
    account: Option<OwnAccount>,
    token_ends_at: Option<String>,
    version: String,
}

/// How the request was authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum AuthenticationKind {
    Token,
    Profile,
    /// Without a credential, which only dev mode accepts.
    Dev,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallerOutput {
    name: String,
    role: Role,
    user_id: Option<UserId>,
    server: String,
    authentication: AuthenticationKind,
    profile: Option<ProfileName>,
    expires_at: Option<String>,
    account: Option<OwnAccount>,
    server_version: String,
}

impl CallerOutput {
    fn new(caller: CallerResponse, server: &str, source: &CredentialSource) -> Self {
        let (authentication, profile) = match source {
            CredentialSource::Token => (AuthenticationKind::Token, None),
            CredentialSource::Profile(name) => (AuthenticationKind::Profile, Some(name.clone())),
            CredentialSource::None => (AuthenticationKind::Dev, None),
        };
        Self {
            name: caller.name,
            role: caller.role,
            user_id: caller.user_id,
            server: server.to_owned(),
            authentication,
            profile,
            expires_at: caller.token_ends_at,
            account: caller.account,
            server_version: caller.version,
        }
    }
}

impl RenderText for CallerOutput {
    fn render_text(&self) -> String {
        let authentication = match (self.authentication, &self.profile) {
            (AuthenticationKind::Profile, Some(name)) => format!("profile {name}"),
            (AuthenticationKind::Dev, _) => "dev mode, without a token".to_owned(),
            (AuthenticationKind::Token | AuthenticationKind::Profile, _) => {
                "token from --token or TOOLYARD_TOKEN".to_owned()
            }
        };
        let account = self.account.as_ref();
        let rows = [
            ("name", self.name.clone()),
            ("role", self.role.as_str().to_owned()),
            ("acts for", self.user_id.as_ref().map_or_else(|| "nobody".to_owned(), ToString::to_string)),
            ("full name", account.and_then(|account| account.name.clone()).unwrap_or_default()),
            ("email", account.and_then(|account| account.email.clone()).unwrap_or_default()),
            ("groups", account.map(|account| account.groups.join(", ")).unwrap_or_default()),
            ("server", format!("{} (version {})", self.server, self.server_version)),
            ("authenticated by", authentication),
            ("until", self.expires_at.clone().unwrap_or_default()),
        ];
        let filled = rows.into_iter().filter(|(_, value)| !value.is_empty());
        text::format_table(&filled.map(|(name, value)| [name.to_owned(), value]).collect::<Vec<_>>())
    }
}

pub(crate) async fn show_caller(cx: &CommandContext, _: WhoamiArgs) -> Result<CommandOutcome, CliError> {
    let caller: CallerResponse = cx.client()?.get("api/me").await?;
    let connection = cx.connection()?;
    cx.output.print_result(&CallerOutput::new(caller, &connection.server, &connection.source))?;
    Ok(CommandOutcome::Success)
}
