//! Labels questions: every question of an upstream to a user begins with our own text, which names the upstream. The
//! upstream's text follows and cannot precede or hide it.

use serde_json::{json, value::RawValue};
use toolyard_core::catalog::AppHead;
use toolyard_net::url_host;
use toolyard_protocol::{
    mcp::{meta, method},
    raw::{RawFields, to_raw},
};

/// Longest display name that is shown, in characters. The package name always follows it.
const MAX_NAME_CHARS: usize = 60;

/// Adds the origin to the params of a question: to the text that people read, and to `_meta`.
pub(super) fn with_origin(
    app: &AppHead,
    method: &str,
    params: Option<Box<RawValue>>,
) -> Option<Box<RawValue>> {
    let given = params.as_deref().map(|raw| serde_json::from_str::<RawFields>(raw.get()));
    let mut fields = match given {
        Some(Ok(fields)) => fields,
        // Params that are not an object contain no readable question.
        Some(Err(_)) => return params,
        None => RawFields::default(),
    };
    let text = |fields: &RawFields, name: &str| fields.parse_field::<String>(name).and_then(Result::ok);
    match method {
        method::ELICIT => {
            let message = text(&fields, "message").unwrap_or_default();
            let label = match text(&fields, "url") {
                Some(url) => {
                    let host = url_host(&url).unwrap_or_else(|| "an unreadable address".to_owned());
                    format!("The {} asks you to open a page at {host}:", server_label(app))
                }
                None => format!("The {} asks:", server_label(app)),
            };
            fields.set("message", to_raw(&format!("{label}\n\n{}", strip_invisible(&message))));
        }
        method::SAMPLE => {
            let label = format!("This request comes from the {}.", server_label(app));
            let prompt = match text(&fields, "systemPrompt") {
                Some(prompt) => format!("{label}\n\n{}", strip_invisible(&prompt)),
                None => label,
            };
            fields.set("systemPrompt", to_raw(&prompt));
        }
        _ => {}
    }
    let mut about: RawFields = fields.parse_field("_meta").and_then(Result::ok).unwrap_or_default();
    about.set(meta::ORIGIN, to_raw(&json!({ "package": app.package(), "name": display_name(app) })));
    fields.set("_meta", about.to_raw());
    Some(fields.to_raw())
}

/// Adds the origin to all questions of one reply: `inputRequests` of the modern era.
pub(super) fn all_with_origin(app: &AppHead, requests: &RawValue) -> Box<RawValue> {
    let Ok(mut all) = serde_json::from_str::<RawFields>(requests.get()) else { return requests.to_owned() };
    let keys: Vec<String> = all.names().map(str::to_owned).collect();
    for key in keys {
        let Some(Ok(mut request)) = all.parse_field::<RawFields>(&key) else { continue };
        let Some(Ok(method)) = request.parse_field::<String>("method") else { continue };
        if let Some(params) = with_origin(app, &method, request.get("params").map(RawValue::to_owned)) {
            request.set("params", params);
        }
        all.set(&key, request.to_raw());
    }
    all.to_raw()
}

/// A label for the upstream. Its package name comes from the platform, and no text of the upstream can change it.
fn server_label(app: &AppHead) -> String {
    match display_name(app) {
        Some(name) => format!("MCP server \"{name}\" ({})", app.package()),
        None => format!("MCP server {}", app.package()),
    }
}

/// The upstream's name as people see it, if it has one: one short line.
pub(super) fn display_name(app: &AppHead) -> Option<String> {
    let name = &app.record.details.name;
    let name: String =
        strip_invisible(name).replace(['"', '\n', '\t'], " ").chars().take(MAX_NAME_CHARS).collect();
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Removes characters that move, hide or overwrite the text before them.
fn strip_invisible(text: &str) -> String {
    let moves = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().filter(|c| !moves(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_or_hides_text_is_taken_out() {
        assert_eq!(strip_invisible("a\u{202e}b\r\u{1b}[2Jc\u{200b}\n\td ü 漢"), "ab[2Jc\n\td ü 漢");
    }
}
