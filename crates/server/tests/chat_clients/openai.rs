//! OpenAI's own SDK. Tools of the server run inside an answer; the caller's own come back as `tool_calls`.

use serde_json::{Value, json};
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use crate::{
    program::Program,
    stage::{ALIAS, Access, GONE, MODEL, Stage},
};

#[tokio::test]
async fn it_plays_every_scene() {
    let stage = Stage::start(Access::Token).await;
    let client = stage.program_with_key("openai.mjs").await;
    let mut scenes = Scenes { stage, client };
    for stream in [false, true] {
        scenes.a_tool_of_the_server_runs_inside(stream).await;
        scenes.its_own_tools_come_back(stream).await;
        scenes.the_sdk_runs_its_own_tools(stream).await;
        scenes.responses_and_their_calls(stream).await;
        scenes.what_is_refused_is_an_error_of_its_kind(stream).await;
    }
    scenes.a_model_that_is_down_is_not_the_callers_fault().await;
    scenes.an_error_in_the_middle_of_a_stream_is_raised().await;
    scenes.models_are_listed().await;
    scenes.heartbeats_are_no_events().await;
    scenes.the_reader_leaves().await;
    scenes.client.ends().await;
    scenes.stage.end().await;
}

/// It always sends a key, which means nothing there.
#[tokio::test]
async fn in_dev_mode_a_header_says_who_asks() {
    let stage = Stage::start(Access::Header).await;
    let client = stage.program_with_key("openai.mjs").await;
    let mut scenes = Scenes { stage, client };
    scenes.a_tool_of_the_server_runs_inside(true).await;
    scenes.models_are_listed().await;
    scenes.client.ends().await;
    scenes.stage.end().await;
}

struct Scenes {
    stage: Stage,
    client: Program,
}

fn own() -> Value {
    let tool = |name: &str| {
        json!({ "name": name, "description": format!("The {name}"),
            "parameters": { "type": "object", "properties": {} } })
    };
    json!([tool("clock"), tool("battery")])
}

