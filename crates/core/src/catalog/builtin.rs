//! The built-in tools as a package.

use jiff::Timestamp;
use serde_json::value::RawValue;
use toolyard_protocol::{PackageName, app::AppDetails, items::AppItems};

use crate::ports::{AppRecord, PackageOrigin, StoredToolSet};

/// The built-in tools of this server. They change with the binary, so they are not stored.
#[derive(Debug, Clone)]
pub struct BuiltinPackage {
    pub(super) record: AppRecord,
    pub(super) set: StoredToolSet,
}

impl BuiltinPackage {
    /// Built-in tools under a reserved package name.
    pub fn new(package: PackageName, details: AppDetails, tools: Vec<Box<RawValue>>) -> Self {
        let set =
            StoredToolSet { items: AppItems::default(), hash: String::new(), by: package.to_string(), tools };
        let record = AppRecord {
            owner: package.to_string(),
            package,
            details,
            origin: PackageOrigin::Builtin,
            assistant: false,
            tools_version: 1,
            tool_count: set.tools.len() as u64,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        Self { record, set }
    }
}
