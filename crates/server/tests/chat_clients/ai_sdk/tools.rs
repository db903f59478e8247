//! Calls: the server's, the client's, and both.

use serde_json::{Value, json};
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use super::{
    Scenes, heard, own, rests,
    screen::{Form, Shown},
};
use crate::stage::ALIAS;

/// What the client's clock says.
const TIME: &str = "{\"time\":\"12:30\"}";

impl Scenes {
    fn call(&self, number: usize, step: usize, tool: &str, input: Value) -> Shown {
        Shown { form: self.form, number, step, tool: tool.to_owned(), input }
    }

    /// The first call, of the app's tool.
    pub(super) fn echo(&self) -> Shown {
        self.call(1, 0, ALIAS, json!({ "text": "hi" }))
    }

    pub(super) async fn the_server_runs_its_tool(&mut self) {
        self.stage.app.set_behavior(AppBehavior::content(json!("hello")));
        let call = ScriptedReply::call(ALIAS, json!({ "text": "hi" }));
        self.stage.model.queue_replies([call, ScriptedReply::text("It said hello.")]);
        let told = self.ask(&["Say hi."], json!({ "clientTools": own() })).await;
        let (form, echo) = (self.form, self.echo());
        let parts = [
            vec![form.step(), echo.ran(&json!("hello"))],
            echo.about_in_message(),
            vec![form.step(), form.text("It said hello.")],
        ];
        let messages = json!([form.user("Say hi."), form.assistant(&parts.concat())]);
        assert_eq!(told, rests(messages, 1, &self.asked_about(&[ALIAS]), &[echo.about()]));
    }

    /// Apps and models that write JSON with line breaks between its tokens, as pretty printers do.
    pub(super) async fn line_breaks_in_json_do_no_harm(&mut self) {
        let said = json!({ "said": ["hello", { "to": "a\nb" }] });
        for line_break in ["\n", "\r\n", "\r"] {
            let pretty = |value: &Value| format!("{value:#}").replace('\n', line_break);
            let answer = pretty(&json!({ "success": true, "content": said }));
            self.stage.app.set_behavior(AppBehavior::Text(200, "application/json", answer));
            let arguments = pretty(&json!({ "text": "hi" }));
            let call = ScriptedReply::new().and_call_in_pieces(ALIAS, [arguments.as_str()]);
            self.stage.model.queue_replies([call, ScriptedReply::text("It said hello.")]);
            let told = self.ask(&["Say hi."], json!({ "clientTools": own() })).await;
            let (form, echo) = (self.form, self.echo());
            let parts = [
                vec![form.step(), echo.ran(&said)],
                echo.about_in_message(),
                vec![form.step(), form.text("It said hello.")],
            ];
            let messages = json!([form.user("Say hi."), form.assistant(&parts.concat())]);
            assert_eq!(
                told,
                rests(messages, 1, &self.asked_about(&[ALIAS]), &[echo.about()]),
                "{line_break:?}"
            );
        }
    }

    /// Two calls for the client and one for the server, in one step. Those in `late` are answered after the stream's end.
    pub(super) async fn the_client_runs_its_tools(&mut self, late: &[&str]) {
        self.stage.app.set_behavior(AppBehavior::content(json!("hello")));
        let before = self.stage.model.requests().len();
        let calls = ScriptedReply::text("One moment.")
            .and_call("clock", json!({}))
            .and_call(ALIAS, json!({ "text": "hi" }))
            .and_call("battery", json!({ "exact": false }));
        self.stage.model.queue_replies([calls, ScriptedReply::text("All is well.")]);
        // An id and `resumable` make no difference to one reader.
        let body = json!({ "clientTools": own(), "resumable": !late.is_empty() });
        let order = json!({ "messages": [{ "text": "How are we?" }], "body": body, "late": late });
        let told = self.client.does("ask", order).await;
        let form = self.form;
        let clock = self.call(1, 0, "clock", json!({}));
        let echo = self.call(2, 0, ALIAS, json!({ "text": "hi" }));
        let battery = self.call(3, 0, "battery", json!({ "exact": false }));
        let parts = [
            vec![form.step(), form.text("One moment."), clock.answered(&json!({ "time": "12:30" }))],
            vec![echo.ran(&json!("hello")), battery.answered(&json!("half full"))],
            echo.about_in_message(),
            vec![form.step(), form.text("All is well.")],
        ];
        let messages = json!([form.user("How are we?"), form.assistant(&parts.concat())]);
        // The server's call is told when it is whole, the client's when all is said.
        let calls = self.asked_about(&[ALIAS, "clock", "battery"]);
        assert_eq!(told, rests(messages, 2, &calls, &[echo.about()]), "late: {late:?}");
        let seen = self.stage.model.requests();
        assert_eq!(seen.len(), before + 2, "one question for each request");
        assert_eq!(heard(&seen[before + 1].body), [TIME, "hello", "half full"]);
    }

