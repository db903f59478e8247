//! The events of a stream. Each is named by its type, and numbered.

use serde::Serialize;

use super::{OutputItem, OutputText, ResponseBody};
use crate::line::JsonLine;

/// One event.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type")]
pub enum ResponseEvent<'a> {
    /// The first one.
    #[serde(rename = "response.created")]
    Created {
        /// Without output.
        response: &'a ResponseBody,
    },
    /// Work on it began.
    #[serde(rename = "response.in_progress")]
    InProgress {
        /// Without output.
        response: &'a ResponseBody,
    },
    /// A message or a call begins.
    #[serde(rename = "response.output_item.added")]
    ItemAdded {
        /// Its place.
        output_index: usize,
        /// Without content.
        item: &'a OutputItem,
    },
    /// The words of a message begin.
    #[serde(rename = "response.content_part.added")]
    PartAdded {
        /// The message.
        item_id: &'a str,
        /// Its place.
        output_index: usize,
        /// Always 0.
        content_index: usize,
        /// Empty.
        part: OutputText,
    },
    /// More words.
    #[serde(rename = "response.output_text.delta")]
    TextDelta {
        /// The message.
        item_id: &'a str,
        /// Its place.
        output_index: usize,
        /// Always 0.
        content_index: usize,
        /// The words.
        delta: &'a str,
        /// Always none.
        logprobs: [(); 0],
    },
    /// All words.
    #[serde(rename = "response.output_text.done")]
    TextDone {
        /// The message.
        item_id: &'a str,
        /// Its place.
        output_index: usize,
        /// Always 0.
        content_index: usize,
        /// All of them.
        text: &'a str,
        /// Always none.
        logprobs: [(); 0],
    },
    /// The words of a message end.
    #[serde(rename = "response.content_part.done")]
    PartDone {
        /// The message.
        item_id: &'a str,
        /// Its place.
        output_index: usize,
        /// Always 0.
        content_index: usize,
        /// All of them.
        part: OutputText,
    },
    /// More of a call's arguments.
    #[serde(rename = "response.function_call_arguments.delta")]
    ArgumentsDelta {
        /// The call.
        item_id: &'a str,
        /// Its place.
        output_index: usize,
        /// Text of JSON.
        delta: &'a str,
    },
    /// All of them.
    #[serde(rename = "response.function_call_arguments.done")]
    ArgumentsDone {
        /// The call.
        item_id: &'a str,
        /// Its place.
        output_index: usize,
        /// What is called.
        name: &'a str,
        /// JSON, as a text.
        arguments: &'a str,
    },
    /// A message or a call is whole.
    #[serde(rename = "response.output_item.done")]
    ItemDone {
        /// Its place.
        output_index: usize,
        /// All of it.
        item: &'a OutputItem,
    },
    /// The last one: the response is whole.
    #[serde(rename = "response.completed")]
    Completed {
        /// All of it.
        response: &'a ResponseBody,
    },
    /// The last one: it ended before.
    #[serde(rename = "response.incomplete")]
    Incomplete {
        /// As far as it is.
        response: &'a ResponseBody,
    },
    /// The last one: there is none.
    #[serde(rename = "response.failed")]
    Failed {
        /// Why.
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

/// An event with its number.
#[derive(Debug, Clone, Serialize)]
pub struct SequencedEvent<'a> {
    #[serde(flatten)]
    event: ResponseEvent<'a>,
    sequence_number: u64,
}

impl<'a> SequencedEvent<'a> {
    /// With this number.
    pub const fn new(event: ResponseEvent<'a>, sequence_number: u64) -> Self {
        Self { event, sequence_number }
    }

    /// As it goes over the wire.
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
