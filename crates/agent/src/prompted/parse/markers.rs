//! Every marker that models put around calls and thoughts, in one table; and the tokens that end a reply.

use super::family::Family;

/// What a marker opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One call, or several in one body.
    Call(Family),
    /// Calls follow; or a channel of text. Only the marker itself is swallowed.
    Section(Family),
    /// What closes a call or a section, where a call has just ended.
    Closer,
    /// Thoughts, up to one of these.
    Thoughts(&'static [&'static str]),
    /// A result that the model made up instead of waiting for it: swallowed.
    Invented,
    /// An end token: swallowed if nothing but such tokens follows.
    End,
    /// The header of a harmony message; it says what follows.
    Header,
}

/// Where a marker counts. The rule: a tag that a person could write counts only where nothing but white space stands
/// before it on its line; a control token of a model counts there, and glued to the end of a word; none of them counts
/// in code. Right behind a call, a section or thoughts is as good as the start of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stands {
    /// At the start of a line.
    Line,
    /// There, or glued to what stands before it.
    Glued,
    /// Only right behind a call, a section or thoughts.
    Behind,
    /// Only in a section of this family, or right behind a call of it.
    In(Family),
    /// Only at the very beginning of a reply.
    First,
    /// Everywhere, code included.
    Anywhere,
}

/// What must stand behind a marker, so that a text *about* the marker is not swallowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    Anything,
    /// JSON, a closing tag, or a name and then `{`, `[`, `(` or `<`.
    Call,
    /// As [`Follow::Call`], or `<function=`.
    CallOrFunction,
    /// A name and this character.
    Name(char),
    /// One of these.
    Text(&'static [&'static str]),
}

/// A marker.
#[derive(Debug)]
pub(super) struct Marker {
    pub(super) text: &'static str,
    pub(super) kind: Kind,
    pub(super) stands: Stands,
    pub(super) follow: Follow,
    /// How many bytes at its end already belong to the body.
    pub(super) keep: usize,
}

const fn marker(text: &'static str, kind: Kind, stands: Stands, follow: Follow) -> Marker {
    Marker { text, kind, stands, follow, keep: 0 }
}

const fn closer(text: &'static str) -> Marker {
    marker(text, Kind::Closer, Stands::Behind, Follow::Anything)
}

const fn end(text: &'static str) -> Marker {
    marker(text, Kind::End, Stands::Anywhere, Follow::Anything)
}

pub(super) const HARMONY_START: &str = "<|start|>";
pub(super) const HARMONY_CHANNEL: &str = "<|channel|>";
pub(super) const HARMONY_MESSAGE: &str = "<|message|>";
pub(super) const HARMONY_RECIPIENT: &str = "to=functions.";
/// What ends a message in harmony. The last two open the next one.
pub(super) const HARMONY_ENDS: &[&str] =
    &["<|end|>", "<|return|>", "<|call|>", HARMONY_START, HARMONY_CHANNEL];

/// The end of a result.
pub(super) const INVENTED_END: &[&str] = &["</tool_result>"];

