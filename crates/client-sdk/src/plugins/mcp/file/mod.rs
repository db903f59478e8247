//! Reads the configuration files of MCP clients: `mcpServers` (Claude, Cursor, Windsurf and most others) and `servers`
//! (VS Code), as JSON with comments. One server that cannot be imported does not stop the others.
//!
//! [`read_entries`] returns upstreams, as a Toolyard server takes them. [`read_servers`] returns servers for an
//! [`McpBridge`](super::McpBridge).

mod entry;
mod env_file;
mod jsonc;
mod variables;

use std::{
    collections::{HashMap, hash_map::Entry as MapEntry},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use toolyard_protocol::{
    Problem,
    upstream::{MAX_ID_CHARS, UpstreamAuth, UpstreamDetails, upstream_package},
};

use super::{EnvLookup, McpReach, McpServer};

/// Largest file, in bytes.
const MAX_CLIENT_FILE_BYTES: usize = 1024 * 1024;
/// Most servers in a file.
const MAX_SERVERS: usize = 256;

/// A server of the file.
#[derive(Debug, PartialEq)]
pub struct FileEntry {
    /// Its name in the client.
    pub name: String,
    /// Whether it can be imported.
    pub outcome: EntryOutcome,
}

/// The outcome of reading a server.
#[derive(Debug, PartialEq)]
pub enum EntryOutcome {
    /// It can be imported.
    Upstream(Box<FileUpstream>),
    /// It is disabled in the client.
    Disabled,
    /// It cannot be imported, and why.
    Rejected(String),
}

/// A server that can be imported.
#[derive(Debug, PartialEq)]
pub struct FileUpstream {
    /// Its name, converted to a valid id.
    pub id: String,
    /// Its settings. `${NAME}` in the values of `env` and `headers` stands for an environment variable.
    pub details: UpstreamDetails,
    /// Remarks for the user.
    pub remarks: Vec<String>,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClientFileError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// The I/O error.
        error: io::Error,
    },
    /// The file is too large.
    #[error("{} is larger than {limit} bytes", file.display())]
    TooLarge {
        /// Which.
        file: PathBuf,
        /// Largest size, in bytes.
        limit: usize,
    },
    /// The file has an unexpected format.
    #[error("{}: {problem}", file.display())]
    Problem {
        /// Which.
        file: PathBuf,
        /// Where, and what was expected.
        problem: Problem,
    },
}

/// The servers of a file, for a bridge.
#[derive(Debug)]
pub struct FileServers {
    /// The servers that can be used.
    pub servers: Vec<McpServer>,
    /// Remarks for the user: the name of a server, and why it is left out or what is special about it.
    pub remarks: Vec<(String, String)>,
}

/// Reads the servers of a file and replaces the environment variables in it.
pub fn read_servers(path: &Path, environment: &EnvLookup) -> Result<FileServers, ClientFileError> {
    let mut all = FileServers { servers: Vec::new(), remarks: Vec::new() };
    for FileEntry { name, outcome: found } in read_entries(path)? {
        let upstream = match found {
            EntryOutcome::Disabled => continue,
            EntryOutcome::Rejected(why) => {
                all.remarks.push((name, why));
                continue;
            }
            EntryOutcome::Upstream(upstream) => *upstream,
        };
        all.remarks.extend(upstream.remarks.into_iter().map(|remark| (name.clone(), remark)));
        match to_mcp_server(&name, upstream.details, environment) {
            Ok(server) => all.servers.push(server),
            Err(why) => all.remarks.push((name, why)),
        }
    }
    Ok(all)
}

fn to_mcp_server(name: &str, details: UpstreamDetails, environment: &EnvLookup) -> Result<McpServer, String> {
    if details.auth == UpstreamAuth::OAuth {
        return Err("it has to be authorized in a browser, which the bridge does not support".to_owned());
    }
    let filled = |values: std::collections::BTreeMap<String, String>| {
        let fill =
            |(key, value): (String, String)| Ok((key, variables::fill_variables(&value, environment)?));
        values.into_iter().map(fill).collect::<Result<_, String>>()
    };
    let reach = match (details.url, details.command) {
        (Some(url), _) => McpReach::Url { url, headers: filled(details.headers)? },
        (None, command) => McpReach::Command {
            command: command.ok_or("`command` or `url` is missing")?,
            args: details.args,
            env: filled(details.env)?,
            cwd: details.cwd.map(PathBuf::from),
        },
    };
    Ok(McpServer { name: name.to_owned(), reach, include: details.include, exclude: details.exclude })
}

/// Reads the servers of a file as upstreams.
pub fn read_entries(path: &Path) -> Result<Vec<FileEntry>, ClientFileError> {
    let text = read_bounded(path, MAX_CLIENT_FILE_BYTES)?;
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    parse_entries(&text, &folder)
        .map_err(|problem| ClientFileError::Problem { file: path.to_owned(), problem })
}

