//! Writes a turn as the data stream v1 of AI SDK 4 and hustle-incognito.

use serde_json::{Value, json};
use toolyard_agent::{
    event::{CallEnd, TurnEndReason, TurnEvent},
    message::ModelToolCall,
    model::ModelUsage,
    tools::{ToolLocation, TurnTool},
};
use toolyard_protocol::{
    chat::{
        FinishReason,
        v1::{self, V1Code, v1_line},
    },
    raw::to_raw,
};

use super::{
    limit_text,
    ui::{finish_reason, result_output},
};

/// Writes lines.
#[derive(Debug)]
pub(super) struct V1Writer {
    message_id: String,
    usage: ModelUsage,
    /// Calls that were announced to the client, complete or not.
    announced_call_ids: Vec<String>,
    /// Calls that the client runs. Their end is not reported.
    client_call_ids: Vec<String>,
    /// Whether the current or last step has calls with results. Such a step must not be the last one, because clients would
    /// send another request after it.
    step_has_results: bool,
    has_client_calls: bool,
}

impl V1Writer {
    pub(super) fn new(message_id: String) -> Self {
        Self {
            message_id,
            usage: ModelUsage::default(),
            announced_call_ids: Vec::new(),
            client_call_ids: Vec::new(),
            step_has_results: false,
            has_client_calls: false,
        }
    }

    /// The lines for an event.
    pub(super) fn write_event(&mut self, event: TurnEvent) -> String {
        match event {
            TurnEvent::StepBegins => {
                self.step_has_results = false;
                v1_line(V1Code::StartStep, &json!({ "messageId": self.message_id }))
            }
            TurnEvent::Text(text) => v1::text_lines(&text),
            TurnEvent::Reasoning(text) => v1_line(V1Code::Reasoning, &text),
            TurnEvent::CallBegins { id, name, .. } => self.write_call_start(&id, &name),
            TurnEvent::CallText { id, text } => {
                v1_line(V1Code::ToolCallDelta, &json!({ "toolCallId": id, "argsTextDelta": text }))
            }
            TurnEvent::Called { call, tool: Some(tool) } => self.write_call(call, &tool),
            // No one runs this call. These clients run every call that is complete, so they only get its start and its end.
            TurnEvent::Called { call, tool: None } if self.announced_call_ids.contains(&call.id) => {
                String::new()
            }
            TurnEvent::Called { call, tool: None } => self.write_call_start(&call.id, &call.name),
            TurnEvent::Progress { id, progress } => {
                let mut data = json!({ "type": "progress", "toolCallId": id });
                if let (Some(data), Ok(Value::Object(more))) =
                    (data.as_object_mut(), serde_json::to_value(&progress))
                {
                    data.extend(more);
                }
                v1_line(V1Code::Data, &json!([data]))
            }
            // These clients cannot ask, so their turns do not wait.
            TurnEvent::AwaitsApproval { .. } | TurnEvent::AwaitsSignIn { .. } => String::new(),
            TurnEvent::CallEnds { id, .. } if self.client_call_ids.contains(&id) => String::new(),
            TurnEvent::CallEnds { id, end } => {
                self.step_has_results = true;
                let result = match &end {
                    CallEnd::Done(result) if !result.mcp.is_error() => result_output(result),
                    CallEnd::Done(result) => to_raw(&json!({ "error": result.mcp.all_text() })),
                    CallEnd::Failed(error) | CallEnd::Denied(error) => {
                        to_raw(&json!({ "error": error.for_model }))
                    }
                };
                v1_line(V1Code::ToolResult, &json!({ "toolCallId": id, "result": result }))
            }
            TurnEvent::StepEnds { usage, continues: goes_on } => {
                self.usage += usage.unwrap_or_default();
                let finish_reason = if goes_on || self.has_client_calls {
                    FinishReason::ToolCalls
                } else {
                    FinishReason::Stop
                };
                self.write_step_end(finish_reason, usage.unwrap_or_default())
            }
            TurnEvent::Ends(finish) => self.write_finish(&finish),
        }
    }

    fn write_call_start(&mut self, id: &str, name: &str) -> String {
        self.announced_call_ids.push(id.to_owned());
        v1_line(V1Code::ToolCallStart, &json!({ "toolCallId": id, "toolName": name }))
    }

    fn write_call(&mut self, call: ModelToolCall, tool: &TurnTool) -> String {
        // The client's parser requires an object.
        let is_object = call.arguments.get().starts_with('{');
        let arguments = if is_object { call.arguments } else { to_raw(&json!({})) };
        let lines = json!({ "toolCallId": call.id, "toolName": call.name, "args": arguments });
        let lines = v1_line(V1Code::ToolCall, &lines);
        match tool.place {
            ToolLocation::Client => {
                self.client_call_ids.push(call.id);
                self.has_client_calls = true;
                lines
            }
            ToolLocation::Here => {
                self.step_has_results = true;
                let about = &tool.about;
                let about = json!([{ "type": "tool", "toolCallId": call.id, "name": about.name, "title": about.title,
                    "app": about.app, "icon": about.icon }]);
                lines + &v1_line(V1Code::Data, &about)
            }
        }
    }

    fn write_step_end(&self, finish_reason: FinishReason, usage: ModelUsage) -> String {
        v1_line(
            V1Code::FinishStep,
            &v1::V1Finish { finish_reason, usage: token_usage(usage), is_continued: Some(false) },
        )
    }

    fn write_finish(&self, finish: &TurnEndReason) -> String {
        if let TurnEndReason::Failed(error) = finish {
            return v1_line(V1Code::Error, &error.text);
        }
        let mut lines = String::new();
        if self.step_has_results && !self.has_client_calls {
            lines += &v1_line(V1Code::StartStep, &json!({ "messageId": self.message_id }));
            if let TurnEndReason::Budget(bound) = finish {
                lines += &v1::text_lines(limit_text::limit_message(*bound));
            }
            lines += &self.write_step_end(finish_reason(finish), ModelUsage::default());
        } else if let TurnEndReason::Budget(bound) = finish {
            let notice = json!([{ "type": "notice", "code": limit_text::limit_code(*bound), "message": limit_text::limit_message(*bound) }]);
            lines += &v1_line(V1Code::Data, &notice);
        }
        let end = v1::V1Finish {
            finish_reason: finish_reason(finish),
            usage: token_usage(self.usage),
            is_continued: None,
        };
        lines + &v1_line(V1Code::Finish, &end)
    }
}

const fn token_usage(usage: ModelUsage) -> v1::V1Usage {
    v1::V1Usage { prompt_tokens: usage.input, completion_tokens: usage.output }
}
