//! Patterns of file names: `*` is anything, `?` one character. No other character means more than itself.
//!
//! Not the patterns of tool names in `toolyard_protocol::wildcard`: people search files without minding upper and lower
//! case, and by characters, where a filter of tools has to mean exactly what it says. The toolbox does not know the
//! protocol either.

/// Whether a name fits a pattern; upper and lower case are the same.
///
/// It goes back to the last `*` only, so the time grows with the product of both lengths at most.
pub(super) fn matches_wildcard(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let (mut p, mut n) = (0, 0);
    // The last `*`, and how much of the name it has taken.
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