/// Reads a file of at most this size.
fn read_bounded(path: &Path, limit: usize) -> Result<String, ClientFileError> {
    let unreadable = |error| ClientFileError::Unreadable { file: path.to_owned(), error };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    // Reading one byte more than allowed detects a file that is too large.
    file.take(limit as u64 + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() > limit {
        Err(ClientFileError::TooLarge { file: path.to_owned(), limit })
    } else {
        Ok(text)
    }
}

fn parse_entries(text: &str, folder: &Path) -> Result<Vec<FileEntry>, Problem> {
    let document: Value = serde_json::from_str(&jsonc::strip_comments(text))
        .map_err(|error| Problem::new("", format!("not JSON: {error}")))?;
    let servers = find_servers(&document)?;
    if servers.len() > MAX_SERVERS {
        return Err(Problem::new("", format!("{} servers; at most {MAX_SERVERS}", servers.len())));
    }
    let mut taken = HashMap::new();
    let entries = servers.into_iter().map(|(name, server)| FileEntry {
        name: name.clone(),
        outcome: entry_outcome(name, server, folder, &mut taken),
    });
    Ok(entries.collect())
}

/// All servers of the file, in any of its sections. VS Code's settings have them under `mcp`.
fn find_servers(document: &Value) -> Result<Vec<(&String, &Value)>, Problem> {
    let places = [
        ("mcpServers", document.get("mcpServers")),
        ("servers", document.get("servers")),
        ("mcp.servers", document.get("mcp").and_then(|mcp| mcp.get("servers"))),
    ];
    let mut found: Vec<&Map<String, Value>> = Vec::new();
    for (place, servers) in places {
        match servers {
            Some(Value::Object(servers)) => found.push(servers),
            Some(_) => return Err(Problem::new(place, "expected an object: name and server")),
            None => {}
        }
    }
    if found.is_empty() {
        let text = "expected an object with `mcpServers` or `servers`, as in the files of MCP clients";
        return Err(Problem::new("", text));
    }
    Ok(found.into_iter().flatten().collect())
}

fn entry_outcome(
    name: &str,
    server: &Value,
    folder: &Path,
    taken: &mut HashMap<String, String>,
) -> EntryOutcome {
    if entry::is_disabled(server) {
        return EntryOutcome::Disabled;
    }
    let Some(id) = fold_id(name) else {
        return EntryOutcome::Rejected(
            "its name has no character of a-z and 0-9, so it cannot be converted to an id".to_owned(),
        );
    };
    match entry::parse_entry(server, folder) {
        Err(why) => EntryOutcome::Rejected(why),
        Ok(entry::ParsedEntry { mut details, remarks }) => {
            match taken.entry(id.clone()) {
                MapEntry::Vacant(place) => drop(place.insert(name.to_owned())),
                MapEntry::Occupied(other) => {
                    let other = other.get();
                    return EntryOutcome::Rejected(format!(
                        "its id is {id}, and so is that of `{other}`; rename one of them"
                    ));
                }
            }
            if id != name {
                details.name = name.to_owned();
            }
            EntryOutcome::Upstream(Box::new(FileUpstream { id, details, remarks }))
        }
    }
}

/// Converts a name to an id: lower-case letters, digits, `.`, `_` and `-`, beginning with a letter or digit.
fn fold_id(name: &str) -> Option<String> {
    let mut id = String::new();
    for c in name.chars().map(|c| c.to_ascii_lowercase()) {
        let fits = c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let c = if fits { c } else { '-' };
        let at_start = id.is_empty() && !c.is_ascii_alphanumeric();
        let again = c == '-' && id.ends_with('-');
        if !at_start && !again && id.len() < MAX_ID_CHARS {
            id.push(c);
        }
    }
    let id = id.trim_end_matches(['.', '_', '-']);
    upstream_package(id).is_ok().then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<FileEntry>, Problem> {
        parse_entries(text, Path::new("."))
    }

    fn outcomes(text: &str) -> Vec<(String, String)> {
        let outcome = |entry: FileEntry| {
            let found = match entry.outcome {
                EntryOutcome::Upstream(upstream) => upstream.id,
                EntryOutcome::Disabled => "off".to_owned(),
                EntryOutcome::Rejected(why) => format!("bad: {why}"),
            };
            (entry.name, found)
        };
        read(text).unwrap().into_iter().map(outcome).collect()
    }

    #[test]
    fn servers_are_found_wherever_clients_keep_them() {
        let server = r#"{"command":"x"}"#;
        for text in [
            format!(r#"{{"mcpServers":{{"a":{server}}},"theme":"dark"}}"#),
            format!(r#"{{"inputs":[],"servers":{{"a":{server},}},}}"#),
            format!(r#"{{"mcp":{{"servers":{{ /* one */ "a":{server}}}}}}}"#),
        ] {
            assert_eq!(outcomes(&text), [("a".to_owned(), "a".to_owned())], "{text}");
        }
        let both = format!(r#"{{"mcpServers":{{"a":{server}}},"servers":{{"b":{server}}}}}"#);
        assert_eq!(outcomes(&both).len(), 2);
    }

    #[test]
    fn one_bad_server_does_not_affect_the_others() {
        let text = r#"{"mcpServers":{
            "Git Hub": {"command":"x"}, "git/hub": {"command":"y"}, "off": {"disabled":true}, "???": {"command":"x"},
            "bad": {}, "last": {"url":"https://x"}
        }}"#;
        let outcomes = outcomes(text);
        let found = |name: &str| outcomes.iter().find(|(found, _)| found == name).unwrap().1.as_str();
        assert_eq!((found("Git Hub"), found("off"), found("last")), ("git-hub", "off", "last"));
        assert!(found("git/hub").contains("its id is git-hub, and so is that of `Git Hub`"));
        assert!(found("???").contains("cannot be converted to an id") && found("bad").starts_with("bad: "));
        let names = read(text).unwrap().into_iter().filter_map(|entry| match entry.outcome {
            EntryOutcome::Upstream(upstream) => Some((upstream.id, upstream.details.name)),
            EntryOutcome::Disabled | EntryOutcome::Rejected(_) => None,
        });
        let names: HashMap<String, String> = names.collect();
        assert_eq!((names["git-hub"].as_str(), names["last"].as_str()), ("Git Hub", ""));
    }

    #[test]
    fn names_are_folded_to_ids() {
        for (name, id) in [
            ("github", "github"),
            ("My Server!", "my-server"),
            ("io.github.user/thing", "io.github.user-thing"),
            ("_x", "x"),
            ("Ärger", "rger"),
            ("a  -  b", "a-b"),
        ] {
            assert_eq!(fold_id(name).as_deref(), Some(id), "{name}");
        }
        assert_eq!(fold_id(&"x".repeat(100)).unwrap().len(), MAX_ID_CHARS);
        assert_eq!(fold_id(&format!("{}-b", "a".repeat(MAX_ID_CHARS - 1))).unwrap().len(), MAX_ID_CHARS - 1);
        assert_eq!((fold_id(""), fold_id("日本")), (None, None));
    }

    #[test]
    fn files_in_another_format_are_reported() {
        for (text, words) in [
            ("{", "not JSON"),
            ("[]", "`mcpServers` or `servers`"),
            ("{}", "`mcpServers` or `servers`"),
            (r#"{"mcpServers":[]}"#, "expected an object: name and server"),
        ] {
            assert!(read(text).unwrap_err().message.contains(words), "{text}");
        }
        let many: Vec<String> = (0..=MAX_SERVERS).map(|n| format!(r#""s{n}":{{"command":"x"}}"#)).collect();
        let many = format!(r#"{{"servers":{{{}}}}}"#, many.join(","));
        assert!(read(&many).unwrap_err().message.contains("at most"));
        assert_eq!(read(r#"{"servers":{}}"#).unwrap(), []);
    }

    #[test]
    fn a_file_has_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        std::fs::write(&path, " ".repeat(MAX_CLIENT_FILE_BYTES + 1)).unwrap();
        assert!(matches!(read_entries(&path), Err(ClientFileError::TooLarge { .. })));
        assert!(matches!(read_entries(&folder.path().join("none")), Err(ClientFileError::Unreadable { .. })));
    }

    #[test]
    fn servers_for_a_bridge_have_their_variables_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.json");
        let text = r#"{"mcpServers":{
            "run": {"command":"npx","args":["-y","x"],"env":{"KEY":"a-${TOKEN}"},"cwd":"/srv","excludeTools":["drop*"]},
            "web": {"url":"https://x.example/mcp","headers":{"Authorization":"Bearer ${env:TOKEN}"}},
            "none": {"command":"x","env":{"KEY":"${MISSING}"}},
            "oauth": {"url":"https://x.example/mcp","oauth":{"clientId":"c"}},
            "off": {"command":"x","disabled":true},
            "old": {"type":"sse","url":"https://x.example/sse"},
            "bad": {}
        }}"#;
        std::fs::write(&path, text).unwrap();
        let environment: EnvLookup = std::sync::Arc::new(|name| (name == "TOKEN").then(|| "t0k".to_owned()));
        let FileServers { servers, remarks } = read_servers(&path, &environment).unwrap();
        let found = |name: &str| servers.iter().find(|server| server.name == name);
        let McpReach::Command { command, args, env, cwd } = &found("run").unwrap().reach else {
            panic!("a command")
        };
        assert_eq!((command.as_str(), args.len(), env["KEY"].as_str()), ("npx", 2, "a-t0k"));
        assert_eq!(
            (cwd.as_deref(), &found("run").unwrap().exclude),
            (Some(Path::new("/srv")), &vec!["drop*".to_owned()])
        );
        let McpReach::Url { headers, .. } = &found("web").unwrap().reach else { panic!("a URL") };
        assert_eq!(headers["Authorization"], "Bearer t0k");
        assert!(found("old").is_some() && servers.len() == 3, "{servers:?}");
        for (name, words) in [
            ("none", "no variable MISSING"),
            ("oauth", "authorized in a browser"),
            ("old", "Streamable HTTP"),
            ("bad", "missing"),
        ] {
            assert!(remarks.iter().any(|(of, why)| of == name && why.contains(words)), "{name}: {remarks:?}");
        }
        assert_eq!(remarks.len(), 4);
    }
}
