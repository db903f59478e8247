//! Reads the fields of a definition and collects what is wrong with them.

use serde_json::Value;

use super::{ActivationPhrases, Category, MAX_PHRASE_BYTES, MAX_PHRASES, ToolExtensions};
use crate::{name::LocalName, problem::Problem, raw::RawFields};

/// The name of a tool or a prompt; `what` says which.
pub(crate) fn read_name(
    fields: &RawFields,
    path: &str,
    what: &str,
    problems: &mut Vec<Problem>,
) -> Option<LocalName> {
    let name = match fields.parse_field::<String>("name") {
        Some(Ok(text)) => text.parse::<LocalName>().map_err(|error| error.to_string()),
        Some(Err(_)) => Err("expected a text".to_owned()),
        None => Err(format!("missing; each {what} needs a name")),
    };
    match name {
        Ok(name) if name.as_str().contains(':') => {
            let message = format!("a colon separates package and {what}, so a {what}'s name has none");
            problems.push(Problem::new(path, message));
            None
        }
        Ok(name) => Some(name),
        Err(message) => {
            problems.push(Problem::new(path, message));
            None
        }
    }
}

pub(crate) fn read_text(
    fields: &RawFields,
    member: &str,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<String> {
    match fields.parse_field::<Option<String>>(member)? {
        Ok(text) => text,
        Err(_) => {
            problems.push(Problem::new(format!("{path}.{member}"), "expected a text"));
            None
        }
    }
}

pub(super) fn read_schema(
    fields: &RawFields,
    member: &str,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<Value> {
    match fields.parse_field::<Value>(member)? {
        Ok(schema @ Value::Object(_)) => Some(schema),
        Ok(_) | Err(_) => {
            problems.push(Problem::new(format!("{path}.{member}"), "expected a JSON Schema object"));
            None
        }
    }
}

pub(super) fn check_input_root(schema: Option<&Value>, path: &str, problems: &mut Vec<Problem>) {
    match schema {
        None if problems.iter().any(|p| p.path == path) => {}
        None => {
            problems.push(Problem::new(path, r#"missing; a tool without arguments has {"type":"object"}"#))
        }
        Some(schema) if schema.get("type").and_then(Value::as_str) != Some("object") => {
            problems.push(Problem::new(format!("{path}.type"), "expected \"object\": arguments are named"));
        }
        Some(_) => {}
    }
}

pub(super) fn read_extensions(fields: &RawFields, path: &str, problems: &mut Vec<Problem>) -> ToolExtensions {
    let Some(raw) = fields.parse_field::<RawFields>("mentraExtensions") else {
        return ToolExtensions::default();
    };
    let Ok(raw) = raw else {
        problems.push(Problem::new(path, "expected an object"));
        return ToolExtensions::default();
    };
    let category = match raw.parse_field::<Option<Category>>("category") {
        Some(Ok(category)) => category,
        Some(Err(_)) => {
            let expected = "expected productivity, media, communication, utility or other";
            problems.push(Problem::new(format!("{path}.category"), expected));
            None
        }
        None => None,
    };
    let phrases_path = format!("{path}.activationPhrases");
    let activation_phrases = match raw.parse_field::<Option<ActivationPhrases>>("activationPhrases") {
        Some(Ok(phrases)) => phrases,
        Some(Err(_)) => {
            problems
                .push(Problem::new(&phrases_path, "expected a list of texts, or one list per language tag"));
            None
        }
        None => None,
    };
    if let Some(phrases) = &activation_phrases {
        if phrases.phrases().count() > MAX_PHRASES {
            problems.push(Problem::new(&phrases_path, format!("more than {MAX_PHRASES} phrases")));
        } else if phrases.phrases().any(|phrase| phrase.len() > MAX_PHRASE_BYTES) {
            problems.push(Problem::new(
                &phrases_path,
                format!("a phrase is longer than {MAX_PHRASE_BYTES} bytes"),
            ));
        }
    }
    ToolExtensions { activation_phrases, category }
}
