//! One stored exchange: the question, the tool calls and the answer. Its size is limited, and it is read back as messages for a
//! model.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};
use toolyard_agent::message::{AssistantMessage, ModelMessage, ModelToolCall, ToolAnswer, UserPart};
use toolyard_protocol::raw::to_raw;

/// Longest stored text of a result, in characters. A model that needs more can call the tool again.
pub const MAX_RESULT_CHARS: usize = 1_000;
/// Longest stored question or answer, in characters.
pub const MAX_TEXT_CHARS: usize = 4_000;
/// Longest stored arguments of a call, in bytes.
pub const MAX_ARGUMENT_BYTES: usize = 2_000;

/// A question and its answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ConversationExchange {
    messages: Vec<StoredMessage>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "lowercase")]
enum StoredMessage {
    User {
        text: String,
    },
    Assistant {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<StoredCall>,
    },
    Tools {
        answers: Vec<StoredToolAnswer>,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredCall {
    id: String,
    name: String,
    /// Not raw: serde cannot deserialize raw JSON inside an internally tagged enum.
    arguments: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredToolAnswer {
    id: String,
    name: String,
    text: String,
    is_error: bool,
}

impl ConversationExchange {
    /// A question, the messages of its turn, and the final text if it was not the model's.
    pub fn new(question: &str, turn: &[ModelMessage], last_words: Option<&str>) -> Self {
        let mut messages = vec![StoredMessage::User { text: truncate_text(question, MAX_TEXT_CHARS) }];
        messages.extend(turn.iter().filter_map(to_stored));
        if let Some(words) = last_words {
            messages.push(StoredMessage::Assistant {
                text: truncate_text(words, MAX_TEXT_CHARS),
                calls: Vec::new(),
            });
        }
        Self { messages }
    }

    /// The messages for a model.
    pub fn to_messages(&self) -> impl Iterator<Item = ModelMessage> {
        self.messages.iter().map(|message| match message {
            StoredMessage::User { text } => ModelMessage::from_user_text(text.as_str()),
            StoredMessage::Assistant { text, calls } => ModelMessage::Assistant(AssistantMessage {
                text: text.clone(),
                calls: calls
                    .iter()
                    .map(|call| ModelToolCall {
                        id: call.id.clone(),
                        name: call.name.clone(),
                        arguments: to_raw(&call.arguments),
                    })
                    .collect(),
                vendor_state: None,
            }),
            StoredMessage::Tools { answers } => ModelMessage::Tools(
                answers
                    .iter()
                    .map(|answer| ToolAnswer {
                        id: answer.id.clone(),
                        name: answer.name.clone(),
                        text: answer.text.clone(),
                        is_error: answer.is_error,
                    })
                    .collect(),
            ),
        })
    }

    /// The estimated number of tokens.
    pub fn token_count(&self) -> usize {
        let of = |message: &StoredMessage| match message {
            StoredMessage::User { text } => estimate_tokens(text),
            StoredMessage::Assistant { text, calls } => {
                estimate_tokens(text)
                    + calls
                        .iter()
                        .map(|call| {
                            estimate_tokens(&call.name) + estimate_tokens(&call.arguments.to_string())
                        })
                        .sum::<usize>()
            }
            StoredMessage::Tools { answers } => {
                answers.iter().map(|answer| estimate_tokens(&answer.text)).sum()
            }
        };
        // Each message has a small overhead.
        self.messages.iter().map(|message| of(message) + 4).sum()
    }

    /// The exchange as lines, for a summary.
    pub fn as_lines(&self) -> String {
        let line = |message: &StoredMessage| match message {
            StoredMessage::User { text } => format!("User: {text}"),
            StoredMessage::Assistant { text, calls } => {
                let names: Vec<_> = calls.iter().map(|call| call.name.as_str()).collect();
                if names.is_empty() {
                    format!("Assistant: {text}")
                } else {
                    format!("Assistant called {}. {text}", names.join(", "))
                }
            }
            StoredMessage::Tools { answers } => answers
                .iter()
                .map(|answer| format!("{}: {}", answer.name, answer.text))
                .collect::<Vec<_>>()
                .join("\n"),
        };
        self.messages.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn to_stored(message: &ModelMessage) -> Option<StoredMessage> {
    match message {
        ModelMessage::User(parts) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| match part {
                    UserPart::Text(text) => Some(text.as_str()),
                    UserPart::File { .. } => None,
                })
                .collect();
            (!texts.is_empty())
                .then(|| StoredMessage::User { text: truncate_text(&texts.join("\n"), MAX_TEXT_CHARS) })
        }
        ModelMessage::Assistant(said) => Some(StoredMessage::Assistant {
            text: truncate_text(&said.text, MAX_TEXT_CHARS),
            calls: said
                .calls
                .iter()
                .map(|call| StoredCall {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    arguments: bounded_arguments(&call.arguments),
                })
                .collect(),
        }),
        ModelMessage::Tools(answers) => Some(StoredMessage::Tools {
            answers: answers
                .iter()
                .map(|answer| StoredToolAnswer {
                    id: answer.id.clone(),
                    name: answer.name.clone(),
                    text: truncate_text(&answer.text, MAX_RESULT_CHARS),
                    is_error: answer.is_error,
                })
                .collect(),
        }),
    }
}

fn truncate_text(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} [cut]", &text[..end]),
        None => text.to_owned(),
    }
}

fn bounded_arguments(arguments: &RawValue) -> Value {
    let fits = arguments.get().len() <= MAX_ARGUMENT_BYTES;
    Some(arguments.get())
        .filter(|_| fits)
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_else(|| json!({}))
}

/// The estimated number of tokens of a text: a token is three to four letters of a Latin script, one or two of others.
pub fn estimate_tokens(text: &str) -> usize {
    let (latin, other) = text.chars().fold((0, 0), |(latin, other), letter| {
        if (letter as u32) < 0x250 { (latin + 1, other) } else { (latin, other + 1) }
    });
    (latin * 10usize).div_ceil(36) + (other * 10usize).div_ceil(15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn() -> Vec<ModelMessage> {
        let call = ModelToolCall {
            id: "c1".to_owned(),
            name: "todo__add".to_owned(),
            arguments: to_raw(&json!({ "item": "milk" })),
        };
        let answer = ToolAnswer {
            id: "c1".to_owned(),
            name: "todo__add".to_owned(),
            text: "é".repeat(3_000),
            is_error: false,
        };
        vec![
            ModelMessage::Assistant(AssistantMessage {
                text: String::new(),
                calls: vec![call],
                vendor_state: None,
            }),
            ModelMessage::Tools(vec![answer]),
            ModelMessage::Assistant(AssistantMessage {
                text: "Added.".to_owned(),
                ..AssistantMessage::default()
            }),
        ]
    }

    #[test]
    fn an_exchange_is_read_back_with_long_results_truncated() {
        let exchange = ConversationExchange::new("add milk", &turn(), None);
        let read: ConversationExchange =
            serde_json::from_str(&serde_json::to_string(&exchange).unwrap()).unwrap();
        let messages: Vec<ModelMessage> = read.to_messages().collect();
        assert!(
            matches!(&messages[0], ModelMessage::User(parts) if *parts == [UserPart::Text("add milk".to_owned())])
        );
        assert!(
            matches!(&messages[1], ModelMessage::Assistant(said) if said.calls[0].arguments.get() == r#"{"item":"milk"}"#)
        );
        let ModelMessage::Tools(answers) = &messages[2] else { panic!("{messages:?}") };
        assert_eq!(answers[0].text.chars().count(), MAX_RESULT_CHARS + " [cut]".len());
        assert!(matches!(&messages[3], ModelMessage::Assistant(said) if said.text == "Added."));
        assert!(read.as_lines().starts_with("User: add milk\nAssistant called todo__add. \ntodo__add: é"));
    }

    #[test]
    fn large_arguments_are_left_out_and_last_words_are_added() {
        let mut turn = turn();
        if let ModelMessage::Assistant(said) = &mut turn[0] {
            said.calls[0].arguments = to_raw(&"x".repeat(MAX_ARGUMENT_BYTES));
        }
        let exchange = ConversationExchange::new("add", &turn[..2], Some("Done."));
        let messages: Vec<ModelMessage> = exchange.to_messages().collect();
        assert!(
            matches!(&messages[1], ModelMessage::Assistant(said) if said.calls[0].arguments.get() == "{}")
        );
        assert!(matches!(messages.last(), Some(ModelMessage::Assistant(said)) if said.text == "Done."));
    }

    #[test]
    fn the_token_estimate_is_about_right() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens(&"word ".repeat(72)), 100);
        assert!(estimate_tokens("明日の天気は") >= 4);
    }
}
