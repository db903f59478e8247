//! Whether what stands at a place opens something: a pure function of the text held back so far, so that the answer
//! cannot depend on how the stream was cut.

use super::{
    family::Family,
    limits::{MAX_NAME_BYTES, MAX_OPENING_BYTES},
    markers::{self, Follow, Kind, MARKERS, Marker, Stands},
    tools::{self, Tools},
};

/// Where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing was said yet.
    First,
    /// Right behind a call or a section of this family, or behind thoughts.
    Behind(Family),
    /// At the start of a line.
    Line,
    /// Glued to a word.
    Glued,
    /// In prose.
    Prose,
    /// In code.
    Code,
}

/// What a text may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Look {
    /// Text.
    No,
    /// More must come to know.
    Maybe,
    /// It opens something; so many bytes are the marker, the rest belongs to what it opens.
    Opens { what: Opens, used: usize },
}

/// What is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Opens {
    Kind(Kind),
    /// A call of harmony: its header names the tool.
    Harmony(String),
}

/// Looks at a text.
pub(super) fn look(text: &str, place: Place, tools: &Tools) -> Look {
    let mut best = Look::No;
    // Nearly every character of a reply ends here.
    let markers = if text.starts_with(['<', '[', 'f', 't']) { MARKERS } else { &[] };
    for marker in markers.iter().filter(|marker| counts(marker, place)) {
        if text.len() < marker.text.len() {
            if marker.text.starts_with(text) {
                best = Look::Maybe;
            }
        } else if let Some(rest) = text.strip_prefix(marker.text) {
            match behind(marker, rest, place) {
                Look::No => {}
                Look::Maybe => best = Look::Maybe,
                opens @ Look::Opens { .. } => return opens,
            }
        }
    }
    match special(text, place, tools) {
        Look::No => best,
        other => other,
    }
}

/// What a reply that ends here had begun: a marker is whole, what it opens is not there.
pub(super) fn begun(text: &str, place: Place) -> Option<Kind> {
    let whole = |marker: &&Marker| counts(marker, place) && text.starts_with(marker.text);
    MARKERS.iter().find(whole).map(|marker| marker.kind)
}

fn counts(marker: &Marker, place: Place) -> bool {
    match marker.stands {
        Stands::Anywhere => true,
        Stands::First => place == Place::First,
        Stands::Behind => matches!(place, Place::Behind(_)),
        Stands::In(family) => place == Place::Behind(family),
        Stands::Line => matches!(place, Place::First | Place::Behind(_) | Place::Line),
        Stands::Glued => matches!(place, Place::First | Place::Behind(_) | Place::Line | Place::Glued),
    }
}

fn behind(marker: &Marker, rest: &str, place: Place) -> Look {
    if marker.kind == Kind::Header {
        return header(marker.text, rest);
    }
    let yes = || Look::Opens { what: Opens::Kind(marker.kind), used: marker.text.len() - marker.keep };
    // A token that is glued on one side is glued on the other side too.
    let body = if place == Place::Glued { rest } else { rest.trim_start() };
    if marker.follow == Follow::Anything {
        return yes();
    }
    if body.is_empty() {
        return Look::Maybe;
    }
    let fits = match marker.follow {
        Follow::Anything => Fits::Yes,
        Follow::Call => json(body).or(text(body, &["</"])).or(name_and(body, &['{', '[', '(', '<'])),
        Follow::CallOrFunction => {
            json(body).or(text(body, &["</", "<function="])).or(name_and(body, &['{', '[', '(', '<']))
        }
        Follow::Name(end) => name_and(body, &[end]),
        Follow::Text(texts) => text(body, texts),
    };
    match fits {
        Fits::Yes => yes(),
        Fits::Maybe => Look::Maybe,
        Fits::No => Look::No,
    }
}

/// How well a text fits what must stand there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fits {
    Yes,
    Maybe,
    No,
}

impl Fits {
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::Maybe, _) | (_, Self::Maybe) => Self::Maybe,
            (Self::No, Self::No) => Self::No,
        }
    }
}

fn json(body: &str) -> Fits {
    if body.starts_with(['{', '[']) { Fits::Yes } else { text(body, &["```"]) }
}

