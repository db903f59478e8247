//! Revoking a token, with all tokens issued with it.

use toolyard_core::ports::Change;
use toolyard_protocol::{TokenId, audit::AuditAction};

use super::{TokenHolder, audit_token};
use crate::{Actor, Platform, PlatformError};

/// Revokes a token and all tokens issued with it: they are refused from now on.
pub async fn revoke(platform: &Platform, actor: &Actor, id: &TokenId) -> Result<(), PlatformError> {
    let holder = TokenHolder::new(actor)?;
    let revoked = platform.stores.tokens.revoke_token(id, holder.token_scope(), platform.clock.now()).await?;
    if revoked.is_empty() {
        return Err(PlatformError::not_found(format_args!("token {id}")));
    }
    for token in revoked {
        let (target, detail) = audit_token(&token);
        let change = Change::TokenRevoked {
            id: token.id,
            subject: token.subject.into(),
            expires_at: token.expires_at,
        };
        platform.stores.announcements.announce(change).await;
        platform.audit(actor, AuditAction::TokenRevoked, target, detail).await;
    }
    Ok(())
}
