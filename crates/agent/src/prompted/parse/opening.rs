//! Decides whether a text opens something. A pure function of the text that is held back, so it cannot depend on how
//! the stream was cut.

use super::{
    family::CallFamily,
    limits::{MAX_NAME_BYTES, MAX_OPENING_BYTES},
    markers::{self, MARKERS, Marker, MarkerFollow, MarkerKind, MarkerPosition},
    tools::{self, CallableTools},
};

/// The position of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextPosition {
    /// At the beginning of the reply.
    First,
    /// Right after a call or a section of this family, or after reasoning.
    Behind(CallFamily),
    /// At the start of a line.
    Line,
    /// Right after a word.
    Glued,
    /// In prose.
    Prose,
    /// In code.
    Code,
}

/// What a text may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OpeningMatch {
    /// Text.
    No,
    /// Undecided: more text is needed.
    Maybe,
    /// It opens something. `used` bytes are the marker, the rest belongs to what it opens.
    Opens { what: OpenedItem, used: usize },
}

/// What is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OpenedItem {
    Kind(MarkerKind),
    /// A harmony call, whose header names the tool.
    Harmony(String),
}

/// Matches a text against all openings.
pub(super) fn match_opening(text: &str, place: TextPosition, tools: &CallableTools) -> OpeningMatch {
    let mut best = OpeningMatch::No;
    // The fast path for nearly every character of a reply.
    let markers = if text.starts_with(['<', '[', 'f', 't']) { MARKERS } else { &[] };
    for marker in markers.iter().filter(|marker| is_marker_at(marker, place)) {
        if text.len() < marker.text.len() {
            if marker.text.starts_with(text) {
                best = OpeningMatch::Maybe;
            }
        } else if let Some(rest) = text.strip_prefix(marker.text) {
            match match_follow(marker, rest, place) {
                OpeningMatch::No => {}
                OpeningMatch::Maybe => best = OpeningMatch::Maybe,
                opens @ OpeningMatch::Opens { .. } => return opens,
            }
        }
    }
    match match_unmarked(text, place, tools) {
        OpeningMatch::No => best,
        other => other,
    }
}

/// The marker at the end of a reply, without the text that it should open.
pub(super) fn begun_marker(text: &str, place: TextPosition) -> Option<MarkerKind> {
    let whole = |marker: &&Marker| is_marker_at(marker, place) && text.starts_with(marker.text);
    MARKERS.iter().find(whole).map(|marker| marker.kind)
}

fn is_marker_at(marker: &Marker, place: TextPosition) -> bool {
    match marker.stands {
        MarkerPosition::Anywhere => true,
        MarkerPosition::First => place == TextPosition::First,
        MarkerPosition::Behind => matches!(place, TextPosition::Behind(_)),
        MarkerPosition::In(family) => place == TextPosition::Behind(family),
        MarkerPosition::Line => {
            matches!(place, TextPosition::First | TextPosition::Behind(_) | TextPosition::Line)
        }
        MarkerPosition::Glued => matches!(
            place,
            TextPosition::First | TextPosition::Behind(_) | TextPosition::Line | TextPosition::Glued
        ),
    }
}

fn match_follow(marker: &Marker, rest: &str, place: TextPosition) -> OpeningMatch {
    if marker.kind == MarkerKind::Header {
        return match_header(marker.text, rest);
    }
    let yes =
        || OpeningMatch::Opens { what: OpenedItem::Kind(marker.kind), used: marker.text.len() - marker.keep };
    // A token right after a word must be followed directly, too.
    let body = if place == TextPosition::Glued { rest } else { rest.trim_start() };
    if marker.follow == MarkerFollow::Anything {
        return yes();
    }
    if body.is_empty() {
        return OpeningMatch::Maybe;
    }
    let fits = match marker.follow {
        MarkerFollow::Anything => MatchState::Yes,
        MarkerFollow::Call => {
            match_json(body).or(match_text(body, &["</"])).or(match_name(body, &['{', '[', '(', '<']))
        }
        MarkerFollow::CallOrFunction => match_json(body)
            .or(match_text(body, &["</", "<function="]))
            .or(match_name(body, &['{', '[', '(', '<'])),
        MarkerFollow::Name(end) => match_name(body, &[end]),
        MarkerFollow::Text(texts) => match_text(body, texts),
    };
    match fits {
        MatchState::Yes => yes(),
        MatchState::Maybe => OpeningMatch::Maybe,
        MatchState::No => OpeningMatch::No,
    }
}

