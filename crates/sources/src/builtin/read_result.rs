//! `read_result`: reads the rest of a result that was too long for a model.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use toolyard_core::{CallOwner, CatalogView, ToolError, long_results::LongResults};
use toolyard_protocol::{ErrorCode, ToolName, ToolRef};
use toolyard_toolbox::ToolboxOutput;

/// Characters per page.
pub const PAGE: usize = 12_000;

/// Arguments of `read_result`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadResultArguments {
    /// The handle of the result.
    pub handle: String,
    /// The first character.
    #[serde(default)]
    pub start: u64,
}

pub(super) fn read_result_definition() -> Value {
    json!({
        "name": "read_result",
        "title": "Read more of a result",
        "description": "Returns the rest of a result that was cut because it was too long. The cut result says which handle and start \
            to use.",
        "inputSchema": { "type": "object", "properties": {
            "handle": { "type": "string", "maxLength": 64, "description": "As the cut result says" },
            "start": { "type": "integer", "minimum": 0, "description": "The first character to return; 0 is the beginning" }
        }, "required": ["handle"], "additionalProperties": false },
        "annotations": { "title": "Read more of a result", "readOnlyHint": true, "destructiveHint": false,
            "idempotentHint": true, "openWorldHint": false }
    })
}

/// Whether the caller can still see a tool. Filters of this request do not count: what matters is whether the caller
/// could call the tool.
pub(super) fn can_see(view: &CatalogView, tool: &ToolName) -> bool {
    view.without_restriction().find_tool(&ToolRef::Canonical(tool.clone())).is_ok()
}

/// `can_see` says whether a tool is visible to this caller now: a result is available only as long as the tool that
/// made it.
pub(super) fn read_result_page(
    arguments: &ReadResultArguments,
    owner: &CallOwner,
    can_see: impl FnOnce(&ToolName) -> bool,
    kept: &LongResults,
    now: Timestamp,
) -> Result<ToolboxOutput, ToolError> {
    let failed = |text: String| ToolError::new(ErrorCode::ExecutionError, text);
    let found = kept.get(owner, &arguments.handle, now).filter(|found| can_see(&found.tool));
    let text = found.map(|found| found.text).ok_or_else(|| {
        failed("There is no such result; results are kept for ten minutes. Call the tool again.".to_owned())
    })?;
    let start = usize::try_from(arguments.start).unwrap_or(usize::MAX);
    let all = text.chars().count();
    if start >= all {
        return Err(failed(format!("The result ends before that: it has {all} characters.")));
    }
    let page: String = text.chars().skip(start).take(PAGE).collect();
    let end = start + page.chars().count();
    let rest = if end < all {
        format!("\n[characters {start} to {end} of {all}; continue with start {end}]")
    } else {
        format!("\n[characters {start} to {end} of {all}; this is the end]")
    };
    Ok(ToolboxOutput { text: page + &rest, structured: None })
}

#[cfg(test)]
mod tests {
    use toolyard_core::{Caller, ports::SystemIds};

    use super::*;

    #[test]
    fn a_result_is_read_to_its_end() {
        let owner = |name: &str| CallOwner { user: name.parse().unwrap(), caller: Caller::User };
        let (kept, ada, now) = (LongResults::default(), owner("ada"), Timestamp::UNIX_EPOCH);
        let tool: ToolName = "com.a:list".parse().unwrap();
        let long = "é".repeat(PAGE + 5);
        let handle = kept.insert(&ada, &tool, &long, now, &SystemIds).unwrap().to_string();
        let read = |start| {
            read_result_page(
                &ReadResultArguments { handle: handle.clone(), start },
                &ada,
                |made_by| *made_by == tool,
                &kept,
                now,
            )
        };
        assert!(
            read(0)
                .unwrap()
                .text
                .ends_with(&format!("[characters 0 to {PAGE} of {}; continue with start {PAGE}]", PAGE + 5))
        );
        let rest = read(PAGE as u64).unwrap().text;
        assert!(rest.starts_with("ééééé\n[") && rest.ends_with("this is the end]"), "{rest}");
        assert!(read(PAGE as u64 + 5).unwrap_err().for_model.contains("ends before"));
        let arguments = ReadResultArguments { handle: handle.clone(), start: 0 };
        assert!(read_result_page(&arguments, &owner("bob"), |_| true, &kept, now).is_err());
        assert!(
            read_result_page(&arguments, &ada, |_| false, &kept, now).is_err(),
            "ada can no longer see the tool"
        );
    }
}