    /// The scripted model uses the same ids again and again, as some do.
    pub(super) async fn calls_of_many_rounds_stay_apart(&mut self) {
        self.stage.app.set_behavior(AppBehavior::content(json!("hello")));
        let clock = || ScriptedReply::call("clock", json!({}));
        let echo = ScriptedReply::call(ALIAS, json!({ "text": "hi" }));
        let words = [ScriptedReply::text("Done."), ScriptedReply::text("Bye.")];
        self.stage.model.queue_replies([clock(), clock(), echo].into_iter().chain(words));
        let told = self.ask(&["Twice, please.", "Thanks."], json!({ "clientTools": own() })).await;
        let (form, time) = (self.form, json!({ "time": "12:30" }));
        let clock = |number, step| self.call(number, step, "clock", json!({})).answered(&time);
        let echo = self.call(3, 2, ALIAS, json!({ "text": "hi" }));
        let parts = [
            vec![form.step(), clock(1, 0), form.step(), clock(2, 1), form.step(), echo.ran(&json!("hello"))],
            echo.about_in_message(),
            vec![form.step(), form.text("Done.")],
        ];
        let messages = json!([
            form.user("Twice, please."),
            form.assistant(&parts.concat()),
            form.user("Thanks."),
            form.assistant(&[form.step(), form.text("Bye.")]),
        ]);
        let calls = self.asked_about(&["clock", "clock", ALIAS]);
        assert_eq!(told, rests(messages, 4, &calls, &[echo.about()]));
        assert_eq!(heard(&self.stage.model.requests().last().unwrap().body), [TIME, TIME, "hello"]);
    }

    pub(super) async fn a_tool_of_the_client_fails(&mut self) {
        self.stage
            .model
            .queue_replies([ScriptedReply::call("lamp", json!({})), ScriptedReply::text("It stays dark.")]);
        let told = self.ask(&["Light!"], json!({ "clientTools": own() })).await;
        let (form, lamp) = (self.form, self.call(1, 0, "lamp", json!({})));
        let failed = lamp.failed_there("the lamp is broken");
        let parts = [form.step(), failed, form.step(), form.text("It stays dark.")];
        let messages = json!([form.user("Light!"), form.assistant(&parts)]);
        assert_eq!(told, rests(messages, 2, &self.asked_about(&["lamp"]), &[]));
        let last = self.stage.model.requests().pop().unwrap().body;
        assert!(heard(&last)[0].contains("the lamp is broken"), "{last}");
    }

    /// Vendors refuse a history in which a call has no answer.
    pub(super) async fn a_call_that_the_client_leaves_open_does_not_end_the_chat(&mut self) {
        self.stage
            .model
            .queue_replies([ScriptedReply::call("clock", json!({})), ScriptedReply::text("As you like.")]);
        let messages = json!([{ "text": "The time?" }, { "text": "Never mind." }]);
        let body = json!({ "clientTools": own() });
        let order = json!({ "messages": messages, "body": body, "never": ["clock"] });
        let told = self.client.does("ask", order).await;
        let (form, clock) = (self.form, self.call(1, 0, "clock", json!({})));
        let messages = json!([
            form.user("The time?"),
            form.assistant(&[form.step(), clock.unanswered()]),
            form.user("Never mind."),
            form.assistant(&[form.step(), form.text("As you like.")]),
        ]);
        assert_eq!(told, rests(messages, 2, &self.asked_about(&["clock"]), &[]));
        let last = self.stage.model.requests().pop().unwrap().body;
        assert_eq!(heard(&last), ["The client did not answer this call."]);
    }

