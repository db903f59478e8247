//! The audit log without a running server.

use toolyard_core::{audit::AuditKeys, ports::KnownKey};

pub use toolyard_core::audit::{AuditFault, AuditHead, AuditSummary, InvalidHead};

use crate::{
    config::Config,
    parts, root_key,
    serve::{ServerDependencies, ServerStartError},
};

/// Verifies the audit log in the store of this configuration with its root key. A server may have the store open. `expected` is a
/// head that was noted before.
pub async fn verify_offline(
    config: &Config,
    expected: Option<AuditHead>,
) -> Result<Result<AuditSummary, AuditFault>, ServerStartError> {
    let store = parts::store_settings(config);
    let known = toolyard_store::known_key_of(&store).await.map_err(ServerStartError::store_unreadable)?;
    if known == KnownKey::None {
        let text = "no server has used this store yet; check --data, --config and store.url";
        return Err(ServerStartError::Config(text.to_owned()));
    }
    let root_keys = root_key::check_root_keys(config, &ServerDependencies::default(), &known)?;
    let verified = toolyard_store::verify_audit(&store, &AuditKeys::derive(&root_keys), expected).await;
    verified.map_err(ServerStartError::store_unreadable)
}
