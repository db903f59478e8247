//! A validated tool set, as it is stored.

use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use toolyard_core::{catalog::alias_clashes, ports::StoredToolSet};
use toolyard_protocol::{PackageName, Problem, ToolAlias, ToolName, items::AppItems, tool::ToolDefinition};

use crate::{Actor, Platform, PlatformError};

pub(super) fn stored_set(tools: Vec<Box<RawValue>>, items: AppItems, actor: &Actor) -> StoredToolSet {
    StoredToolSet { hash: content_hash(&tools, &items), tools, items, by: actor.name() }
}

/// Empty lists do not change the hash, so a set of tools alone has the same hash as in older versions.
fn content_hash(tools: &[Box<RawValue>], items: &AppItems) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    };
    tools.iter().for_each(|tool| add(tool.get()));
    for (kind, list) in items.lists().into_iter().filter(|(_, list)| !list.is_empty()) {
        // Every definition is an object, so it cannot be confused with the name of a list.
        add(kind.list_name());
        list.iter().for_each(|item| add(item.get()));
    }
    hex::encode(hash.finalize())
}

/// Reports tools whose alias already belongs to another tool.
pub(super) async fn alias_conflicts(
    platform: &Platform,
    package: &PackageName,
    definitions: &[ToolDefinition],
) -> Result<Vec<Problem>, PlatformError> {
    let aliases = definitions.iter().map(|tool| ToolName::new(package, &tool.name).alias());
    let hashed: Vec<ToolAlias> = aliases.filter(|alias| alias.canonical_name().is_none()).collect();
    let owners = platform.stores.definitions.alias_owners(&hashed).await?;
    Ok(alias_clashes(package, definitions, &owners))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<Box<RawValue>> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn tools_alone_hash_as_they_did_before_there_was_anything_else() {
        let tools = list(r#"[{"name":"a"}]"#);
        let plain = content_hash(&tools, &AppItems::default());
        assert_eq!(plain, hex::encode(Sha256::digest(b"\0\0\0\0\0\0\0\x0c{\"name\":\"a\"}")));
        let prompts = AppItems { prompts: list(r#"[{"name":"a"}]"#), ..AppItems::default() };
        let resources = AppItems { resources: list(r#"[{"name":"a"}]"#), ..AppItems::default() };
        let hashes = [
            plain,
            content_hash(&tools, &prompts),
            content_hash(&tools, &resources),
            content_hash(&[], &prompts),
        ];
        assert_eq!(hashes.iter().collect::<std::collections::HashSet<_>>().len(), hashes.len());
    }
}
