//! Patterns of file names: `*` matches anything, `?` one character. All other characters match themselves.
//!
//! Different from the patterns of tool names in `toolyard_protocol::wildcard`: file searches ignore case and work by
//! character, while a filter of tools must be exact. The toolbox does not depend on the protocol either.

/// Whether a name matches a pattern, ignoring case.
///
/// It backtracks to the last `*` only, so the time grows at most with the product of both lengths.
pub(super) fn matches_wildcard(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let (mut p, mut n) = (0, 0);
    // The last `*`, and how much of the name it has consumed.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, n));
            p += 1;
        } else if pattern.get(p).is_some_and(|c| *c == '?' || *c == name[n]) {
            p += 1;
            n += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            p = at + 1;
            n = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit() {
        for (pattern, name) in [
            ("*.md", "a.md"),
            ("*.md", ".md"),
            ("*", ""),
            ("a?c", "aäc"),
            ("*a*b*", "xxaxxbxx"),
            ("README*", "readme.txt"),
            ("**", "x"),
            ("*.tar.gz", "a.tar.tar.gz"),
            ("[a].md", "[a].md"),
            ("2026/*.md", "2026/03/a.md"),
        ] {
            assert!(matches_wildcard(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("*.md", "a.txt"), ("a", "ab"), ("a?", "a"), ("", "a"), ("*a", "ab"), ("[a]", "a")]
        {
            assert!(!matches_wildcard(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_hostile_pattern_ends() {
        assert!(!matches_wildcard(&format!("{}b", "*a".repeat(400)), &"a".repeat(1_000)));
    }
}
