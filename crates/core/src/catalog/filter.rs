//! The operator's filters: which entries of an upstream's lists are used.

use toolyard_protocol::{mcp::PAGE_SCHEME, upstream::UpstreamDetails, wildcard::matches_pattern};

/// Why an entry is filtered out, if it is.
pub(crate) fn exclusion_reason(details: &UpstreamDetails, name: &str) -> Option<&'static str> {
    let any = |patterns: &[String]| patterns.iter().any(|pattern| matches_pattern(pattern, name));
    if !details.include.is_empty() && !any(&details.include) {
        return Some("the operator does not include it");
    }
    any(&details.exclude).then_some("the operator excludes it")
}

/// Whether a resource that is not listed may be read. Templates, links and UI pages refer to such resources. UI pages
/// belong to tools, so they are readable if their tools are included.
pub(crate) fn is_readable(details: &UpstreamDetails, uri: &str) -> bool {
    let any = |patterns: &[String]| patterns.iter().any(|pattern| matches_pattern(pattern, uri));
    let included = details.include.is_empty() || uri.starts_with(PAGE_SCHEME) || any(&details.include);
    included && !any(&details.exclude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn include_then_exclude() {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let details = UpstreamDetails {
            include: list(&["get_*"]),
            exclude: list(&["*secret*"]),
            ..UpstreamDetails::default()
        };
        assert_eq!(exclusion_reason(&details, "get_it"), None);
        assert!(exclusion_reason(&details, "set_it").is_some());
        assert!(exclusion_reason(&details, "get_secret").is_some());
        assert_eq!(exclusion_reason(&UpstreamDetails::default(), "anything"), None);
        assert!(is_readable(&details, "get_it") && is_readable(&details, "ui://page"));
        assert!(!is_readable(&details, "file:///x") && !is_readable(&details, "ui://secret"));
    }
}
