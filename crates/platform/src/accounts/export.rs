//! Everything that is stored about a user, as one document.

use serde_json::{Value, json};
use toolyard_protocol::{UserId, audit::AuditAction, session::iso_millis};

use super::SignedInUser;
use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

/// Rows of each kind, the newest. More would be a document that no browser opens.
const MAX_ROWS: u32 = 50_000;

/// An operator exports what is stored about a user.
pub async fn export(platform: &Platform, actor: &Actor, user: &UserId) -> Result<Value, PlatformError> {
    actor.require_operator()?;
    actor.refuse_client("a connected client cannot manage accounts")?;
    export_user(platform, actor, user).await
}

/// A user exports what is stored about them.
pub async fn export_own(platform: &Platform, actor: &Actor) -> Result<Value, PlatformError> {
    let who = SignedInUser::new(actor)?;
    export_user(platform, actor, &who.user).await
}

async fn export_user(platform: &Platform, actor: &Actor, user: &UserId) -> Result<Value, PlatformError> {
    let busy = |_| PlatformError::Unavailable("too many exports at once; try again in a minute".to_owned());
    let _room = platform.accounts.exports.try_acquire().map_err(busy)?;
    let data = platform.stores.personal_data.export_user(user, MAX_ROWS).await?;
    platform.audit(actor, AuditAction::UserDataExported, AuditSubject::user(user), json!({})).await;
    Ok(json!({
        "user": user,
        "exportedAt": iso_millis(platform.clock.now()),
        "maxRows": MAX_ROWS,
        "data": data,
    }))
}
