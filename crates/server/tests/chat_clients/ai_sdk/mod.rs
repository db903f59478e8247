//! The AI SDK of Vercel, from version 4 on: what an app that uses it has on its screen, and how often it asked for that.

mod approvals;
mod screen;
mod streams;
mod tools;
mod troubles;

use serde_json::{Value, json};

use self::screen::Form;
use crate::{
    program::Program,
    stage::{ALIAS, Access, Stage},
};

#[tokio::test]
async fn version_4_plays_every_scene() {
    play("ai-4.mjs", "ai-4", Form::Four).await;
}

#[tokio::test]
async fn version_5_plays_every_scene() {
    play("ai-5.mjs", "ai-5", Form::Five).await;
}

#[tokio::test]
async fn a_version_5_that_refuses_unknown_keys_plays_every_scene() {
    play("ai-5.mjs", "ai-5-strict", Form::Five).await;
}

#[tokio::test]
async fn version_6_plays_every_scene() {
    play("ai-5.mjs", "ai-6", Form::Five).await;
}

#[tokio::test]
async fn a_version_6_that_refuses_unknown_keys_plays_every_scene() {
    play("ai-5.mjs", "ai-6-strict", Form::Five).await;
}

#[tokio::test]
async fn version_7_plays_every_scene() {
    play("ai-5.mjs", "ai-7", Form::Five).await;
}

#[tokio::test]
async fn a_version_7_that_refuses_unknown_keys_plays_every_scene() {
    play("ai-5.mjs", "ai-7-strict", Form::Five).await;
}

/// All scenes with one client, in one process.
async fn play(file: &str, client: &str, form: Form) {
    let stage = Stage::start(Access::Token).await;
    let client = stage.program(file, client).await;
    let mut scenes = Scenes { stage, client, form };
    scenes.the_server_runs_its_tool().await;
    scenes.line_breaks_in_json_do_no_harm().await;
    scenes.the_client_runs_its_tools(&[]).await;
    scenes.the_client_runs_its_tools(&["battery"]).await;
    scenes.the_client_runs_its_tools(&["clock", "battery"]).await;
    scenes.calls_of_many_rounds_stay_apart().await;
    scenes.a_tool_of_the_client_fails().await;
    scenes.a_call_that_the_client_leaves_open_does_not_end_the_chat().await;
    scenes.a_call_that_does_not_fit_stays_on_the_server().await;
    scenes.what_is_not_a_call_ends_like_one().await;
    scenes.an_answer_that_ends_with_a_call_is_not_asked_for_again().await;
    scenes.a_tool_fails().await;
    scenes.the_model_is_down().await;
    scenes.the_model_breaks_off().await;
    scenes.tools_of_the_client_are_refused().await;
    scenes.thoughts_and_files_come_through().await;
    scenes.an_answer_is_given_anew().await;
    scenes.the_app_tells_how_far_it_is().await;
    scenes.the_reader_leaves_in_the_middle_of_words().await;
    scenes.the_reader_leaves_while_a_tool_runs().await;
    if form == Form::Five {
        scenes.a_second_client_goes_on_reading().await;
        scenes.a_page_that_kept_the_answer_does_not_double_it().await;
    }
    scenes.client.ends().await;
    scenes.stage.end().await;
}

/// A client, and what it plays with.
struct Scenes {
    stage: Stage,
    client: Program,
    form: Form,
}

/// The tools that the app itself runs.
fn own() -> Value {
    let nothing = json!({ "type": "object", "properties": {} });
    let level = json!({ "type": "object", "properties": { "exact": { "type": "boolean" } } });
    json!([
        { "name": "clock", "description": "What time it is here", "parameters": nothing },
        { "name": "battery", "description": "How full the battery is", "parameters": level },
        { "name": "lamp", "description": "Turns the lamp on", "parameters": nothing },
    ])
}

impl Scenes {
    /// A chat in which this is said, one after the other, and what is on its screen then.
    async fn ask(&mut self, texts: &[&str], body: Value) -> Value {
        let messages: Vec<Value> = texts.iter().map(|text| json!({ "text": text })).collect();
        self.client.does("ask", json!({ "messages": messages, "body": body })).await
    }

    /// Which of these calls the app is asked about: version 4 asks about all, later ones only about the app's own.
    fn asked_about(&self, calls: &[&str]) -> Vec<String> {
        let asked = calls.iter().filter(|name| self.form == Form::Four || **name != ALIAS);
        asked.map(|name| (*name).to_owned()).collect()
    }
}

/// A chat that came to its rest.
fn rests(messages: Value, posts: usize, calls: &[String], data: &[Value]) -> Value {
    json!({ "messages": messages, "status": "ready", "posts": posts, "calls": calls, "data": data })
}

/// A chat that came to an error, after one request.
fn fails(messages: Value, error: &str) -> Value {
    json!({ "messages": messages, "status": "error", "error": error, "posts": 1, "calls": [], "data": [] })
}

/// What the model heard of its calls.
fn heard(request: &Value) -> Vec<&str> {
    let messages = request["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect()
}