/// All of them. No marker is the beginning of another one.
pub(super) const MARKERS: &[Marker] = &[
    // Ours, and Hermes with its relatives.
    marker("<tool>", Kind::Call(Family::Plain), Stands::Line, Follow::Call),
    marker("<tool_call>", Kind::Call(Family::Hermes), Stands::Line, Follow::CallOrFunction),
    marker("<function=", Kind::Call(Family::Function), Stands::Line, Follow::Name('>')),
    // Control tokens and what goes for them.
    marker("<|python_tag|>", Kind::Call(Family::PythonTag), Stands::Glued, Follow::Call),
    marker("<|tool_call_start|>", Kind::Call(Family::Pythonic), Stands::Glued, Follow::Call),
    marker("[TOOL_CALLS]", Kind::Call(Family::Mistral), Stands::Glued, Follow::Call),
    Marker {
        text: "functools[",
        kind: Kind::Call(Family::Functools),
        stands: Stands::Line,
        follow: Follow::Text(&["{", "]"]),
        keep: 1,
    },
    marker(
        "<start_function_call>",
        Kind::Call(Family::FunctionGemma),
        Stands::Glued,
        Follow::Text(&["call:"]),
    ),
    marker("<|tool_call>", Kind::Call(Family::Gemma), Stands::Glued, Follow::Text(&["call:"])),
    marker(
        "<｜tool▁calls▁begin｜>",
        Kind::Section(Family::DeepSeek),
        Stands::Glued,
        Follow::Text(&["<｜tool▁call▁begin｜>"]),
    ),
    marker("<｜tool▁call▁begin｜>", Kind::Call(Family::DeepSeek), Stands::Glued, Follow::Name('<')),
    marker(
        "<｜DSML｜function_calls>",
        Kind::Section(Family::Dsml),
        Stands::Glued,
        Follow::Text(&["<｜DSML｜invoke"]),
    ),
    marker(
        "<｜DSML｜tool_calls>",
        Kind::Section(Family::Dsml),
        Stands::Glued,
        Follow::Text(&["<｜DSML｜invoke"]),
    ),
    marker("<｜DSML｜invoke name=\"", Kind::Call(Family::Dsml), Stands::Line, Follow::Name('"')),
    marker(
        "<|tool_calls_section_begin|>",
        Kind::Section(Family::Kimi),
        Stands::Glued,
        Follow::Text(&["<|tool_call_begin|>"]),
    ),
    marker("<|tool_call_begin|>", Kind::Call(Family::Kimi), Stands::Glued, Follow::Name('<')),
    marker(
        "<minimax:tool_call>",
        Kind::Section(Family::MiniMax),
        Stands::Line,
        Follow::Text(&["<invoke name=\""]),
    ),
    marker("<invoke name=\"", Kind::Call(Family::MiniMax), Stands::In(Family::MiniMax), Follow::Name('"')),
    // Harmony.
    marker(HARMONY_START, Kind::Header, Stands::Glued, Follow::Anything),
    marker(HARMONY_CHANNEL, Kind::Header, Stands::Glued, Follow::Anything),
    marker(HARMONY_RECIPIENT, Kind::Header, Stands::First, Follow::Anything),
    // Thoughts.
    marker("<think>", Kind::Thoughts(&["</think>"]), Stands::Line, Follow::Anything),
    marker("<thinking>", Kind::Thoughts(&["</thinking>"]), Stands::Line, Follow::Anything),
    marker("[THINK]", Kind::Thoughts(&["[/THINK]"]), Stands::Line, Follow::Anything),
    marker("</think>", Kind::Section(Family::Plain), Stands::Glued, Follow::Anything),
    marker("[/THINK]", Kind::Section(Family::Plain), Stands::Glued, Follow::Anything),
    marker("<tool_result name=\"", Kind::Invented, Stands::Line, Follow::Anything),
    // What closes.
    closer("</tool>"),
    closer("</tool_call>"),
    closer("</function>"),
    closer("<|tool_call_end|>"),
    closer("<|tool_calls_section_end|>"),
    closer("<｜tool▁call▁end｜>"),
    closer("<｜tool▁calls▁end｜>"),
    closer("</｜DSML｜function_calls>"),
    closer("</｜DSML｜tool_calls>"),
    closer("</minimax:tool_call>"),
    closer("<end_function_call>"),
    closer("<tool_call|>"),
    closer("</tool_result>"),
    // What ends a reply.
    end("<|im_end|>"),
    end("<|eot_id|>"),
    end("<|eom_id|>"),
    end("<|eot|>"),
    end("<|eom|>"),
    end("<|end|>"),
    end("<|call|>"),
    end("<|return|>"),
    end("<|end_of_text|>"),
    end("<|endoftext|>"),
    end("<|end_of_turn|>"),
    end("<end_of_turn>"),
    end("<turn|>"),
    end("<eos>"),
    end("</s>"),
    end("<｜end▁of▁sentence｜>"),
];

/// Without white space and end tokens around it.
pub(super) fn without_end_tokens(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let ends = MARKERS.iter().filter(|marker| marker.kind == Kind::End);
        match ends.filter_map(|marker| text.strip_suffix(marker.text)).next() {
            Some(shorter) => text = shorter.trim_end(),
            None => return text,
        }
    }
}

/// Whether a text is a beginning of an end token.
pub(super) fn may_be_end_token(text: &str) -> bool {
    MARKERS.iter().any(|marker| marker.kind == Kind::End && marker.text.starts_with(text))
}

/// The end token that a text begins with.
pub(super) fn end_token(text: &str) -> Option<&'static str> {
    let mut ends = MARKERS.iter().filter(|marker| marker.kind == Kind::End);
    ends.find(|marker| text.starts_with(marker.text)).map(|marker| marker.text)
}

/// Whether a text begins with any of the markers: such a place in a tool's result must not reach a model as it is.
pub(in crate::prompted) fn begins_with_marker(text: &str) -> bool {
    let is_start = |marker: &Marker| {
        text.get(..marker.text.len()).is_some_and(|start| start.eq_ignore_ascii_case(marker.text))
    };
    MARKERS.iter().any(is_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_marker_begins_another_one() {
        for one in MARKERS {
            for other in MARKERS {
                assert!(
                    one.text == other.text || !other.text.starts_with(one.text),
                    "{} {}",
                    one.text,
                    other.text
                );
            }
        }
    }

    #[test]
    fn markers_begin_with_few_characters() {
        // The quick way out of `opening::look` relies on it.
        assert!(MARKERS.iter().all(|marker| marker.text.starts_with(['<', '[', 'f', 't'])));
    }

    #[test]
    fn end_tokens_are_taken_off_however_many() {
        assert_eq!(without_end_tokens(" {}<|eot_id|>\n</s> "), "{}");
        assert_eq!(without_end_tokens("</s>"), "");
    }
}
