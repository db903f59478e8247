//! Properties that hold for every input: for fuzz targets, and for tests that run the same on stable.

use serde_json::Value;
use toolyard_protocol::plugin::{Manifest, strict};

use crate::{audit_manifest, canonical_json, manifest_hash};

/// Canonical bytes are a fixed point, and have the same meaning as the text. Texts without a canonical form are fine.
pub fn check_canonical_form(text: &str) -> Result<(), String> {
    let Ok(value) = strict::parse_strict(text) else {
        return if canonical_json(text).is_ok() {
            Err("canonical without being strict".to_owned())
        } else {
            Ok(())
        };
    };
    let bytes =
        canonical_json(text).map_err(|problem| format!("strict without being canonical: {problem}"))?;
    let written = String::from_utf8(bytes).map_err(|error| error.to_string())?;
    let again = strict::parse_strict(&written)
        .map_err(|problem| format!("cannot be read again: {problem}: {written}"))?;
    if again != value {
        return Err(format!("means something else: {written}"));
    }
    match canonical_json(&written) {
        Ok(bytes) if bytes == written.as_bytes() => Ok(()),
        _ => Err(format!("not a fixed point: {written}")),
    }
}

/// Parsing never panics, and a valid manifest is the same when it is parsed from its canonical form. Auditing
/// its code never panics either.
pub fn check_manifest(bytes: &[u8]) -> Result<(), String> {
    let Ok(manifest) = Manifest::parse(bytes) else { return Ok(()) };
    let written = canonical_json(manifest.raw()).map_err(|problem| problem.to_string())?;
    let again =
        Manifest::parse(&written).map_err(|error| format!("its canonical form cannot be read: {error}"))?;
    if manifest_members(&manifest)? != manifest_members(&again)? {
        return Err("its canonical form is another manifest".to_owned());
    }
    let (one, other) = (audit_manifest(&manifest), audit_manifest(&again));
    if one.findings == other.findings {
        Ok(())
    } else {
        Err("its canonical form has other audit findings".to_owned())
    }
}

/// Everything that a manifest contains.
fn manifest_members(manifest: &Manifest) -> Result<Vec<Value>, String> {
    let tools = manifest.tools.iter().map(|tool| {
        let annotations = tool.annotations.as_ref().map(|raw| strict::parse_strict(raw.get()).ok());
        let parameters = strict::parse_strict(tool.parameters.get()).ok();
        serde_json::json!([tool.name, tool.description, tool.executor_code, parameters, annotations])
    });
    let about = serde_json::json!([
        manifest_hash(manifest).map_err(|problem| problem.to_string())?,
        manifest.schema_version,
        [manifest.id.as_str(), &manifest.name, &manifest.version, &manifest.description],
        [&manifest.publisher, &manifest.homepage, &manifest.min_host_version, &manifest.source_url],
        manifest.permissions,
        [manifest.issued_at, manifest.expires_at],
        format!("{:?}", manifest.signature()),
    ]);
    Ok(tools.chain([about]).collect())
}
