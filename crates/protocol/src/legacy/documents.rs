//! Documents with tools in the older form: `tpa_config.json`, and an app in a line of a database export.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    read::{json_type_name, text_at, tools_at, value_or_problems},
    tool_schema::ToolSchema,
};
use crate::{
    app::{AppType, DeclaredPermission, MAX_APP_LIST},
    device::HardwareRequirement,
    name::PackageName,
    problem::Problem,
    secret::SecretText,
    session::time::timestamp_of,
};

/// `tpa_config.json`, later `app_config.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TpaConfig {
    /// The display name of the app.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its tools.
    pub tools: Vec<ToolSchema>,
    /// Everything else, as received: `settings`, `permissions`.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl TpaConfig {
    /// Parses the file and reports every problem at once.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let mut rest = parse_object(text)?;
        let mut problems = Vec::new();
        let config = Self {
            name: optional_text(&rest, "name", &mut problems).unwrap_or_default(),
            description: optional_text(&rest, "description", &mut problems).unwrap_or_default(),
            version: optional_text(&rest, "version", &mut problems),
            tools: tools_in(&rest, &mut problems),
            rest: Map::new(),
        };
        rest.retain(|name, _| !["name", "description", "version", "tools"].contains(&name.as_str()));
        value_or_problems(Some(Self { rest, ..config }), problems)
    }
}

/// An app as the older platform stored it: one line of a database export. All other fields are dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct AppDocument {
    /// `com.example.todo`
    pub package_name: PackageName,
    /// Display name.
    pub name: String,
    /// Human-readable description.
    pub description: String,
    /// Base URL of the app.
    pub public_url: Option<String>,
    /// How it shares the display.
    pub app_type: AppType,
    /// SHA-256 of its key, in hex. The app keeps its key with it. Secret: it is enough to forge a user's web token.
    pub hashed_api_key: Option<SecretText>,
    /// Its tools.
    pub tools: Vec<ToolSchema>,
    /// The hardware it needs.
    pub hardware_requirements: Vec<HardwareRequirement>,
    /// The device data it needs.
    pub permissions: Vec<DeclaredPermission>,
    /// Its settings with their defaults.
    pub settings: Vec<Value>,
    /// When it was registered, ISO 8601.
    pub created_at: Option<String>,
    /// When it was last changed, ISO 8601.
    pub updated_at: Option<String>,
}

impl AppDocument {
    /// Parses one line and reports every problem at once.
    pub fn parse(line: &str) -> Result<Self, Vec<Problem>> {
        let fields = parse_object(line)?;
        let mut problems = Vec::new();
        let package_name = text_at(&fields, "packageName", "", &mut problems).and_then(|text| {
            text.parse::<PackageName>()
                .map_err(|error| problems.push(Problem::new("packageName", error.to_string())))
                .ok()
        });
        let name = optional_text(&fields, "name", &mut problems).unwrap_or_default();
        let description = optional_text(&fields, "description", &mut problems).unwrap_or_default();
        let public_url =
            optional_text(&fields, "publicUrl", &mut problems).filter(|url| !url.trim().is_empty());
        let hashed_api_key = optional_text(&fields, "hashedApiKey", &mut problems).map(SecretText::new);
        let app_type = match optional_text(&fields, "appType", &mut problems).as_deref() {
            Some("standard") => AppType::Standard,
            _ => AppType::Background,
        };
        let tools = tools_in(&fields, &mut problems);
        let hardware_requirements = parse_list(&fields, "hardwareRequirements", &mut problems);
        let permissions = parse_list(&fields, "permissions", &mut problems);
        let settings: Vec<Value> = parse_list(&fields, "settings", &mut problems);
        let document = package_name.map(|package_name| Self {
            package_name,
            name,
            description,
            public_url,
            app_type,
            hashed_api_key,
            tools,
            hardware_requirements,
            permissions,
            settings: settings.into_iter().map(strip_ids).collect(),
            created_at: parse_date(fields.get("createdAt")),
            updated_at: parse_date(fields.get("updatedAt")),
        });
        value_or_problems(document, problems)
    }
}

fn parse_object(text: &str) -> Result<Map<String, Value>, Vec<Problem>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(other) => {
            Err(vec![Problem::new("", format!("expected an object, found {}", json_type_name(&other)))])
        }
        Err(error) => Err(vec![Problem::new("", format!("not JSON: {error}"))]),
    }
}

fn optional_text(fields: &Map<String, Value>, name: &str, problems: &mut Vec<Problem>) -> Option<String> {
    match fields.get(name) {
        None | Some(Value::Null) => None,
        Some(_) => text_at(fields, name, "", problems),
    }
}

fn tools_in(fields: &Map<String, Value>, problems: &mut Vec<Problem>) -> Vec<ToolSchema> {
    match fields.get("tools") {
        None | Some(Value::Null) => Vec::new(),
        Some(list) => tools_at(list, "tools", problems),
    }
}

/// Parses a list entry by entry, so that each invalid one is reported.
fn parse_list<T: DeserializeOwned>(
    fields: &Map<String, Value>,
    name: &str,
    problems: &mut Vec<Problem>,
) -> Vec<T> {
    let list = match fields.get(name) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(list)) if list.len() <= MAX_APP_LIST => list,
        Some(Value::Array(list)) => {
            problems.push(Problem::new(name, format!("{} entries; at most {MAX_APP_LIST}", list.len())));
            return Vec::new();
        }
        Some(other) => {
            problems.push(Problem::new(name, format!("expected a list, found {}", json_type_name(other))));
            return Vec::new();
        }
    };
    let mut read = Vec::with_capacity(list.len());
    for (index, entry) in list.iter().enumerate() {
        match T::deserialize(entry) {
            Ok(entry) => read.push(entry),
            Err(error) => problems.push(Problem::new(format!("{name}[{index}]"), error.to_string())),
        }
    }
    read
}

