//! Audits hosts: the declared ones, and those in the code.

use toolyard_protocol::plugin::PluginPermissions;

use super::report::{Code, FindingCollector};

/// Audits the declared hosts.
pub(super) fn audit_declared_hosts(requested: &PluginPermissions, findings: &mut FindingCollector) {
    for (index, host) in requested.network.iter().enumerate() {
        let place = format!("permissions.network[{index}]");
        if host.is_wildcard() {
            let text = format!("{host} matches every subdomain, including those of other owners");
            findings.add(Code::WildcardHost, &place, text);
        }
        if host.is_address() || host.as_str() == "localhost" {
            findings.add(
                Code::IpHost,
                &place,
                format!("{host}: which machine this is depends on where the plugin runs"),
            );
        }
    }
}

/// A URL in code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UrlText {
    pub(super) is_plain: bool,
    /// In lower case; `None` if it is computed at run time.
    pub(super) host: Option<String>,
}

/// Parses the URL at the start of a string. `whole` is false if an expression is inserted after the string.
pub(super) fn parse_url_text(text: &str, whole: bool) -> Option<UrlText> {
    // As URL parsers do: ignore leading white space, tabs and newlines inside, and extra slashes and backslashes.
    let text: String = text.trim_start().chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    let (scheme, rest) = text.split_once(':')?;
    let is_plain = match scheme.to_ascii_lowercase().as_str() {
        "http" => true,
        "https" => false,
        _ => return None,
    };
    let rest = rest.trim_start_matches(['/', '\\']);
    let end = rest.find(['/', '\\', '?', '#']);
    let authority = match end {
        Some(end) => rest.get(..end),
        None if whole => Some(rest),
        None => None,
    };
    // Everything before an @ is user info, which can be made to look like a host.
    let host = authority.map(|authority| authority.rsplit_once('@').map_or(authority, |(_, host)| host));
    let host = host.map(|host| match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    });
    Some(UrlText { is_plain, host: host.map(str::to_ascii_lowercase) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_as_a_url_reader_does() {
        for (text, whole, plain, host) in [
            ("https://api.example.com/v1", true, false, Some("api.example.com")),
            ("HTTP://API.Example.com:8080?x", true, true, Some("api.example.com")),
            ("https://good.com@evil.com/", true, false, Some("evil.com")),
            ("https:\\\\evil.com\\x", true, false, Some("evil.com")),
            (" ht\ttps://evil.com", true, false, Some("evil.com")),
            ("https:evil.com", true, false, Some("evil.com")),
            ("https://api.example.com/", false, false, Some("api.example.com")),
            ("https://api.", false, false, None),
            ("https://[::1]:80/", true, false, Some("[::1]")),
        ] {
            let expected = UrlText { is_plain: plain, host: host.map(str::to_owned) };
            assert_eq!(parse_url_text(text, whole), Some(expected), "{text}");
        }
        for text in ["", "hello", "time: 5", "ftp://x", "httpx://a"] {
            assert_eq!(parse_url_text(text, true), None, "{text}");
        }
    }
}
