//! Changing an upstream.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use toolyard_protocol::audit::AuditAction;

use super::{
    StoredUpstream,
    check::{read_details, require_fresh_secrets, require_may_name, require_not_managed, require_valid},
    find::find_owned,
    write::write_upstream,
};
use crate::{Actor, Platform, PlatformError, audit::AuditSubject};

/// Changes an upstream. Missing fields stay; null removes a field.
pub async fn change(
    platform: &Platform,
    actor: &Actor,
    id: &str,
    patch: Map<String, Value>,
) -> Result<StoredUpstream, PlatformError> {
    let StoredUpstream { package, owner, record } = find_owned(platform, actor, id).await?;
    require_not_managed(&record)?;
    let mut all = match serde_json::to_value(&record.details) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    };
    let given: HashSet<String> = patch.keys().cloned().collect();
    for (name, value) in patch {
        match value {
            Value::Null => drop(all.remove(&name)),
            value => drop(all.insert(name, value)),
        }
    }
    let details = read_details(Value::Object(all))?;
    require_may_name(platform, actor, &details)?;
    require_valid(platform, &details)?;
    require_fresh_secrets(&record.details, &details, &given)?;
    let changed = write_upstream(platform, &package, owner.clone(), details, Some(&record)).await?;
    let record = changed.ok_or_else(|| PlatformError::not_found(format_args!("upstream {id}")))?;
    let mut fields: Vec<&String> = given.iter().collect();
    fields.sort();
    let detail = json!({ "fields": fields, "forAll": record.details.for_all });
    platform.audit(actor, AuditAction::UpstreamChanged, AuditSubject::named(&package), detail).await;
    Ok(StoredUpstream { package, owner, record })
}
