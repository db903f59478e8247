//! What of an upstream's lists is taken, and under which names: the operator's filters.

use toolyard_protocol::upstream::UpstreamDetails;

/// Why something is not taken.
pub(crate) fn refused(details: &UpstreamDetails, name: &str) -> Option<&'static str> {
    let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
    if !details.include.is_empty() && !any(&details.include) {
        return Some("the operator does not include it");
    }
    any(&details.exclude).then_some("the operator excludes it")
}

/// Whether a resource may be read that no list names: templates, links and pages of user interfaces lead to many of
/// them. Pages belong to tools, so tools that are included bring theirs.
pub(crate) fn readable(details: &UpstreamDetails, uri: &str) -> bool {
    let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, uri));
    let included = details.include.is_empty() || uri.starts_with("ui://") || any(&details.include);
    included && !any(&details.exclude)
}

/// Whether a name fits a pattern of `*` and `?`. By hand: two wildcards are not worth a dependency, and going back to the
/// last star only keeps hostile patterns cheap.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    n = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name, fits) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("get_*", "get_issue", true),
            ("get_*", "set_issue", false),
            ("*_issue", "get_my_issue", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("a*", "a", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
        assert!(!matches(&"*a".repeat(60), &"a".repeat(50)));
    }

    #[test]
    fn include_then_exclude() {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let details = UpstreamDetails {
            include: list(&["get_*"]),
            exclude: list(&["*secret*"]),
            ..UpstreamDetails::default()
        };
        assert_eq!(refused(&details, "get_it"), None);
        assert!(refused(&details, "set_it").is_some());
        assert!(refused(&details, "get_secret").is_some());
        assert_eq!(refused(&UpstreamDetails::default(), "anything"), None);
        assert!(readable(&details, "get_it") && readable(&details, "ui://page"));
        assert!(!readable(&details, "file:///x") && !readable(&details, "ui://secret"));
    }
}
