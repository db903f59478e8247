//! What can be wrong with a call, and the texts for the model: short, and with what to do.

use toolyard_protocol::text::truncate_bytes;

use super::{limits, tools::CallableTools};

/// What is wrong with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallProblem {
    /// Its end is missing. The missing part may change the meaning, so it is never made up.
    Cut,
    /// No such tool.
    Unknown(String),
    /// Not JSON, and not repairable.
    NotJson,
    /// A bracket closes what it did not open.
    Brackets,
    /// A single backslash, as in `C:\dir`, which repairs get wrong.
    Backslash,
    /// Without a name.
    NoName,
    /// Arguments next to the name.
    Loose,
    /// The description of a tool instead of a call.
    Definition,
    /// Empty.
    Empty,
    /// Tags or values in an unknown form.
    Shape,
    /// Arguments without names.
    Positional,
    /// Over [`limits::MAX_CALL_BYTES`].
    TooLong,
    /// Over [`limits::MAX_DEPTH`].
    TooDeep,
    /// Over [`limits::MAX_CALLS`].
    TooMany,
}

const FORM: &str = r#"<tool>{"name":"…","arguments":{…}}</tool>"#;

impl CallProblem {
    /// The text for the model.
    pub(super) fn describe(&self, tools: &CallableTools) -> String {
        match self {
            Self::Cut => "the call was cut off, so it was not run; write it again, whole".to_owned(),
            Self::Unknown(name) => unknown_tool_text(name, tools),
            Self::NotJson => format!("this is not JSON; write {FORM}"),
            Self::Brackets => format!("the brackets of the JSON do not match; write {FORM}"),
            Self::Backslash => {
                r"a backslash in JSON is written twice, as in C:\\dir; write the call again".to_owned()
            }
            Self::NoName => format!("the call names no tool; write {FORM}"),
            Self::Loose => format!(r#"arguments belong into "arguments"; write {FORM}"#),
            Self::Definition => {
                format!("this describes a tool and does not call it; to call it, write {FORM}")
            }
            Self::Empty => format!("there is no call between the tags; write {FORM}"),
            Self::Shape => format!("this is no call; write {FORM}"),
            Self::Positional => {
                "every argument needs its name, as in f(a=1); write the call again".to_owned()
            }
            Self::TooLong => {
                format!("the call is longer than {} KiB; send less at once", limits::MAX_CALL_BYTES / 1024)
            }
            Self::TooDeep => format!("the JSON is nested deeper than {}", limits::MAX_DEPTH),
            Self::TooMany => {
                format!("more than {} calls in one reply; the others were not run", limits::MAX_CALLS)
            }
        }
    }
}

fn unknown_tool_text(name: &str, tools: &CallableTools) -> String {
    if tools.is_empty() {
        return "no tool can be called now; answer in words".to_owned();
    }
    format!(
        "there is no tool \"{}\"; there are: {}",
        truncate_text(name, limits::MAX_NAME_BYTES),
        tools.list_names()
    )
}

/// The beginning of a text, cut at a character boundary.
pub(super) fn truncate_text(text: &str, most: usize) -> String {
    truncate_bytes(text, most).into_owned()
}
