//! Upstream MCP servers, their offers and users' tokens.

use sqlx::FromRow;
use toolyard_core::ports::{StoreError, StoredOffer, UpstreamRecord};
use toolyard_protocol::{PackageName, UserId, app::AppDetails, upstream::UpstreamDetails};

use super::{from_json, parse_column, to_timestamp};

/// Most upstreams in one list.
pub(crate) const MAX_UPSTREAMS: i64 = 10_000;

/// The columns of an upstream, also as joined to an app's row.
pub(super) fn upstream_record(
    details: &str,
    sealed: Vec<u8>,
    managed: bool,
    disabled: bool,
) -> Result<UpstreamRecord, StoreError> {
    Ok(UpstreamRecord { details: from_json("upstream", details)?, sealed, managed, disabled })
}

#[derive(FromRow)]
pub(crate) struct UpstreamRow {
    pub(crate) package: String,
    pub(crate) owner: String,
    pub(crate) details: String,
    pub(crate) sealed: Vec<u8>,
    pub(crate) managed: bool,
    pub(crate) disabled: bool,
}

impl UpstreamRow {
    /// The upstream with its package and its owner.
    pub(crate) fn into_entry(self) -> Result<(PackageName, String, UpstreamRecord), StoreError> {
        let upstream = upstream_record(&self.details, self.sealed, self.managed, self.disabled)?;
        Ok((parse_column("package name", &self.package)?, self.owner, upstream))
    }
}

/// The details of an upstream's row among the apps.
pub(crate) fn details_as_app(details: &UpstreamDetails) -> AppDetails {
    AppDetails {
        name: details.name.clone(),
        description: details.description.clone(),
        hardware_requirements: details.hardware_requirements.clone(),
        call_timeout_ms: details.call_timeout_ms,
        ..AppDetails::default()
    }
}

#[derive(FromRow)]
pub(crate) struct OfferRow {
    pub(crate) lists: String,
    pub(crate) hash: String,
    pub(crate) fetched_at: i64,
}

impl OfferRow {
    pub(crate) fn into_offer(self) -> Result<StoredOffer, StoreError> {
        Ok(StoredOffer {
            offer: from_json("offer", &self.lists)?,
            hash: self.hash,
            at: to_timestamp(self.fetched_at),
        })
    }
}

#[derive(FromRow)]
pub(crate) struct UpstreamTokenRow {
    pub(crate) package: String,
    pub(crate) user_id: String,
    pub(crate) sealed: Vec<u8>,
}

impl UpstreamTokenRow {
    /// The sealed token with its package and its user.
    pub(crate) fn into_entry(self) -> Result<(PackageName, UserId, Vec<u8>), StoreError> {
        let package = parse_column("package name", &self.package)?;
        Ok((package, UserId::from_stored(&self.user_id), self.sealed))
    }
}
