//! Adding an upstream.

use serde_json::{Map, Value, json};
use toolyard_protocol::{Problem, audit::AuditAction, upstream};

use super::{
    StoredUpstream,
    check::{read_details, require_may_name, require_valid},
    write::write_upstream,
};
use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

/// The upstream to add.
#[derive(Debug)]
pub struct NewUpstreamRequest {
    /// `github`; its tools are `mcp.github:…`.
    pub id: String,
    /// Fields of its details.
    pub details: Map<String, Value>,
}

/// Adds an upstream that belongs to this actor.
pub async fn add(
    platform: &Platform,
    actor: &Actor,
    request: NewUpstreamRequest,
) -> Result<StoredUpstream, PlatformError> {
    actor.require_person("an app key cannot add upstreams")?;
    let NewUpstreamRequest { id, details } = request;
    let fields: Vec<String> = details.keys().cloned().collect();
    let package = upstream::upstream_package(&id).map_err(|_| {
        let text = "expected 1 to 40 of a-z, 0-9, `.`, `_`, `-`, beginning with a letter or digit";
        PlatformError::invalid_with("this upstream cannot be added", vec![Problem::new("id", text)])
    })?;
    let details = read_details(Value::Object(details))?;
    require_may_name(platform, actor, &details)?;
    require_valid(platform, &details)?;
    let owner = actor.name();
    let record = write_upstream(platform, &package, owner.clone(), details, None).await?;
    let record =
        record.ok_or_else(|| PlatformError::conflict(format!("there is an upstream {id} already")))?;
    let detail = json!({ "fields": fields, "forAll": record.details.for_all });
    platform.audit(actor, AuditAction::UpstreamAdded, AuditSubject::named(&package), detail).await;
    Ok(StoredUpstream { package, owner, record })
}
