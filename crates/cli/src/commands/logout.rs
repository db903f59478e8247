//! `toolyard logout`

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use clap::Args;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use toolyard_protocol::{TokenId, secret::SecretText};

use super::CommandOutcome;
use crate::{
    cli::CommandContext,
    client::ApiClient,
    connection::is_same_server,
    error::CliError,
    output::RenderText,
    profiles::{Profile, ProfileName},
    text,
};

const HELP: &str = "\
The server refuses the token from then on, and all tokens that were created with it.

Examples:
  toolyard logout
  toolyard logout --profile work
  toolyard logout --local                               if the server no longer exists";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LogoutArgs {
    /// Remove the profile from this machine without a request to the server; the token stays valid until it expires
    #[arg(long)]
    local: bool,
}

/// What happened to the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum TokenOutcome {
    Revoked,
    /// The server refused it already.
    Invalid,
    /// With --local.
    Kept,
}

#[derive(Serialize)]
struct LogoutOutput {
    profile: ProfileName,
    server: String,
    token: TokenOutcome,
}

impl RenderText for LogoutOutput {
    fn render_text(&self) -> String {
        let token = match self.token {
            TokenOutcome::Revoked => "its token is revoked",
            TokenOutcome::Invalid => "its token was no longer valid",
            TokenOutcome::Kept => "its token was not revoked",
        };
        text::sanitize_line(&format!("removed profile `{}` for {}; {token}", self.profile, self.server))
    }
}

pub(crate) async fn sign_out(cx: &CommandContext, args: &LogoutArgs) -> Result<CommandOutcome, CliError> {
    let (name, profile) = profile_to_remove(cx)?;
    let token = if args.local { TokenOutcome::Kept } else { revoke_profile_token(&profile).await? };
    if let Some(store) = cx.profile_store() {
        // A login in the meantime may have written another token, which stays.
        store.update(|saved| {
            if saved.profiles.get(&name) == Some(&profile) {
                saved.remove(&name);
            }
        })?;
    }
    cx.output.print_result(&LogoutOutput { profile: name, server: profile.server, token })?;
    Ok(CommandOutcome::Success)
}

fn profile_to_remove(cx: &CommandContext) -> Result<(ProfileName, Profile), CliError> {
    let saved = cx.saved_profiles()?;
    let named = cx.profile_name()?;
    let Some((name, profile)) = saved.select(named.as_ref())? else {
        return Err(CliError::usage(
            "there is no profile of a last login",
            "`toolyard login ls` lists the profiles; choose one with --profile NAME",
        ));
    };
    // A profile that is not named must not belong to another server than the one that is.
    if let (None, Some(server)) = (&named, cx.server_flag())
        && !is_same_server(server, &profile.server)
    {
        return Err(CliError::usage(
            format!("the profile of the last login, `{name}`, is for {}, not for {server}", profile.server),
            "choose the profile with --profile NAME; `toolyard login ls` lists them",
        ));
    }
    Ok((name.clone(), profile.clone()))
}

/// Revokes the token of a profile with itself.
async fn revoke_profile_token(profile: &Profile) -> Result<TokenOutcome, CliError> {
    let Some(id) = token_id(&profile.token) else {
        return Err(CliError::usage(
            "the token of this profile has no id, so it cannot be revoked",
            "remove the profile with `toolyard logout --local`",
        ));
    };
    match revoke_token(&profile.server, &profile.token, &id).await {
        Ok(()) => Ok(TokenOutcome::Revoked),
        Err(CliError::Refused(refused))
            if [StatusCode::UNAUTHORIZED, StatusCode::NOT_FOUND]
                .iter()
                .any(|status| status.as_u16() == refused.status) =>
        {
            Ok(TokenOutcome::Invalid)
        }
        Err(
            error @ (CliError::Unreachable { .. } | CliError::NoResponse { .. } | CliError::TimedOut { .. }),
        ) => Err(CliError::TokenNotRevoked(Box::new(error))),
        Err(error) => Err(error),
    }
}

/// Revokes a token with itself.
pub(super) async fn revoke_token(server: &str, token: &SecretText, id: &TokenId) -> Result<(), CliError> {
    let client = ApiClient::new(server, Some(token.clone()), None)?;
    client.send_empty(Method::DELETE, &format!("api/tokens/{id}")).await
}

/// The id of a token: its claim `jti`. The signature is not checked; the server decides what it accepts.
pub(super) fn token_id(token: &SecretText) -> Option<TokenId> {
    #[derive(Deserialize)]
    struct TokenClaims {
        jti: TokenId,
    }
    let claims = BASE64_URL_SAFE_NO_PAD.decode(token.expose().split('.').nth(1)?).ok()?;
    serde_json::from_slice::<TokenClaims>(&claims).ok().map(|claims| claims.jti)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_read_from_the_claims() {
        let id = "0123456789abcdef0123456789abcdef";
        let claims = BASE64_URL_SAFE_NO_PAD.encode(format!(r#"{{"sub":"ada","jti":"{id}"}}"#));
        assert_eq!(token_id(&SecretText::new(format!("h.{claims}.s"))).unwrap().as_str(), id);
        for token in ["", "com.example:key", "h.!.s", "h.e30.s"] {
            assert_eq!(token_id(&SecretText::new(token)), None, "{token}");
        }
    }
}
