//! An upstream MCP server, as the operator configures it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    device::HardwareRequirement,
    name::{InvalidName, PackageName},
    problem::Problem,
    tool::Category,
};

/// Prefix of an upstream's package: `mcp.` and the id.
const PREFIX: &str = "mcp.";
/// Longest id.
pub const MAX_ID_CHARS: usize = 40;
/// Maximum number of arguments, variables, headers, patterns or renames of one upstream.
pub const MAX_LIST: usize = 64;
/// Longest text in them, in bytes.
pub const MAX_TEXT_BYTES: usize = 4 * 1024;

/// The package of an upstream: `mcp.github` for `github`.
pub fn upstream_package(id: &str) -> Result<PackageName, InvalidName> {
    let fits = !id.is_empty()
        && id.len() <= MAX_ID_CHARS
        && id.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b));
    let name = format!("{PREFIX}{id}");
    if fits { name.parse() } else { Err(InvalidName::Package(crate::name::text_excerpt(&name))) }
}

/// The upstream id of a package.
pub fn upstream_id(package: &PackageName) -> &str {
    package.as_str().strip_prefix(PREFIX).unwrap_or(package.as_str())
}

/// How an upstream authenticates callers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamAuth {
    /// By the configured headers, if any: the same for all users.
    #[default]
    Headers,
    /// By OAuth: each user authorizes separately.
    OAuth,
}

/// The configuration of an upstream: either `url` or `command`. Values of `headers` and `env` may contain
/// `${NAME}` for a variable of the server's environment. In the configuration file, names may be written
/// with underscores.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct UpstreamDetails {
    /// Display name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Human-readable description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Streamable HTTP: its URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers for every request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// How it authenticates callers.
    pub auth: UpstreamAuth,
    /// OAuth: a pre-registered client id.
    #[serde(alias = "client_id", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// OAuth: its secret; may contain `${NAME}`.
    #[serde(alias = "client_secret", skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// OAuth: the authorization server of this client. Its secret is sent to no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// OAuth: the scopes to request; if empty, those that the upstream names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// stdio: the program. Only an operator may set one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// stdio: its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// stdio: its environment. Only `PATH` and `HOME` are inherited.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// stdio: its working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// stdio: one process per user instead of one for all.
    #[serde(alias = "per_user")]
    pub per_user: bool,
    /// Whether all users have it without installing it.
    #[serde(alias = "for_all")]
    pub for_all: bool,
    /// Only tools, prompts and resources whose names match one of these patterns; `*` matches anything, `?` one byte.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Excludes names that match one of these patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// New names for some tools.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rename: BTreeMap<String, String>,
    /// The category of its tools, if they name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// The hardware its tools need.
    #[serde(alias = "hardware_requirements", skip_serializing_if = "Vec::is_empty")]
    pub hardware_requirements: Vec<HardwareRequirement>,
    /// Timeout of a call in milliseconds, within the server's limits.
    #[serde(alias = "call_timeout_ms", skip_serializing_if = "Option::is_none")]
    pub call_timeout_ms: Option<u64>,
}

/// How to connect to an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamEndpoint<'a> {
    /// Over HTTP.
    Url(&'a str),
    /// As a child process.
    Command(&'a str),
}

impl UpstreamDetails {
    /// How to connect to it, if exactly one way is configured.
    pub fn endpoint(&self) -> Option<UpstreamEndpoint<'_>> {
        match (&self.url, &self.command) {
            (Some(url), None) => Some(UpstreamEndpoint::Url(url)),
            (None, Some(command)) => Some(UpstreamEndpoint::Command(command)),
            _ => None,
        }
    }

    /// Every problem in the configuration.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut problem = |path: &str, message: &str| problems.push(Problem::new(path, message));
        match self.endpoint() {
            None => problem("url", "expected either `url` or `command`"),
            Some(UpstreamEndpoint::Url(_))
                if !self.args.is_empty() || !self.env.is_empty() || self.cwd.is_some() =>
            {
                problem("command", "`args`, `env` and `cwd` belong to a command");
            }
            Some(UpstreamEndpoint::Command("")) => problem("command", "expected a program"),
            Some(UpstreamEndpoint::Command(_))
                if !self.headers.is_empty() || self.auth == UpstreamAuth::OAuth =>
            {
                problem("headers", "`headers` and `auth` belong to a URL; a command takes `env`");
            }
            Some(_) => {}
        }
        if self.auth == UpstreamAuth::Headers && (self.client_id.is_some() || !self.scopes.is_empty()) {
            problem("auth", "`clientId` and `scopes` need `\"auth\": \"oauth\"`");
        }
        if self.client_id.is_none() && (self.client_secret.is_some() || self.issuer.is_some()) {
            problem("clientId", "`clientSecret` and `issuer` belong to a `clientId`");
        }
        let texts =
            [("clientId", &self.client_id), ("clientSecret", &self.client_secret), ("issuer", &self.issuer)];
        for (path, text) in texts {
            if text.as_ref().is_some_and(|text| text.len() > MAX_TEXT_BYTES) {
                problem(path, &format!("longer than {MAX_TEXT_BYTES} bytes"));
            }
        }
        let lists: [(&str, usize, &mut dyn Iterator<Item = &String>); 7] = [
            ("headers", self.headers.len(), &mut self.headers.iter().flat_map(|(name, value)| [name, value])),
            ("args", self.args.len(), &mut self.args.iter()),
            ("env", self.env.len(), &mut self.env.iter().flat_map(|(name, value)| [name, value])),
            ("scopes", self.scopes.len(), &mut self.scopes.iter()),
            ("include", self.include.len(), &mut self.include.iter()),
            ("exclude", self.exclude.len(), &mut self.exclude.iter()),
            ("rename", self.rename.len(), &mut self.rename.iter().flat_map(|(name, value)| [name, value])),
        ];
        for (path, length, mut texts) in lists {
            if length > MAX_LIST {
                problem(path, &format!("{length} entries; at most {MAX_LIST}"));
            }
            if Iterator::any(&mut texts, |text| text.len() > MAX_TEXT_BYTES) {
                problem(path, &format!("a text longer than {MAX_TEXT_BYTES} bytes"));
            }
        }
        for (from, to) in &self.rename {
            if to.parse::<crate::name::LocalName>().is_err() || to.contains(':') {
                problems.push(Problem::new(format!("rename.{from}"), "not a tool name"));
            }
        }
        problems
    }

    /// Whether only an operator may configure it, because it reads the server's environment, runs a program or is for all users.
    pub fn needs_operator(&self) -> bool {
        let reads = |text: &String| text.contains("${");
        self.command.is_some()
            || self.for_all
            || self.headers.values().any(reads)
            || self.client_secret.as_ref().is_some_and(reads)
    }
}

