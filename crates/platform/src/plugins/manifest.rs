//! Parsing a manifest within the limits of this server.

use toolyard_protocol::plugin::Manifest;

use crate::{Platform, PlatformError};

/// Refuses a manifest that is too large.
pub(super) fn require_size(platform: &Platform, text: &str) -> Result<(), PlatformError> {
    let most = platform.plugins.bounds.manifest_bytes;
    if text.len() <= most {
        return Ok(());
    }
    Err(PlatformError::TooLarge(format!("the manifest has {} bytes; at most {most}", text.len())))
}

pub(super) fn read_manifest(platform: &Platform, text: &str) -> Result<Manifest, PlatformError> {
    require_size(platform, text)?;
    let manifest = Manifest::parse(text.as_bytes())
        .map_err(|error| PlatformError::invalid_with("the manifest cannot be used", error.problems))?;
    let host = semver::Version::parse(env!("CARGO_PKG_VERSION"));
    if host.is_ok_and(|host| manifest.needs_newer_host(&host)) {
        return Err(PlatformError::conflict("the plugin needs a newer server than this one"));
    }
    Ok(manifest)
}
