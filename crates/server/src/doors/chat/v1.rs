//! A turn as the data stream v1 of AI SDK 4 and hustle-incognito.

use serde_json::{Value, json};
use toolyard_agent::{
    event::{CallEnd, Finish, TurnEvent},
    message::Call,
    model::Usage,
    tools::{Offered, Place},
};
use toolyard_protocol::{
    chat::{
        FinishReason,
        v1::{self, Code, line},
    },
    raw::to_raw,
};

use super::{
    ui::{output, reason},
    words,
};

/// Writes lines.
#[derive(Debug)]
pub(super) struct V1Writer {
    message_id: String,
    usage: Usage,
    /// Calls that the client has heard of, whole or not.
    known: Vec<String>,
    /// Calls that the client runs: nothing is said of their end.
    of_client: Vec<String>,
    /// Whether the step that is open, or ended last, has calls with an end: such a step must not be the last one, because
    /// clients ask again after it.
    called: bool,
    calls_client: bool,
}

impl V1Writer {
    pub(super) fn new(message_id: String) -> Self {
        Self {
            message_id,
            usage: Usage::default(),
            known: Vec::new(),
            of_client: Vec::new(),
            called: false,
            calls_client: false,
        }
    }

    /// What an event becomes.
    pub(super) fn write(&mut self, event: TurnEvent) -> String {
        match event {
            TurnEvent::StepBegins => {
                self.called = false;
                line(Code::StartStep, &json!({ "messageId": self.message_id }))
            }
            TurnEvent::Text(text) => v1::text_lines(&text),
            TurnEvent::Reasoning(text) => line(Code::Reasoning, &text),
            TurnEvent::CallBegins { id, name, .. } => self.begins(&id, &name),
            TurnEvent::CallText { id, text } => {
                line(Code::ToolCallDelta, &json!({ "toolCallId": id, "argsTextDelta": text }))
            }
            TurnEvent::Called { call, tool: Some(tool) } => self.called(call, &tool),
            // Nobody runs it. These clients run whatever they are told is called, so they are told of its end only.
            TurnEvent::Called { call, tool: None } if self.known.contains(&call.id) => String::new(),
            TurnEvent::Called { call, tool: None } => self.begins(&call.id, &call.name),
            TurnEvent::Progress { id, progress } => {
                let mut told = json!({ "type": "progress", "toolCallId": id });
                if let (Some(told), Ok(Value::Object(more))) =
                    (told.as_object_mut(), serde_json::to_value(&progress))
                {
                    told.extend(more);
                }
                line(Code::Data, &json!([told]))
            }
            TurnEvent::CallEnds { id, .. } if self.of_client.contains(&id) => String::new(),
            TurnEvent::CallEnds { id, end } => {
                self.called = true;
                let result = match &end {
                    CallEnd::Done(result) if !result.mcp.is_error() => output(result),
                    CallEnd::Done(result) => to_raw(&json!({ "error": result.mcp.all_text() })),
                    CallEnd::Failed(error) => to_raw(&json!({ "error": error.for_model })),
                };
                line(Code::ToolResult, &json!({ "toolCallId": id, "result": result }))
            }
            TurnEvent::StepEnds { usage, goes_on } => {
                self.usage += usage.unwrap_or_default();
                let finish_reason =
                    if goes_on || self.calls_client { FinishReason::ToolCalls } else { FinishReason::Stop };
                self.step_ends(finish_reason, usage.unwrap_or_default())
            }
            TurnEvent::Ends(finish) => self.ends(&finish),
        }
    }

    fn begins(&mut self, id: &str, name: &str) -> String {
        self.known.push(id.to_owned());
        line(Code::ToolCallStart, &json!({ "toolCallId": id, "toolName": name }))
    }

    fn called(&mut self, call: Call, tool: &Offered) -> String {
        // An object, as the client's parser wants it.
        let is_object = call.arguments.get().starts_with('{');
        let arguments = if is_object { call.arguments } else { to_raw(&json!({})) };
        let said = json!({ "toolCallId": call.id, "toolName": call.name, "args": arguments });
        let said = line(Code::ToolCall, &said);
        match tool.place {
            Place::Client => {
                self.of_client.push(call.id);
                self.calls_client = true;
                said
            }
            Place::Here => {
                self.called = true;
                let about = &tool.about;
                let about = json!([{ "type": "tool", "toolCallId": call.id, "name": about.name, "title": about.title,
                    "app": about.app, "icon": about.icon }]);
                said + &line(Code::Data, &about)
            }
        }
    }

    fn step_ends(&self, finish_reason: FinishReason, usage: Usage) -> String {
        line(Code::FinishStep, &v1::Finish { finish_reason, usage: tokens(usage), is_continued: Some(false) })
    }

    fn ends(&self, finish: &Finish) -> String {
        if let Finish::Failed(error) = finish {
            return line(Code::Error, &error.text);
        }
        let mut said = String::new();
        if self.called && !self.calls_client {
            said += &line(Code::StartStep, &json!({ "messageId": self.message_id }));
            if let Finish::Budget(bound) = finish {
                said += &v1::text_lines(words::bound(*bound));
            }
            said += &self.step_ends(reason(finish), Usage::default());
        } else if let Finish::Budget(bound) = finish {
            let notice =
                json!([{ "type": "notice", "code": words::code(*bound), "message": words::bound(*bound) }]);
            said += &line(Code::Data, &notice);
        }
        let end = v1::Finish { finish_reason: reason(finish), usage: tokens(self.usage), is_continued: None };
        said + &line(Code::Finish, &end)
    }
}

const fn tokens(usage: Usage) -> v1::Usage {
    v1::Usage { prompt_tokens: usage.input, completion_tokens: usage.output }
}
