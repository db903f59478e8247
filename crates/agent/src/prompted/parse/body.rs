//! The body of one call while it arrives, up to its end. It is parsed when it is complete.

use super::{family::CallFamily, limits::MAX_CALL_BYTES, markers, scan::BracketScan};

/// The parts of a body in which an end marker does not count, because an argument may contain it.
#[derive(Debug)]
pub(super) enum EndGuard {
    /// Inside strings.
    Scanned { scan: Box<BracketScan>, started: bool },
    /// Between these tags.
    Between { open: &'static str, close: &'static str, inside: bool },
    /// Between two of these marks.
    Delimited { mark: &'static str, inside: bool },
}

impl EndGuard {
    pub(super) fn for_json() -> Self {
        Self::with_scan(BracketScan::for_json())
    }

    pub(super) fn with_scan(scan: BracketScan) -> Self {
        Self::Scanned { scan: Box::new(scan), started: false }
    }

    pub(super) const fn between_tags(open: &'static str, close: &'static str) -> Self {
        Self::Between { open, close, inside: false }
    }

    pub(super) const fn between_marks(mark: &'static str) -> Self {
        Self::Delimited { mark, inside: false }
    }

    fn push_char(&mut self, body: &str, c: char) {
        match self {
            Self::Scanned { scan, started } => {
                // Names before the JSON may contain brackets, as in `N[ARGS]{…}`.
                *started |=
                    c == '{' || (c == '[' && body.trim_start().len() == 1) || (c == '[' && is_fenced(body));
                if *started {
                    scan.push_char(c);
                }
            }
            Self::Between { open, close, inside } => {
                *inside = if *inside { !body.ends_with(*close) } else { body.ends_with(*open) };
            }
            Self::Delimited { mark, inside } => *inside ^= body.ends_with(*mark),
        }
    }

    fn is_inside(&self) -> bool {
        match self {
            Self::Scanned { scan, .. } => scan.is_in_string(),
            Self::Between { inside, .. } | Self::Delimited { inside, .. } => *inside,
        }
    }

    fn is_complete(&self) -> bool {
        matches!(self, Self::Scanned { scan, .. } if scan.is_complete())
    }

    /// After a stray quote, inside and outside of strings are swapped. Then balanced brackets right before the end are
    /// the better sign.
    fn seems_done(&self, before: &str) -> bool {
        matches!(self, Self::Scanned { scan, .. } if scan.is_raw_even())
            && before.trim_end().ends_with(['}', ']'])
    }
}

fn is_fenced(body: &str) -> bool {
    body.len() <= FENCE_LINE && body.trim_start().starts_with("```")
}

/// Longest first line of a fence inside a call.
const FENCE_LINE: usize = 32;

/// How a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyEnd {
    /// By its closing tag, or by itself.
    Closed,
    /// By the end of the reply.
    Open,
}

/// The effect of a character on a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyStep {
    More,
    /// It is complete. The end marker may itself open something and must be parsed again.
    Ended {
        again: &'static str,
    },
    /// It exceeds the size limit.
    TooLong,
}

/// A body that is not complete yet.
#[derive(Debug)]
pub(super) struct PartialBody {
    pub(super) family: CallFamily,
    pub(super) name: Option<String>,
    pub(super) text: String,
    guard: Option<EndGuard>,
    /// The position and length of an end marker that did not count.
    passed: Option<(usize, usize)>,
    /// Over the size limit: nothing is stored any more, only the end is searched.
    tail: Option<String>,
}

impl PartialBody {
    pub(super) fn new(family: CallFamily, name: Option<String>) -> Self {
        Self { family, name, text: String::new(), guard: None, passed: None, tail: None }
    }

    /// Takes the next character.
    pub(super) fn push_char(&mut self, c: char) -> BodyStep {
        if let Some(tail) = &mut self.tail {
            return skip_char(tail, c, self.family);
        }
        self.text.push(c);
        // White space decides nothing, and checking it would be slow.
        if self.guard.is_none() && !c.is_whitespace() {
            self.guard = self.family.end_guard(&self.text);
        }
        let Some(guard) = &mut self.guard else { return self.check_length() };
        guard.push_char(&self.text, c);
        if self.family.ends_with_json() && guard.is_complete() {
            return BodyStep::Ended { again: "" };
        }
        let Some(end) = self.family.end_markers().iter().find(|end| self.text.ends_with(**end)) else {
            return self.check_length();
        };
        let at = self.text.len() - end.len();
        if guard.is_inside() && !guard.seems_done(&self.text[..at]) {
            self.passed.get_or_insert((at, end.len()));
            return self.check_length();
        }
        self.text.truncate(at);
        let opens = matches!(*end, markers::HARMONY_START | markers::HARMONY_CHANNEL);
        BodyStep::Ended { again: if opens { end } else { "" } }
    }

