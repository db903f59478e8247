//! Parameters of OpenAI's API that this server does not implement. One that would change the answer is refused by name unless
//! it has its default, because silence would pass for an answer that honours it. Which ones are merely ignored is a table in
//! `docs/chat.md`.

use serde_json::{Map, Value};

use crate::problem::Problem;

/// A parameter that is not implemented.
pub(in crate::chat) struct UnsupportedParam {
    pub(in crate::chat) name: &'static str,
    /// Whether a value asks for nothing beyond what happens anyway.
    pub(in crate::chat) is_default: fn(&Value) -> bool,
    /// What to do instead.
    pub(in crate::chat) instead: &'static str,
}

/// Those of chat completions.
pub(super) const UNSUPPORTED: &[UnsupportedParam] = &[
    UnsupportedParam { name: "n", is_default: is_one, instead: "only one answer at a time; leave it out" },
    LOGPROBS,
    TOP_LOGPROBS,
    UnsupportedParam {
        name: "logit_bias",
        is_default: is_empty,
        instead: "tokens cannot be weighted here; leave it out",
    },
    UnsupportedParam {
        name: "modalities",
        is_default: is_text_only,
        instead: "answers are text; send [\"text\"] or leave it out",
    },
    UnsupportedParam { name: "audio", is_default: never_default, instead: "answers are text; leave it out" },
    UnsupportedParam {
        name: "web_search_options",
        is_default: never_default,
        instead: "searching the web is a tool of this server; leave it out",
    },
    UnsupportedParam { name: "functions", is_default: is_empty, instead: "send `tools` instead" },
    UnsupportedParam {
        name: "function_call",
        is_default: never_default,
        instead: "send `tool_choice` instead",
    },
    UnsupportedParam {
        name: "verbosity",
        is_default: is_medium,
        instead: "ask for it in a message; leave it out",
    },
];

const LOGPROBS: UnsupportedParam = UnsupportedParam {
    name: "logprobs",
    is_default: is_false,
    instead: "probabilities of tokens are not known here; leave it out",
};
pub(in crate::chat) const TOP_LOGPROBS: UnsupportedParam = UnsupportedParam {
    name: "top_logprobs",
    is_default: is_zero,
    instead: "probabilities of tokens are not known here; leave it out",
};

/// Every parameter of a body that cannot be honoured, by name.
pub(in crate::chat) fn unsupported_problems(
    fields: &Map<String, Value>,
    unsupported: &[UnsupportedParam],
) -> Vec<Problem> {
    let asked = |one: &&UnsupportedParam| {
        fields.get(one.name).is_some_and(|value| !value.is_null() && !(one.is_default)(value))
    };
    unsupported
        .iter()
        .filter(asked)
        .map(|one| Problem::new(one.name, format!("not supported: {}", one.instead)))
        .collect()
}

pub(in crate::chat) const fn never_default(_: &Value) -> bool {
    false
}

pub(in crate::chat) fn is_false(value: &Value) -> bool {
    value == &Value::Bool(false)
}

pub(in crate::chat) fn is_medium(value: &Value) -> bool {
    value == "medium"
}

fn is_one(value: &Value) -> bool {
    value == 1
}

fn is_zero(value: &Value) -> bool {
    value == 0
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn is_text_only(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(|modality| modality == "text"))
}
