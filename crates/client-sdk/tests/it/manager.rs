//! Running tools and hooks through the manager itself, without a chat.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use toolyard_client_sdk::{
    ChatAnswer, ChatFinish, ClientTool, HookError, Hooks, Message, Plugin, PluginManager, RequestDraft,
    ToolCall, ToolContext, ToolError,
};

use crate::{register::manager, stage::tool};

async fn with_echo() -> PluginManager {
    let manager = manager();
    let echo = tool("echo", |args, _| async move { Ok(Value::Object(args)) });
    manager.register(Plugin::new("p", "1.0.0").tool(echo)).await.unwrap();
    manager
}

async fn run(manager: &PluginManager, call: ToolCall) -> Result<Value, ToolError> {
    manager.run_call(&call, &ToolContext::detached(&call.id, &call.tool)).await
}

#[tokio::test]
async fn a_tool_runs_with_its_arguments() {
    let outcome = run(&with_echo().await, ToolCall::new("c", "echo", json!({ "text": "hi" }))).await;
    assert_eq!(outcome, Ok(json!({ "text": "hi" })));
}

#[tokio::test]
async fn a_call_with_older_field_names_runs() {
    let call = json!({ "id": "c", "name": "echo", "arguments": { "text": "hi" } });
    let call = ToolCall::from_fields(call.as_object().unwrap()).unwrap();
    assert_eq!(run(&with_echo().await, call).await, Ok(json!({ "text": "hi" })));
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_an_error() {
    let outcome = run(&with_echo().await, ToolCall::new("c", "nothing", json!({}))).await;
    assert_eq!(outcome, Err(ToolError::new("this client has no tool `nothing`")));
}

#[tokio::test]
async fn arguments_that_are_not_an_object_do_not_reach_a_tool() {
    let outcome = run(&with_echo().await, ToolCall::new("c", "echo", json!([1]))).await;
    assert_eq!(outcome, Err(ToolError::new("the arguments are not a JSON object")));
}

#[tokio::test]
async fn it_is_known_whether_a_tool_could_run() {
    let manager = with_echo().await;
    assert!(manager.has_executor("echo") && !manager.has_executor("nothing"));
}

/// Runs some calls itself.
struct Some_;

#[async_trait]
impl Hooks for Some_ {
    fn handles_calls(&self) -> bool {
        true
    }

    async fn on_tool_call(&self, call: &ToolCall, _: &ToolContext) -> Option<Result<Value, ToolError>> {
        (call.input["by"] == "hook").then(|| Ok(json!("by the hook")))
    }
}

#[tokio::test]
async fn the_hook_of_a_plugin_comes_before_its_executor_and_for_its_own_tools_only() {
    let manager = with_echo().await;
    let both = tool("both", |_, _| async { Ok(json!("by the executor")) });
    let bare = ClientTool {
        name: "bare".to_owned(),
        description: String::new(),
        parameters: json!({ "type": "object" }),
    };
    manager.register(Plugin::new("q", "1.0.0").tool(both).definition(bare).hooks(Some_)).await.unwrap();
    let by = |tool: &str, by: &str| run(&manager, ToolCall::new("c", tool, json!({ "by": by })));
    assert_eq!(by("both", "hook").await, Ok(json!("by the hook")));
    assert_eq!(by("both", "executor").await, Ok(json!("by the executor")));
    assert_eq!(by("bare", "hook").await, Ok(json!("by the hook")));
    assert_eq!(by("bare", "nobody").await, Err(ToolError::new("no hook or executor ran the tool `bare`")));
    assert_eq!(by("echo", "hook").await, Ok(json!({ "by": "hook" })), "a tool of another plugin");
}

/// Adds a word to the system text, and writes down what it saw.
struct Adds(&'static str, Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Hooks for Adds {
    async fn before_request(&self, mut draft: RequestDraft) -> Result<RequestDraft, HookError> {
        let seen = draft.system.take().unwrap_or_default();
        self.1.lock().unwrap().push(format!("{} saw `{seen}`", self.0));
        draft.system = Some(format!("{seen}{}", self.0));
        Ok(draft)
    }

    async fn after_response(&self, answer: &ChatAnswer) -> Result<(), HookError> {
        self.1.lock().unwrap().push(format!("{} heard {}", self.0, answer.text));
        if self.0 == "b" { Err(HookError::new("no room")) } else { Ok(()) }
    }
}

async fn with_hooks(names: &[&'static str]) -> (PluginManager, Arc<Mutex<Vec<String>>>) {
    let (manager, seen) = (manager(), Arc::default());
    for name in names {
        manager.register(Plugin::new(*name, "1.0.0").hooks(Adds(name, Arc::clone(&seen)))).await.unwrap();
    }
    (manager, seen)
}

#[tokio::test]
async fn a_hook_changes_a_request() {
    let (manager, _) = with_hooks(&["a"]).await;
    let draft = manager.before_request(RequestDraft::new(vec![Message::user("hi")])).await.unwrap();
    assert_eq!((draft.system.as_deref(), draft.messages.len()), (Some("a"), 1));
}

#[tokio::test]
async fn hooks_change_a_request_in_order_and_each_sees_the_change_before() {
    let (manager, seen) = with_hooks(&["b", "a", "c"]).await;
    let draft = manager.before_request(RequestDraft::new(vec![])).await.unwrap();
    assert_eq!(draft.system.as_deref(), Some("bac"));
    assert_eq!(*seen.lock().unwrap(), ["b saw ``", "a saw `b`", "c saw `ba`"]);
}

#[tokio::test]
async fn hooks_get_the_answer_even_if_one_of_them_fails() {
    let (manager, seen) = with_hooks(&["a", "b", "c"]).await;
    let answer = ChatAnswer {
        text: "42".to_owned(),
        calls: vec![],
        results: vec![],
        finish: ChatFinish::Stop,
        usage: None,
        history: vec![],
        rounds: 1,
        model: None,
    };
    let failed = manager.after_response(&answer).await;
    assert_eq!(failed, [("b".to_owned(), HookError::new("no room"))]);
    assert_eq!(*seen.lock().unwrap(), ["a heard 42", "b heard 42", "c heard 42"]);
}