    fn check_length(&self) -> BodyStep {
        if self.text.len() > MAX_CALL_BYTES { BodyStep::TooLong } else { BodyStep::More }
    }

    /// Stores nothing from here on except a possible beginning of the end marker.
    pub(super) fn skip_rest(&mut self) {
        let start = self.text.floor_char_boundary(self.text.len().saturating_sub(longest_end(self.family)));
        self.tail = Some(self.text.split_off(start));
        self.text = String::new();
    }

    /// Whether it exceeded the size limit.
    pub(super) fn is_skipping(&self) -> bool {
        self.tail.is_some()
    }

    /// Cuts the body at the first end marker that did not count, and returns the text after it. Used if no better end
    /// came.
    pub(super) fn fall_back(&mut self) -> Option<String> {
        if self.guard.as_ref().is_some_and(EndGuard::is_complete) {
            return None;
        }
        let (at, length) = self.passed.take()?;
        let rest = self.text[at + length..].to_owned();
        self.text.truncate(at);
        Some(rest)
    }
}

fn longest_end(family: CallFamily) -> usize {
    family.end_markers().iter().map(|end| end.len()).max().unwrap_or(0)
}

/// Searches for the end only.
fn skip_char(tail: &mut String, c: char, family: CallFamily) -> BodyStep {
    tail.push(c);
    let ends = family.end_markers();
    if ends.iter().any(|end| tail.ends_with(end)) {
        return BodyStep::Ended { again: "" };
    }
    let longest = longest_end(family);
    if tail.len() > 4 * longest {
        let cut = tail.floor_char_boundary(tail.len().saturating_sub(longest));
        tail.drain(..cut);
    }
    BodyStep::More
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(family: CallFamily, text: &str) -> Option<String> {
        let mut body = PartialBody::new(family, None);
        for c in text.chars() {
            match body.push_char(c) {
                BodyStep::More => {}
                BodyStep::Ended { .. } => return Some(body.text),
                BodyStep::TooLong => return None,
            }
        }
        None
    }

    #[test]
    fn an_end_inside_of_an_argument_does_not_count() {
        let body = r#"{"name":"w","arguments":{"t":"<tool>{}</tool>"}}"#;
        assert_eq!(ended(CallFamily::Plain, &format!("{body}</tool> x")).as_deref(), Some(body));
        let body = "<function=w><parameter=t></tool_call></parameter></function>";
        assert_eq!(ended(CallFamily::Hermes, &format!("{body}</tool_call>")).as_deref(), Some(body));
        let body = "call:w{t:<|\"|><tool_call|><|\"|>}";
        assert_eq!(ended(CallFamily::Gemma, &format!("{body}<tool_call|>")).as_deref(), Some(body));
    }

    #[test]
    fn a_stray_quote_does_not_hide_the_end() {
        let body = r#"{"name":"w","arguments":{"t":"5" wide"}}"#;
        assert_eq!(ended(CallFamily::Plain, &format!("{body}</tool>")).as_deref(), Some(body));
    }

    #[test]
    fn some_families_end_with_their_json() {
        assert_eq!(ended(CallFamily::Mistral, "f[ARGS]{\"a\":[1]} x").as_deref(), Some("f[ARGS]{\"a\":[1]}"));
        assert_eq!(ended(CallFamily::Mistral, "[{\"a\":[1]}] x").as_deref(), Some("[{\"a\":[1]}]"));
    }

    #[test]
    fn size_is_bounded_and_the_end_still_found() {
        let mut body = PartialBody::new(CallFamily::Plain, None);
        let mut steps = "x".repeat(MAX_CALL_BYTES + 1).chars().map(|c| body.push_char(c)).collect::<Vec<_>>();
        assert_eq!(steps.pop(), Some(BodyStep::TooLong));
        assert!(steps.iter().all(|step| *step == BodyStep::More));
        body.skip_rest();
        let ends: Vec<_> =
            format!("{}\"</tool>", "y".repeat(500)).chars().map(|c| body.push_char(c)).collect();
        assert_eq!(ends.last(), Some(&BodyStep::Ended { again: "" }));
    }
}
