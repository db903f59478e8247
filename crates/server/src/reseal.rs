//! Seals stored secrets with the current root key during a rotation.

use toolyard_core::{
    audit::AuditKeys,
    ports::{
        AppChange, AuditCursor, AuditFilter, NewUpstreamRecord, SealError, StoreError, Stores,
        UpstreamRecord, UpstreamWrite,
    },
};

use crate::secrets::{Resealed, RootKeys};

/// Entries of the audit log that are read at a time.
const AUDIT_PAGE: u32 = 500;

/// Why stored secrets could not be resealed. Those before the failed one are.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResealError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// Reseals stored secrets with the current root key, so that the old one can be removed: signing secrets of apps, secrets
/// of upstreams, and upstream tokens of users. Renews the proofs of the audit log as well. What the current key sealed, and what
/// no key opens, is left as it is.
pub(crate) async fn reseal_all(stores: &Stores, keys: &RootKeys) -> Result<(), ResealError> {
    reseal_apps(stores, keys).await?;
    reseal_upstreams(stores, keys).await?;
    reseal_tokens(stores, keys).await?;
    Ok(renew_audit_proofs(stores, &AuditKeys::derive(keys)).await?)
}

async fn reseal_apps(stores: &Stores, keys: &RootKeys) -> Result<(), ResealError> {
    for app in stores.apps.list_apps(None).await? {
        let signing = app.keys().map(|keys| keys.signing.clone()).unwrap_or_default();
        let resealed =
            signing.iter().map(|sealed| keys.reseal(sealed)).collect::<Result<Vec<_>, SealError>>()?;
        if resealed.contains(&Resealed::Unreadable) {
            tracing::warn!(package = %app.package, "no root key opens the app's signing secret; create a new one");
        }
        if !resealed.iter().any(|resealed| matches!(resealed, Resealed::Changed(_))) {
            continue;
        }
        let stored = signing.into_iter().zip(resealed).map(|(sealed, resealed)| match resealed {
            Resealed::Changed(changed) => changed,
            Resealed::Current | Resealed::Unreadable => sealed,
        });
        let change = AppChange::Signing(stored.collect());
        stores.apps.change_app(&app.package, change, app.updated_at).await?;
    }
    Ok(())
}

async fn reseal_upstreams(stores: &Stores, keys: &RootKeys) -> Result<(), ResealError> {
    for (package, owner, upstream) in stores.upstreams.list_upstreams().await? {
        let Some(app) = stores.apps.find_app(&package).await? else { continue };
        match keys.reseal(&upstream.sealed)? {
            Resealed::Current => {}
            Resealed::Changed(sealed) => {
                let upstream = UpstreamRecord { sealed, ..upstream };
                let (at, write) = (app.updated_at, UpstreamWrite::Change);
                stores
                    .upstreams
                    .put_upstream(NewUpstreamRecord { package, owner, upstream, at, write, moved: false })
                    .await?;
            }
            Resealed::Unreadable => {
                tracing::warn!(%package, "no root key opens the upstream's secrets; set them again");
            }
        }
    }
    Ok(())
}

async fn reseal_tokens(stores: &Stores, keys: &RootKeys) -> Result<(), ResealError> {
    for (package, user, token) in stores.upstream_tokens.all_tokens().await? {
        match keys.reseal(&token)? {
            Resealed::Current => {}
            Resealed::Changed(sealed) => {
                stores.upstream_tokens.replace_token(&package, &user, sealed).await?;
            }
            Resealed::Unreadable => {
                tracing::warn!(%package, "no root key opens a user's upstream token; the user must authorize again");
            }
        }
    }
    Ok(())
}

/// Proves the entries of the audit log with the current key. Their hashes stay, and so do heads that were noted elsewhere. An entry
/// that no key proves is left as it is, for the verification to find.
async fn renew_audit_proofs(stores: &Stores, keys: &AuditKeys) -> Result<(), StoreError> {
    if let Some(renewed) = stores.audit.audit_anchor().await?.and_then(|anchor| keys.renewed_anchor(&anchor))
    {
        stores.audit.replace_audit_anchor(&renewed).await?;
    }
    let mut filter = AuditFilter { limit: AUDIT_PAGE, ..AuditFilter::from(AuditCursor::OldestAfter(0)) };
    loop {
        let entries = stores.audit.list_audit(&filter).await?;
        let Some(last) = entries.last() else { return Ok(()) };
        filter.cursor = AuditCursor::OldestAfter(last.number);
        let renewed = entries.iter().filter_map(|entry| Some((entry.number, keys.renewed_mac(entry)?)));
        let renewed: Vec<_> = renewed.collect();
        if !renewed.is_empty() {
            stores.audit.replace_audit_macs(&renewed).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use tokio_util::task::TaskTracker;
    use toolyard_core::ports::{NewAppRecord, SecretSealer as _, SystemIds};
    use toolyard_protocol::PackageName;
    use toolyard_store::SqliteSettings;

    use super::*;

    fn keys(roots: &[u8]) -> RootKeys {
        RootKeys::new(roots.iter().map(|root| [*root; 32]).collect(), Arc::new(SystemIds))
    }

    /// A store with an app whose secret these keys sealed.
    async fn store_with_app(keys: &RootKeys) -> (tempfile::TempDir, Stores, PackageName) {
        let folder = tempfile::tempdir().unwrap();
        let settings = SqliteSettings::for_file(folder.path().join("t.db"));
        let stores = toolyard_store::open(settings.into(), &TaskTracker::new()).await.unwrap();
        let package: PackageName = "com.example.todo".parse().unwrap();
        let app = NewAppRecord {
            package: package.clone(),
            details: serde_json::from_str("{}").unwrap(),
            owner: "dora".to_owned(),
            key_hash: [0; 32],
            signing: keys.seal("the signing secret").unwrap(),
            at: Timestamp::UNIX_EPOCH,
            tools: None,
        };
        assert!(stores.apps.create_app(app).await.unwrap());
        (folder, stores, package)
    }

    async fn sealed_secret(stores: &Stores, package: &PackageName) -> Vec<u8> {
        stores.apps.find_app(package).await.unwrap().unwrap().keys().unwrap().signing[0].clone()
    }

    #[tokio::test]
    async fn a_rotation_writes_each_secret_once() {
        let (old, both) = (keys(&[1]), keys(&[2, 1]));
        let (_folder, stores, package) = store_with_app(&old).await;
        reseal_all(&stores, &both).await.unwrap();
        let sealed = sealed_secret(&stores, &package).await;
        assert_eq!(keys(&[2]).unseal(&sealed).unwrap(), "the signing secret");
        reseal_all(&stores, &both).await.unwrap();
        // Sealing again would use another nonce.
        assert_eq!(sealed_secret(&stores, &package).await, sealed);
    }

    #[tokio::test]
    async fn a_secret_that_no_key_opens_stays_as_it_is() {
        let (_folder, stores, package) = store_with_app(&keys(&[3])).await;
        let before = sealed_secret(&stores, &package).await;
        reseal_all(&stores, &keys(&[2, 1])).await.unwrap();
        assert_eq!(sealed_secret(&stores, &package).await, before);
    }
}
