//! One exchange as it is kept: what the user said, what was called, what the assistant said. Bounded, and read back as messages
//! for a model.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};
use toolyard_agent::message::{Assistant, Call, Message, Part, ToolAnswer};
use toolyard_protocol::raw::to_raw;

/// Longest text of a result that is kept, in characters: a model that needs more asks the tool again.
pub const MAX_RESULT_CHARS: usize = 1_000;
/// Longest answer or question that is kept, in characters.
pub const MAX_TEXT_CHARS: usize = 4_000;
/// Longest arguments of a call that are kept, in bytes.
pub const MAX_ARGUMENT_BYTES: usize = 2_000;

/// A question and what came of it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Exchange {
    messages: Vec<Kept>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "lowercase")]
enum Kept {
    User {
        text: String,
    },
    Assistant {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<KeptCall>,
    },
    Tools {
        answers: Vec<KeptAnswer>,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptCall {
    id: String,
    name: String,
    /// Not raw: a message is told apart by a member, and raw JSON does not go through that.
    arguments: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptAnswer {
    id: String,
    name: String,
    text: String,
    is_error: bool,
}

impl Exchange {
    /// A question, the messages of its turn, and the words with which it ended where the model did not say them.
    pub fn new(question: &str, turn: &[Message], last_words: Option<&str>) -> Self {
        let mut messages = vec![Kept::User { text: cut(question, MAX_TEXT_CHARS) }];
        messages.extend(turn.iter().filter_map(keep));
        if let Some(words) = last_words {
            messages.push(Kept::Assistant { text: cut(words, MAX_TEXT_CHARS), calls: Vec::new() });
        }
        Self { messages }
    }

    /// The messages for a model.
    pub fn messages(&self) -> impl Iterator<Item = Message> {
        self.messages.iter().map(|kept| match kept {
            Kept::User { text } => Message::user(text.as_str()),
            Kept::Assistant { text, calls } => Message::Assistant(Assistant {
                text: text.clone(),
                calls: calls
                    .iter()
                    .map(|call| Call {
                        id: call.id.clone(),
                        name: call.name.clone(),
                        arguments: to_raw(&call.arguments),
                    })
                    .collect(),
                kept: None,
            }),
            Kept::Tools { answers } => Message::Tools(
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

    /// About how many tokens a model reads of it.
    pub fn tokens(&self) -> usize {
        let of = |kept: &Kept| match kept {
            Kept::User { text } => tokens(text),
            Kept::Assistant { text, calls } => {
                tokens(text)
                    + calls
                        .iter()
                        .map(|call| tokens(&call.name) + tokens(&call.arguments.to_string()))
                        .sum::<usize>()
            }
            Kept::Tools { answers } => answers.iter().map(|answer| tokens(&answer.text)).sum(),
        };
        // Each message has a few of its own.
        self.messages.iter().map(|kept| of(kept) + 4).sum()
    }

    /// The exchange as lines, for a summary.
    pub fn as_lines(&self) -> String {
        let line = |kept: &Kept| match kept {
            Kept::User { text } => format!("User: {text}"),
            Kept::Assistant { text, calls } => {
                let names: Vec<_> = calls.iter().map(|call| call.name.as_str()).collect();
                if names.is_empty() {
                    format!("Assistant: {text}")
                } else {
                    format!("Assistant called {}. {text}", names.join(", "))
                }
            }
            Kept::Tools { answers } => answers
                .iter()
                .map(|answer| format!("{}: {}", answer.name, answer.text))
                .collect::<Vec<_>>()
                .join("\n"),
        };
        self.messages.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn keep(message: &Message) -> Option<Kept> {
    match message {
        Message::User(parts) => {
            let texts: Vec<&str> = parts
                .iter()
                .filter_map(|part| match part {
                    Part::Text(text) => Some(text.as_str()),
                    Part::File { .. } => None,
                })
                .collect();
            (!texts.is_empty()).then(|| Kept::User { text: cut(&texts.join("\n"), MAX_TEXT_CHARS) })
        }
        Message::Assistant(said) => Some(Kept::Assistant {
            text: cut(&said.text, MAX_TEXT_CHARS),
            calls: said
                .calls
                .iter()
                .map(|call| KeptCall {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    arguments: short(&call.arguments),
                })
                .collect(),
        }),
        Message::Tools(answers) => Some(Kept::Tools {
            answers: answers
                .iter()
                .map(|answer| KeptAnswer {
                    id: answer.id.clone(),
                    name: answer.name.clone(),
                    text: cut(&answer.text, MAX_RESULT_CHARS),
                    is_error: answer.is_error,
                })
                .collect(),
        }),
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} [cut]", &text[..end]),
        None => text.to_owned(),
    }
}

fn short(arguments: &RawValue) -> Value {
    let fits = arguments.get().len() <= MAX_ARGUMENT_BYTES;
    Some(arguments.get())
        .filter(|_| fits)
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_else(|| json!({}))
}

/// About how many tokens a text has. Nobody knows before the model reads it: three to four letters of a Latin script, one or two of
/// others.
pub fn tokens(text: &str) -> usize {
    let (latin, other) = text.chars().fold((0, 0), |(latin, other), letter| {
        if (letter as u32) < 0x250 { (latin + 1, other) } else { (latin, other + 1) }
    });
    (latin * 10usize).div_ceil(36) + (other * 10usize).div_ceil(15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn() -> Vec<Message> {
        let call = Call {
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
            Message::Assistant(Assistant { text: String::new(), calls: vec![call], kept: None }),
            Message::Tools(vec![answer]),
            Message::Assistant(Assistant { text: "Added.".to_owned(), ..Assistant::default() }),
        ]
    }

    #[test]
    fn an_exchange_comes_back_as_it_went_with_long_results_cut() {
        let kept = Exchange::new("add milk", &turn(), None);
        let read: Exchange = serde_json::from_str(&serde_json::to_string(&kept).unwrap()).unwrap();
        let messages: Vec<Message> = read.messages().collect();
        assert!(
            matches!(&messages[0], Message::User(parts) if *parts == [Part::Text("add milk".to_owned())])
        );
        assert!(
            matches!(&messages[1], Message::Assistant(said) if said.calls[0].arguments.get() == r#"{"item":"milk"}"#)
        );
        let Message::Tools(answers) = &messages[2] else { panic!("{messages:?}") };
        assert_eq!(answers[0].text.chars().count(), MAX_RESULT_CHARS + " [cut]".len());
        assert!(matches!(&messages[3], Message::Assistant(said) if said.text == "Added."));
        assert!(read.as_lines().starts_with("User: add milk\nAssistant called todo__add. \ntodo__add: é"));
    }

    #[test]
    fn large_arguments_are_left_out_and_last_words_are_added() {
        let mut turn = turn();
        if let Message::Assistant(said) = &mut turn[0] {
            said.calls[0].arguments = to_raw(&"x".repeat(MAX_ARGUMENT_BYTES));
        }
        let kept = Exchange::new("add", &turn[..2], Some("Done."));
        let messages: Vec<Message> = kept.messages().collect();
        assert!(matches!(&messages[1], Message::Assistant(said) if said.calls[0].arguments.get() == "{}"));
        assert!(matches!(messages.last(), Some(Message::Assistant(said)) if said.text == "Done."));
    }

    #[test]
    fn tokens_are_about_right() {
        assert_eq!(tokens(""), 0);
        assert_eq!(tokens(&"word ".repeat(72)), 100);
        assert!(tokens("明日の天気は") >= 4);
    }
}
