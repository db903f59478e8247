//! OpenAI parameters that this server does not implement. One that would change the response is rejected by name unless it has
//! its default value: ignoring it silently would look as if it were supported. The ones that are ignored are listed in
//! `docs/chat.md`.

use serde_json::{Map, Value};

use crate::problem::Problem;

/// A parameter that is not implemented.
pub(in crate::chat) struct UnsupportedParam {
    pub(in crate::chat) name: &'static str,
    /// Whether the value is the default.
    pub(in crate::chat) is_default: fn(&Value) -> bool,
    /// What to do instead.
    pub(in crate::chat) instead: &'static str,
}

/// Unsupported parameters of chat completions.
pub(super) const UNSUPPORTED: &[UnsupportedParam] = &[
    UnsupportedParam {
        name: "n",
        is_default: is_one,
        instead: "only one response per request; leave it out",
    },
    LOGPROBS,
    TOP_LOGPROBS,
    UnsupportedParam {
        name: "logit_bias",
        is_default: is_empty,
        instead: "token weights are not available; leave it out",
    },
    UnsupportedParam {
        name: "modalities",
        is_default: is_text_only,
        instead: "responses are text; send [\"text\"] or leave it out",
    },
    UnsupportedParam {
        name: "audio",
        is_default: never_default,
        instead: "responses are text; leave it out",
    },
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
    instead: "token probabilities are not available; leave it out",
};
pub(in crate::chat) const TOP_LOGPROBS: UnsupportedParam = UnsupportedParam {
    name: "top_logprobs",
    is_default: is_zero,
    instead: "token probabilities are not available; leave it out",
};

/// A problem for every unsupported parameter of a body.
pub(in crate::chat) fn unsupported_problems(
    fields: &Map<String, Value>,
    unsupported: &[UnsupportedParam],
) -> Vec<Problem> {
    let is_set = |one: &&UnsupportedParam| {
        fields.get(one.name).is_some_and(|value| !value.is_null() && !(one.is_default)(value))
    };
    unsupported
        .iter()
        .filter(is_set)
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
