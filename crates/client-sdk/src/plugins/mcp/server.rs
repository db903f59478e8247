//! The settings of an MCP server.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};
use toolyard_mcp_client::{HttpTarget, McpTransport, StaticHeaders, StdioCommand};
use toolyard_net::{HttpClient, OutsideUrl};
use toolyard_protocol::wildcard::matches_pattern;

use super::options::McpOptions;

/// Environment variables that a command inherits by default, as in the official SDKs.
const INHERITED: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// An MCP server.
#[derive(Debug, Clone)]
pub struct McpServer {
    /// Its name, which becomes a part of its tools' names.
    pub name: String,
    /// How it is reached.
    pub reach: McpReach,
    /// If not empty, only tools whose names match one of these patterns (`*` and `?`).
    pub include: Vec<String>,
    /// No tools whose names match one of these patterns.
    pub exclude: Vec<String>,
}

/// How a server is reached.
#[derive(Clone)]
pub enum McpReach {
    /// A program on this machine, over stdin and stdout. It runs with the rights of this program.
    Command {
        /// The program: a path, or found by `PATH`.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment, in addition to a few common variables such as `PATH` and `HOME`.
        env: BTreeMap<String, String>,
        /// The folder it runs in.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Url {
        /// The endpoint.
        url: String,
        /// Headers of every request, for example `Authorization`.
        headers: BTreeMap<String, String>,
    },
}

impl McpServer {
    /// A program on this machine.
    pub fn command(
        name: impl Into<String>,
        command: impl Into<String>,
        args: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        let reach = McpReach::Command { command: command.into(), args, env: BTreeMap::new(), cwd: None };
        Self { name: name.into(), reach, include: Vec::new(), exclude: Vec::new() }
    }

    /// A server behind a URL.
    pub fn url(name: impl Into<String>, url: impl Into<String>) -> Self {
        let reach = McpReach::Url { url: url.into(), headers: BTreeMap::new() };
        Self { name: name.into(), reach, include: Vec::new(), exclude: Vec::new() }
    }

    /// Sets an environment variable of a command.
    #[must_use]
    pub fn env(mut self, variable: impl Into<String>, value: impl Into<String>) -> Self {
        if let McpReach::Command { env, .. } = &mut self.reach {
            env.insert(variable.into(), value.into());
        }
        self
    }

    /// Sets a header of a URL.
    #[must_use]
    pub fn header(mut self, header: impl Into<String>, value: impl Into<String>) -> Self {
        if let McpReach::Url { headers, .. } = &mut self.reach {
            headers.insert(header.into(), value.into());
        }
        self
    }

    /// Why one of its tools is excluded, if it is.
    pub(super) fn exclusion_reason(&self, tool: &str) -> Option<&'static str> {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches_pattern(pattern, tool));
        if !self.include.is_empty() && !any(&self.include) {
            return Some("the settings of its server do not include it");
        }
        any(&self.exclude).then_some("the settings of its server exclude it")
    }

    /// The transport to it, or why its settings are invalid.
    pub(super) fn transport(&self, options: &McpOptions, http: &HttpClient) -> Result<McpTransport, String> {
        match &self.reach {
            McpReach::Command { command, args, env, cwd } => {
                let inherited = INHERITED.into_iter().filter(|name| !env.contains_key(*name));
                let inherited =
                    inherited.filter_map(|name| Some((name.to_owned(), (options.environment)(name)?)));
                let named = env.iter().map(|(name, value)| (name.clone(), value.clone()));
                Ok(McpTransport::Stdio(StdioCommand {
                    program: command.clone(),
                    args: args.clone(),
                    env: inherited.chain(named).collect(),
                    cwd: cwd.clone(),
                }))
            }
            McpReach::Url { url, headers } => Ok(McpTransport::Http(HttpTarget {
                url: OutsideUrl::parse(url, &options.guard).map_err(|error| error.to_string())?,
                http: http.clone(),
                credentials: Arc::new(StaticHeaders::new(header_map(headers)?)),
            })),
        }
    }
}

fn header_map(named: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in named {
        let header =
            name.parse::<HeaderName>().map_err(|_| format!("`{name}` is not a valid header name"))?;
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| format!("the value of the header {name} is not valid"))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

impl fmt::Debug for McpReach {
    /// Omits the values of variables and headers: they may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { command, args, env, cwd } => f
                .debug_struct("Command")
                .field("command", command)
                .field("args", args)
                .field("env", &env.keys().collect::<Vec<_>>())
                .field("cwd", cwd)
                .finish(),
            Self::Url { url, headers } => f
                .debug_struct("Url")
                .field("url", url)
                .field("headers", &headers.keys().collect::<Vec<_>>())
                .finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use toolyard_net::{ClientSettings, Guard};

    use super::*;

    fn options() -> McpOptions {
        McpOptions::new(|name| (name == "PATH").then(|| "/bin".to_owned()))
    }

    fn reached(server: &McpServer, options: &McpOptions) -> Result<McpTransport, String> {
        server.transport(options, &HttpClient::new(options.guard.clone(), ClientSettings::default()))
    }

    #[test]
    fn a_command_gets_its_own_and_a_few_inherited_variables() {
        let server = McpServer::command("x", "prog", ["-a"]).env("TERM", "dumb");
        let Ok(McpTransport::Stdio(command)) = reached(&server, &options()) else {
            panic!("it is a command")
        };
        let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(command.env, [text("PATH", "/bin"), text("TERM", "dumb")]);
        assert_eq!(
            (command.program.as_str(), command.args.as_slice()),
            ("prog", ["-a".to_owned()].as_slice())
        );
    }

    #[test]
    fn urls_and_headers_are_checked() {
        let server = McpServer::url("x", "http://127.0.0.1/mcp");
        assert!(reached(&server, &options()).is_ok());
        let strict = McpOptions { guard: Guard::strict(), ..options() };
        assert!(reached(&server, &strict).is_err());
        assert!(reached(&McpServer::url("x", "no url"), &options()).is_err());
        for (name, value) in [("no name", "x"), ("x", "a\nb")] {
            let server = server.clone().header(name, value);
            assert!(reached(&server, &options()).unwrap_err().contains("header"), "{name}");
        }
    }

    #[test]
    fn debug_output_omits_secrets() {
        let shown = format!(
            "{:?} {:?}",
            McpServer::command("x", "p", [""; 0]).env("KEY", "sesame"),
            McpServer::url("x", "https://x").header("Authorization", "sesame")
        );
        assert!(
            shown.contains("KEY") && shown.contains("Authorization") && !shown.contains("sesame"),
            "{shown}"
        );
    }

    #[test]
    fn tools_can_be_included_and_excluded() {
        let mut server = McpServer::url("x", "https://x");
        assert_eq!(server.exclusion_reason("a"), None);
        server.include = vec!["get_*".to_owned(), "?".to_owned()];
        server.exclude = vec!["*_secret*".to_owned()];
        assert_eq!((server.exclusion_reason("get_a"), server.exclusion_reason("a")), (None, None));
        assert!(server.exclusion_reason("set_a").unwrap().contains("do not include"));
        assert!(server.exclusion_reason("get_secret_a").unwrap().contains("exclude"));
    }
}
