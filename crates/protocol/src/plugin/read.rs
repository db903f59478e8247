//! Parses a manifest and checks every rule. All problems are reported at once, each with its path.

use std::collections::HashSet;

use super::{
    MAX_CODE_BYTES, MAX_MANIFEST_BYTES, MAX_NAME_CHARS, MAX_TOOLS, MAX_URL_BYTES, Manifest, SCHEMA_VERSION,
    TYPE,
    fields::{ManifestFields, PluginTool},
    permissions::MAX_HOSTS,
    signature::PluginSignature,
    strict,
};
use crate::{
    chat::{ClientToolLimits, client_tool},
    problem::Problem,
    raw::RawFields,
    tool::{MAX_DESCRIPTION_BYTES, MAX_PROBLEMS},
};

/// Why a text is not a valid manifest: every invalid place, and what was expected there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the manifest cannot be used: {}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct ManifestError {
    /// At least one.
    pub problems: Vec<Problem>,
}

impl From<Problem> for ManifestError {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl Manifest {
    /// Parses a manifest in either form. The result is valid; whether it is trusted is decided elsewhere.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        if bytes.len() > MAX_MANIFEST_BYTES {
            let why = format!("{} bytes; a manifest has at most {MAX_MANIFEST_BYTES}", bytes.len());
            return Err(Problem::new("", why).into());
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|error| Problem::new("", format!("not UTF-8 from byte {} on", error.valid_up_to())))?;
        strict::parse_strict(text)?;
        let mut from = serde_json::Deserializer::from_str(text);
        let fields: ManifestFields = serde_path_to_error::deserialize(&mut from).map_err(|error| {
            let path = error.path().to_string();
            Problem::new(
                if path == "." { String::new() } else { path },
                strip_line_suffix(&error.inner().to_string()),
            )
        })?;
        let mut problems = Vec::new();
        check_fields(&fields, &mut problems);
        let signature = PluginSignature::from_fields(&fields).unwrap_or_else(|problem| {
            problems.push(problem);
            None
        });
        problems.truncate(MAX_PROBLEMS);
        if problems.is_empty() {
            Ok(Self { fields, signature, raw: text.into() })
        } else {
            Err(ManifestError { problems })
        }
    }
}

/// The message of the parser without its line, which is the end of the member and not the place of the error.
fn strip_line_suffix(message: &str) -> String {
    message.split(" at line ").next().unwrap_or(message).to_owned()
}

fn check_fields(fields: &ManifestFields, problems: &mut Vec<Problem>) {
    let mut wrong = |path: &str, why: String| problems.push(Problem::new(path, why));
    if fields.kind.as_deref().is_some_and(|kind| kind != TYPE) {
        wrong("type", format!("this is a different kind of document; a manifest has `{TYPE}` or nothing"));
    }
    match fields.schema_version {
        None | Some(SCHEMA_VERSION) => {}
        Some(_) => wrong("schemaVersion", format!("expected {SCHEMA_VERSION}; is this host too old?")),
    }
    if fields.schema_version.is_some() {
        if fields.publisher.is_none() {
            wrong("publisher", "missing; name the publisher".to_owned());
        }
        if let Err(error) = semver::Version::parse(&fields.version) {
            wrong("version", format!("expected a semantic version such as 1.2.0: {error}"));
        }
    }
    for (path, text) in [("name", Some(&fields.name)), ("version", Some(&fields.version))]
        .into_iter()
        .chain([("publisher", fields.publisher.as_ref()), ("curatorId", fields.curator_id.as_ref())])
    {
        if text.is_some_and(|text| !is_line(text)) {
            wrong(path, format!("expected one line of 1 to {MAX_NAME_CHARS} visible characters"));
        }
    }
    if fields.description.len() > MAX_DESCRIPTION_BYTES {
        wrong("description", format!("longer than {MAX_DESCRIPTION_BYTES} bytes"));
    }
    let is_url = |url: &String| {
        url.len() <= MAX_URL_BYTES && !url.contains(|c: char| c.is_whitespace() || c.is_control())
    };
    if fields.homepage.as_ref().is_some_and(|url| !is_url(url) || !url.starts_with("https://")) {
        wrong("homepage", format!("expected a URL that begins with https://, at most {MAX_URL_BYTES} bytes"));
    }
    if fields.source_url.as_ref().is_some_and(|url| !is_url(url)) {
        wrong("sourceUrl", format!("expected a URL of at most {MAX_URL_BYTES} bytes"));
    }
    if let Some(Err(error)) = fields.min_host_version.as_deref().map(semver::Version::parse) {
        wrong("minHostVersion", format!("expected a semantic version such as 1.2.0: {error}"));
    }
    if let (Some(from), Some(until)) = (fields.issued_at, fields.expires_at)
        && until <= from
    {
        wrong("expiresAt", "not after issuedAt".to_owned());
    }
    if fields.permissions.network.len() > MAX_HOSTS {
        let count = fields.permissions.network.len();
        wrong("permissions.network", format!("{count} hosts; at most {MAX_HOSTS}"));
    }
    check_tools(&fields.tools, problems);
}

fn check_tools(tools: &[PluginTool], problems: &mut Vec<Problem>) {
    if tools.is_empty() || tools.len() > MAX_TOOLS {
        let why = format!("{} tools; expected 1 to {MAX_TOOLS}", tools.len());
        return problems.push(Problem::new("tools", why));
    }
    let mut names = HashSet::new();
    for (index, tool) in tools.iter().enumerate() {
        let path = format!("tools[{index}]");
        check_tool(tool, &path, problems);
        if !names.insert(&tool.name) {
            problems.push(Problem::new(format!("{path}.name"), "an earlier tool has that name"));
        }
    }
}

fn check_tool(tool: &PluginTool, path: &str, problems: &mut Vec<Problem>) {
    let mut wrong = |member: &str, why: String| problems.push(Problem::new(format!("{path}.{member}"), why));
    if tool.description.len() > MAX_DESCRIPTION_BYTES {
        wrong("description", format!("longer than {MAX_DESCRIPTION_BYTES} bytes"));
    }
    if tool.executor_code.len() > MAX_CODE_BYTES {
        wrong("executorCode", format!("longer than {MAX_CODE_BYTES} bytes"));
    }
    if tool.executor_code.trim().is_empty() {
        wrong("executorCode", "empty; expected the body of an async function over `args`".to_owned());
    }
    let annotations = tool.annotations.as_ref().map(|raw| serde_json::from_str::<RawFields>(raw.get()));
    if annotations.is_some_and(|read| read.is_err()) {
        wrong("annotations", "expected an object".to_owned());
    }
    // In a chat these are client tools, so the same rules apply. Their problems name the tool; here its path is known.
    let definition = tool.to_client_tool();
    if let Err(problem) =
        client_tool::check_client_tools(&[definition], &ClientToolLimits::default(), |_| false)
    {
        problems.push(Problem::new(path, problem.message));
    }
}

/// Names are displayed next to buttons: they must not break the line or change the text direction.
fn is_line(text: &str) -> bool {
    let turns = |c| matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    !text.trim().is_empty()
        && text.chars().count() <= MAX_NAME_CHARS
        && !text.contains(|c: char| breaks(c) || turns(c))
}

#[cfg(test)]
mod tests;
