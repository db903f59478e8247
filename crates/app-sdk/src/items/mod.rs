//! Prompts and resources: a definition and the function that answers. MCP clients list and read them; assistants that only
//! call tools never see them.
//!
//! They are answered without a session: the platform wakes nobody for them, so
//! [`ToolContext::session`](crate::ToolContext::session) is there only if the user has the app open anyway.

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

/// What becomes of a request: the body of the answer.
pub(crate) type ItemFuture = BoxFuture<'static, Result<Box<RawValue>, CallFailure>>;

/// A prompt or a resource that cannot be offered, with everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {what} `{name}` cannot be built: {}", problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; "))]
pub struct InvalidItem {
    /// `prompt` or `resource`.
    pub what: &'static str,
    /// The name or URI that was given.
    pub name: String,
    /// Each place that is wrong.
    pub problems: Vec<Problem>,
}

/// Checks a definition as the platform does. `problems` are those that only this side can see.
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
