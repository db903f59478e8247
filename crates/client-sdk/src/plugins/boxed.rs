//! Turns a function of the toolbox into a client tool.

use std::{fmt::Display, future::Future};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use toolyard_protocol::chat::ClientTool;
use toolyard_toolbox::{ToolboxOutput, ToolboxSpec};

use crate::tool::{Tool, ToolContext, create_tool};

/// A tool with the name and schema of the toolbox. The model gets the text of the output, which is complete.
pub(super) fn from_toolbox<A, F, Fut, E>(described: ToolboxSpec, function: F) -> Tool
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolboxOutput, E>> + Send + 'static,
    E: Display,
{
    let typed = create_tool(described.name, described.description, move |arguments: A, cx| {
        let answer = function(arguments, cx);
        async move { answer.await.map(|output| output.text) }
    });
    // The toolbox's own schema uses the subset of JSON Schema that every model provider accepts.
    let definition = ClientTool {
        name: described.name.to_owned(),
        description: described.description.to_owned(),
        parameters: described.input_schema,
    };
    Tool::new(definition, typed.executor().clone())
}
