//! Measures how well a model chooses tools and fills in their arguments, with a set of prompts. For any model.
//!
//! Both files are JSON Lines. A tool is an MCP definition: `name`, `description`, `inputSchema`. A prompt has a `text`,
//! the expected `tool` (none for plain talk), and for each argument that counts the texts that its value must contain,
//! in any case: `{"text":"12 times 7?","tool":"calculator","arguments":{"expression":["12","7"]}}`.

mod report;
mod suite;

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use serde_json::Value;
use toolyard_agent::{
    message::{ModelMessage, ModelToolCall},
    model::{Model, ModelError, ModelEvent, ModelRequest, ToolSpec},
};
use toolyard_core::schema::CompiledSchema;

pub use report::{CallingReport, CallingRow, MissedPrompt};
pub use suite::{OWN_PROMPTS, OWN_TOOLS, PromptSuite};

use suite::EvalPrompt;

/// A model's response to a prompt.
#[derive(Debug, Default)]
struct EvalAnswer {
    calls: Vec<ModelToolCall>,
    bad: usize,
    text: String,
}

/// Sends all prompts to a model. `now` is a monotonic clock.
pub async fn measure_calling(
    model: &dyn Model,
    suite: &PromptSuite,
    mut now: impl FnMut() -> Duration,
) -> Result<CallingReport, ModelError> {
    let mut report = CallingReport::new(model.info().id.clone(), suite.tools.len());
    for prompt in &suite.prompts {
        let start = now();
        let answer = ask_prompt(model, suite, prompt).await?;
        report.add(prompt, &judge_answer(prompt, &suite.tools, &answer), now().saturating_sub(start));
    }
    Ok(report)
}

async fn ask_prompt(
    model: &dyn Model,
    suite: &PromptSuite,
    prompt: &EvalPrompt,
) -> Result<EvalAnswer, ModelError> {
    let request = ModelRequest {
        messages: vec![ModelMessage::from_user_text(&prompt.text)],
        tools: suite.tools.clone(),
        temperature: Some(0.0),
        ..ModelRequest::default()
    };
    let mut stream = model.ask(request).await?;
    let mut answer = EvalAnswer::default();
    while let Some(event) = stream.next().await {
        match event? {
            ModelEvent::Text(text) => answer.text.push_str(&text),
            ModelEvent::Call(call) => answer.calls.push(call),
            ModelEvent::BadCall(_) => answer.bad += 1,
            ModelEvent::End(_) => break,
            ModelEvent::Reasoning(_) | ModelEvent::CallBegins { .. } | ModelEvent::CallText { .. } => {}
        }
    }
    Ok(answer)
}

/// The verdict on one response. Each field requires the one before it, except `tool`.
#[derive(Debug, PartialEq, Eq)]
struct AnswerVerdict {
    well_formed: bool,
    tool: bool,
    arguments: bool,
    said: String,
}

fn judge_answer(prompt: &EvalPrompt, tools: &[Arc<ToolSpec>], answer: &EvalAnswer) -> AnswerVerdict {
    let call = answer.calls.first();
    let arguments = call.and_then(|call| serde_json::from_str::<Value>(call.arguments.get()).ok());
    let well_formed = answer.bad == 0 && answer.calls.iter().all(|call| is_well_formed(call, tools));
    // Exactly one call is expected.
    let tool = answer.bad == 0
        && answer.calls.len() <= 1
        && call.map(|call| call.name.as_str()) == prompt.tool.as_deref();
    let holds = |(name, texts): (&String, &Vec<String>)| {
        let value = arguments.as_ref().map(|arguments| &arguments[name.as_str()]).unwrap_or(&Value::Null);
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned).to_lowercase();
        texts.iter().all(|text| value.contains(&text.to_lowercase()))
    };
    let right = well_formed && tool && prompt.arguments.iter().all(holds);
    let said = call.map_or_else(|| answer.text.clone(), |call| format!("{} {}", call.name, call.arguments));
    AnswerVerdict { well_formed, tool, arguments: right, said }
}

fn is_well_formed(call: &ModelToolCall, tools: &[Arc<ToolSpec>]) -> bool {
    let tool = tools.iter().find(|tool| tool.name == call.name);
    let value = serde_json::from_str::<Value>(call.arguments.get());
    match (tool, value) {
        (Some(tool), Ok(value)) => CompiledSchema::compile(&tool.schema, &tool.name)
            .is_ok_and(|schema| value.is_object() && schema.list_errors(&value).is_empty()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn suite() -> PromptSuite {
        let tools = json!({ "name": "calculator", "inputSchema": { "type": "object",
            "properties": { "expression": { "type": "string" } }, "required": ["expression"] } });
        let prompts = [
            json!({ "text": "12 times 7?", "tool": "calculator", "arguments": { "expression": ["12", "7"] } }),
            json!({ "text": "Hi" }),
        ];
        let prompts = prompts.map(|prompt| prompt.to_string()).join("\n");
        PromptSuite::read(tools.to_string().as_bytes(), prompts.as_bytes()).unwrap()
    }

    fn verdict(prompt: usize, calls: &[(&str, &str)], bad: usize) -> (bool, bool, bool) {
        let suite = suite();
        let call = |(name, arguments): &(&str, &str)| ModelToolCall {
            id: "c".to_owned(),
            name: (*name).to_owned(),
            arguments: serde_json::from_str(arguments).unwrap(),
        };
        let answer = EvalAnswer { calls: calls.iter().map(call).collect(), bad, text: "Hello".to_owned() };
        let verdict = judge_answer(&suite.prompts[prompt], &suite.tools, &answer);
        (verdict.well_formed, verdict.tool, verdict.arguments)
    }

    #[test]
    fn an_answer_is_judged_by_its_form_its_tool_and_its_arguments() {
        let right = ("calculator", r#"{"expression":"12*7"}"#);
        assert_eq!(verdict(0, &[right], 0), (true, true, true));
        assert_eq!(verdict(0, &[("calculator", r#"{"expression":"12"}"#)], 0), (true, true, false));
        assert_eq!(verdict(0, &[("calculator", r#"{"expression":12}"#)], 0), (false, true, false));
        assert_eq!(verdict(0, &[("calculate", r#"{"expression":"12*7"}"#)], 0), (false, false, false));
        assert_eq!(verdict(0, &[right, right], 0), (true, false, false));
        assert_eq!(verdict(0, &[right], 1), (false, false, false));
        assert_eq!(verdict(0, &[], 0), (true, false, false));
        assert_eq!(verdict(1, &[], 0), (true, true, true));
        assert_eq!(verdict(1, &[], 1), (false, false, false));
        assert_eq!(verdict(1, &[right], 0), (true, false, false));
    }
}
