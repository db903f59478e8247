//! The markers that models put around calls and reasoning, and the tokens that end a reply.

use super::family::CallFamily;

/// What a marker opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkerKind {
    /// One call, or several in one body.
    Call(CallFamily),
    /// Calls follow, or a channel of text. Only the marker itself is removed.
    Section(CallFamily),
    /// Closes a call or a section, right after a call.
    Closer,
    /// Reasoning, up to one of these.
    Thoughts(&'static [&'static str]),
    /// A result that the model made up instead of waiting for it. Removed.
    Invented,
    /// An end token. Removed if only such tokens follow.
    End,
    /// The header of a harmony message, which says what follows.
    Header,
}

/// Where a marker counts. A tag that a person could write counts only if nothing but white space precedes it on its
/// line. A control token of a model also counts right after a word. Neither counts in code. The position right after a
/// call, a section or reasoning is like the start of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkerPosition {
    /// At the start of a line.
    Line,
    /// There, or right after a word.
    Glued,
    /// Only right after a call, a section or reasoning.
    Behind,
    /// Only in a section of this family, or right after a call of it.
    In(CallFamily),
    /// Only at the very beginning of a reply.
    First,
    /// Everywhere, code included.
    Anywhere,
}

/// What must follow a marker, so that text *about* the marker is not removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkerFollow {
    Anything,
    /// JSON, a closing tag, or a name and then `{`, `[`, `(` or `<`.
    Call,
    /// As [`MarkerFollow::Call`], or `<function=`.
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
    pub(super) kind: MarkerKind,
    pub(super) stands: MarkerPosition,
    pub(super) follow: MarkerFollow,
    /// How many bytes at its end already belong to the body.
    pub(super) keep: usize,
}

const fn marker(
    text: &'static str,
    kind: MarkerKind,
    stands: MarkerPosition,
    follow: MarkerFollow,
) -> Marker {
    Marker { text, kind, stands, follow, keep: 0 }
}

const fn closer(text: &'static str) -> Marker {
    marker(text, MarkerKind::Closer, MarkerPosition::Behind, MarkerFollow::Anything)
}

const fn end_marker(text: &'static str) -> Marker {
    marker(text, MarkerKind::End, MarkerPosition::Anywhere, MarkerFollow::Anything)
}

pub(super) const HARMONY_START: &str = "<|start|>";
pub(super) const HARMONY_CHANNEL: &str = "<|channel|>";
pub(super) const HARMONY_MESSAGE: &str = "<|message|>";
pub(super) const HARMONY_RECIPIENT: &str = "to=functions.";
/// The end markers of a harmony message. The last two open the next one.
pub(super) const HARMONY_ENDS: &[&str] =
    &["<|end|>", "<|return|>", "<|call|>", HARMONY_START, HARMONY_CHANNEL];

/// The end of a made-up result.
pub(super) const INVENTED_END: &[&str] = &["</tool_result>"];

