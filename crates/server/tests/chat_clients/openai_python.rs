//! OpenAI's SDK for Python and its agents, which speak responses by default.

use serde_json::{Value, json};
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use crate::{
    program::Program,
    stage::{ALIAS, Access, Stage},
};

#[tokio::test]
async fn it_plays_every_scene() {
    let stage = Stage::start(Access::Token).await;
    let client = stage.program_with_key("openai_python.py").await;
    let mut scenes = Scenes { stage, client };
    for stream in [false, true] {
        scenes.a_tool_of_the_server_runs_inside(stream).await;
        scenes.its_own_tools_come_back(stream).await;
        scenes.an_agent_runs_its_own_tools(stream).await;
    }
    scenes.models_of_pydantic_are_tools_and_formats().await;
    scenes.what_cannot_be_honoured_is_an_error_that_names_it().await;
    scenes.client.ends().await;
    scenes.stage.end().await;
}

struct Scenes {
    stage: Stage,
    client: Program,
}

impl Scenes {
    /// The app answers with line breaks between its tokens, as pretty printers do.
    async fn a_tool_of_the_server_runs_inside(&mut self, stream: bool) {
        let pretty = format!("{:#}", json!({ "success": true, "content": { "said": ["hello"] } }));
        self.stage.app.set_behavior(AppBehavior::Text(200, "application/json", pretty.replace('\n', "\r\n")));
        let call = ScriptedReply::new().and_call_in_pieces(ALIAS, ["{\n  \"text\":", "\r\n  \"hi\"\n}"]);
        self.stage.model.queue_replies([call, ScriptedReply::pieces(["It said ", "hello."])]);
        let told = self.client.does("ask", json!({ "text": "Say hi.", "stream": stream })).await;
        assert_eq!(told, json!({ "content": "It said hello." }));
    }

    async fn its_own_tools_come_back(&mut self, stream: bool) {
        let tool = |name: &str| {
            json!({ "type": "function", "name": name, "description": "d", "strict": false,
                "parameters": { "type": "object", "properties": { "n": { "type": "integer" } } } })
        };
        let calls = ScriptedReply::text("Let me look.")
            .and_call_in_pieces("get-clock", ["{\n  \"n\": 1\n}"])
            .and_call("2nd_battery", json!({ "n": 2 }));
        self.stage.model.queue_replies([calls, ScriptedReply::pieces(["All is ", "well."]).with_usage(2, 3)]);
        let order = json!({ "text": "How are we?", "tools": [tool("get-clock"), tool("2nd_battery")], "stream": stream });
        let told = self.client.does("respond", order).await;
        let (deltas, last) =
            if stream { (json!(1), json!("response.completed")) } else { (Value::Null, Value::Null) };
        let called = json!([["get-clock", { "n": 1 }], ["2nd_battery", { "n": 2 }]]);
        assert_eq!(
            told,
            json!({ "called": called, "text": "All is well.", "status": "completed", "usage": 5, "deltas": deltas, "last": last })
        );
        let heard = self.stage.model.requests().pop().unwrap().body["messages"].take();
        let answers = heard.as_array().unwrap().iter().filter(|message| message["role"] == "tool");
        let answers: Vec<_> = answers.map(|message| message["content"].as_str().unwrap()).collect();
        assert_eq!(answers, ["get-clock: fine", "2nd_battery: fine"]);
    }

    async fn an_agent_runs_its_own_tools(&mut self, stream: bool) {
        let call =
            ScriptedReply::call("save_address", json!({ "address": { "city": "Oslo", "street": null } }));
        self.stage.model.queue_replies([call, ScriptedReply::text("It is saved.")]);
        let told = self.client.does("agent", json!({ "stream": stream })).await;
        assert_eq!(told, json!({ "output": "It is saved.", "heard": ["Oslo"] }));
    }

    async fn models_of_pydantic_are_tools_and_formats(&mut self) {
        let bob = json!({ "name": "Bob", "home": { "city": "Rome", "street": null }, "friends": [] });
        let ada = json!({ "name": "Ada", "home": { "city": "Oslo", "street": "Main" }, "friends": [bob] });
        let address = json!({ "city": "Oslo", "street": null });
        let said = || ScriptedReply::text(&address.to_string());
        self.stage.model.queue_replies([ScriptedReply::call("save-person", ada.clone()), said(), said()]);
        let told = self.client.does("parse", json!({})).await;
        assert_eq!(told, json!({ "name": "save-person", "person": ada, "address": address }));
        assert_eq!(self.client.does("structured", json!({})).await, json!({ "address": address }));
        let asked = self.stage.model.requests().pop().unwrap().body;
        assert_eq!(asked["response_format"]["json_schema"]["strict"], true);
    }

    async fn what_cannot_be_honoured_is_an_error_that_names_it(&mut self) {
        for (request, param) in [
            (json!({ "previous_response_id": "resp_1" }), "previous_response_id"),
            (json!({ "background": true }), "background"),
            (json!({ "tools": [{ "type": "web_search" }] }), "tools[0].type"),
        ] {
            let told = self.client.does("fail", json!({ "request": request })).await;
            assert_eq!(told, json!({ "kind": "BadRequestError", "status": 400, "param": param }));
        }
    }
}
