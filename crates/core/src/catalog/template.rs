//! Whether a URI matches a URI template (RFC 6570). The match is generous: it only selects the package to ask, and the
//! package knows its own resources.

/// Longest URI that is matched, in bytes.
const MAX_URI_BYTES: usize = 2_048;
/// Most parts of a template.
const MAX_PARTS: usize = 64;

/// The matching work that one request may cause over all templates, because templates are untrusted.
#[derive(Debug)]
pub(super) struct MatchBudget(usize);

impl Default for MatchBudget {
    fn default() -> Self {
        Self(1_000_000)
    }
}

impl MatchBudget {
    fn spend(&mut self, steps: usize) -> bool {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// A part of a template.
#[derive(Debug, PartialEq, Eq)]
enum TemplatePart<'a> {
    /// A fixed text.
    Literal(&'a str),
    /// `{name}`: a value, up to the next delimiter.
    Value,
    /// `{+name}`: anything.
    Anything,
    /// `{/name}`, `{?name}` and similar: nothing, or this character followed by anything.
    Optional(u8),
}

/// Whether the template matches the URI. Also false if matching would exceed the budget.
pub(super) fn matches_template(template: &str, uri: &str, budget: &mut MatchBudget) -> bool {
    if uri.len() > MAX_URI_BYTES {
        return false;
    }
    // Most templates differ in their literal prefix, which is cheap to compare.
    let start = template.split('{').next().unwrap_or_default();
    if !uri.starts_with(start) {
        budget.spend(1);
        return false;
    }
    let Some(parts) = parse_parts(template) else { return false };
    if !budget.spend((parts.len() + 1) * (uri.len() + 1)) {
        return false;
    }
    let uri = uri.as_bytes();
    // Positions where the parts so far can end.
    let mut ends = vec![false; uri.len() + 1];
    ends[0] = true;
    for part in &parts {
        ends = part.reachable_ends(uri, &ends);
    }
    ends[uri.len()]
}

impl TemplatePart<'_> {
    /// Positions where this part can end, given where it can begin.
    fn reachable_ends(&self, uri: &[u8], begins: &[bool]) -> Vec<bool> {
        let mut ends = vec![false; begins.len()];
        match self {
            Self::Literal(text) => {
                for (at, _) in begins.iter().enumerate().filter(|(_, begins)| **begins) {
                    if uri[at..].starts_with(text.as_bytes()) {
                        ends[at + text.len()] = true;
                    }
                }
            }
            Self::Value => {
                let mut within = false;
                for at in 0..uri.len() {
                    within = (within || begins[at]) && !b"/?#&".contains(&uri[at]);
                    ends[at + 1] = within;
                }
            }
            Self::Anything => {
                let mut within = false;
                for (at, end) in ends.iter_mut().enumerate() {
                    within |= begins[at];
                    *end = within;
                }
            }
            Self::Optional(first) => {
                let mut within = false;
                for at in 0..begins.len() {
                    ends[at] = begins[at] || within;
                    within |= begins[at] && uri.get(at) == Some(first);
                }
            }
        }
        ends
    }
}

/// The parts of a template; None if it is malformed or has too many.
fn parse_parts(template: &str) -> Option<Vec<TemplatePart<'_>>> {
    let (mut parts, mut rest) = (Vec::new(), template);
    while let Some((before, after)) = rest.split_once('{') {
        if !before.is_empty() {
            parts.push(TemplatePart::Literal(before));
        }
        let (expression, after) = after.split_once('}')?;
        parts.push(match expression.bytes().next()? {
            b'+' => TemplatePart::Anything,
            first @ (b'/' | b'?' | b'#' | b'&' | b'.' | b';') => TemplatePart::Optional(first),
            // `{a,b}` expands with a comma, which a value may contain; `{a*}` may expand to a list.
            _ => TemplatePart::Value,
        });
        rest = after;
        if parts.len() >= MAX_PARTS {
            return None;
        }
    }
    if !rest.is_empty() {
        parts.push(TemplatePart::Literal(rest));
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(template: &str, uri: &str) -> bool {
        matches_template(template, uri, &mut MatchBudget::default())
    }

    #[test]
    fn a_uri_fits_the_template_that_made_it() {
        for (template, uri, expected) in [
            ("test://template/{id}/data", "test://template/7/data", true),
            ("test://template/{id}/data", "test://template/a%20b,c/data", true),
            ("test://template/{id}/data", "test://template//data", false),
            ("test://template/{id}/data", "test://template/7/8/data", false),
            ("test://template/{id}/data", "test://template/7/data/more", false),
            ("file:///{+path}", "file:///a/b/c.txt", true),
            ("file:///{+path}.txt", "file:///a/b/c.md", false),
            ("db://{table}{?limit,offset}", "db://users", true),
            ("db://{table}{?limit,offset}", "db://users?limit=1&offset=2", true),
            ("db://{table}{/row}", "db://users/1", true),
            ("db://{table}{/row}", "db://users-1/", true),
            ("{+anything}", "x:y", true),
            ("a:{b", "a:x", false),
            ("a:{}", "a:x", false),
            ("a:b", "a:b", true),
        ] {
            assert_eq!(fits(template, uri), expected, "{template} {uri}");
        }
    }

    #[test]
    fn matching_is_bounded() {
        let hostile = "{+a}x".repeat(MAX_PARTS / 2 - 1);
        let uri = "x".repeat(MAX_URI_BYTES);
        assert!(fits(&hostile, &uri));
        assert!(!fits(&"{+a}x".repeat(MAX_PARTS), &uri), "too many parts");
        assert!(!fits("{+a}", &"x".repeat(MAX_URI_BYTES + 1)));
        let mut budget = MatchBudget::default();
        let tried = (0..1_000).take_while(|_| matches_template(&hostile, &uri, &mut budget)).count();
        assert!(tried < 20, "{tried}");
    }
}
