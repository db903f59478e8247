//! What is on the screen of an app, part by part, in the words of the SDK's version.

use serde_json::{Value, json};

use crate::stage::ECHO;

/// Which form messages have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// That of version 4.
    Four,
    /// That of version 5 and later.
    Five,
}

impl Form {
    /// What the user said.
    pub(super) fn user(self, text: &str) -> Value {
        json!({ "role": "user", "parts": [{ "type": "text", "text": text }] })
    }

    /// One message of the assistant, whatever number of requests it took.
    pub(super) fn assistant(self, parts: &[Value]) -> Value {
        json!({ "role": "assistant", "parts": parts })
    }

    /// Where a step begins.
    pub(super) fn step(self) -> Value {
        json!({ "type": "step-start" })
    }

    /// A text that is whole.
    pub(super) fn text(self, text: &str) -> Value {
        self.in_state(json!({ "type": "text", "text": text }), "done")
    }

    /// A text whose end did not come.
    pub(super) fn open_text(self, text: &str) -> Value {
        self.in_state(json!({ "type": "text", "text": text }), "streaming")
    }

    /// What the model thought.
    pub(super) fn thought(self, text: &str) -> Value {
        match self {
            Self::Four => {
                json!({ "type": "reasoning", "reasoning": text, "details": [{ "type": "text", "text": text }] })
            }
            Self::Five => self.in_state(json!({ "type": "reasoning", "text": text }), "done"),
        }
    }

    fn in_state(self, mut part: Value, state: &str) -> Value {
        if self == Self::Five {
            part["state"] = state.into();
        }
        part
    }
}

/// A call on the screen.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) form: Form,
    /// Which call of the chat it is.
    pub(super) number: usize,
    /// In which step of its message.
    pub(super) step: usize,
    pub(super) tool: String,
    pub(super) input: Value,
}

impl Shown {
    fn id(&self) -> String {
        format!("call {}", self.number)
    }

    fn part(&self, four: &str, five: &str) -> Value {
        let Self { form, step, tool, input, .. } = self;
        match form {
            Form::Four => {
                let call = json!({ "state": four, "step": step, "toolCallId": self.id(), "toolName": tool, "args": input });
                json!({ "type": "tool-invocation", "toolInvocation": call })
            }
            Form::Five => {
                json!({ "type": format!("tool-{tool}"), "toolCallId": self.id(), "state": five, "input": input })
            }
        }
    }

    fn of_server(&self, mut part: Value) -> Value {
        if self.form == Form::Five {
            part["providerExecuted"] = true.into();
        }
        part
    }

    /// A call of the client's, answered by it.
    pub(super) fn answered(&self, output: &Value) -> Value {
        let mut part = self.part("result", "output-available");
        match self.form {
            Form::Four => part["toolInvocation"]["result"] = output.clone(),
            Form::Five => part["output"] = output.clone(),
        }
        part
    }

    /// A call of the client's that has no answer.
    pub(super) fn unanswered(&self) -> Value {
        self.part("call", "input-available")
    }

    /// A call of the client's that failed there. Version 4 has no form for that, so it is a result.
    pub(super) fn failed_there(&self, text: &str) -> Value {
        match self.form {
            Form::Four => self.answered(&json!({ "error": text })),
            Form::Five => {
                let mut part = self.part("", "output-error");
                part["errorText"] = text.into();
                part
            }
        }
    }

    /// A call that the server ran.
    pub(super) fn ran(&self, output: &Value) -> Value {
        self.of_server(self.answered(output))
    }

    /// A call that failed on the server.
    pub(super) fn failed(&self, text: &str) -> Value {
        self.of_server(self.failed_there(text))
    }

    /// A call that runs on the server.
    pub(super) fn runs(&self) -> Value {
        self.of_server(self.unanswered())
    }

    /// What is told of the app's tool.
    pub(super) fn about(&self) -> Value {
        let mut about = json!({ "toolCallId": self.id(), "name": ECHO, "title": "Echo", "app": "Echo" });
        match self.form {
            Form::Four => {
                about["type"] = "tool".into();
                about["icon"] = Value::Null;
                about
            }
            Form::Five => json!({ "type": "data-tool", "id": self.id(), "data": about }),
        }
    }

    /// The same, where it is a part of the message; in version 4 it is only in the chat's data.
    pub(super) fn about_in_message(&self) -> Vec<Value> {
        if self.form == Form::Five { vec![self.about()] } else { Vec::new() }
    }
}
