//! Checks the shape of MCP definitions. Members that this server does not use are not checked.

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::{ItemKind, MAX_ITEMS, MAX_PROMPT_ARGUMENTS, MAX_URI_BYTES};
use crate::{
    mcp::uri,
    name::text_excerpt,
    problem::Problem,
    raw::RawFields,
    tool::{MAX_DEFINITION_BYTES, MAX_DESCRIPTION_BYTES, read_name, read_text},
    visible::{count_invisible, strip_invisible_json},
};

/// Checks a list; duplicates are a problem.
pub(super) fn check_list(kind: ItemKind, raws: &[Box<RawValue>], problems: &mut Vec<Problem>) {
    let member = kind.list_name();
    if raws.len() > MAX_ITEMS {
        return problems.push(Problem::new(member, format!("{} entries; at most {MAX_ITEMS}", raws.len())));
    }
    let mut seen = HashSet::new();
    for (index, raw) in raws.iter().enumerate() {
        let path = format!("{member}[{index}]");
        if let Some(key) = check_entry(kind, raw, &path, problems)
            && !seen.insert(key.clone())
        {
            problems.push(Problem::new(
                format!("{path}.{}", kind.key_name()),
                format!("`{key}` is defined twice; give one of them another {}", kind.key_name()),
            ));
        }
    }
}

