//! The parts of a message: texts, files, and calls.

use serde_json::{Map, Value};

use super::{
    ChatPart, MAX_PARTS,
    calls::{parse_current_call, parse_listed_call, parse_older_call, parse_tool_result},
    str_field,
};
use crate::problem::Problem;

pub(super) fn push_text(parts: &mut Vec<ChatPart>, text: &str) {
    if !text.is_empty() {
        parts.push(ChatPart::Text(text.to_owned()));
    }
}

pub(super) fn parse_parts(list: &[Value], path: &str, parts: &mut Vec<ChatPart>) -> Result<(), Problem> {
    if list.len() > MAX_PARTS {
        return Err(Problem::new(path, format!("{} parts; at most {MAX_PARTS}", list.len())));
    }
    for (index, part) in list.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Value::Object(fields) = part else { return Err(Problem::new(path, "expected an object")) };
        let kind = str_field(fields, "type")
            .ok_or_else(|| Problem::new(format!("{path}.type"), "expected a text"))?;
        match kind {
            "text" | "input_text" | "output_text" => {
                push_text(parts, str_field(fields, "text").unwrap_or_default())
            }
            "step-start" => parts.push(ChatPart::Step),
            "refusal" => push_text(parts, str_field(fields, "refusal").unwrap_or_default()),
            "file" if !fields.contains_key("file") => parts.extend(parse_file(fields)),
            "image_url" | "input_image" | "input_audio" | "input_file" | "file" => {
                parts.push(parse_openai_file(kind, fields, &path)?);
            }
            "tool-invocation" => match fields.get("toolInvocation") {
                Some(Value::Object(inside)) => parts.push(parse_older_call(inside, &path)?),
                // The flat form has the name beside it; the tool is not called "invocation".
                _ => parts.push(parse_current_call(fields, str_field(fields, "toolName"), &path)?),
            },
            "dynamic-tool" => parts.push(parse_current_call(fields, str_field(fields, "toolName"), &path)?),
            // Model messages of the AI SDK; the tools are not called "call" and "result".
            "tool-call" if str_field(fields, "toolName").is_some() => {
                parts.push(parse_listed_call(part, &path)?)
            }
            "tool-result" if str_field(fields, "toolName").is_some() => {
                parts.push(parse_tool_result(fields, &path)?)
            }
            kind => {
                if let Some(name) = kind.strip_prefix("tool-") {
                    parts.push(parse_current_call(fields, Some(name), &path)?);
                }
                // Reasoning, sources and data are not for the model.
            }
        }
    }
    Ok(())
}

fn parse_file(fields: &Map<String, Value>) -> Option<ChatPart> {
    let media_type =
        str_field(fields, "mediaType").or_else(|| str_field(fields, "mimeType")).unwrap_or_default();
    let url = match (str_field(fields, "url"), str_field(fields, "data")) {
        (Some(url), _) => url.to_owned(),
        (None, Some(data)) => format!("data:{media_type};base64,{data}"),
        (None, None) => return None,
    };
    Some(ChatPart::File { media_type: media_type.to_owned(), url })
}

/// Images, audio and files as OpenAI clients send them: by URL or inline. Uploaded files are rejected, because they are
/// stored elsewhere.
fn parse_openai_file(kind: &str, fields: &Map<String, Value>, path: &str) -> Result<ChatPart, Problem> {
    let about = fields.get(kind).filter(|inside| inside.is_object());
    let member = |name: &str| {
        let found = about.and_then(|inside| inside.get(name)).or_else(|| fields.get(name));
        found.and_then(Value::as_str).filter(|text| !text.is_empty())
    };
    let found = match kind {
        "image_url" | "input_image" => {
            member("url").or_else(|| member("image_url")).map(|url| ("image/*".to_owned(), url.to_owned()))
        }
        "input_audio" => member("data").map(|data| {
            let media_type = format!("audio/{}", member("format").unwrap_or("wav"));
            (media_type.clone(), format!("data:{media_type};base64,{data}"))
        }),
        _ => member("file_data").or_else(|| member("file_url")).map(|data| match data.contains(':') {
            true => (String::new(), data.to_owned()),
            false => ("application/pdf".to_owned(), format!("data:application/pdf;base64,{data}")),
        }),
    };
    match found {
        Some((media_type, url)) => Ok(ChatPart::File { media_type, url }),
        None => Err(Problem::new(
            path,
            format!("{kind}: expected a URL or the data itself; this server stores no files"),
        )),
    }
}

/// Attachments of AI SDK 4.
pub(super) fn parse_attachments(fields: &Map<String, Value>, parts: &mut Vec<ChatPart>) {
    let Some(Value::Array(list)) = fields.get("experimental_attachments") else { return };
    if parts.iter().any(|part| matches!(part, ChatPart::File { .. })) {
        return;
    }
    for file in list.iter().take(MAX_PARTS) {
        if let Some(url) = file["url"].as_str() {
            let media_type = file["contentType"].as_str().unwrap_or_default().to_owned();
            parts.push(ChatPart::File { media_type, url: url.to_owned() });
        }
    }
}
