//! `read_result`: reads on in a result that was too long for a model.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use toolyard_core::{CallOwner, ToolError, kept::KeptResults};
use toolyard_protocol::ErrorCode;
use toolyard_toolbox::Output;

/// Characters of one answer.
const PAGE: usize = 12_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    handle: String,
    #[serde(default)]
    start: u64,
}

pub(super) fn definition() -> Value {
    json!({
        "name": "read_result",
        "title": "Read on in a result",
        "description": "Gives the rest of a result that was cut because it was long. The cut result says which handle and start \
            to use.",
        "inputSchema": { "type": "object", "properties": {
            "handle": { "type": "string", "maxLength": 64, "description": "As the cut result says" },
            "start": { "type": "integer", "minimum": 0, "description": "The first character to give; 0 is the begin" }
        }, "required": ["handle"], "additionalProperties": false },
        "annotations": { "title": "Read on in a result", "readOnlyHint": true, "destructiveHint": false,
            "idempotentHint": true, "openWorldHint": false }
    })
}

pub(super) fn run(
    arguments: &Arguments,
    owner: &CallOwner,
    kept: &KeptResults,
    now: Timestamp,
) -> Result<Output, ToolError> {
    let failed = |text: String| ToolError::new(ErrorCode::ExecutionError, text);
    let text = kept.read(owner, &arguments.handle, now).ok_or_else(|| {
        failed("There is no such result any more; results wait ten minutes. Call the tool again.".to_owned())
    })?;
    let start = usize::try_from(arguments.start).unwrap_or(usize::MAX);
    let all = text.chars().count();
    if start >= all {
        return Err(failed(format!("The result ends before that: it has {all} characters.")));
    }
    let page: String = text.chars().skip(start).take(PAGE).collect();
    let end = start + page.chars().count();
    let rest = if end < all {
        format!("\n[characters {start} to {end} of {all}; go on with start {end}]")
    } else {
        format!("\n[characters {start} to {end} of {all}; this is the end]")
    };
    Ok(Output { text: page + &rest, structured: None })
}

#[cfg(test)]
mod tests {
    use toolyard_core::{Caller, ports::SystemIds};

    use super::*;

    #[test]
    fn a_result_is_read_to_its_end() {
        let owner = |name: &str| CallOwner { user: name.parse().unwrap(), caller: Caller::User };
        let (kept, ada, now) = (KeptResults::default(), owner("ada"), Timestamp::UNIX_EPOCH);
        let long = "é".repeat(PAGE + 5);
        let handle = kept.keep(&ada, &long, now, &SystemIds).unwrap().to_string();
        let read = |start| run(&Arguments { handle: handle.clone(), start }, &ada, &kept, now);
        assert!(
            read(0)
                .unwrap()
                .text
                .ends_with(&format!("[characters 0 to {PAGE} of {}; go on with start {PAGE}]", PAGE + 5))
        );
        let rest = read(PAGE as u64).unwrap().text;
        assert!(rest.starts_with("ééééé\n[") && rest.ends_with("this is the end]"), "{rest}");
        assert!(read(PAGE as u64 + 5).unwrap_err().for_model.contains("ends before"));
        assert!(run(&Arguments { handle, start: 0 }, &owner("bob"), &kept, now).is_err());
    }
}
