//! Name patterns, as in tool filters: `*` matches anything, `?` one byte. Host patterns differ
//! ([`HostPattern`](crate::plugin::HostPattern)): there a star matches whole labels, and only at the start.

/// Whether a name matches a pattern, case-sensitive. Hand-written: two wildcards are not worth a dependency, and backtracking
/// only to the last star keeps hostile patterns cheap.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match (pattern.get(p), star) {
            (Some(b'*'), _) => {
                star = Some((p, n));
                p += 1;
            }
            (Some(byte), _) if *byte == b'?' || *byte == name[n] => (p, n) = (p + 1, n + 1),
            (_, Some((at, from))) => {
                star = Some((at, from + 1));
                (p, n) = (at + 1, from + 1);
            }
            (_, None) => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("get_*", "get_issue", true),
            ("get_*", "set_issue", false),
            ("Get_*", "get_issue", false),
            ("*_issue", "get_my_issue", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("a*", "a", true),
        ] {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_hostile_pattern_ends() {
        assert!(!matches_pattern(&format!("{}b", "*a".repeat(400)), &"a".repeat(1_000)));
    }
}
