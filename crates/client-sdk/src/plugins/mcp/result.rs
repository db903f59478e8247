//! Tool results as a model reads them: text or structured content. Images and files become notes.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::tool::ToolError;

/// Longest text of an error, in characters.
const MAX_ERROR_CHARS: usize = 4_000;
/// Content blocks of one result that are read.
const MAX_BLOCKS: usize = 200;
/// Longest name or URI in a note, in characters.
const MAX_NOTE_CHARS: usize = 200;

/// The fields of a result that are used. Unknown block types are accepted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpToolResult {
    #[serde(default)]
    content: Vec<Value>,
    #[serde(default)]
    structured_content: Option<Value>,
    #[serde(default)]
    is_error: bool,
}

/// The result of a call for the model, cut to this size.
pub(super) fn to_json(raw: &RawValue, max_bytes: usize) -> Result<Value, ToolError> {
    let parsed: McpToolResult = serde_json::from_str(raw.get())
        .map_err(|_| ToolError::new("the server answered with something that is not a tool result"))?;
    let text = content_text(&parsed.content);
    if parsed.is_error {
        let text = if text.is_empty() { "the tool failed without a reason".to_owned() } else { text };
        return Err(ToolError(first_chars(&text, MAX_ERROR_CHARS)));
    }
    let whole = match parsed.structured_content.filter(|structured| !structured.is_null()) {
        None => Value::String(text),
        Some(structured) if is_redundant_text(&text, &structured) => structured,
        Some(structured) => serde_json::json!({ "text": text, "structured": structured }),
    };
    Ok(truncate_result(whole, max_bytes))
}

/// Whether the text only repeats the structured content, as servers do for clients that read only text.
fn is_redundant_text(text: &str, structured: &Value) -> bool {
    let text = text.trim();
    let same = || serde_json::from_str::<Value>(text).is_ok_and(|parsed| parsed == *structured);
    let only_member =
        || match structured.as_object().map(|members| members.values().collect::<Vec<_>>()).as_deref() {
            Some([Value::String(only)]) => only.trim() == text,
            _ => false,
        };
    text.is_empty() || same() || only_member()
}

