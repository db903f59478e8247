//! Prompts, resources and resource templates: what a package offers besides tools.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use toolyard_protocol::{
    LocalName, ToolAlias, ToolName,
    mcp::{meta, uri},
    raw::{RawFields, to_raw},
    visible::{count_invisible, strip_invisible_json},
};

use super::tool::AppHead;

/// Largest definition of one item, in bytes of JSON.
const MAX_ITEM_BYTES: usize = 64 * 1024;

/// A list of the MCP door.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum McpListKind {
    /// `tools/list`
    Tools,
    /// `prompts/list`
    Prompts,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
}

impl McpListKind {
    /// Every list.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// The member of the result that holds the list.
    pub const fn member_name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }
}

/// One prompt, resource or template.
#[derive(Debug)]
pub struct CatalogItem {
    /// The listed name: an alias, or a mapped URI.
    pub name: Arc<str>,
    /// A prompt's canonical name.
    pub canonical: Option<ToolName>,
    /// The name or URI that the source uses.
    pub remote: Arc<str>,
    /// The package it belongs to.
    pub app: Arc<AppHead>,
    /// The listed definition.
    pub listed: Bytes,
}

impl CatalogItem {
    /// Parses a prompt, or returns why it cannot be used.
    pub(crate) fn parse_prompt(app: &Arc<AppHead>, raw: &RawValue) -> Result<Self, String> {
        let (mut fields, remote) = read_fields(raw, "name")?;
        let local: LocalName = remote.parse().map_err(|error| format!("{error}"))?;
        let canonical = ToolName::new(app.package(), &local);
        let alias: ToolAlias = canonical.alias();
        fields.set("name", to_raw(&alias));
        let mut about: RawFields = fields.parse_field("_meta").and_then(Result::ok).unwrap_or_default();
        about.set(meta::CANONICAL_NAME, to_raw(&canonical));
        fields.set("_meta", about.to_raw());
        Ok(Self::new(app, alias.as_str(), Some(canonical), remote, &fields))
    }

    /// Parses a resource, or returns why it cannot be used.
    pub(crate) fn parse_resource(app: &Arc<AppHead>, raw: &RawValue) -> Result<Self, String> {
        Self::parse_with_uri(app, raw, "uri")
    }

    /// Parses a template, or returns why it cannot be used.
    pub(crate) fn parse_template(app: &Arc<AppHead>, raw: &RawValue) -> Result<Self, String> {
        Self::parse_with_uri(app, raw, "uriTemplate")
    }

    fn parse_with_uri(app: &Arc<AppHead>, raw: &RawValue, member: &str) -> Result<Self, String> {
        let (mut fields, remote) = read_fields(raw, member)?;
        let mapped = uri::map_uri(app.package(), &remote)
            .ok_or_else(|| format!("`{member}`: expected a URI that begins with a scheme"))?;
        fields.set(member, to_raw(&mapped));
        Ok(Self::new(app, &mapped, None, remote, &fields))
    }

    fn new(
        app: &Arc<AppHead>,
        name: &str,
        canonical: Option<ToolName>,
        remote: String,
        fields: &RawFields,
    ) -> Self {
        let listed = Bytes::from(String::from(Box::<str>::from(fields.to_raw())));
        Self { name: name.into(), canonical, remote: remote.into(), app: app.clone(), listed }
    }
}

fn read_fields(raw: &RawValue, member: &str) -> Result<(RawFields, String), String> {
    if raw.get().len() > MAX_ITEM_BYTES {
        return Err(format!("larger than {MAX_ITEM_BYTES} bytes"));
    }
    let named = |fields: &RawFields| fields.parse_field::<String>(member).and_then(Result::ok);
    let fields: RawFields = serde_json::from_str(raw.get()).map_err(|_| "expected an object".to_owned())?;
    let name = named(&fields).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| format!("`{member}`: expected a text"))?;
    if count_invisible(&name) > 0 {
        // Invisible characters can imitate another name, and removing them would change the name for the source.
        return Err(format!("`{member}` has invisible characters"));
    }
    let found = strip_invisible_json(raw);
    if let Some(name) = found.bad_name {
        return Err(format!("the name `{name}` in it has invisible characters"));
    }
    let fields = match found.cleaned {
        Some(cleaned) => {
            tracing::warn!(name, removed = found.removed, "invisible characters removed");
            serde_json::from_str(cleaned.get()).map_err(|_| "expected an object".to_owned())?
        }
        None => fields,
    };
    Ok((fields, name))
}
