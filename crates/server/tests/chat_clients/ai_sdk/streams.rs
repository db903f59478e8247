//! What streams carry besides words and calls, and readers who come and go.

use serde_json::{Value, json};
use toolyard_testkit::{AppBehavior, model::ScriptedReply};

use super::{Scenes, rests, screen::Form};
use crate::stage::ALIAS;

/// A picture of one pixel.
const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

/// Words whose characters and ends of lines must not break those of the stream.
const WAVE: &str = "\r\n\nGrüße 👋\u{2028}data: x\n\n";

impl Scenes {
    pub(super) async fn thoughts_and_files_come_through(&mut self) {
        // Words that are JSON themselves, which one family of clients would read twice, and some that are not ASCII.
        let answer = ScriptedReply::new()
            .and_reasoning("A list, ")
            .and_reasoning("then.")
            .and_text("[1]")
            .and_text("{}")
            .and_text(WAVE);
        self.stage.model.queue_replies([answer, ScriptedReply::text("Bye.")]);
        let file = json!({ "type": "file", "mediaType": "image/png", "filename": "dot.png", "url": PIXEL });
        let messages = json!([{ "text": "What is it?", "files": [file] }, { "text": "Thanks." }]);
        let told = self.client.does("ask", json!({ "messages": messages })).await;
        let form = self.form;
        let words = format!("[1]{{}}{WAVE}");
        let mut question = form.user("What is it?");
        if form == Form::Five {
            question["parts"].as_array_mut().unwrap().insert(0, file);
        }
        let answer = [form.step(), form.thought("A list, then."), form.text(&words)];
        let messages = json!([
            question,
            form.assistant(&answer),
            form.user("Thanks."),
            form.assistant(&[form.step(), form.text("Bye.")])
        ]);
        assert_eq!(told, rests(messages, 2, &[], &[]));
        let heard = self.stage.model.requests().pop().unwrap().body["messages"].take();
        let picture = json!({ "type": "image_url", "image_url": { "url": PIXEL } });
        assert!(heard[1]["content"].as_array().unwrap().contains(&picture), "{heard}");
        assert_eq!(heard[2], json!({ "role": "assistant", "content": words }));
    }

    pub(super) async fn an_answer_is_given_anew(&mut self) {
        self.stage.model.queue_replies([ScriptedReply::text("Heads."), ScriptedReply::text("Tails.")]);
        let told = self.client.does("anew", json!({ "text": "Toss." })).await;
        let form = self.form;
        let messages = json!([form.user("Toss."), form.assistant(&[form.step(), form.text("Tails.")])]);
        assert_eq!(told, rests(messages, 2, &[], &[]));
        let heard = self.stage.model.requests().pop().unwrap().body["messages"].take();
        assert_eq!(heard[1], json!({ "role": "user", "content": "Toss." }));
        assert_eq!(heard.as_array().unwrap().len(), 2, "the first answer is forgotten");
    }

    pub(super) async fn the_app_tells_how_far_it_is(&mut self) {
        let half = json!({ "type": "progress", "progress": 0.5, "total": 2.5, "message": "half way" });
        let done = json!({ "type": "result", "success": true, "content": "done" });
        self.stage.app.set_behavior(AppBehavior::Lines(vec![half, done]));
        (0..2).for_each(|_| self.stage.app.let_line_through());
        let call = ScriptedReply::call(ALIAS, json!({ "text": "hi" }));
        self.stage.model.queue_replies([call, ScriptedReply::text("Done.")]);
        let told = self.ask(&["Say hi."], json!({})).await;
        let (form, echo) = (self.form, self.echo());
        let news = json!({ "toolCallId": "call 1", "progress": 0.5, "total": 2.5, "message": "half way" });
        let news = match form {
            Form::Four => with(news, "type", "progress"),
            Form::Five => json!({ "type": "data-progress", "data": news, "transient": true }),
        };
        let parts = [
            vec![form.step(), echo.ran(&json!("done"))],
            echo.about_in_message(),
            vec![form.step(), form.text("Done.")],
        ];
        let messages = json!([form.user("Say hi."), form.assistant(&parts.concat())]);
        assert_eq!(told, rests(messages, 1, &self.asked_about(&[ALIAS]), &[echo.about(), news]));
    }

