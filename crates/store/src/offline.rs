//! What is read from or added to a store without serving from it. A server may have it open meanwhile.

use toolyard_core::{
    audit::{AuditFault, AuditHead, AuditKeys, AuditSummary},
    ports::{AddTokenOutcome, AuditEvent, AuditRecord, IssuedToken, KnownKey, StoreError, TokenQuota},
};

use crate::{StoreSettings, postgres, sqlite};

/// What is known about the root key of a store. Does not create or change tables.
pub async fn known_key_of(settings: &StoreSettings) -> Result<KnownKey, StoreError> {
    match settings {
        StoreSettings::Sqlite(settings) => sqlite::known_key_of(&settings.path).await,
        StoreSettings::Postgres(settings) => postgres::known_key_of(settings).await,
    }
}

/// Adds a token to the list of a store. Creates the store if needed, so that a token from before the first start can be listed and
/// revoked as well.
pub async fn list_token(
    settings: &StoreSettings,
    token: &IssuedToken,
    room: TokenQuota,
) -> Result<AddTokenOutcome, StoreError> {
    match settings {
        StoreSettings::Sqlite(settings) => sqlite::list_token(&settings.path, token, room).await,
        StoreSettings::Postgres(settings) => postgres::list_token(settings, token, room).await,
    }
}

/// Appends an entry to the audit log of a store. Does not create or change tables.
pub async fn append_audit(
    settings: &StoreSettings,
    event: &AuditEvent,
    keys: &AuditKeys,
) -> Result<AuditRecord, StoreError> {
    match settings {
        StoreSettings::Sqlite(settings) => sqlite::append_audit_offline(&settings.path, event, keys).await,
        StoreSettings::Postgres(settings) => postgres::append_audit_offline(settings, event, keys).await,
    }
}

/// Verifies the audit log of a store. `expected` is a head that was noted before. Does not create or change tables.
pub async fn verify_audit(
    settings: &StoreSettings,
    keys: &AuditKeys,
    expected: Option<AuditHead>,
) -> Result<Result<AuditSummary, AuditFault>, StoreError> {
    match settings {
        StoreSettings::Sqlite(settings) => sqlite::verify_audit_offline(&settings.path, keys, expected).await,
        StoreSettings::Postgres(settings) => postgres::verify_audit_offline(settings, keys, expected).await,
    }
}
