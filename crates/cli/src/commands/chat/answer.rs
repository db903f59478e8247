//! An answer, put together as it is told, in the form in which it goes back with the next question.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::chunk::Chunk;

/// An answer as it is told.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) id: Option<String>,
    pub(super) parts: Vec<Part>,
    /// Whether the next words begin a text of their own.
    text_is_over: bool,
}

/// A piece of it.
#[derive(Debug)]
pub(super) enum Part {
    Step,
    Text(String),
    Call { id: String, name: String, input: Value, of_server: bool, end: End },
}

/// What came of a call.
#[derive(Debug)]
pub(super) enum End {
    Open,
    Done(Value),
    Failed(String),
}

impl Answer {
    /// Takes what was told.
    pub(super) fn hear(&mut self, chunk: &Chunk) {
        match chunk {
            Chunk::Start { message_id } => self.id.clone_from(message_id),
            Chunk::StartStep => self.parts.push(Part::Step),
            Chunk::TextDelta { delta } => match self.parts.last_mut() {
                Some(Part::Text(text)) if !self.text_is_over => text.push_str(delta),
                _ => {
                    self.parts.push(Part::Text(delta.clone()));
                    self.text_is_over = false;
                }
            },
            Chunk::TextEnd => self.text_is_over = true,
            Chunk::ToolInputAvailable { tool_call_id, tool_name, input, provider_executed } => {
                self.call(tool_call_id, tool_name, input, *provider_executed, End::Open);
            }
            Chunk::ToolInputError { tool_call_id, tool_name, input, error_text } => {
                self.call(tool_call_id, tool_name, input, true, End::Failed(error_text.clone()));
            }
            Chunk::ToolOutputAvailable { preliminary: true, .. } => {}
            Chunk::ToolOutputAvailable { tool_call_id, output, .. } => {
                self.ends(tool_call_id, End::Done(output.clone()));
            }
            Chunk::ToolOutputError { tool_call_id, error_text } => {
                self.ends(tool_call_id, End::Failed(error_text.clone()));
            }
            Chunk::ToolOutputDenied { tool_call_id } => {
                self.ends(tool_call_id, End::Failed("The user said no.".to_owned()));
            }
            Chunk::ReasoningDelta
            | Chunk::Tool { .. }
            | Chunk::Progress { .. }
            | Chunk::Notice { .. }
            | Chunk::Error { .. }
            | Chunk::Abort
            | Chunk::Finish
            | Chunk::Other => {}
        }
    }

    /// Tools that nobody ran: the server leaves them to its client, and this client has none.
    pub(super) fn waits_for(&self) -> Vec<&str> {
        let waits = self.parts.iter().filter_map(|part| match part {
            Part::Call { name, of_server: false, end: End::Open, .. } => Some(name.as_str()),
            _ => None,
        });
        waits.collect()
    }

    /// Whether nothing was said and nothing called.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Step))
    }

    fn call(&mut self, id: &str, name: &str, input: &Value, of_server: bool, end: End) {
        let (id, name, input) = (id.to_owned(), name.to_owned(), input.clone());
        self.parts.push(Part::Call { id, name, input, of_server, end });
    }

    fn ends(&mut self, call: &str, came_to: End) {
        let found = self.parts.iter_mut().rev().find_map(|part| match part {
            Part::Call { id, end, .. } if id == call => Some(end),
            _ => None,
        });
        if let Some(end) = found {
            *end = came_to;
        }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let part = match self {
            Self::Step => json!({ "type": "step-start" }),
            Self::Text(text) => json!({ "type": "text", "text": text, "state": "done" }),
            Self::Call { id, name, input, of_server, end } => {
                let mut part = json!({ "type": format!("tool-{name}"), "toolCallId": id, "input": input });
                if *of_server {
                    part["providerExecuted"] = true.into();
                }
                match end {
                    End::Open => part["state"] = "input-available".into(),
                    End::Done(output) => {
                        part["state"] = "output-available".into();
                        part["output"] = output.clone();
                    }
                    End::Failed(why) => {
                        part["state"] = "output-error".into();
                        part["errorText"] = why.clone().into();
                    }
                }
                part
            }
        };
        part.serialize(serializer)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{super::chunk, *};

    /// The answer that was told so.
    pub(crate) fn heard(chunks: &[Value]) -> Answer {
        let mut answer = Answer::default();
        for chunk in chunks {
            answer.hear(&chunk::read(chunk.to_string().as_bytes()));
        }
        answer
    }

    #[test]
    fn only_calls_that_nobody_ran_wait() {
        let call = |id: &str, name: &str, ours: bool| {
            json!({ "type": "tool-input-available", "toolCallId": id, "toolName": name, "input": {},
                "providerExecuted": ours })
        };
        let answer = heard(&[
            call("c1", "server_tool", true),
            call("c2", "show_chart", false),
            call("c3", "open_page", false),
            json!({ "type": "tool-output-available", "toolCallId": "c3", "output": 1 }),
        ]);
        assert_eq!(answer.waits_for(), ["show_chart"]);
    }
}