    pub(super) async fn the_reader_leaves_in_the_middle_of_words(&mut self) {
        let left = self.stage.model.abandoned();
        self.stage.model.queue_replies([
            ScriptedReply::text("One").and_hold().and_text(" two"),
            ScriptedReply::text("One."),
        ]);
        self.client.begins("leave", json!({ "text": "Count.", "during": "words", "then": "Again." })).await;
        self.client.says("reads").await;
        assert_eq!(self.stage.model.abandoned(), left, "the model is heard while somebody reads");
        self.client.go_on().await;
        let told = self.client.says("left").await;
        let form = self.form;
        let left_with = [form.user("Count."), form.assistant(&[form.step(), form.open_text("One")])];
        assert_eq!(told, rests(json!(left_with), 1, &[], &[]));
        self.stage.model.wait_abandoned(left + 1).await;
        self.client.go_on().await;
        let told = self.client.says("leave").await;
        let then = [form.user("Again."), form.assistant(&[form.step(), form.text("One.")])];
        assert_eq!(told, rests(json!([left_with, then].concat()), 2, &[], &[]));
    }

    pub(super) async fn the_reader_leaves_while_a_tool_runs(&mut self) {
        self.stage.app.set_behavior(AppBehavior::Hang);
        let calls = self.stage.app.requests("/tool").len();
        let call = ScriptedReply::call(ALIAS, json!({ "text": "hi" }));
        self.stage.model.queue_replies([call, ScriptedReply::text("I did not wait.")]);
        self.client.begins("leave", json!({ "text": "Say hi.", "during": "tool", "then": "And?" })).await;
        self.client.says("reads").await;
        self.stage.app.wait_requests("/tool", calls + 1).await;
        self.client.go_on().await;
        let told = self.client.says("left").await;
        let (form, echo) = (self.form, self.echo());
        let parts = [vec![form.step(), echo.runs()], echo.about_in_message()].concat();
        let left_with = [form.user("Say hi."), form.assistant(&parts)];
        let calls = self.asked_about(&[ALIAS]);
        assert_eq!(told, rests(json!(left_with), 1, &calls, &[echo.about()]));
        self.stage.app.wait_cancelled(1).await;
        self.client.go_on().await;
        let told = self.client.says("leave").await;
        let then = [form.user("And?"), form.assistant(&[form.step(), form.text("I did not wait.")])];
        assert_eq!(told, rests(json!([left_with, then].concat()), 2, &calls, &[echo.about()]));
    }

    pub(super) async fn a_page_that_kept_the_answer_does_not_double_it(&mut self) {
        self.stage.model.queue_replies([ScriptedReply::text("One two")]);
        let order = json!({ "id": "kept chat", "text": "Count.", "body": { "resumable": true } });
        let told = self.client.does("kept", order).await;
        let answer = self.form.assistant(&[self.form.step(), self.form.text("One two")]);
        assert_eq!(told, rests(json!([self.form.user("Count."), answer]), 1, &[], &[]));
    }

    pub(super) async fn a_second_client_goes_on_reading(&mut self) {
        self.stage.model.queue_replies([ScriptedReply::text("One").and_hold().and_text(" two")]);
        // An id that has to be escaped in a path.
        let order = json!({ "id": "my chat", "text": "Count.", "body": { "resumable": true } });
        self.client.begins("resume", order).await;
        let told = self.client.says("resumes").await;
        let form = self.form;
        let reads = |posts: usize| {
            let answer = form.assistant(&[form.step(), form.open_text("One")]);
            with(rests(json!([form.user("Count."), answer]), posts, &[], &[]), "status", "streaming")
        };
        let nothing = rests(json!([]), 0, &[], &[]);
        assert_eq!(told, json!({ "first": reads(1), "second": reads(0), "other": nothing }));
        self.stage.model.release(1);
        let told = self.client.says("resume").await;
        let read = |posts: usize| {
            let answer = form.assistant(&[form.step(), form.text("One two")]);
            rests(json!([form.user("Count."), answer]), posts, &[], &[])
        };
        assert_eq!(told, json!({ "first": read(1), "second": read(0) }));
    }
}

fn with(mut value: Value, key: &str, word: &str) -> Value {
    value[key] = word.into();
    value
}