fn truncate_result(whole: Value, max_bytes: usize) -> Value {
    let text = match &whole {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.len() <= max_bytes {
        return whole;
    }
    let end = (0..=max_bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}\n(cut: the first {end} of {} bytes; ask for less)", &text[..end], text.len()).into()
}

fn content_text(content: &[Value]) -> String {
    let mut parts: Vec<String> = content.iter().take(MAX_BLOCKS).map(block_text).collect();
    if content.len() > MAX_BLOCKS {
        parts.push(format!("(cut: the first {MAX_BLOCKS} of {} parts)", content.len()));
    }
    parts.join("\n")
}

fn block_text(block: &Value) -> String {
    let text = |value: &Value| value.as_str().map(|text| first_chars(text, MAX_NOTE_CHARS));
    let kind = text(&block["type"]).unwrap_or_default();
    let mime = |of: &Value| text(&of["mimeType"]).unwrap_or_else(|| "unknown type".to_owned());
    match kind.as_str() {
        "text" => block["text"].as_str().unwrap_or_default().to_owned(),
        "image" | "audio" => {
            format!("({kind}, {}, {}; not shown)", mime(block), base64_size(&block["data"]))
        }
        "resource_link" => {
            let name = text(&block["name"]).unwrap_or_default();
            format!("(resource `{name}` at {})", text(&block["uri"]).unwrap_or_default())
        }
        "resource" => {
            let resource = &block["resource"];
            let uri = text(&resource["uri"]).unwrap_or_default();
            match resource["text"].as_str() {
                Some(parsed) => format!("(resource {uri})\n{parsed}"),
                None => format!(
                    "(resource {uri}, {}, {}; not shown)",
                    mime(resource),
                    base64_size(&resource["blob"])
                ),
            }
        }
        other => format!("(a part of the type `{other}`; not shown)"),
    }
}

/// The approximate size of base64 data.
fn base64_size(base64: &Value) -> String {
    let bytes = base64.as_str().map_or(0, |text| text.trim_end_matches('=').len() * 3 / 4);
    format!("{bytes} bytes")
}

/// The beginning of a text.
pub(super) fn first_chars(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolyard_protocol::raw::to_raw;

    use super::*;

    fn read(result: Value) -> Result<Value, String> {
        to_json(&to_raw(&result), 1_000).map_err(|error| error.0)
    }

    #[test]
    fn text_is_text() {
        let one = json!({ "content": [{ "type": "text", "text": "hello" }] });
        assert_eq!(read(one), Ok(json!("hello")));
        let two = json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] });
        assert_eq!(read(two), Ok(json!("a\nb")));
        assert_eq!(read(json!({ "content": [] })), Ok(json!("")));
    }

    #[test]
    fn structured_content_is_not_repeated_as_text() {
        let sum = json!({ "sum": 3 });
        let with = |text: &str, structured: &Value| {
            read(json!({ "content": [{ "type": "text", "text": text }], "structuredContent": structured }))
                .unwrap()
        };
        assert_eq!(with(r#"{ "sum": 3 }"#, &sum), sum);
        assert_eq!(with("", &sum), sum);
        assert_eq!(with("hi", &json!({ "content": "hi" })), json!({ "content": "hi" }));
        assert_eq!(with("three", &sum), json!({ "text": "three", "structured": sum }));
        assert_eq!(with("null", &Value::Null), json!("null"));
        assert_eq!(read(json!({ "structuredContent": [1] })), Ok(json!([1])));
    }

    #[test]
    fn content_that_is_not_text_becomes_a_note() {
        let content = json!([
            { "type": "image", "data": "AAAA", "mimeType": "image/png" },
            { "type": "audio", "data": "AAA=" },
            { "type": "resource_link", "uri": "file:///a", "name": "a" },
            { "type": "resource", "resource": { "uri": "file:///b", "text": "inside" } },
            { "type": "resource", "resource": { "uri": "file:///c", "blob": "AAAA", "mimeType": "application/gzip" } },
            { "type": "hologram", "x": 1 },
            7,
        ]);
        let result = read(json!({ "content": content })).unwrap();
        let lines: Vec<_> = result.as_str().unwrap().lines().collect();
        assert_eq!(
            lines,
            [
                "(image, image/png, 3 bytes; not shown)",
                "(audio, unknown type, 2 bytes; not shown)",
                "(resource `a` at file:///a)",
                "(resource file:///b)",
                "inside",
                "(resource file:///c, application/gzip, 3 bytes; not shown)",
                "(a part of the type `hologram`; not shown)",
                "(a part of the type ``; not shown)",
            ]
        );
    }

    #[test]
    fn a_failure_is_an_error_with_the_text_of_the_tool() {
        let failed = json!({ "content": [{ "type": "text", "text": "no such city" }], "isError": true });
        assert_eq!(read(failed), Err("no such city".to_owned()));
        assert_eq!(
            read(json!({ "content": [], "isError": true })),
            Err("the tool failed without a reason".to_owned())
        );
        let long = json!({ "content": [{ "type": "text", "text": "x".repeat(5_000) }], "isError": true });
        assert_eq!(read(long).unwrap_err().chars().count(), MAX_ERROR_CHARS + 1);
        assert!(read(json!("no result")).unwrap_err().contains("not a tool result"));
    }

    #[test]
    fn long_results_are_cut_and_say_so() {
        let long = json!({ "content": [{ "type": "text", "text": "ä".repeat(600) }] });
        let result = read(long).unwrap();
        assert!(
            result.as_str().unwrap().ends_with("\n(cut: the first 1000 of 1200 bytes; ask for less)"),
            "{result}"
        );
        let odd = json!({ "content": [{ "type": "text", "text": format!("x{}", "ä".repeat(600)) }] });
        assert!(read(odd).unwrap().as_str().unwrap().contains("the first 999 of 1201 bytes"));
        let structured = json!({ "content": [], "structuredContent": { "a": "x".repeat(2_000) } });
        let result = read(structured).unwrap();
        assert!(result.as_str().unwrap().starts_with(r#"{"a":"xxx"#), "{result}");
        let many = json!({ "content": vec![json!({ "type": "text", "text": "x" }); MAX_BLOCKS + 1] });
        assert!(read(many).unwrap().as_str().unwrap().ends_with("(cut: the first 200 of 201 parts)"));
    }
}
