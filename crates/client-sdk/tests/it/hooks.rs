//! Hooks in a chat.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolyard_client_sdk::{
    ChatAnswer as Whole, ChatError, ChatEvent, ClientTool, HookError, Hooks, Message, Plugin, RequestDraft,
    ToolCall, ToolContext, ToolError, chat::NOTICE_HOOK,
};
use toolyard_testkit::model::ScriptedReply;

use crate::stage::{Stage, counted, events, kinds, soon, time};

type Log = Arc<Mutex<Vec<String>>>;

/// Writes down each hook.
struct Logs {
    name: &'static str,
    log: Log,
}

impl Logs {
    fn say(&self, what: &str) {
        self.log.lock().unwrap().push(format!("{}: {what}", self.name));
    }
}

#[async_trait]
impl Hooks for Logs {
    async fn before_request(&self, draft: RequestDraft) -> Result<RequestDraft, HookError> {
        self.say(&format!("request {}", draft.round()));
        Ok(draft)
    }

    async fn after_response(&self, answer: &Whole) -> Result<(), HookError> {
        self.say(&format!("response {:?} after {} rounds", answer.text, answer.rounds));
        Ok(())
    }

    fn handles_calls(&self) -> bool {
        true
    }

    async fn on_tool_call(&self, call: &ToolCall, cx: &ToolContext) -> Option<Result<Value, ToolError>> {
        assert_eq!((cx.tool(), cx.call_id()), (call.tool.as_str(), call.id.as_str()));
        self.say(&format!("call {}", call.tool));
        (call.tool == "by_hook").then(|| Ok(json!("from the hook")))
    }
}

#[tokio::test]
async fn every_hook_runs_in_its_place_and_in_the_order_of_registration() {
    let stage = Stage::start().await;
    stage.script([
        ScriptedReply::call("by_hook", json!({})).and_call("get_current_time", json!({})),
        ScriptedReply::text("Done."),
    ]);
    let (client, log) = (stage.client(), Log::default());
    let by_hook = ClientTool {
        name: "by_hook".to_owned(),
        description: String::new(),
        parameters: json!({ "type": "object" }),
    };
    let one = Plugin::new("one", "1").definition(by_hook).hooks(Logs { name: "one", log: log.clone() });
    let two = Plugin::new("two", "1").tool(time()).hooks(Logs { name: "two", log: log.clone() });
    client.use_plugin(one).await.unwrap().use_plugin(two).await.unwrap();
    soon(client.ask("go")).await.unwrap();
    let mut log = log.lock().unwrap().clone();
    // The two calls run side by side, in no order.
    log[2..4].sort();
    assert_eq!(
        log,
        [
            "one: request 1",
            "two: request 1",
            "one: call by_hook",
            "two: call get_current_time",
            "one: request 2",
            "two: request 2",
            "one: response \"Done.\" after 2 rounds",
            "two: response \"Done.\" after 2 rounds",
        ]
    );
    assert_eq!(stage.results(1)[0], "from the hook");
    assert!(stage.results(1)[1].contains("2026-01-02"), "the hook left it to the executor");
}

/// Changes everything that may be changed.
struct Changes;

#[async_trait]
impl Hooks for Changes {
    async fn before_request(&self, mut draft: RequestDraft) -> Result<RequestDraft, HookError> {
        draft.messages.insert(0, Message::user("(today is Friday)"));
        draft.system = Some("Be kind.".to_owned());
        draft.model = Some("local/other".to_owned());
        draft.hide_tool("hidden");
        Ok(draft)
    }
}

#[tokio::test]
async fn a_hook_changes_each_request_and_not_the_history() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::call("shown", json!({})), ScriptedReply::text("Done.")]);
    let client = stage.builder().system("Be brief.").build().unwrap();
    let plugin = Plugin::new("p", "1").tool(counted("shown").0).tool(counted("hidden").0).hooks(Changes);
    client.use_plugin(plugin).await.unwrap();
    let answer = soon(client.ask("go")).await.unwrap();
    assert_eq!(answer.history[0], Message::user("go"));
    assert_eq!(answer.history.len(), 2);
    for (nth, seen) in stage.model.requests().iter().enumerate() {
        let messages = seen.body["messages"].to_string();
        assert!(messages.contains("Be kind.") && !messages.contains("Be brief."), "{messages}");
        assert_eq!(
            messages.matches("(today is Friday)").count(),
            1,
            "each request begins from the history: {messages}"
        );
        assert_eq!((&seen.body["model"], stage.offered(nth)), (&json!("other"), vec!["shown".to_owned()]));
    }
}