/// An error as the SDK raises it.
fn error(kind: &str, status: u16, r#type: &str, text: &str) -> Value {
    json!({ "kind": kind, "status": status, "type": r#type, "param": null, "message": format!("{status} {text}") })
}

impl Scenes {
    async fn a_tool_of_the_server_runs_inside(&mut self, stream: bool) {
        self.stage.app.set_behavior(AppBehavior::content(json!("hello")));
        let call = ScriptedReply::call(ALIAS, json!({ "text": "hi" })).with_usage(10, 1);
        self.stage
            .model
            .queue_replies([call, ScriptedReply::pieces(["It said ", "hello."]).with_usage(20, 2)]);
        let told = self.client.does("ask", json!({ "text": "Say hi.", "stream": stream })).await;
        let usage = json!({ "prompt_tokens": 30, "completion_tokens": 3, "total_tokens": 33 });
        assert_eq!(
            told,
            json!({ "model": MODEL, "content": "It said hello.", "finish": "stop", "usage": usage, "posts": 1 })
        );
    }

    async fn its_own_tools_come_back(&mut self, stream: bool) {
        let calls = ScriptedReply::call("clock", json!({})).and_call("battery", json!({}));
        self.stage
            .model
            .queue_replies([calls.with_usage(1, 1), ScriptedReply::text("All is well.").with_usage(2, 2)]);
        let order = json!({ "text": "How are we?", "tools": own(), "stream": stream });
        let told = self.client.does("answer", order).await;
        let call = |name: &str| json!({ "type": "function", "name": name, "args": "{}" });
        let usage =
            |each: u64| json!({ "prompt_tokens": each, "completion_tokens": each, "total_tokens": 2 * each });
        let content = if stream { json!("") } else { Value::Null };
        let first = json!({ "model": MODEL, "content": content, "calls": [call("clock"), call("battery")],
            "finish": "tool_calls", "usage": usage(1) });
        let second =
            json!({ "model": MODEL, "content": "All is well.", "finish": "stop", "usage": usage(2) });
        assert_eq!(told, json!({ "first": first, "second": second, "posts": 2 }));
        self.heard_of_both(r#""half full""#);
    }

    async fn the_sdk_runs_its_own_tools(&mut self, stream: bool) {
        let calls = ScriptedReply::call("clock", json!({})).and_call("battery", json!({}));
        self.stage.model.queue_replies([calls, ScriptedReply::text("All is well.")]);
        let order = json!({ "text": "How are we?", "tools": own(), "stream": stream });
        let told = self.client.does("run", order).await;
        let roles = ["user", "assistant", "tool", "tool", "assistant"];
        assert_eq!(told, json!({ "content": "All is well.", "roles": roles, "posts": 2 }));
        self.heard_of_both("half full");
    }

    async fn responses_and_their_calls(&mut self, stream: bool) {
        self.stage.app.set_behavior(AppBehavior::content(json!("hello")));
        let echo = ScriptedReply::text("One moment.").and_call(ALIAS, json!({ "text": "hi" }));
        let calls = ScriptedReply::call("clock", json!({})).and_call("battery", json!({}));
        self.stage.model.queue_replies([
            echo,
            calls,
            ScriptedReply::pieces(["All is ", "well."]).with_usage(2, 3),
        ]);
        let order = json!({ "text": "How are we?", "tools": own(), "stream": stream });
        let told = self.client.does("respond", order).await;
        let call = |name: &str| json!({ "name": name, "args": "{}" });
        assert_eq!(
            told,
            json!({ "calls": [call("clock"), call("battery")], "text": "All is well.", "status": "completed",
                "usage": 5, "posts": 2 })
        );
        self.heard_of_both(r#""half full""#);
    }

    fn heard_of_both(&self, battery: &str) {
        let heard = self.stage.model.requests().pop().unwrap().body["messages"].take();
        let answers = heard.as_array().unwrap().iter().filter(|message| message["role"] == "tool");
        let answers: Vec<_> = answers.map(|message| message["content"].as_str().unwrap()).collect();
        assert_eq!(answers, [r#"{"time":"12:30"}"#, battery]);
    }

    async fn what_is_refused_is_an_error_of_its_kind(&mut self, stream: bool) {
        let stranger =
            error("AuthenticationError", 401, "authentication_error", "the token is not valid here");
        self.fails(stream, json!({ "key": "wrong" }), stranger).await;
        let unknown = |text: &str| error("NotFoundError", 404, "invalid_request_error", text);
        let nowhere = "There is no model no/such: add an endpoint named no with its URL.";
        self.fails(stream, json!({ "model": "no/such" }), unknown(nowhere)).await;
        let nameless = "model: a model is named provider/model, such as openai/gpt-5-mini or ollama/llama3.2";
        self.fails(stream, json!({ "model": "nonsense" }), unknown(nameless)).await;
        let bad = |text: &str| error("BadRequestError", 400, "invalid_request_error", text);
        let clash = json!([{ "name": ALIAS, "parameters": { "type": "object" } }]);
        let taken = "tools[0] (com_example_echo__echo): a tool of the server has that name; choose another";
        let mut taken = bad(taken);
        taken["param"] = "tools[0]".into();
        self.fails(stream, json!({ "tools": clash }), taken).await;
        self.stage.model.queue_replies([ScriptedReply::error(400, "{}")]);
        let unfit = "local/scripted rejects this request; it may be too long, or use something that the model does not support.";
        self.fails(stream, json!({}), bad(unfit)).await;
    }

    async fn a_model_that_is_down_is_not_the_callers_fault(&mut self) {
        let text = "gone/scripted cannot be reached at http://127.0.0.1:1; check its URL and that it runs.";
        let down = error("InternalServerError", 503, "server_error", text);
        self.fails(true, json!({ "model": GONE }), down).await;
    }

    async fn fails(&mut self, stream: bool, mut order: Value, error: Value) {
        order["stream"] = stream.into();
        assert_eq!(self.client.does("fail", order).await, error);
    }

    async fn an_error_in_the_middle_of_a_stream_is_raised(&mut self) {
        self.stage.model.queue_replies([ScriptedReply::text("Half a").and_hold().and_cut()]);
        self.client.begins("break", json!({ "text": "Go on." })).await;
        assert_eq!(self.client.says("reads").await, json!({ "text": "Half a" }));
        self.stage.model.release(1);
        let told = self.client.says("break").await;
        let message = "local/scripted broke off; try again.";
        assert_eq!(
            told,
            json!({ "kind": "APIError", "message": message, "type": "server_error", "param": null, "text": "Half a" })
        );
    }

    async fn heartbeats_are_no_events(&mut self) {
        self.stage.model.queue_replies([ScriptedReply::pieces(["All ", "is ", "well."]).with_usage(1, 1)]);
        let told = self.client.does("ask", json!({ "text": "Well?", "stream": true, "beats": true })).await;
        let usage = json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
        assert_eq!(
            told,
            json!({ "model": MODEL, "content": "All is well.", "finish": "stop", "usage": usage, "posts": 1 })
        );
    }

    async fn models_are_listed(&mut self) {
        let told = self.client.does("models", json!({})).await;
        let model = json!({ "id": MODEL, "object": "model", "created": 0, "owned_by": "local" });
        assert_eq!(told, json!({ "models": [model] }));
    }

    async fn the_reader_leaves(&mut self) {
        let left = self.stage.model.abandoned();
        self.stage.model.queue_replies([ScriptedReply::text("One").and_hold().and_text(" two")]);
        self.client.begins("leave", json!({ "text": "Count." })).await;
        assert_eq!(self.client.says("reads").await, json!({ "text": "One" }));
        assert_eq!(self.stage.model.abandoned(), left, "the model is heard while somebody reads");
        self.client.go_on().await;
        assert_eq!(self.client.says("leave").await, json!({ "text": "One" }));
        self.stage.model.wait_abandoned(left + 1).await;
    }
}