/// Checks one definition and returns its key.
pub(super) fn check_entry(
    kind: ItemKind,
    raw: &RawValue,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<String> {
    if raw.get().len() > MAX_DEFINITION_BYTES {
        problems.push(Problem::new(path, format!("larger than {MAX_DEFINITION_BYTES} bytes")));
        return None;
    }
    let Ok(fields) = serde_json::from_str::<RawFields>(raw.get()) else {
        problems.push(Problem::new(path, format!("expected an object with `{}`", kind.key_name())));
        return None;
    };
    if let Some(name) = strip_invisible_json(raw).bad_name {
        problems.push(Problem::new(
            path,
            format!("the name `{}` in it has invisible characters", text_excerpt(&name)),
        ));
    }
    let key = fields.parse_field::<String>(kind.key_name()).and_then(Result::ok);
    if key.is_some_and(|key| count_invisible(&key) > 0) {
        problems.push(Problem::new(
            format!("{path}.{}", kind.key_name()),
            "has invisible characters; leave them out",
        ));
        return None;
    }
    check_texts(&fields, &["title"], path, problems);
    check_description(&fields, path, problems);
    if kind == ItemKind::Prompt {
        let name = read_name(&fields, &format!("{path}.name"), "prompt", problems);
        check_arguments(&fields, path, problems);
        return name.map(|name| name.as_str().to_owned());
    }
    check_texts(&fields, &["mimeType"], path, problems);
    if !matches!(fields.parse_field::<String>("name"), Some(Ok(name)) if !name.is_empty()) {
        problems.push(Problem::new(format!("{path}.name"), "expected a text: the display name"));
    }
    read_uri(&fields, kind.key_name(), path, problems)
}

fn check_texts(fields: &RawFields, members: &[&str], path: &str, problems: &mut Vec<Problem>) {
    for member in members {
        read_text(fields, member, path, problems);
    }
}

fn check_description(fields: &RawFields, path: &str, problems: &mut Vec<Problem>) {
    let description = read_text(fields, "description", path, problems).unwrap_or_default();
    if description.len() > MAX_DESCRIPTION_BYTES {
        let text = format!("longer than {MAX_DESCRIPTION_BYTES} bytes");
        problems.push(Problem::new(format!("{path}.description"), text));
    }
}

fn check_arguments(fields: &RawFields, path: &str, problems: &mut Vec<Problem>) {
    let path = format!("{path}.arguments");
    let arguments = match fields.parse_field::<Option<Vec<Box<RawValue>>>>("arguments") {
        None | Some(Ok(None)) => return,
        Some(Ok(Some(arguments))) => arguments,
        Some(Err(_)) => return problems.push(Problem::new(path, "expected a list of arguments")),
    };
    if arguments.len() > MAX_PROMPT_ARGUMENTS {
        return problems.push(Problem::new(path, format!("more than {MAX_PROMPT_ARGUMENTS} arguments")));
    }
    let mut seen = HashSet::new();
    for (index, raw) in arguments.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Ok(fields) = serde_json::from_str::<RawFields>(raw.get()) else {
            problems.push(Problem::new(path, "expected an object with `name`"));
            continue;
        };
        check_texts(&fields, &["title", "description"], &path, problems);
        if fields.parse_field::<Option<bool>>("required").is_some_and(|required| required.is_err()) {
            problems.push(Problem::new(format!("{path}.required"), "expected true or false"));
        }
        match fields.parse_field::<String>("name") {
            Some(Ok(name)) if name.is_empty() => {
                problems.push(Problem::new(format!("{path}.name"), "each argument needs a name"));
            }
            Some(Ok(name)) if !seen.insert(name.clone()) => {
                problems.push(Problem::new(format!("{path}.name"), "an earlier argument has that name"));
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => problems.push(Problem::new(format!("{path}.name"), "expected a text")),
        }
    }
}

fn read_uri(fields: &RawFields, member: &str, path: &str, problems: &mut Vec<Problem>) -> Option<String> {
    let path = format!("{path}.{member}");
    let wrong = match fields.parse_field::<String>(member) {
        Some(Ok(uri)) if uri.len() > MAX_URI_BYTES => format!("longer than {MAX_URI_BYTES} bytes"),
        Some(Ok(uri)) if uri.contains(|c: char| c.is_whitespace() || c.is_control()) => {
            "a URI has no spaces; write them as %20".to_owned()
        }
        Some(Ok(uri)) if uri::has_scheme(&uri) => return Some(uri),
        Some(Ok(_)) => "expected a URI that begins with a scheme, such as todo://list".to_owned(),
        Some(Err(_)) => "expected a text".to_owned(),
        None => "missing; the app finds the resource by it".to_owned(),
    };
    problems.push(Problem::new(path, wrong));
    None
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{items::AppItems, raw::to_raw, tool::MAX_PROBLEMS};

    fn problems(items: Value) -> Vec<String> {
        let items: AppItems = serde_json::from_str(&items.to_string()).unwrap();
        items.problems().iter().map(Problem::to_string).collect()
    }

    #[test]
    fn the_least_of_each_kind_is_good() {
        let items = json!({
            "prompts": [{ "name": "a" }, { "name": "b", "arguments": [{ "name": "x", "required": true, "new": 1 }] }],
            "resources": [{ "uri": "todo://list", "name": "List", "size": 5, "annotations": {} }],
            "resourceTemplates": [{ "uriTemplate": "todo://{id}", "name": "One" }],
        });
        assert!(problems(items).is_empty());
        assert!(problems(json!({})).is_empty());
    }

    #[test]
    fn every_problem_is_named_at_once() {
        let long = "x".repeat(MAX_DESCRIPTION_BYTES + 1);
        let found = problems(json!({
            "prompts": [
                { "name": "a:b", "title": 1, "description": long, "arguments": {} },
                5,
                { "arguments": [7, {}, { "name": "" }, { "name": "x", "required": "yes", "description": 1 }, { "name": "x" }] },
                { "name": "twice" }, { "name": "twice" },
            ],
            "resources": [{}, { "uri": "no-scheme", "name": "n", "mimeType": 1 }, { "uri": "a://b c", "name": "" }],
            "resourceTemplates": [{ "uriTemplate": "{scheme}://x", "name": "n" }, { "uriTemplate": 1, "name": "n" }],
        }));
        let places: Vec<&str> = found.iter().map(|problem| problem.split(": ").next().unwrap()).collect();
        assert_eq!(
            places,
            [
                "prompts[0].title",
                "prompts[0].description",
                "prompts[0].name",
                "prompts[0].arguments",
                "prompts[1]",
                "prompts[2].name",
                "prompts[2].arguments[0]",
                "prompts[2].arguments[1].name",
                "prompts[2].arguments[2].name",
                "prompts[2].arguments[3].description",
                "prompts[2].arguments[3].required",
                "prompts[2].arguments[4].name",
                "prompts[4].name",
                "resources[0].name",
                "resources[0].uri",
                "resources[1].mimeType",
                "resources[1].uri",
                "resources[2].name",
                "resources[2].uri",
                "resourceTemplates[0].uriTemplate",
                "resourceTemplates[1].uriTemplate",
            ]
        );
    }

    #[test]
    fn every_bound_is_kept() {
        let many = |entry: &Value, count: usize| vec![entry.clone(); count];
        let found = problems(json!({ "resources": many(&json!({}), MAX_ITEMS + 1) }));
        assert_eq!(found, [format!("resources: {} entries; at most {MAX_ITEMS}", MAX_ITEMS + 1)]);
        assert_eq!(problems(json!({ "resources": many(&json!({}), MAX_ITEMS) })).len(), MAX_PROBLEMS);
        let arguments = many(&json!({}), MAX_PROMPT_ARGUMENTS + 1);
        let found = problems(json!({ "prompts": [{ "name": "a", "arguments": arguments }] }));
        assert_eq!(found, [format!("prompts[0].arguments: more than {MAX_PROMPT_ARGUMENTS} arguments")]);
        let uri = format!("a://{}", "x".repeat(MAX_URI_BYTES));
        let found = problems(json!({ "resources": [{ "uri": uri, "name": "n" }] }));
        assert_eq!(found, [format!("resources[0].uri: longer than {MAX_URI_BYTES} bytes")]);
        let huge = to_raw(&json!({ "name": "a", "_meta": "x".repeat(MAX_DEFINITION_BYTES) }));
        let found = crate::items::item_problems(ItemKind::Prompt, &huge, "prompt");
        assert_eq!(found[0].to_string(), format!("prompt: larger than {MAX_DEFINITION_BYTES} bytes"));
    }
}
