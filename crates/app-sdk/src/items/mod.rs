//! Prompts and resources: a definition and a handler. MCP clients list and read them; assistants that only call tools never see
//! them.
//!
//! They need no session: the platform does not wake the app for them, so
//! [`ToolContext::session`](crate::ToolContext::session) returns a session only if the user already has the app open.

mod prompt;
mod prompt_reply;
mod resource;
mod resource_reply;
mod template;

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use toolyard_protocol::{
    Problem,
    items::{ItemKind, item_problems},
};

use crate::tool::CallFailure;

pub use prompt::{Prompt, PromptBuilder, create_prompt};
pub use prompt_reply::{PromptReply, PromptRole};
pub use resource::{Resource, ResourceBuilder, create_resource, create_resource_template};
pub use resource_reply::ResourceReply;

/// The future of a handler. It returns the body of the response.
pub(crate) type ItemFuture = BoxFuture<'static, Result<Box<RawValue>, CallFailure>>;

/// Why a prompt or a resource is invalid, with every problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {what} `{name}` cannot be built: {}", problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; "))]
pub struct InvalidItem {
    /// `prompt` or `resource`.
    pub what: &'static str,
    /// The name or URI that was given.
    pub name: String,
    /// Every problem that was found.
    pub problems: Vec<Problem>,
}

/// Checks a definition as the platform does. `problems` are those that only the SDK can detect.
fn check_definition(
    kind: ItemKind,
    name: &str,
    definition: Box<RawValue>,
    mut problems: Vec<Problem>,
) -> Result<Box<RawValue>, InvalidItem> {
    let what = match kind {
        ItemKind::Prompt => "prompt",
        ItemKind::Resource | ItemKind::Template => "resource",
    };
    problems.extend(item_problems(kind, &definition, what));
    if problems.is_empty() {
        return Ok(definition);
    }
    Err(InvalidItem { what, name: name.to_owned(), problems })
}
