//! What an app offers besides tools: prompts, resources and resource templates, as MCP defines them.
//!
//! Definitions are checked once, when they are registered, and stored as received. The requests to an app are in
//! [`request`].

mod check;
pub mod request;

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::{
    problem::Problem,
    tool::{MAX_PROBLEMS, MAX_TOOLS},
};

/// Maximum number of prompts, resources or templates of one app. Each definition may be as large as a tool's.
pub const MAX_ITEMS: usize = MAX_TOOLS;
/// Maximum number of arguments of one prompt.
pub const MAX_PROMPT_ARGUMENTS: usize = 64;
/// Longest URI or URI template, in bytes.
pub const MAX_URI_BYTES: usize = 2 * 1024;

/// The kinds of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
    /// A template of resources.
    Template,
}

impl ItemKind {
    /// The name of its list.
    pub const fn list_name(self) -> &'static str {
        match self {
            Self::Prompt => "prompts",
            Self::Resource => "resources",
            Self::Template => "resourceTemplates",
        }
    }

    /// The member that identifies it within its list.
    pub const fn key_name(self) -> &'static str {
        match self {
            Self::Prompt => "name",
            Self::Resource => "uri",
            Self::Template => "uriTemplate",
        }
    }
}

/// The prompts, resources and templates of an app, raw.
#[derive(Debug, Clone, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AppItems {
    /// MCP prompts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Value>")]
    pub prompts: Vec<Box<RawValue>>,
    /// MCP resources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Value>")]
    pub resources: Vec<Box<RawValue>>,
    /// MCP resource templates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Value>")]
    pub resource_templates: Vec<Box<RawValue>>,
}

impl AppItems {
    /// Every list with its kind.
    pub fn lists(&self) -> [(ItemKind, &[Box<RawValue>]); 3] {
        [
            (ItemKind::Prompt, &self.prompts),
            (ItemKind::Resource, &self.resources),
            (ItemKind::Template, &self.resource_templates),
        ]
    }

    /// Size of all definitions in bytes.
    pub fn byte_size(&self) -> usize {
        self.lists().into_iter().flat_map(|(_, list)| list).map(|raw| raw.get().len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lists().iter().all(|(_, list)| list.is_empty())
    }

    /// Whether any resource can be read by URI.
    pub fn has_resources(&self) -> bool {
        !self.resources.is_empty() || !self.resource_templates.is_empty()
    }

    /// Every problem, up to a limit.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (kind, list) in self.lists() {
            check::check_list(kind, list, &mut problems);
        }
        problems.truncate(MAX_PROBLEMS);
        problems
    }
}

/// Every problem of one definition, each under `path`.
pub fn item_problems(kind: ItemKind, raw: &RawValue, path: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    check::check_entry(kind, raw, path, &mut problems);
    problems
}
