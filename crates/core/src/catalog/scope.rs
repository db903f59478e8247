//! Which of a user's tools a caller sees, and what it may do with them.

use std::{collections::BTreeSet, sync::Arc};

use toolyard_protocol::{ErrorCode, PackageName};

use super::tool::Tool;
use crate::error::ToolError;

/// The part of a user's tools that a caller sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewScope {
    /// All of them.
    Everything,
    /// The tools of one app: for apps without the assistant grant.
    Package(PackageName),
    /// What the user granted a client.
    Client(Arc<ClientScope>),
}

impl ViewScope {
    /// Whether it has every app of the user.
    pub(super) fn has_all_packages(&self) -> bool {
        match self {
            Self::Everything => true,
            Self::Package(_) => false,
            Self::Client(client) => client.packages.is_none(),
        }
    }

    pub(super) fn has_package(&self, name: &PackageName) -> bool {
        match self {
            Self::Everything => true,
            Self::Package(package) => name == package,
            Self::Client(client) => client.packages.as_ref().is_none_or(|packages| packages.contains(name)),
        }
    }

    /// What the caller may do with the tools that it sees.
    pub fn access(&self) -> ToolAccess {
        match self {
            Self::Everything | Self::Package(_) => ToolAccess::Destructive,
            Self::Client(client) => client.access,
        }
    }

    /// Refuses a call that the user did not grant to this client.
    pub(super) fn check_access(&self, tool: &Tool) -> Result<(), ToolError> {
        let needed = ToolAccess::required_for(tool);
        if needed <= self.access() {
            return Ok(());
        }
        let what = match needed {
            ToolAccess::List | ToolAccess::Read => "call tools (scope `tools:read`)",
            ToolAccess::Write => "call tools that change something (scope `tools:write`)",
            ToolAccess::Destructive => {
                "call tools that can delete or overwrite something (scope `tools:destructive`)"
            }
        };
        let text = format!(
            "The user has not allowed this client to {what}, so {} did not run. Ask the user to connect the client \
             again and to allow it.",
            tool.name
        );
        Err(ToolError::new(ErrorCode::Denied, text))
    }
}

/// What a user granted a client that they connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientScope {
    /// The apps, if not all of them.
    pub packages: Option<BTreeSet<PackageName>>,
    /// What it may do with them.
    pub access: ToolAccess,
}

/// What a caller may do with tools. Each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolAccess {
    /// List them.
    List,
    /// Call those that declare that they only read.
    Read,
    /// Call all others that do not declare that they are destructive.
    Write,
    /// Call every tool.
    Destructive,
}

impl ToolAccess {
    /// What a caller needs for a tool.
    pub fn required_for(tool: &Tool) -> Self {
        let hints = &tool.definition.annotations;
        match hints.destructive_hint {
            _ if hints.read_only_hint => Self::Read,
            Some(true) => Self::Destructive,
            _ => Self::Write,
        }
    }
}