/// The state of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpstreamState {
    /// Not contacted yet.
    Unknown,
    /// The last request succeeded.
    Up,
    /// The last request failed; its tools are listed as before.
    Down,
    /// It requires authorization.
    NeedsAuthorization,
    /// It was removed from the configuration file.
    Disabled,
}

/// The status of an upstream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpstreamStatus {
    /// The state.
    pub state: UpstreamState,
    /// The last error, while it is not up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// When its lists were last read, ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_at: Option<String>,
    /// The MCP revision it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Number of tools.
    pub tools: usize,
    /// Number of prompts.
    pub prompts: usize,
    /// Number of resources.
    pub resources: usize,
    /// Number of resource templates.
    pub templates: usize,
    /// What was skipped, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<UpstreamIssue>,
    /// What is used with changes, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<UpstreamIssue>,
}

/// A problem with one item of an upstream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UpstreamIssue {
    /// Its name, or its index if it has none: `tools[3]`.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// An upstream as the API shows it. Values of headers and variables are hidden unless they refer to the environment.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpstreamSummary {
    /// Its id.
    pub id: String,
    /// The package of its tools.
    pub package_name: PackageName,
    /// Its configuration.
    pub details: UpstreamDetails,
    /// Who added it.
    pub owner: String,
    /// Whether it is defined in the configuration file, and can only be changed there.
    pub managed: bool,
    /// Its status.
    pub status: UpstreamStatus,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_packages_of_the_platform() {
        let package = upstream_package("git-hub").unwrap();
        assert_eq!((package.as_str(), upstream_id(&package)), ("mcp.git-hub", "git-hub"));
        assert!(package.is_reserved());
        for bad in ["", "Git", "a b", "-x", &"a".repeat(MAX_ID_CHARS + 1)] {
            assert!(upstream_package(bad).is_err(), "{bad}");
        }
    }

    fn problems(text: &str) -> String {
        let details: UpstreamDetails = serde_json::from_str(text).unwrap();
        details.problems().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(problems(r#"{"url":"https://x.example/mcp"}"#), "");
        assert_eq!(problems(r#"{"command":"npx","args":["-y","x"],"env":{"K":"${K}"}}"#), "");
        for (text, word) in [
            ("{}", "either"),
            (r#"{"url":"u","command":"c"}"#, "either"),
            (r#"{"url":"u","args":["a"]}"#, "command"),
            (r#"{"command":"c","headers":{"a":"b"}}"#, "env"),
            (r#"{"command":""}"#, "program"),
            (r#"{"url":"u","scopes":["a"]}"#, "oauth"),
            (r#"{"url":"u","auth":"oauth","issuer":"https://as"}"#, "clientId"),
            (r#"{"url":"u","auth":"oauth","clientSecret":"s"}"#, "clientId"),
            (r#"{"url":"u","rename":{"a":"b c"}}"#, "rename.a"),
        ] {
            assert!(problems(text).contains(word), "{text}: {}", problems(text));
        }
        let many: Vec<String> = (0..=MAX_LIST).map(|n| n.to_string()).collect();
        let details = UpstreamDetails { url: Some("u".into()), include: many, ..UpstreamDetails::default() };
        assert_eq!(details.problems()[0].path, "include");
        let long = vec!["x".repeat(MAX_TEXT_BYTES + 1)];
        let details = UpstreamDetails { url: Some("u".into()), exclude: long, ..UpstreamDetails::default() };
        assert_eq!(details.problems()[0].path, "exclude");
    }

    #[test]
    fn what_reads_the_environment_or_runs_is_the_operators() {
        let needs = |text: &str| serde_json::from_str::<UpstreamDetails>(text).unwrap().needs_operator();
        assert!(!needs(r#"{"url":"u","headers":{"a":"b"}}"#));
        assert!(needs(r#"{"url":"u","headers":{"a":"Bearer ${X}"}}"#));
        assert!(needs(r#"{"command":"x"}"#) && needs(r#"{"url":"u","forAll":true}"#));
        assert!(needs(r#"{"url":"u","auth":"oauth","clientSecret":"${X}"}"#));
    }
}