fn text(body: &str, texts: &[&str]) -> Fits {
    if texts.iter().any(|text| body.starts_with(text)) {
        Fits::Yes
    } else if texts.iter().any(|text| text.starts_with(body)) {
        Fits::Maybe
    } else {
        Fits::No
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/')
}

/// A name, then perhaps white space, then one of these.
fn name_and(body: &str, ends: &[char]) -> Fits {
    let length = body.find(|c| !is_name(c)).unwrap_or(body.len());
    if length == 0 || length > MAX_NAME_BYTES {
        return Fits::No;
    }
    let rest = body[length..].trim_start();
    if rest.is_empty() {
        return Fits::Maybe;
    }
    if rest.starts_with(ends) { Fits::Yes } else { Fits::No }
}

/// The forms without a marker of their own.
fn special(text: &str, place: Place, tools: &Tools) -> Look {
    match place {
        Place::First => functionary(text, 0, tools),
        Place::Behind(Family::PythonTag) => match text {
            ";" | "," => Look::Opens { what: Opens::Kind(Kind::Closer), used: 1 },
            "{" => Look::Opens { what: Opens::Kind(Kind::Call(Family::PythonTag)), used: 0 },
            _ => Look::No,
        },
        Place::Behind(_) | Place::Line | Place::Glued | Place::Prose | Place::Code => Look::No,
    }
    .or_else(|| match place {
        Place::Prose | Place::Code => Look::No,
        Place::First | Place::Behind(_) | Place::Line | Place::Glued => match text.strip_prefix(">>>") {
            Some(rest) => functionary(rest, ">>>".len(), tools),
            None if ">>>".starts_with(text) => Look::Maybe,
            None => Look::No,
        },
    })
}

impl Look {
    fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        if self == Self::No { other() } else { self }
    }
}

/// Functionary writes a name, a line break and the arguments; words go to `all`. Only a known tool and arguments that
/// it has make a call of it: nothing else tells it from text.
fn functionary(text: &str, used: usize, tools: &Tools) -> Look {
    let Some((name, rest)) = text.split_once('\n') else {
        let open = !text.is_empty() && (tools.any_begins(text) || "all".starts_with(text));
        return if open || (text.is_empty() && used > 0) { Look::Maybe } else { Look::No };
    };
    if name == "all" {
        let used = used + name.len() + 1;
        return Look::Opens { what: Opens::Kind(Kind::Section(Family::Functionary)), used };
    }
    let Some(spec) = tools.find(name) else { return Look::No };
    let Some(inner) = rest.trim_start().strip_prefix('{') else {
        return if rest.trim().is_empty() { Look::Maybe } else { Look::No };
    };
    let opens = Look::Opens { what: Opens::Kind(Kind::Call(Family::Functionary)), used };
    let inner = inner.trim_start();
    let Some(key) = inner.strip_prefix('"') else {
        return match inner.chars().next() {
            None => Look::Maybe,
            Some('}') => opens,
            Some(_) => Look::No,
        };
    };
    match key.split_once('"') {
        None if key.len() <= MAX_NAME_BYTES => Look::Maybe,
        Some((key, _)) if tools::argument(spec, key).is_some() => opens,
        None | Some(_) => Look::No,
    }
}

/// Whether a header has only the tokens that headers have; any other one begins something else.
fn header_tokens(marker: &str, rest: &str) -> bool {
    let mut channels = usize::from(marker == markers::HARMONY_CHANNEL);
    rest.match_indices("<|").all(|(at, _)| {
        let token = &rest[at..];
        channels += usize::from(token.starts_with(markers::HARMONY_CHANNEL));
        let known = text(token, &[markers::HARMONY_MESSAGE, markers::HARMONY_CHANNEL, "<|constrain|>"]);
        known != Fits::No && channels <= 1
    })
}

const CHANNELS: &[&str] = &["analysis", "commentary", "final"];