/// All markers. None is a prefix of another one.
pub(super) const MARKERS: &[Marker] = &[
    // Ours, and Hermes and its relatives.
    marker("<tool>", MarkerKind::Call(CallFamily::Plain), MarkerPosition::Line, MarkerFollow::Call),
    marker(
        "<tool_call>",
        MarkerKind::Call(CallFamily::Hermes),
        MarkerPosition::Line,
        MarkerFollow::CallOrFunction,
    ),
    marker(
        "<function=",
        MarkerKind::Call(CallFamily::Function),
        MarkerPosition::Line,
        MarkerFollow::Name('>'),
    ),
    // Control tokens and similar markers.
    marker(
        "<|python_tag|>",
        MarkerKind::Call(CallFamily::PythonTag),
        MarkerPosition::Glued,
        MarkerFollow::Call,
    ),
    marker(
        "<|tool_call_start|>",
        MarkerKind::Call(CallFamily::Pythonic),
        MarkerPosition::Glued,
        MarkerFollow::Call,
    ),
    marker("[TOOL_CALLS]", MarkerKind::Call(CallFamily::Mistral), MarkerPosition::Glued, MarkerFollow::Call),
    Marker {
        text: "functools[",
        kind: MarkerKind::Call(CallFamily::Functools),
        stands: MarkerPosition::Line,
        follow: MarkerFollow::Text(&["{", "]"]),
        keep: 1,
    },
    marker(
        "<start_function_call>",
        MarkerKind::Call(CallFamily::FunctionGemma),
        MarkerPosition::Glued,
        MarkerFollow::Text(&["call:"]),
    ),
    marker(
        "<|tool_call>",
        MarkerKind::Call(CallFamily::Gemma),
        MarkerPosition::Glued,
        MarkerFollow::Text(&["call:"]),
    ),
    marker(
        "<｜tool▁calls▁begin｜>",
        MarkerKind::Section(CallFamily::DeepSeek),
        MarkerPosition::Glued,
        MarkerFollow::Text(&["<｜tool▁call▁begin｜>"]),
    ),
    marker(
        "<｜tool▁call▁begin｜>",
        MarkerKind::Call(CallFamily::DeepSeek),
        MarkerPosition::Glued,
        MarkerFollow::Name('<'),
    ),
    marker(
        "<｜DSML｜function_calls>",
        MarkerKind::Section(CallFamily::Dsml),
        MarkerPosition::Glued,
        MarkerFollow::Text(&["<｜DSML｜invoke"]),
    ),
    marker(
        "<｜DSML｜tool_calls>",
        MarkerKind::Section(CallFamily::Dsml),
        MarkerPosition::Glued,
        MarkerFollow::Text(&["<｜DSML｜invoke"]),
    ),
    marker(
        "<｜DSML｜invoke name=\"",
        MarkerKind::Call(CallFamily::Dsml),
        MarkerPosition::Line,
        MarkerFollow::Name('"'),
    ),
    marker(
        "<|tool_calls_section_begin|>",
        MarkerKind::Section(CallFamily::Kimi),
        MarkerPosition::Glued,
        MarkerFollow::Text(&["<|tool_call_begin|>"]),
    ),
    marker(
        "<|tool_call_begin|>",
        MarkerKind::Call(CallFamily::Kimi),
        MarkerPosition::Glued,
        MarkerFollow::Name('<'),
    ),
    marker(
        "<minimax:tool_call>",
        MarkerKind::Section(CallFamily::MiniMax),
        MarkerPosition::Line,
        MarkerFollow::Text(&["<invoke name=\""]),
    ),
    marker(
        "<invoke name=\"",
        MarkerKind::Call(CallFamily::MiniMax),
        MarkerPosition::In(CallFamily::MiniMax),
        MarkerFollow::Name('"'),
    ),
    // Harmony.
    marker(HARMONY_START, MarkerKind::Header, MarkerPosition::Glued, MarkerFollow::Anything),
    marker(HARMONY_CHANNEL, MarkerKind::Header, MarkerPosition::Glued, MarkerFollow::Anything),
    marker(HARMONY_RECIPIENT, MarkerKind::Header, MarkerPosition::First, MarkerFollow::Anything),
    // Reasoning.
    marker("<think>", MarkerKind::Thoughts(&["</think>"]), MarkerPosition::Line, MarkerFollow::Anything),
    marker(
        "<thinking>",
        MarkerKind::Thoughts(&["</thinking>"]),
        MarkerPosition::Line,
        MarkerFollow::Anything,
    ),
    marker("[THINK]", MarkerKind::Thoughts(&["[/THINK]"]), MarkerPosition::Line, MarkerFollow::Anything),
    marker("</think>", MarkerKind::Section(CallFamily::Plain), MarkerPosition::Glued, MarkerFollow::Anything),
    marker("[/THINK]", MarkerKind::Section(CallFamily::Plain), MarkerPosition::Glued, MarkerFollow::Anything),
    marker("<tool_result name=\"", MarkerKind::Invented, MarkerPosition::Line, MarkerFollow::Anything),
    // Closing markers.
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
    // End tokens.
    end_marker("<|im_end|>"),
    end_marker("<|eot_id|>"),
    end_marker("<|eom_id|>"),
    end_marker("<|eot|>"),
    end_marker("<|eom|>"),
    end_marker("<|end|>"),
    end_marker("<|call|>"),
    end_marker("<|return|>"),
    end_marker("<|end_of_text|>"),
    end_marker("<|endoftext|>"),
    end_marker("<|end_of_turn|>"),
    end_marker("<end_of_turn>"),
    end_marker("<turn|>"),
    end_marker("<eos>"),
    end_marker("</s>"),
    end_marker("<｜end▁of▁sentence｜>"),
];

/// Removes white space around a text, and end tokens after it.
pub(super) fn without_end_tokens(text: &str) -> &str {
    let mut text = text.trim();
    loop {
        let ends = MARKERS.iter().filter(|marker| marker.kind == MarkerKind::End);
        match ends.filter_map(|marker| text.strip_suffix(marker.text)).next() {
            Some(shorter) => text = shorter.trim_end(),
            None => return text,
        }
    }
}

/// Whether a text is a prefix of an end token.
pub(super) fn may_be_end_token(text: &str) -> bool {
    MARKERS.iter().any(|marker| marker.kind == MarkerKind::End && marker.text.starts_with(text))
}

/// The end token that a text begins with.
pub(super) fn end_token(text: &str) -> Option<&'static str> {
    let mut ends = MARKERS.iter().filter(|marker| marker.kind == MarkerKind::End);
    ends.find(|marker| text.starts_with(marker.text)).map(|marker| marker.text)
}

/// Whether a text begins with a marker. Such text in a tool result must be escaped before a model sees it.
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
        // The fast path of `opening::match_opening` relies on it.
        assert!(MARKERS.iter().all(|marker| marker.text.starts_with(['<', '[', 'f', 't'])));
    }

    #[test]
    fn end_tokens_are_taken_off_however_many() {
        assert_eq!(without_end_tokens(" {}<|eot_id|>\n</s> "), "{}");
        assert_eq!(without_end_tokens("</s>"), "");
    }
}