    pub(super) async fn a_call_that_does_not_fit_stays_on_the_server(&mut self) {
        let exact = |exact: Value| ScriptedReply::call("battery", json!({ "exact": exact }));
        let answers = [exact(json!("very")), exact(json!(true)), ScriptedReply::text("Half.")];
        self.stage.model.queue_replies(answers);
        let told = self.ask(&["How full?"], json!({ "clientTools": own() })).await;
        let form = self.form;
        let why = "The arguments of battery do not fit: exact: expected a boolean, got the text \"very\".";
        let first = self.call(1, 0, "battery", json!({ "exact": "very" })).failed(why);
        let second = self.call(2, 1, "battery", json!({ "exact": true })).answered(&json!("half full"));
        let parts = [form.step(), first, form.step(), second, form.step(), form.text("Half.")];
        let messages = json!([form.user("How full?"), form.assistant(&parts)]);
        assert_eq!(told, rests(messages, 2, &self.asked_about(&["battery"]), &[]), "one call is the app's");
    }

    /// Whatever began must end, or it is on the screen as a call that runs for ever.
    pub(super) async fn what_is_not_a_call_ends_like_one(&mut self) {
        for tool in ["battery", ALIAS] {
            let garbled = ScriptedReply::new().and_call_in_pieces(tool, ["{\"exact\":", "oops"]);
            self.stage.model.queue_replies([garbled, ScriptedReply::text("I was confused.")]);
            let told = self.ask(&["How full?"], json!({ "clientTools": own() })).await;
            let form = self.form;
            let call = self.call(1, 0, tool, json!({}));
            let ended = call.failed("the arguments are not JSON: expected value at line 1 column 10");
            let parts = [form.step(), ended, form.step(), form.text("I was confused.")];
            let messages = json!([form.user("How full?"), form.assistant(&parts)]);
            assert_eq!(told, rests(messages, 1, &[], &[]), "{tool}");
        }
    }

    /// Some clients ask again after an answer whose last step has nothing but ended calls.
    pub(super) async fn an_answer_that_ends_with_a_call_is_not_asked_for_again(&mut self) {
        self.stage.app.set_behavior(AppBehavior::content(json!("hello")));
        let echo = || ScriptedReply::call(ALIAS, json!({ "text": "hi" }));
        self.stage.model.queue_replies([echo(), echo()]);
        let told = self.ask(&["Say hi."], json!({ "maxSteps": 2 })).await;
        let words = "The response was stopped: it took too many steps.";
        let (form, first, second) = (self.form, self.echo(), self.call(2, 1, ALIAS, json!({ "text": "hi" })));
        let notice = json!({ "type": "data-notice", "data": { "code": "steps", "message": words } });
        let (end, data) = match form {
            Form::Four => (vec![form.step(), form.text(words)], vec![first.about(), second.about()]),
            Form::Five => (vec![notice.clone()], vec![first.about(), second.about(), notice]),
        };
        let parts = [
            vec![form.step(), first.ran(&json!("hello"))],
            first.about_in_message(),
            vec![form.step(), second.failed("It was not run: this response reached its step limit.")],
            second.about_in_message(),
            end,
        ];
        let messages = json!([form.user("Say hi."), form.assistant(&parts.concat())]);
        assert_eq!(told, rests(messages, 1, &self.asked_about(&[ALIAS, ALIAS]), &data));

        // The same where the model was cut off within a call.
        for tool in ["battery", ALIAS] {
            self.stage.model.queue_replies([ScriptedReply::new()
                .and_call_in_pieces(tool, ["{\"exact\":"])
                .with_stop_reason("length")]);
            let told = self.ask(&["How full?"], json!({ "clientTools": own() })).await;
            let call = self.call(1, 0, tool, json!({}));
            let ended = call.failed("It was not run: the model was cut off before it had finished.");
            let end = if form == Form::Four { vec![form.step()] } else { Vec::new() };
            let parts = [vec![form.step(), ended], end].concat();
            let messages = json!([form.user("How full?"), form.assistant(&parts)]);
            assert_eq!(told, rests(messages, 1, &[], &[]), "{tool}");
        }
    }
}