/// The header of a message in harmony, up to `<|message|>`.
fn header(marker: &str, rest: &str) -> Look {
    let expected = match marker {
        markers::HARMONY_START => text(rest, &["assistant"]),
        markers::HARMONY_CHANNEL => text(rest, CHANNELS),
        _ => Fits::Yes,
    };
    let whole = marker.len() + rest.len();
    let fits = rest.is_empty() || expected != Fits::No;
    if !fits || !header_tokens(marker, rest) || rest.contains('\n') || whole > MAX_OPENING_BYTES {
        return Look::No;
    }
    let Some(end) = rest.find(markers::HARMONY_MESSAGE) else { return Look::Maybe };
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
        Some(name) => Opens::Harmony(name),
        None if is_analysis => Opens::Kind(Kind::Thoughts(markers::HARMONY_ENDS)),
        None => Opens::Kind(Kind::Section(Family::Harmony)),
    };
    Look::Opens { what, used }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::model::ToolSpec;

    fn at(place: Place, text: &str) -> Look {
        let schema = json!({"type": "object", "properties": {"expression": {"type": "string"}}});
        let spec = ToolSpec { name: "calculator".to_owned(), description: String::new(), schema };
        look(text, place, &Tools::new(&[Arc::new(spec)]))
    }

    fn opens(place: Place, text: &str) -> bool {
        matches!(at(place, text), Look::Opens { .. })
    }

    #[test]
    fn tags_count_at_the_start_of_a_line() {
        for place in [Place::First, Place::Behind(Family::Plain), Place::Line] {
            assert!(opens(place, "<tool>{"), "{place:?}");
        }
        for place in [Place::Glued, Place::Prose, Place::Code] {
            assert_eq!(at(place, "<tool>{"), Look::No, "{place:?}");
        }
    }

    #[test]
    fn tokens_count_glued_too_and_only_with_a_call_behind() {
        assert!(opens(Place::Glued, "[TOOL_CALLS][") && opens(Place::Line, "[TOOL_CALLS] ["));
        assert_eq!(at(Place::Glued, "[TOOL_CALLS] "), Look::No);
        assert_eq!(at(Place::Prose, "[TOOL_CALLS]["), Look::No);
        assert_eq!(at(Place::Line, "[TOOL_CALLS] is"), Look::Maybe);
        assert_eq!(at(Place::Line, "[TOOL_CALLS] is t"), Look::No);
    }

    #[test]
    fn text_about_a_tag_is_text() {
        assert_eq!(at(Place::Line, "<tool> is t"), Look::No);
        assert_eq!(at(Place::Line, "<tool><n"), Look::No);
        assert_eq!(at(Place::Line, "<tool_call>\nThis i"), Look::No);
        assert!(opens(Place::Line, "<tool>\n```") && opens(Place::Line, "<tool_call>calculator\n<"));
        assert!(opens(Place::Line, "<tool_call>\n<function=") && opens(Place::Line, "<tool></"));
    }

    #[test]
    fn functionary_needs_a_known_tool_with_an_argument_it_has() {
        assert!(opens(Place::First, "calculator\n{\"expression\""));
        assert!(opens(Place::Glued, ">>>calculator\n{}") && opens(Place::First, "all\n"));
        assert_eq!(at(Place::First, "calcul"), Look::Maybe);
        assert_eq!(at(Place::First, "calculus"), Look::No);
        assert_eq!(at(Place::First, "calculator\n{\"result\""), Look::No);
        assert_eq!(at(Place::Line, "calculator\n{}"), Look::No);
        assert_eq!(at(Place::Line, ">>> c"), Look::No);
    }

    #[test]
    fn headers_of_harmony_say_what_follows() {
        let what = |text| match at(Place::First, text) {
            Look::Opens { what, used } => Some((what, used == text.len())),
            Look::No | Look::Maybe => None,
        };
        let call = Some((Opens::Harmony("functions.calculator".to_owned()), true));
        assert_eq!(what("<|channel|>commentary to=functions.calculator <|constrain|>json<|message|>"), call);
        assert_eq!(
            what("<|start|>assistant to=functions.calculator<|channel|>analysis json<|message|>"),
            call
        );
        assert_eq!(
            what("to=functions.x<|channel|>commentary<|message|>"),
            Some((Opens::Harmony("x".to_owned()), true))
        );
        let thoughts = Opens::Kind(Kind::Thoughts(markers::HARMONY_ENDS));
        assert_eq!(what("<|start|>assistant<|channel|>analysis<|message|>"), Some((thoughts, true)));
        assert_eq!(at(Place::First, "<|channel|>news"), Look::No);
        assert_eq!(at(Place::First, "<|channel|>fin"), Look::Maybe);
        assert_eq!(at(Place::First, "<|channel|>final<|channel|>"), Look::No);
        assert_eq!(at(Place::First, "<|start|>assistant<|sta"), Look::No);
        assert_eq!(at(Place::First, &format!("<|channel|>final{}", "x".repeat(MAX_OPENING_BYTES))), Look::No);
    }
}
