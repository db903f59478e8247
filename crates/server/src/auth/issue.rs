//! Issues tokens without a running server.

use jiff::Timestamp;
use serde_json::json;
use toolyard_core::{
    audit::AuditKeys,
    ports::{AddTokenOutcome, AuditActor, AuditEvent, IssuedToken},
};
use toolyard_platform::tokens::{IssuedSecret, TokenDetails, TokenSigner, sign_listed};
use toolyard_protocol::{
    TokenId,
    audit::{AuditAction, AuditActorKind},
    session::iso_millis,
};

use crate::{
    config::Config,
    parts, root_key,
    serve::{ServerDependencies, ServerStartError},
};

/// A token that was issued without a running server.
#[derive(Debug)]
pub struct OfflineToken {
    /// The token.
    pub token: String,
    /// When it expires.
    pub expires_at: Timestamp,
    /// Whether it can be revoked.
    pub listing: TokenListing,
    /// Why it is not in the audit log, if it is not.
    pub audit_problem: Option<String>,
}

/// Whether a token is listed in the store. An unlisted token is valid, but cannot be revoked.
#[derive(Debug)]
pub enum TokenListing {
    /// Listed under this id.
    Listed(TokenId),
    /// The store did not list it, and why.
    NotListed(String),
}

/// Issues a token as the server with this configuration would, and lists it in its store, which is created if it is missing.
pub async fn issue_offline(
    config: &Config,
    details: TokenDetails<'_>,
) -> Result<OfflineToken, ServerStartError> {
    let deps = ServerDependencies::default();
    let store = parts::store_settings(config);
    let known = toolyard_store::known_key_of(&store).await;
    let known = known.map_err(|error| ServerStartError::Config(error.to_string()))?;
    let root_keys = root_key::check_root_keys(config, &deps, &known)?;
    let signer = TokenSigner::new(&root_keys)?;
    let IssuedSecret { token, listed: issued } = sign_listed(&signer, &*deps.clock, &*deps.ids, details)?;
    let room = config.quotas.token_quota();
    let event = issue_event(&issued);
    let listing = match toolyard_store::list_token(&store, &issued, room).await {
        Ok(AddTokenOutcome::Listed) => TokenListing::Listed(issued.id),
        // `Revoked` cannot happen: no other token was used to issue this one.
        Ok(AddTokenOutcome::QuotaReached | AddTokenOutcome::Revoked) => {
            TokenListing::NotListed(format!("{} has too many tokens already", issued.subject))
        }
        Err(error) => TokenListing::NotListed(error.to_string()),
    };
    let keys = AuditKeys::derive(&root_keys);
    let audit_problem =
        toolyard_store::append_audit(&store, &event, &keys).await.err().map(|error| error.to_string());
    Ok(OfflineToken { token, expires_at: issued.expires_at, listing, audit_problem })
}

/// The token as the audit log names it.
fn issue_event(token: &IssuedToken) -> AuditEvent {
    let detail = json!({
        "name": token.name,
        "subject": token.subject,
        "role": token.role.as_str(),
        "expiresAt": iso_millis(token.expires_at),
    });
    AuditEvent {
        at: token.created_at,
        actor: AuditActor {
            kind: AuditActorKind::Command,
            name: token.created_by.clone(),
            credential: "root key".to_owned(),
        },
        action: AuditAction::TokenIssued,
        target: token.id.to_string(),
        user: token.subject.parse().ok(),
        detail: detail.to_string(),
    }
}
