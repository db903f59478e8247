//! The data stream v1 of AI SDK 4 and hustle-incognito: lines of a code, a colon and JSON. An unknown code breaks the
//! chat at the client, so only these are sent.

use serde::Serialize;

use super::FinishReason;
use crate::line::JsonLine;

/// Keeps an idle stream open; clients ignore empty lines.
pub const HEARTBEAT: &str = "\n";

/// The codes that are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum V1Code {
    /// A text.
    Text,
    /// Data next to the message: a list.
    Data,
    /// An error; the chat ends.
    Error,
    /// A complete call.
    ToolCall,
    /// The result of a call.
    ToolResult,
    /// The model starts to write a call.
    ToolCallStart,
    /// More of its arguments.
    ToolCallDelta,
    /// The end of the response.
    Finish,
    /// The end of a step.
    FinishStep,
    /// The start of a step.
    StartStep,
    /// Reasoning.
    Reasoning,
}

impl V1Code {
    const fn as_char(self) -> char {
        match self {
            Self::Text => '0',
            Self::Data => '2',
            Self::Error => '3',
            Self::ToolCall => '9',
            Self::ToolResult => 'a',
            Self::ToolCallStart => 'b',
            Self::ToolCallDelta => 'c',
            Self::Finish => 'd',
            Self::FinishStep => 'e',
            Self::StartStep => 'f',
            Self::Reasoning => 'g',
        }
    }
}

/// One line of the stream.
pub fn v1_line(code: V1Code, value: &(impl Serialize + ?Sized)) -> String {
    format!("{}:{}\n", code.as_char(), JsonLine::new(value))
}

/// Token usage.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct V1Usage {
    /// Tokens in the prompt.
    pub prompt_tokens: u64,
    /// Tokens in the completion.
    pub completion_tokens: u64,
}

/// The value of [`V1Code::Finish`] and [`V1Code::FinishStep`].
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct V1Finish {
    /// Why.
    pub finish_reason: FinishReason,
    /// Token usage.
    pub usage: V1Usage,
    /// Only for a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_continued: Option<bool>,
}

/// A text as lines. Some clients parse a piece that is a JSON list or object a second time, so such a text is split.
pub fn text_lines(text: &str) -> String {
    let looks_like_json =
        text.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if !looks_like_json {
        return v1_line(V1Code::Text, text);
    }
    let (first, rest) = text.split_at(1);
    v1_line(V1Code::Text, first) + &v1_line(V1Code::Text, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_code_and_json() {
        assert_eq!(v1_line(V1Code::Text, "a\n\"b\""), "0:\"a\\n\\\"b\\\"\"\n");
        let usage = V1Usage { prompt_tokens: 1, completion_tokens: 2 };
        let finish = V1Finish { finish_reason: FinishReason::Stop, usage, is_continued: Some(false) };
        assert_eq!(
            v1_line(V1Code::FinishStep, &finish),
            "e:{\"finishReason\":\"stop\",\"usage\":{\"promptTokens\":1,\"completionTokens\":2},\"isContinued\":false}\n"
        );
    }

    #[test]
    fn text_that_is_json_comes_in_two() {
        assert_eq!(text_lines("[]"), "0:\"[\"\n0:\"]\"\n");
        assert_eq!(text_lines("[oh"), "0:\"[oh\"\n");
    }
}
