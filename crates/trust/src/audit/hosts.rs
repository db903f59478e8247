//! Hosts: those that are declared, and those that stand in the code.

use toolyard_protocol::plugin::PluginPermissions;

use super::report::{Code, FindingCollector};

/// What a plugin declares, as a user should hear of it.
pub(super) fn audit_declared_hosts(asked: &PluginPermissions, findings: &mut FindingCollector) {
    for (index, host) in asked.network.iter().enumerate() {
        let place = format!("permissions.network[{index}]");
        if host.is_wildcard() {
            let text = format!("{host} is everything under that name, also what others are given there");
            findings.add(Code::WildcardHost, &place, text);
        }
        if host.is_address() || host.as_str() == "localhost" {
            findings.add(Code::IpHost, &place, format!("{host}: whose it is depends on where it runs"));
        }
    }
}

/// A URL as it stands in code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UrlText {
    pub(super) is_plain: bool,
    /// In lower case; nothing where it is put together while running.
    pub(super) host: Option<String>,
}

/// The URL that a text begins with. `whole` says whether the text ends there, or something is put in.
pub(super) fn parse_url_text(text: &str, whole: bool) -> Option<UrlText> {
    // As URLs are read: white space before, tabs and newlines inside, and backslashes do not count.
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
    // What stands before an @ is a name of a user, made to look like a host.
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
