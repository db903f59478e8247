//! The events of a stream. Each has a type and a sequence number.

use serde::Serialize;

use super::{OutputItem, OutputText, ResponseBody};
use crate::line::JsonLine;

/// One event.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type")]
pub enum ResponseEvent<'a> {
    /// The first event.
    #[serde(rename = "response.created")]
    Created {
        /// Without output.
        response: &'a ResponseBody,
    },
    /// The response started.
    #[serde(rename = "response.in_progress")]
    InProgress {
        /// Without output.
        response: &'a ResponseBody,
    },
    /// A message or a call started.
    #[serde(rename = "response.output_item.added")]
    ItemAdded {
        /// Index in the output.
        output_index: usize,
        /// Without content.
        item: &'a OutputItem,
    },
    /// The text of a message started.
    #[serde(rename = "response.content_part.added")]
    PartAdded {
        /// The message.
        item_id: &'a str,
        /// Index in the output.
        output_index: usize,
        /// Always 0.
        content_index: usize,
        /// Empty.
        part: OutputText,
    },
    /// More text.
    #[serde(rename = "response.output_text.delta")]
    TextDelta {
        /// The message.
        item_id: &'a str,
        /// Index in the output.
        output_index: usize,
        /// Always 0.
        content_index: usize,
        /// The text.
        delta: &'a str,
        /// Always empty.
        logprobs: [(); 0],
    },
    /// The complete text.
    #[serde(rename = "response.output_text.done")]
    TextDone {
        /// The message.
        item_id: &'a str,
        /// Index in the output.
        output_index: usize,
        /// Always 0.
        content_index: usize,
        /// The text.
        text: &'a str,
        /// Always empty.
        logprobs: [(); 0],
    },
    /// The text of a message ended.
    #[serde(rename = "response.content_part.done")]
    PartDone {
        /// The message.
        item_id: &'a str,
        /// Index in the output.
        output_index: usize,
        /// Always 0.
        content_index: usize,
        /// The complete text.
        part: OutputText,
    },
    /// More of a call's arguments.
    #[serde(rename = "response.function_call_arguments.delta")]
    ArgumentsDelta {
        /// The call.
        item_id: &'a str,
        /// Index in the output.
        output_index: usize,
        /// Part of a JSON string.
        delta: &'a str,
    },
    /// The complete arguments of a call.
    #[serde(rename = "response.function_call_arguments.done")]
    ArgumentsDone {
        /// The call.
        item_id: &'a str,
        /// Index in the output.
        output_index: usize,
        /// The function.
        name: &'a str,
        /// JSON as a string.
        arguments: &'a str,
    },
    /// A message or a call is complete.
    #[serde(rename = "response.output_item.done")]
    ItemDone {
        /// Index in the output.
        output_index: usize,
        /// The complete item.
        item: &'a OutputItem,
    },
    /// The last event: the response is complete.
    #[serde(rename = "response.completed")]
    Completed {
        /// The complete response.
        response: &'a ResponseBody,
    },
    /// The last event: the response ended early.
    #[serde(rename = "response.incomplete")]
    Incomplete {
        /// The response so far.
        response: &'a ResponseBody,
    },
    /// The last event: the response failed.
    #[serde(rename = "response.failed")]
    Failed {
        /// With the error.
        response: &'a ResponseBody,
    },
}

impl ResponseEvent<'_> {
    const fn name(&self) -> &'static str {
        match self {
            Self::Created { .. } => "response.created",
            Self::InProgress { .. } => "response.in_progress",
            Self::ItemAdded { .. } => "response.output_item.added",
            Self::PartAdded { .. } => "response.content_part.added",
            Self::TextDelta { .. } => "response.output_text.delta",
            Self::TextDone { .. } => "response.output_text.done",
            Self::PartDone { .. } => "response.content_part.done",
            Self::ArgumentsDelta { .. } => "response.function_call_arguments.delta",
            Self::ArgumentsDone { .. } => "response.function_call_arguments.done",
            Self::ItemDone { .. } => "response.output_item.done",
            Self::Completed { .. } => "response.completed",
            Self::Incomplete { .. } => "response.incomplete",
            Self::Failed { .. } => "response.failed",
        }
    }
}

/// An event with its sequence number.
#[derive(Debug, Clone, Serialize)]
pub struct SequencedEvent<'a> {
    #[serde(flatten)]
    event: ResponseEvent<'a>,
    sequence_number: u64,
}

impl<'a> SequencedEvent<'a> {
    /// An event with this sequence number.
    pub const fn new(event: ResponseEvent<'a>, sequence_number: u64) -> Self {
        Self { event, sequence_number }
    }

    /// The event as sent over the wire.
    pub fn to_event(&self) -> String {
        JsonLine::new(self).to_named_event(self.event.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_named_twice_and_numbered() {
        let event = ResponseEvent::TextDelta {
            item_id: "msg_1",
            output_index: 0,
            content_index: 0,
            delta: "a\nb",
            logprobs: [],
        };
        assert_eq!(
            SequencedEvent::new(event, 4).to_event(),
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"msg_1\",\
             \"output_index\":0,\"content_index\":0,\"delta\":\"a\\nb\",\"logprobs\":[],\"sequence_number\":4}\n\n"
        );
    }
}