/// How well a text matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MatchState {
    Yes,
    Maybe,
    No,
}

impl MatchState {
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::Maybe, _) | (_, Self::Maybe) => Self::Maybe,
            (Self::No, Self::No) => Self::No,
        }
    }
}

fn match_json(body: &str) -> MatchState {
    if body.starts_with(['{', '[']) { MatchState::Yes } else { match_text(body, &["```"]) }
}

fn match_text(body: &str, texts: &[&str]) -> MatchState {
    if texts.iter().any(|text| body.starts_with(text)) {
        MatchState::Yes
    } else if texts.iter().any(|text| text.starts_with(body)) {
        MatchState::Maybe
    } else {
        MatchState::No
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/')
}

/// A name, optional white space, then one of these characters.
fn match_name(body: &str, ends: &[char]) -> MatchState {
    let length = body.find(|c| !is_name(c)).unwrap_or(body.len());
    if length == 0 || length > MAX_NAME_BYTES {
        return MatchState::No;
    }
    let rest = body[length..].trim_start();
    if rest.is_empty() {
        return MatchState::Maybe;
    }
    if rest.starts_with(ends) { MatchState::Yes } else { MatchState::No }
}

/// The formats without a marker.
fn match_unmarked(text: &str, place: TextPosition, tools: &CallableTools) -> OpeningMatch {
    match place {
        TextPosition::First => match_functionary(text, 0, tools),
        TextPosition::Behind(CallFamily::PythonTag) => match text {
            ";" | "," => OpeningMatch::Opens { what: OpenedItem::Kind(MarkerKind::Closer), used: 1 },
            "{" => OpeningMatch::Opens {
                what: OpenedItem::Kind(MarkerKind::Call(CallFamily::PythonTag)),
                used: 0,
            },
            _ => OpeningMatch::No,
        },
        TextPosition::Behind(_)
        | TextPosition::Line
        | TextPosition::Glued
        | TextPosition::Prose
        | TextPosition::Code => OpeningMatch::No,
    }
    .or_else(|| match place {
        TextPosition::Prose | TextPosition::Code => OpeningMatch::No,
        TextPosition::First | TextPosition::Behind(_) | TextPosition::Line | TextPosition::Glued => {
            match text.strip_prefix(">>>") {
                Some(rest) => match_functionary(rest, ">>>".len(), tools),
                None if ">>>".starts_with(text) => OpeningMatch::Maybe,
                None => OpeningMatch::No,
            }
        }
    })
}

impl OpeningMatch {
    fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        if self == Self::No { other() } else { self }
    }
}

/// Functionary writes a name, a line break and the arguments, and text for the user goes to `all`. It is a call only if
/// the tool and the arguments are known: nothing else distinguishes it from text.
fn match_functionary(text: &str, used: usize, tools: &CallableTools) -> OpeningMatch {
    let Some((name, rest)) = text.split_once('\n') else {
        let open = !text.is_empty() && (tools.has_name_prefix(text) || "all".starts_with(text));
        return if open || (text.is_empty() && used > 0) { OpeningMatch::Maybe } else { OpeningMatch::No };
    };
    if name == "all" {
        let used = used + name.len() + 1;
        return OpeningMatch::Opens {
            what: OpenedItem::Kind(MarkerKind::Section(CallFamily::Functionary)),
            used,
        };
    }
    let Some(spec) = tools.find(name) else { return OpeningMatch::No };
    let Some(inner) = rest.trim_start().strip_prefix('{') else {
        return if rest.trim().is_empty() { OpeningMatch::Maybe } else { OpeningMatch::No };
    };
    let opens =
        OpeningMatch::Opens { what: OpenedItem::Kind(MarkerKind::Call(CallFamily::Functionary)), used };
    let inner = inner.trim_start();
    let Some(key) = inner.strip_prefix('"') else {
        return match inner.chars().next() {
            None => OpeningMatch::Maybe,
            Some('}') => opens,
            Some(_) => OpeningMatch::No,
        };
    };
    match key.split_once('"') {
        None if key.len() <= MAX_NAME_BYTES => OpeningMatch::Maybe,
        Some((key, _)) if tools::argument_schema(spec, key).is_some() => opens,
        None | Some(_) => OpeningMatch::No,
    }
}

