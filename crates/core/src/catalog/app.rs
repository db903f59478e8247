//! An app with its tools, loaded once per revision.

use std::sync::Arc;

use toolyard_protocol::{Problem, tool::ToolDefinition};

use super::tool::{AppHead, Gauge, Tool};
use crate::{
    ports::{AppRecord, StoredSet},
    schema::Schema,
};

/// An app and its tools, in the order of their definition.
#[derive(Debug)]
pub struct AppEntry {
    /// What the tools share.
    pub head: Arc<AppHead>,
    /// The tools.
    pub tools: Vec<Arc<Tool>>,
}

impl AppEntry {
    pub(crate) fn new(record: AppRecord, revision: u64, gauge: Arc<Gauge>, set: Option<&StoredSet>) -> Self {
        let head = Arc::new(AppHead { record, revision, gauge });
        let raw = set.map(|set| set.tools.as_slice()).unwrap_or_default();
        // Stored sets were checked; one that an older version let through loses that tool, not the whole app.
        let read = raw.iter().enumerate().filter_map(|(i, raw)| {
            let found = ToolDefinition::read(raw, &format!("tools[{i}]"));
            found
                .inspect_err(|problems| tracing::warn!(app = %head.package(), ?problems, "tool set aside"))
                .ok()
        });
        let tools = read.map(|definition| Arc::new(Tool::new(&head, definition))).collect();
        Self { head, tools }
    }
}

/// Reads a set and compiles its schemas: every problem at once, or the definitions.
pub fn check_set(tools: &[Box<serde_json::value::RawValue>]) -> Result<Vec<ToolDefinition>, Vec<Problem>> {
    let definitions = ToolDefinition::read_set(tools)?;
    let mut problems = Vec::new();
    for (index, tool) in definitions.iter().enumerate() {
        let compile =
            |schema, member: &str| Schema::compile(schema, &format!("tools[{index}].{member}")).err();
        problems.extend(compile(&tool.input_schema, "inputSchema"));
        problems.extend(tool.output_schema.as_ref().and_then(|schema| compile(schema, "outputSchema")));
    }
    problems.truncate(toolyard_protocol::tool::MAX_PROBLEMS);
    if problems.is_empty() { Ok(definitions) } else { Err(problems) }
}
