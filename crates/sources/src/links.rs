//! Links in results name resources of the upstream. They are given the URI under which this server reads them.

use serde_json::value::RawValue;
use toolyard_protocol::{
    PackageName,
    mcp::uri,
    raw::{RawFields, to_raw},
};

/// A result whose `resource_link` blocks can be read here. Everything else stays as it came.
pub(super) fn mapped(package: &PackageName, result: Box<RawValue>) -> Box<RawValue> {
    // Most results have none, and need not be read for it.
    if !result.get().contains("\"resource_link\"") {
        return result;
    }
    let Ok(mut fields) = serde_json::from_str::<RawFields>(result.get()) else { return result };
    let Some(Ok(blocks)) = fields.read::<Vec<Box<RawValue>>>("content") else { return result };
    let blocks: Vec<_> = blocks.into_iter().map(|block| link(package, block)).collect();
    fields.set("content", to_raw(&blocks));
    fields.to_raw()
}

fn link(package: &PackageName, block: Box<RawValue>) -> Box<RawValue> {
    let Ok(mut fields) = serde_json::from_str::<RawFields>(block.get()) else { return block };
    let text = |name: &str| fields.read::<String>(name).and_then(Result::ok);
    if text("type").as_deref() != Some("resource_link") {
        return block;
    }
    match text("uri").and_then(|found| uri::mapped(package, &found)) {
        Some(listed) => {
            fields.set("uri", to_raw(&listed));
            fields.to_raw()
        }
        None => block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_can_be_read_here_and_the_rest_stays() {
        let text = r#"{"content":[{"type":"text","text":"a \"resource_link\" "},{"type":"resource_link","uri":"x://a/b","name":"n" },5],"k":1.50}"#;
        let result = mapped(&"mcp.u".parse().unwrap(), serde_json::from_str(text).unwrap());
        assert_eq!(
            result.get(),
            r#"{"content":[{"type":"text","text":"a \"resource_link\" "},{"type":"resource_link","uri":"x://mcp.u/a/b","name":"n"},5],"k":1.50}"#
        );
        let plain = r#"{"content" : []}"#;
        assert_eq!(mapped(&"mcp.u".parse().unwrap(), serde_json::from_str(plain).unwrap()).get(), plain);
    }
}
