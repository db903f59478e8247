//! Parses one server of a client's file into an upstream. Unknown fields are ignored: every client has its own.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value};
use toolyard_protocol::upstream::{UpstreamAuth, UpstreamDetails};

use super::{env_file, variables};

/// An upstream, and remarks for the user.
#[derive(Debug, PartialEq)]
pub(super) struct ParsedEntry {
    pub(super) details: UpstreamDetails,
    pub(super) remarks: Vec<String>,
}

/// The transport that the client uses.
#[derive(PartialEq, Eq)]
enum EntryTransport {
    Stdio,
    Http,
    /// HTTP with two endpoints, from before 2025. Many of these servers support Streamable HTTP as well.
    Sse,
}

/// Whether the server is disabled in the client.
pub(super) fn is_disabled(entry: &Value) -> bool {
    entry.get("disabled") == Some(&Value::Bool(true)) || entry.get("enabled") == Some(&Value::Bool(false))
}

/// Parses one server. Paths are relative to the folder of the file.
pub(super) fn parse_entry(entry: &Value, folder: &Path) -> Result<ParsedEntry, String> {
    let members = entry.as_object().ok_or("expected an object with `command` or `url`")?;
    let url = ["url", "serverUrl", "httpUrl"].into_iter().find(|name| members.contains_key(*name));
    let url = url.map(|name| plain_text(members, name)).transpose()?.flatten();
    let (kind, mut remarks) = (entry_transport(members, url.is_some())?, Vec::new());
    let mut details = match kind {
        EntryTransport::Stdio => command_details(members, folder)?,
        EntryTransport::Http | EntryTransport::Sse => {
            if kind == EntryTransport::Sse || url.as_deref().is_some_and(|url| url.ends_with("/sse")) {
                remarks
                    .push("SSE is a deprecated transport; the server is tried as Streamable HTTP".to_owned());
            }
            http_details(members, url)?
        }
    };
    details.include = text_list(members, &["includeTools", "tools"])?;
    details.exclude = text_list(members, &["excludeTools", "disabledTools"])?;
    match details.problems().as_slice() {
        [] => Ok(ParsedEntry { details, remarks }),
        problems => Err(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    }
}

fn entry_transport(members: &Map<String, Value>, has_url: bool) -> Result<EntryTransport, String> {
    match plain_text(members, "type")?.as_deref() {
        Some("stdio" | "local") => Ok(EntryTransport::Stdio),
        Some("http" | "streamable-http" | "streamableHttp") => Ok(EntryTransport::Http),
        Some("sse") => Ok(EntryTransport::Sse),
        Some(other) => Err(format!("`type`: `{other}` is unknown; expected stdio, http or sse")),
        None if has_url => Ok(EntryTransport::Http),
        None => Ok(EntryTransport::Stdio),
    }
}

fn command_details(members: &Map<String, Value>, folder: &Path) -> Result<UpstreamDetails, String> {
    let mut env = match plain_text(members, "envFile")? {
        Some(path) => env_file::read_env_file(folder, &path).map_err(|why| format!("`envFile`: {why}"))?,
        None => BTreeMap::new(),
    };
    env.extend(text_map(members, "env")?);
    let args =
        text_list(members, &["args"])?.into_iter().map(variables::reject_variables).collect::<Result<_, _>>();
    Ok(UpstreamDetails {
        command: Some(plain_text(members, "command")?.ok_or("`command` or `url` is missing")?),
        args: args.map_err(|why| format!("`args`: {why}"))?,
        env,
        cwd: plain_text(members, "cwd")?,
        ..UpstreamDetails::default()
    })
}

fn http_details(members: &Map<String, Value>, url: Option<String>) -> Result<UpstreamDetails, String> {
    let mut details = UpstreamDetails {
        url: Some(url.ok_or("`url` is missing")?),
        headers: text_map(members, "headers")?,
        ..UpstreamDetails::default()
    };
    // Both formats describe a client that was registered by hand.
    if let Some(oauth) = members.get("oauth").and_then(Value::as_object) {
        details.auth = UpstreamAuth::OAuth;
        details.client_id = plain_text(oauth, "clientId")?;
        let scopes = oauth.get("scopes").and_then(Value::as_str).unwrap_or_default();
        details.scopes = scopes.split_whitespace().map(str::to_owned).collect();
    } else if let Some(auth) = members.get("auth").and_then(Value::as_object) {
        details.auth = UpstreamAuth::OAuth;
        details.client_id = plain_text(auth, "CLIENT_ID")?;
        let secret = optional_text(auth, "CLIENT_SECRET")?
            .map(|secret| variables::to_server_variables(&secret))
            .transpose();
        details.client_secret = secret.map_err(|why| format!("`auth.CLIENT_SECRET`: {why}"))?;
        details.scopes = text_list(auth, &["scopes"])?;
    }
    Ok(details)
}

fn optional_text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{name}`: expected a text")),
    }
}

/// A text that must not contain variables.
fn plain_text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    let text = optional_text(members, name)?.map(variables::reject_variables).transpose();
    text.map_err(|why| format!("`{name}`: {why}"))
}

/// The strings of all lists with these names.
fn text_list(members: &Map<String, Value>, names: &[&str]) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for name in names {
        let wrong = || format!("`{name}`: expected a list of texts");
        match members.get(*name) {
            None | Some(Value::Null) => {}
            Some(Value::Array(list)) => {
                for item in list {
                    all.push(item.as_str().ok_or_else(wrong)?.to_owned());
                }
            }
            Some(_) => return Err(wrong()),
        }
    }
    Ok(all)
}

/// Names and values. The values may contain environment variables.
fn text_map(members: &Map<String, Value>, name: &str) -> Result<BTreeMap<String, String>, String> {
    let mut all = BTreeMap::new();
    let pairs = match members.get(name) {
        None | Some(Value::Null) => return Ok(all),
        Some(Value::Object(pairs)) => pairs,
        Some(_) => return Err(format!("`{name}`: expected an object of texts")),
    };
    for (key, value) in pairs {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null => continue,
            Value::Array(_) | Value::Object(_) => return Err(format!("`{name}.{key}`: expected a text")),
        };
        let value = variables::to_server_variables(&value).map_err(|why| format!("`{name}.{key}`: {why}"))?;
        all.insert(key.clone(), value);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_one(entry: &Value) -> Result<ParsedEntry, String> {
        parse_entry(entry, Path::new("."))
    }

    fn details(entry: &Value) -> Value {
        serde_json::to_value(read_one(entry).unwrap().details).unwrap()
    }

    fn upstream(members: Value) -> Value {
        let mut all = json!({ "auth": "headers", "perUser": false, "forAll": false });
        all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        all
    }

    #[test]
    fn commands_in_all_forms() {
        let entry = json!({
            "type": "stdio", "command": "npx", "args": ["-y", "a b"], "cwd": "/srv", "gallery": true,
            "env": { "TOKEN": "${env:GH}", "PORT": 80, "DEBUG": true, "GONE": null }, "disabledTools": ["drop"],
        });
        assert_eq!(
            details(&entry),
            upstream(json!({
                "command": "npx", "args": ["-y", "a b"], "cwd": "/srv", "exclude": ["drop"],
                "env": { "TOKEN": "${GH}", "PORT": "80", "DEBUG": "true" },
            }))
        );
        assert_eq!(
            details(&json!({ "type": "local", "command": "x", "tools": ["*"] })),
            upstream(json!({ "command": "x", "include": ["*"] }))
        );
    }

    #[test]
    fn urls_in_all_forms() {
        for name in ["url", "serverUrl", "httpUrl"] {
            let entry = json!({ name: "https://x.example/mcp", "headers": { "A": "Bearer ${T}" } });
            let expected = json!({ "url": "https://x.example/mcp", "headers": { "A": "Bearer ${T}" } });
            assert_eq!(details(&entry), upstream(expected));
        }
        for kind in ["http", "streamable-http", "streamableHttp"] {
            let entry = read_one(&json!({ "type": kind, "url": "https://x.example/mcp" })).unwrap();
            assert_eq!(entry.remarks, [""; 0]);
        }
        for entry in [json!({ "type": "sse", "url": "https://x" }), json!({ "url": "https://x/sse" })] {
            assert!(read_one(&entry).unwrap().remarks[0].contains("Streamable HTTP"));
        }
    }

    #[test]
    fn clients_that_were_registered_by_hand() {
        let vscode = json!({ "url": "https://x", "oauth": { "clientId": "c", "scopes": "a b" } });
        let expected = json!({ "url": "https://x", "auth": "oauth", "clientId": "c", "scopes": ["a", "b"] });
        assert_eq!(details(&vscode), upstream(expected));
        let cursor = json!({
            "url": "https://x", "auth": { "CLIENT_ID": "c", "CLIENT_SECRET": "${env:S}", "scopes": ["a"] },
        });
        let expected = json!({
            "url": "https://x", "auth": "oauth", "clientId": "c", "clientSecret": "${S}", "scopes": ["a"],
        });
        assert_eq!(details(&cursor), upstream(expected));
    }

    #[test]
    fn variables_of_a_file_are_weaker_than_those_of_the_entry() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".env"), "A=file\nB=file\n").unwrap();
        let entry = json!({ "command": "x", "envFile": ".env", "env": { "B": "entry" } });
        let env = parse_entry(&entry, folder.path()).unwrap().details.env;
        assert_eq!((env["A"].as_str(), env["B"].as_str()), ("file", "entry"));
    }

    #[test]
    fn invalid_servers_are_rejected_with_a_reason() {
        for (entry, words) in [
            (json!("npx"), "expected an object"),
            (json!({}), "`command` or `url` is missing"),
            (json!({ "type": "http" }), "`url` is missing"),
            (json!({ "type": "ws", "url": "wss://x" }), "`ws` is unknown"),
            (json!({ "command": 7 }), "`command`: expected a text"),
            (json!({ "command": "x", "args": "y" }), "`args`: expected a list of texts"),
            (json!({ "command": "x", "args": [7] }), "`args`: expected a list of texts"),
            (json!({ "command": "x", "args": ["${HOME}"] }), "`args`: `${HOME}` is only supported in"),
            (json!({ "command": "x", "env": { "K": "${input:k}" } }), "`env.K`: `${input:k}` asks the user"),
            (json!({ "command": "x", "env": ["K=1"] }), "`env`: expected an object"),
            (json!({ "command": "x", "env": { "K": {} } }), "`env.K`: expected a text"),
            (
                json!({ "command": "x", "envFile": "${workspaceFolder}/.env" }),
                "`envFile`: `${workspaceFolder}`",
            ),
            (json!({ "command": "x", "envFile": "/nowhere/.env" }), "`envFile`: cannot read /nowhere/.env"),
            (json!({ "command": "" }), "expected a program"),
            (json!({ "url": "https://${HOST}/mcp" }), "`url`: `${HOST}` is only supported in"),
            (json!({ "url": "https://x", "headers": { "A": "${input:k}" } }), "`headers.A`: "),
        ] {
            let refused = read_one(&entry).unwrap_err();
            assert!(refused.contains(words), "{entry}: {refused}");
        }
    }

    #[test]
    fn both_ways_to_disable_a_server_are_read() {
        assert!(is_disabled(&json!({ "disabled": true })) && is_disabled(&json!({ "enabled": false })));
        assert!(!is_disabled(&json!({ "disabled": false })) && !is_disabled(&json!({ "enabled": true })));
    }
}