/// Keeps what it is shown.
struct Sees(Log);

#[async_trait]
impl Hooks for Sees {
    async fn before_request(&self, draft: RequestDraft) -> Result<RequestDraft, HookError> {
        self.0.lock().unwrap().push(format!("{draft:?}"));
        Ok(draft)
    }
}

#[tokio::test]
async fn hooks_see_no_secrets() {
    let stage = Stage::start().await;
    let client = stage.builder().token("the-token").user("ada-the-user").debug(true).build().unwrap();
    let log = Log::default();
    client.use_plugin(Plugin::new("p", "1").hooks(Sees(log.clone()))).await.unwrap();
    // A token that the server does not know.
    let told = soon(client.ask("the question")).await.unwrap_err();
    let seen = log.lock().unwrap().join("\n");
    assert!(seen.contains("the question"), "{seen}");
    for text in [seen, format!("{client:?}"), told.to_string(), format!("{told:?}")] {
        assert!(!text.contains("the-token") && !text.contains("ada-the-user"), "{text}");
    }
    assert!(matches!(told, ChatError::Refused(refusal) if refusal.status == 401));
}

struct Fails(&'static str);

#[async_trait]
impl Hooks for Fails {
    async fn before_request(&self, draft: RequestDraft) -> Result<RequestDraft, HookError> {
        match self.0 {
            "before" => Err(HookError::new("not on Sundays")),
            "hangs" => std::future::pending().await,
            "panics" => panic!("on purpose"),
            _ => Ok(draft),
        }
    }

    async fn after_response(&self, _: &Whole) -> Result<(), HookError> {
        match self.0 {
            "after" => Err(HookError::new("the disk is full")),
            "hangs after" => std::future::pending().await,
            _ => Ok(()),
        }
    }
}

#[tokio::test]
async fn a_hook_that_fails_before_a_request_ends_the_chat_and_is_named() {
    let stage = Stage::start().await;
    for (kind, why) in
        [("before", "not on Sundays"), ("hangs", "it took longer than 20ms"), ("panics", "it panicked")]
    {
        let client = stage.builder().hook_timeout(Duration::from_millis(20)).build().unwrap();
        client.use_plugin(Plugin::new("gate", "1").hooks(Fails(kind))).await.unwrap();
        let told = soon(client.ask("go")).await.unwrap_err();
        assert_eq!(told.to_string(), format!("the plugin `gate` stopped the request: {why}"));
    }
    assert_eq!(stage.asked(), 0);
}

#[tokio::test]
async fn a_hook_that_fails_after_an_answer_is_a_notice_and_the_answer_is_kept() {
    let stage = Stage::start().await;
    stage.model.set_default_reply(ScriptedReply::text("Hello."));
    for (kind, why) in [("after", "the disk is full"), ("hangs after", "it took longer than 20ms")] {
        let client = stage.builder().hook_timeout(Duration::from_millis(20)).build().unwrap();
        client.use_plugin(Plugin::new("log", "1").hooks(Fails(kind))).await.unwrap();
        let told = events(client.chat("go")).await;
        assert_eq!(kinds(&told)[told.len() - 2..], ["notice", "finish"]);
        let [.., ChatEvent::Notice(notice), ChatEvent::Finish(answer)] = &told[..] else {
            panic!("{told:?}")
        };
        assert_eq!(notice.code, NOTICE_HOOK);
        assert_eq!(notice.message, format!("the plugin `log` failed after the answer: {why}"));
        assert_eq!(answer.text, "Hello.");
    }
}

#[tokio::test]
async fn after_response_does_not_run_for_a_failed_chat() {
    let stage = Stage::start().await;
    stage.script([ScriptedReply::error(401, json!({ "error": { "message": "bad key" } }))]);
    let (client, log) = (stage.client(), Log::default());
    client.use_plugin(Plugin::new("p", "1").hooks(Logs { name: "p", log: log.clone() })).await.unwrap();
    assert!(soon(client.ask("go")).await.is_err());
    assert_eq!(*log.lock().unwrap(), ["p: request 1"]);
}
