//! Parses the challenge with which a server refuses a request.

use url::Url;

use super::discover::is_secure_url;

/// Longest header that is read, in bytes.
const MAX_CHALLENGE_BYTES: usize = 4 * 1024;

/// What a challenge asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ParsedChallenge {
    /// The header to start from; `None` if no header names a place or scopes to authorize.
    pub(super) header: Option<String>,
    /// Where the metadata of the resource is.
    pub(super) metadata_url: Option<Url>,
    /// The token is valid but lacks scopes.
    pub(super) insufficient: bool,
    /// The scopes that the request needs.
    pub(super) scopes: Vec<String>,
}

/// Reads the headers of a response. The first one with usable parameters wins.
pub(super) fn parse_challenge<'a>(
    upstream: &Url,
    headers: impl IntoIterator<Item = &'a str>,
) -> ParsedChallenge {
    headers.into_iter().find_map(|header| parse_header(upstream, header)).unwrap_or_default()
}

/// Reads one header. `None` if it has no usable parameters.
pub(super) fn parse_header(upstream: &Url, header: &str) -> Option<ParsedChallenge> {
    if header.len() > MAX_CHALLENGE_BYTES {
        return None;
    }
    let (mut metadata_url, mut scope, mut error) = (None, None, None);
    for (name, value) in split_parameters(header) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => metadata_url = metadata_url.or_else(|| usable_url(upstream, &value)),
            "scope" => scope = scope.or(Some(value)),
            "error" => error = error.or(Some(value)),
            _ => {}
        }
    }
    let insufficient = error.as_deref() == Some("insufficient_scope");
    if metadata_url.is_none() && scope.is_none() && !insufficient {
        return None;
    }
    let scopes = scope.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    Some(ParsedChallenge { header: Some(header.to_owned()), metadata_url, insufficient, scopes })
}

/// The metadata may be at another origin; it must name the upstream as its resource. The guard decides about the
/// address when it is requested.
fn usable_url(upstream: &Url, value: &str) -> Option<Url> {
    let url = upstream.join(value.trim()).ok().filter(|_| !value.trim().is_empty())?;
    is_secure_url(&url, upstream.scheme()).then_some(url)
}

/// The parameters of all challenges in a header. Tolerant: servers forget commas, and the scheme does not matter.
fn split_parameters(header: &str) -> Vec<(&str, String)> {
    let mut parameters = Vec::new();
    let mut rest = header.trim_start_matches(is_separator);
    while !rest.is_empty() {
        let end = rest.find(|c| is_separator(c) || c == '=').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        rest = match after.trim_start().strip_prefix('=') {
            Some(value) => {
                let Some((value, after)) = split_value(value.trim_start()) else { break };
                parameters.push((name, value));
                after
            }
            // The name of a scheme.
            None => after,
        };
        rest = rest.trim_start_matches(is_separator);
    }
    parameters
}

fn is_separator(c: char) -> bool {
    matches!(c, ',' | ';') || c.is_whitespace()
}

/// A value and what follows it. `None` if its quotes are not closed.
fn split_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, after) = text.split_at(text.find(is_separator).unwrap_or(text.len()));
        return Some((value.to_owned(), after));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((place, c)) = chars.next() {
        match c {
            '"' => return Some((value, &quoted[place + 1..])),
            '\\' => value.push(chars.next()?.1),
            _ => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(headers: &[&str]) -> ParsedChallenge {
        parse_challenge(&Url::parse("https://mcp.example/mcp").unwrap(), headers.iter().copied())
    }

    fn metadata_url(header: &str) -> Option<String> {
        asked(&[header]).metadata_url.map(|url| url.to_string())
    }

    #[test]
    fn the_first_usable_challenge_header_wins() {
        let bearer = r#"Bearer resource_metadata="https://mcp.example/prm", scope="a b""#;
        let read = asked(&["Basic realm=\"x\"", bearer, "Bearer scope=c"]);
        let expected = ParsedChallenge {
            header: Some(bearer.to_owned()),
            metadata_url: Url::parse("https://mcp.example/prm").ok(),
            insufficient: false,
            scopes: vec!["a".to_owned(), "b".to_owned()],
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn an_insufficient_scope_is_recognized() {
        let header = r#"Bearer error="insufficient_scope", scope="write""#;
        let read = asked(&[header]);
        assert!(read.insufficient);
        assert_eq!(read.scopes, ["write"]);
        assert!(!asked(&[r#"Bearer error="invalid_token", scope="write""#]).insufficient);
    }

    #[test]
    fn missing_and_too_long_challenges_are_ignored() {
        assert_eq!(asked(&[]), ParsedChallenge::default());
        assert_eq!(asked(&["Bearer", "Basic realm=\"x\""]), ParsedChallenge::default());
        let long = format!("Bearer scope=\"{}\"", "a".repeat(MAX_CHALLENGE_BYTES));
        assert_eq!(asked(&[&long]), ParsedChallenge::default());
    }

    #[test]
    fn parameters_are_read_as_servers_write_them() {
        for header in [
            r#"Bearer realm="a, scope=x", scope="read \"all\"""#,
            r#"Basic realm="x", bearer SCOPE = "read \"all\"" error=invalid_token"#,
            r#"Bearer required_scope="x"; scope="read \"all\"""#,
            r#"Negotiate dG9rZW4=, Bearer scope="read \"all\"""#,
        ] {
            assert_eq!(asked(&[header]).scopes, ["read", "\"all\""], "{header}");
        }
        assert_eq!(asked(&["Bearer scope=ä"]).scopes, ["ä"]);
        for broken in [r#"Bearer scope="read"#, r#"Bearer scope="read\"#, "=", "==,;", "\"=\""] {
            assert_eq!(asked(&[broken]), ParsedChallenge::default(), "{broken}");
        }
    }

    #[test]
    fn challenge_metadata_is_a_secure_url() {
        let at = |url: &str| metadata_url(&format!("Bearer resource_metadata=\"{url}\", scope=a"));
        assert_eq!(at("/prm"), Some("https://mcp.example/prm".to_owned()));
        assert_eq!(at("https://other.example/prm"), Some("https://other.example/prm".to_owned()));
        for unusable in
            ["http://169.254.169.254/prm", "http://mcp.example/prm", "file:///etc/passwd", "", " "]
        {
            assert_eq!(at(unusable), None, "{unusable}");
        }
        let second = r#"Bearer resource_metadata="ftp://a", resource_metadata="/prm""#;
        assert_eq!(metadata_url(second), Some("https://mcp.example/prm".to_owned()));
    }
}
