//! Apps and their tool sets.

use serde_json::value::RawValue;
use sqlx::FromRow;
use toolyard_core::ports::{AppKeys, AppRecord, PackageOrigin, StoreError, StoredToolSet, ToolSetRecord};
use toolyard_protocol::{LocalName, PackageName, ToolAlias, ToolName, raw::RawFields};

use super::{damaged_value, from_json, parse_column, to_timestamp, to_u64, upstreams::upstream_record};

/// Most apps in one list.
pub(crate) const MAX_APPS: i64 = 10_000;

/// An app, joined with the tool set that is current and with its upstream, if it is one.
#[derive(FromRow)]
pub(crate) struct AppRow {
    pub(crate) package: String,
    pub(crate) details: String,
    pub(crate) owner: String,
    pub(crate) key_hash: Vec<u8>,
    pub(crate) signing: Vec<u8>,
    pub(crate) signing_old: Option<Vec<u8>>,
    pub(crate) assistant: bool,
    pub(crate) tools_version: i64,
    pub(crate) tool_count: i64,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) up_details: Option<String>,
    pub(crate) up_sealed: Option<Vec<u8>>,
    pub(crate) up_managed: Option<bool>,
    pub(crate) up_disabled: Option<bool>,
}

impl AppRow {
    pub(crate) fn into_record(self) -> Result<AppRecord, StoreError> {
        let origin = match self.up_details {
            Some(details) => PackageOrigin::Upstream(Box::new(upstream_record(
                &details,
                self.up_sealed.unwrap_or_default(),
                self.up_managed.unwrap_or_default(),
                self.up_disabled.unwrap_or_default(),
            )?)),
            None => PackageOrigin::App(AppKeys {
                key_hash: self.key_hash.try_into().map_err(|_| damaged_value("key hash", "wrong length"))?,
                signing: std::iter::once(self.signing).chain(self.signing_old).collect(),
            }),
        };
        Ok(AppRecord {
            package: parse_column("package name", &self.package)?,
            details: from_json("app", &self.details)?,
            owner: self.owner,
            origin,
            assistant: self.assistant,
            tools_version: to_u64(self.tools_version),
            tool_count: to_u64(self.tool_count),
            created_at: to_timestamp(self.created_at),
            updated_at: to_timestamp(self.updated_at),
        })
    }
}

/// The two columns of signing secrets, the current one first.
pub(crate) fn signing_columns(secrets: Vec<Vec<u8>>) -> Result<(Vec<u8>, Option<Vec<u8>>), StoreError> {
    let mut secrets = secrets.into_iter();
    let first =
        secrets.next().ok_or_else(|| StoreError::Failed("an app needs a signing secret".to_owned()))?;
    Ok((first, secrets.next()))
}

/// A version of an app's tools in a list.
#[derive(FromRow)]
pub(crate) struct ToolSetRow {
    pub(crate) version: i64,
    pub(crate) hash: String,
    pub(crate) created_by: String,
    pub(crate) created_at: i64,
    pub(crate) tool_count: i64,
}

impl ToolSetRow {
    pub(crate) fn into_record(self) -> ToolSetRecord {
        ToolSetRecord {
            version: to_u64(self.version),
            hash: self.hash,
            by: self.created_by,
            at: to_timestamp(self.created_at),
            tool_count: to_u64(self.tool_count),
        }
    }
}

/// The content of a version.
#[derive(FromRow)]
pub(crate) struct ToolSetContentRow {
    pub(crate) tools: String,
    pub(crate) items: String,
    pub(crate) hash: String,
    pub(crate) created_by: String,
}

impl ToolSetContentRow {
    pub(crate) fn into_set(self) -> Result<StoredToolSet, StoreError> {
        Ok(StoredToolSet {
            tools: from_json::<Vec<Box<RawValue>>>("tools", &self.tools)?,
            items: from_json("items", &self.items)?,
            hash: self.hash,
            by: self.created_by,
        })
    }
}

/// The tools of a set whose aliases are hashed. Other aliases follow from the name, so they need no owner.
pub(crate) fn hashed_aliases(package: &PackageName, set: &StoredToolSet) -> Vec<(ToolAlias, ToolName)> {
    let hashed = set.tools.iter().filter_map(|raw| {
        let fields = serde_json::from_str::<RawFields>(raw.get()).ok()?;
        let name = fields.parse_field::<LocalName>("name")?.ok()?;
        let tool = ToolName::new(package, &name);
        let alias = tool.alias();
        alias.canonical_name().is_none().then_some((alias, tool))
    });
    hashed.collect()
}