/// Removes the ids of the database, at every depth.
fn strip_ids(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .filter(|(name, _)| name != "_id")
                .map(|(name, value)| (name, strip_ids(value)))
                .collect(),
        ),
        Value::Array(list) => list.into_iter().map(strip_ids).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// A date: `{"$date": "…"}`, `{"$date": {"$numberLong": "…"}}`, or plain.
fn parse_date(value: Option<&Value>) -> Option<String> {
    let value = value.map(|value| value.get("$date").unwrap_or(value))?;
    match value.get("$numberLong").and_then(Value::as_str) {
        Some(millis) => timestamp_of(&millis.parse::<i64>().ok()?.into()),
        None => timestamp_of(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{device::HardwareType, stream::Permission};

    #[test]
    fn a_config_file_keeps_what_it_does_not_know() {
        let file = json!({
            "name": "My TPA", "description": "My awesome TPA description", "version": "1.0.0", "settings": [1],
            "tools": [{ "id": "tool_id", "description": "What this tool does", "activationPhrases": ["make a"],
                "parameters": { "param_name": { "type": "string", "description": "d", "required": true } } }],
        });
        let config = TpaConfig::parse(&file.to_string()).unwrap();
        assert_eq!(config.rest, *json!({ "settings": [1] }).as_object().unwrap());
        assert_eq!(serde_json::to_value(&config).unwrap(), file);
    }

    #[test]
    fn a_config_file_names_every_problem() {
        let messages = |text: &str| {
            TpaConfig::parse(text).unwrap_err().iter().map(Problem::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            messages(r#"{"name":7,"version":1,"tools":[{"id":"a"}]}"#),
            [
                "name: expected a text, found a number",
                "version: expected a text, found a number",
                "tools[0].description: missing; expected a text",
            ]
        );
        assert_eq!(messages("[]"), [": expected an object, found a list"]);
        assert!(messages("{")[0].starts_with(": not JSON: "));
    }

    #[test]
    fn an_app_in_a_line_of_an_export() {
        let line = r#"{"_id":{"$oid":"665f1c2e8b3e4a0012ab34cd"},"packageName":"com.example.todo","name":"Todo","description":"Keeps lists","publicUrl":"https://todo.example.com","appType":"standard","appStoreStatus":"PUBLISHED","hashedApiKey":"s3cr3t","permissions":[{"type":"MICROPHONE","_id":{"$oid":"1"}},{"type":"NOTIFICATIONS","description":"to read"}],"hardwareRequirements":[{"type":"DISPLAY","level":"REQUIRED","_id":{"$oid":"2"}},{"type":"GPS","level":"OPTIONAL"}],"settings":[{"_id":{"$oid":"3"},"type":"select","key":"k","options":[{"_id":{"$oid":"4"},"label":"a"}]}],"tools":[{"id":"add_todo","description":"Add","activationPhrases":[],"parameters":{"todo_item":{"type":"string","description":"d","enum":[],"required":true,"_id":{"$oid":"5"}}},"_id":{"$oid":"6"}}],"createdAt":{"$date":"2025-06-04T12:00:00.000Z"},"updatedAt":{"$date":{"$numberLong":"1767323045678"}},"__v":3}"#;
        let app = AppDocument::parse(line).unwrap();
        assert_eq!((app.package_name.as_str(), app.app_type), ("com.example.todo", AppType::Standard));
        assert_eq!(app.public_url.as_deref(), Some("https://todo.example.com"));
        let permissions: Vec<Permission> = app.permissions.iter().map(|permission| permission.kind).collect();
        assert_eq!(permissions, [Permission::Microphone, Permission::ReadNotifications]);
        assert_eq!(app.hardware_requirements[0].kind, HardwareType::Display);
        assert_eq!(app.settings, [json!({ "type": "select", "key": "k", "options": [{ "label": "a" }] })]);
        assert_eq!(app.tools[0].parameters[0].0, "todo_item");
        assert_eq!(app.created_at.as_deref(), Some("2025-06-04T12:00:00.000Z"));
        assert_eq!(app.updated_at.as_deref(), Some("2026-01-02T03:04:05.678Z"));
        assert!(!format!("{app:?}").contains("s3cr3t"));
    }

    #[test]
    fn the_least_and_the_wrong() {
        let least = AppDocument::parse(r#"{"packageName":"com.ex","tools":null}"#).unwrap();
        assert_eq!((least.app_type, least.tools.len(), least.public_url), (AppType::Background, 0, None));
        let line = json!({ "packageName": "Com Ex", "publicUrl": 7, "tools": {}, "permissions": [{ "type": "MICROPHON" }],
            "hardwareRequirements": "x", "settings": vec![1; MAX_APP_LIST + 1] });
        let problems = AppDocument::parse(&line.to_string()).unwrap_err();
        let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(
            paths,
            ["packageName", "publicUrl", "tools", "hardwareRequirements", "permissions[0]", "settings"]
        );
    }
}
