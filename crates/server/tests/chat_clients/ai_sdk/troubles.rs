//! What goes wrong, and what the user reads then.

use serde_json::{Value, json};
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use super::{Scenes, fails, rests};
use crate::stage::{ALIAS, GONE};

impl Scenes {
    pub(super) async fn a_tool_fails(&mut self) {
        let broken = json!({ "success": false, "error": { "message": "The echo is broken." } });
        self.stage.app.set_behavior(AppBehavior::Json(200, broken));
        let call = ScriptedReply::call(ALIAS, json!({ "text": "hi" }));
        self.stage.model.queue_replies([call, ScriptedReply::text("It failed.")]);
        let told = self.ask(&["Say hi."], json!({})).await;
        let (form, echo) = (self.form, self.echo());
        let parts = [
            vec![form.step(), echo.failed("The echo is broken.")],
            echo.about_in_message(),
            vec![form.step(), form.text("It failed.")],
        ];
        let messages = json!([form.user("Say hi."), form.assistant(&parts.concat())]);
        assert_eq!(told, rests(messages, 1, &self.asked_about(&[ALIAS]), &[echo.about()]));
    }

    pub(super) async fn the_model_is_down(&mut self) {
        let form = self.form;
        let nothing = json!([form.user("Hello?"), form.assistant(&[form.step()])]);
        let told = self.ask(&["Hello?"], json!({ "model": GONE })).await;
        let text = "gone/scripted cannot be reached at http://127.0.0.1:1; check its URL and that it runs.";
        assert_eq!(told, fails(nothing.clone(), text));

        self.stage
            .model
            .queue_replies([ScriptedReply::error(400, json!({ "error": { "message": "inner words" } }))]);
        let told = self.ask(&["Hello?"], json!({})).await;
        let text = "local/scripted rejects this request; it may be too long, or use something that the model does not support.";
        assert_eq!(told, fails(nothing, text));

        let told = self.ask(&["Hello?"], json!({ "model": "no/such" })).await;
        let text = "There is no model no/such: add an endpoint named no with its URL.";
        assert_eq!(said(told), fails(json!([form.user("Hello?")]), text));
    }

    /// What was said stays, and the next answer goes on from there.
    pub(super) async fn the_model_breaks_off(&mut self) {
        self.stage.model.queue_replies([ScriptedReply::text("Half a").and_hold().and_cut()]);
        self.client.begins("watch", json!({ "text": "Go on." })).await;
        self.client.says("reads").await;
        self.stage.model.release(1);
        let told = self.client.says("watch").await;
        let form = self.form;
        let text = "local/scripted broke off; try again.";
        let messages = json!([form.user("Go on."), form.assistant(&[form.step(), form.text("Half a")])]);
        assert_eq!(told, fails(messages, text));
    }

    pub(super) async fn tools_of_the_client_are_refused(&mut self) {
        let before = self.stage.model.requests().len();
        let tool = |name: &str, parameters: Value| json!([{ "name": name, "description": "Mine", "parameters": parameters }]);
        let odd = json!({ "type": "object", "properties": { "a": { "type": "nonsense" } } });
        let refused = [
            (
                tool(ALIAS, json!({ "type": "object" })),
                "clientTools.com_example_echo__echo: a tool of the server has that name; choose another",
            ),
            (
                tool("mine", odd),
                "clientTools.mine: parameters.properties.a.type: expected one of string, number, integer, boolean, object, array, null",
            ),
        ];
        for (tools, text) in refused {
            let told = self.ask(&["Hello?"], json!({ "clientTools": tools })).await;
            assert_eq!(said(told), fails(json!([self.form.user("Hello?")]), text));
        }
        assert_eq!(self.stage.model.requests().len(), before, "the model was not asked");
    }
}

/// A refusal before the stream is on the screen as it came; this is the text in it.
fn said(mut told: Value) -> Value {
    let error: Value = serde_json::from_str(told["error"].as_str().unwrap()).unwrap();
    told["error"] = error["error"]["message"].clone();
    told
}
