//! What holds for every input: for fuzz targets, and for the tests that do the same on stable.

use serde_json::Value;
use toolyard_protocol::plugin::{Manifest, strict};

use crate::{audit, canonical, hash};

/// Canonical bytes are a fixed point, and mean what the text meant. Texts without a canonical form are fine.
pub fn canonical_form(text: &str) -> Result<(), String> {
    let Ok(value) = strict::read(text) else {
        return if canonical(text).is_ok() {
            Err("canonical without being strict".to_owned())
        } else {
            Ok(())
        };
    };
    let bytes = canonical(text).map_err(|problem| format!("strict without being canonical: {problem}"))?;
    let written = String::from_utf8(bytes).map_err(|error| error.to_string())?;
    let again =
        strict::read(&written).map_err(|problem| format!("cannot be read again: {problem}: {written}"))?;
    if again != value {
        return Err(format!("means something else: {written}"));
    }
    match canonical(&written) {
        Ok(bytes) if bytes == written.as_bytes() => Ok(()),
        _ => Err(format!("not a fixed point: {written}")),
    }
}

/// Reading never panics, and a manifest that can be read is the same when it is read from its canonical form. Looking
/// at its code never panics either.
pub fn manifest(bytes: &[u8]) -> Result<(), String> {
    let Ok(manifest) = Manifest::read(bytes) else { return Ok(()) };
    let written = canonical(manifest.raw()).map_err(|problem| problem.to_string())?;
    let again =
        Manifest::read(&written).map_err(|error| format!("its canonical form cannot be read: {error}"))?;
    if members(&manifest)? != members(&again)? {
        return Err("its canonical form is another manifest".to_owned());
    }
    let (one, other) = (audit(&manifest), audit(&again));
    if one.findings == other.findings {
        Ok(())
    } else {
        Err("its canonical form is judged otherwise".to_owned())
    }
}

/// Everything that somebody can ask a manifest for.
fn members(manifest: &Manifest) -> Result<Vec<Value>, String> {
    let tools = manifest.tools.iter().map(|tool| {
        let annotations = tool.annotations.as_ref().map(|raw| strict::read(raw.get()).ok());
        let parameters = strict::read(tool.parameters.get()).ok();
        serde_json::json!([tool.name, tool.description, tool.executor_code, parameters, annotations])
    });
    let about = serde_json::json!([
        hash(manifest).map_err(|problem| problem.to_string())?,
        manifest.schema_version,
        [manifest.id.as_str(), &manifest.name, &manifest.version, &manifest.description],
        [&manifest.publisher, &manifest.homepage, &manifest.min_host_version, &manifest.source_url],
        manifest.permissions,
        [manifest.issued_at, manifest.expires_at],
        format!("{:?}", manifest.signature()),
    ]);
    Ok(tools.chain([about]).collect())
}