/// Whether a header contains only header tokens.
fn has_only_header_tokens(marker: &str, rest: &str) -> bool {
    let mut channels = usize::from(marker == markers::HARMONY_CHANNEL);
    rest.match_indices("<|").all(|(at, _)| {
        let token = &rest[at..];
        channels += usize::from(token.starts_with(markers::HARMONY_CHANNEL));
        let known = match_text(token, &[markers::HARMONY_MESSAGE, markers::HARMONY_CHANNEL, "<|constrain|>"]);
        known != MatchState::No && channels <= 1
    })
}

const CHANNELS: &[&str] = &["analysis", "commentary", "final"];

/// The header of a harmony message, up to `<|message|>`.
fn match_header(marker: &str, rest: &str) -> OpeningMatch {
    let expected = match marker {
        markers::HARMONY_START => match_text(rest, &["assistant"]),
        markers::HARMONY_CHANNEL => match_text(rest, CHANNELS),
        _ => MatchState::Yes,
    };
    let whole = marker.len() + rest.len();
    let fits = rest.is_empty() || expected != MatchState::No;
    if !fits || !has_only_header_tokens(marker, rest) || rest.contains('\n') || whole > MAX_OPENING_BYTES {
        return OpeningMatch::No;
    }
    let Some(end) = rest.find(markers::HARMONY_MESSAGE) else { return OpeningMatch::Maybe };
    let (head, used) = (&rest[..end], marker.len() + end + markers::HARMONY_MESSAGE.len());
    let recipient = if marker == markers::HARMONY_RECIPIENT {
        Some(head)
    } else {
        head.split_once("to=").map(|(_, recipient)| recipient)
    };
    let name = recipient.map(|text| text[..text.find(|c| !is_name(c)).unwrap_or(text.len())].to_owned());
    let is_analysis = marker == markers::HARMONY_CHANNEL && head.starts_with(CHANNELS[0])
        || head.contains("<|channel|>analysis");
    let what = match name.filter(|name| !matches!(name.as_str(), "" | "user" | "all")) {
        Some(name) => OpenedItem::Harmony(name),
        None if is_analysis => OpenedItem::Kind(MarkerKind::Thoughts(markers::HARMONY_ENDS)),
        None => OpenedItem::Kind(MarkerKind::Section(CallFamily::Harmony)),
    };
    OpeningMatch::Opens { what, used }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::model::ToolSpec;

    fn at(place: TextPosition, text: &str) -> OpeningMatch {
        let schema = json!({"type": "object", "properties": {"expression": {"type": "string"}}});
        let spec = ToolSpec { name: "calculator".to_owned(), description: String::new(), schema };
        match_opening(text, place, &CallableTools::new(&[Arc::new(spec)]))
    }

    fn opens(place: TextPosition, text: &str) -> bool {
        matches!(at(place, text), OpeningMatch::Opens { .. })
    }

    #[test]
    fn tags_count_at_the_start_of_a_line() {
        for place in [TextPosition::First, TextPosition::Behind(CallFamily::Plain), TextPosition::Line] {
            assert!(opens(place, "<tool>{"), "{place:?}");
        }
        for place in [TextPosition::Glued, TextPosition::Prose, TextPosition::Code] {
            assert_eq!(at(place, "<tool>{"), OpeningMatch::No, "{place:?}");
        }
    }

    #[test]
    fn tokens_count_glued_too_and_only_with_a_call_behind() {
        assert!(opens(TextPosition::Glued, "[TOOL_CALLS][") && opens(TextPosition::Line, "[TOOL_CALLS] ["));
        assert_eq!(at(TextPosition::Glued, "[TOOL_CALLS] "), OpeningMatch::No);
        assert_eq!(at(TextPosition::Prose, "[TOOL_CALLS]["), OpeningMatch::No);
        assert_eq!(at(TextPosition::Line, "[TOOL_CALLS] is"), OpeningMatch::Maybe);
        assert_eq!(at(TextPosition::Line, "[TOOL_CALLS] is t"), OpeningMatch::No);
    }

    #[test]
    fn text_about_a_tag_is_text() {
        assert_eq!(at(TextPosition::Line, "<tool> is t"), OpeningMatch::No);
        assert_eq!(at(TextPosition::Line, "<tool><n"), OpeningMatch::No);
        assert_eq!(at(TextPosition::Line, "<tool_call>\nThis i"), OpeningMatch::No);
        assert!(
            opens(TextPosition::Line, "<tool>\n```") && opens(TextPosition::Line, "<tool_call>calculator\n<")
        );
        assert!(
            opens(TextPosition::Line, "<tool_call>\n<function=") && opens(TextPosition::Line, "<tool></")
        );
    }

    #[test]
    fn functionary_needs_a_known_tool_with_an_argument_it_has() {
        assert!(opens(TextPosition::First, "calculator\n{\"expression\""));
        assert!(opens(TextPosition::Glued, ">>>calculator\n{}") && opens(TextPosition::First, "all\n"));
        assert_eq!(at(TextPosition::First, "calcul"), OpeningMatch::Maybe);
        assert_eq!(at(TextPosition::First, "calculus"), OpeningMatch::No);
        assert_eq!(at(TextPosition::First, "calculator\n{\"result\""), OpeningMatch::No);
        assert_eq!(at(TextPosition::Line, "calculator\n{}"), OpeningMatch::No);
        assert_eq!(at(TextPosition::Line, ">>> c"), OpeningMatch::No);
    }

    #[test]
    fn headers_of_harmony_say_what_follows() {
        let what = |text| match at(TextPosition::First, text) {
            OpeningMatch::Opens { what, used } => Some((what, used == text.len())),
            OpeningMatch::No | OpeningMatch::Maybe => None,
        };
        let call = Some((OpenedItem::Harmony("functions.calculator".to_owned()), true));
        assert_eq!(what("<|channel|>commentary to=functions.calculator <|constrain|>json<|message|>"), call);
        assert_eq!(
            what("<|start|>assistant to=functions.calculator<|channel|>analysis json<|message|>"),
            call
        );
        assert_eq!(
            what("to=functions.x<|channel|>commentary<|message|>"),
            Some((OpenedItem::Harmony("x".to_owned()), true))
        );
        let thoughts = OpenedItem::Kind(MarkerKind::Thoughts(markers::HARMONY_ENDS));
        assert_eq!(what("<|start|>assistant<|channel|>analysis<|message|>"), Some((thoughts, true)));
        assert_eq!(at(TextPosition::First, "<|channel|>news"), OpeningMatch::No);
        assert_eq!(at(TextPosition::First, "<|channel|>fin"), OpeningMatch::Maybe);
        assert_eq!(at(TextPosition::First, "<|channel|>final<|channel|>"), OpeningMatch::No);
        assert_eq!(at(TextPosition::First, "<|start|>assistant<|sta"), OpeningMatch::No);
        assert_eq!(
            at(TextPosition::First, &format!("<|channel|>final{}", "x".repeat(MAX_OPENING_BYTES))),
            OpeningMatch::No
        );
    }
}
