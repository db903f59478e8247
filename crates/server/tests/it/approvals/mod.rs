//! Approvals: a call that the user has to allow first, bound to exactly what will run.

mod push;
mod rules;
mod webhook;

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use toolyard_core::ports::{AnswerOutcome, StoredAnswer};
use toolyard_protocol::approval::{ApprovalAnswer, ApprovalSurface, RememberScope};
use toolyard_server::{
    auth::Role,
    config::{Config, ConfigSources, load_config},
};
use toolyard_testkit::{AppBehavior, FakeApp};

use crate::{
    audit::last_audit,
    platform::{Answer, Device, Person, Platform, tokens_only},
};

pub(crate) const NOTES: &str = "com.example.notes";
pub(crate) const DELETE: &str = "com.example.notes:delete";

fn delete_tool() -> Value {
    json!({ "name": "delete", "title": "Delete a note", "description": "Deletes a note",
        "annotations": { "destructiveHint": true },
        "inputSchema": { "type": "object", "required": ["id"], "properties": {
            "id": { "type": "string", "title": "Note" },
            "forever": { "type": "boolean", "default": false } } } })
}

fn read_tool() -> Value {
    json!({ "name": "read", "description": "Reads a note", "inputSchema": { "type": "object" } })
}

/// A notes app with a destructive tool, installed for Ada, who has a session.
pub(crate) async fn notes(p: &Platform) -> (FakeApp, Device) {
    let app = FakeApp::start(NOTES).await;
    app.set_behavior(AppBehavior::reply("deleted"));
    let body = json!({ "packageName": NOTES, "name": "Notes", "kind": "tools-only",
        "tools": [delete_tool(), read_tool()] });
    p.register(&app, body).await;
    p.user("ada").put(&format!("/api/installs/{NOTES}"), &json!({})).await.expect(204);
    let device = p.device("ada").await;
    (app, device)
}

pub(crate) async fn start(change: impl FnOnce(&mut Config)) -> (Platform, FakeApp, Device) {
    let p = Platform::with(change).await;
    let (app, device) = notes(&p).await;
    (p, app, device)
}

async fn delete(p: &Platform, id: &str) -> Answer {
    p.user("ada").call(DELETE, json!({ "id": id })).await
}

/// The id of the approval that a call waits for.
fn pending_id(answer: Answer) -> String {
    let body = answer.expect(202).json();
    assert_eq!((&body["success"], &body["pending"]["kind"]), (&json!(false), &json!("approval")));
    body["pending"]["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn answer(who: &Person<'_>, id: &str, answer: &str) -> Answer {
    who.post(&format!("/api/approvals/{id}"), &json!({ "answer": answer })).await
}

async fn outcome(p: &Platform, id: &str) -> Answer {
    p.user("ada").get(&format!("/api/approvals/{id}/outcome?wait=30")).await
}

pub(crate) fn runs(app: &FakeApp) -> usize {
    app.requests("/tool").len()
}

#[tokio::test]
async fn a_destructive_call_asks_shows_what_will_run_and_runs_once_after_yes() {
    let (p, app, _device) = start(|_| {}).await;
    p.user("ada").call(&format!("{NOTES}:read"), json!({})).await.expect(200);
    let waiting = delete(&p, "milk").await.expect(202).json();
    assert_eq!(runs(&app), 1, "only the read ran");
    let pending = &waiting["pending"];
    let id = pending["id"].as_str().unwrap();
    assert_eq!(pending["url"], format!("{}/console/approvals/{id}", p.state.base_url()));
    assert_eq!(pending["summary"]["title"], "Notes: Delete a note");
    assert_eq!(
        pending["summary"]["lines"],
        json!([{ "label": "Note (id)", "value": "milk" }, { "label": "forever", "value": "false" }]),
        "with defaults"
    );
    assert_eq!(pending_id(delete(&p, "milk").await), id, "the same call waits for the same approval");

    let shown = p.user("ada").get(&format!("/api/approvals/{id}")).await.expect(200).json();
    assert_eq!((&shown["state"], &shown["risk"]), (&json!("pending"), &json!("medium")));
    let answered = answer(&p.user("ada"), id, "approve").await.expect(200).json();
    assert_eq!(answered["answer"]["surface"], "api");
    let recorded = last_audit(&p, "approval.answered").await;
    assert_eq!((&*recorded.target, &*recorded.user), (id, "ada"));
    assert!(recorded.detail.contains(DELETE) && recorded.detail.contains("approve"), "{recorded:?}");
    let done = outcome(&p, id).await.expect(200).json();
    assert_eq!(done["content"], "deleted");
    let sent = &app.requests("/tool")[1].body;
    assert_eq!(sent["arguments"], json!({ "id": "milk", "forever": false }), "what was shown is what ran");
    assert_eq!(outcome(&p, id).await.expect(200).json()["content"], "deleted", "it can be read again");
    assert_eq!(runs(&app), 2);

    let calls = p.user("ada").get("/api/calls").await.json();
    let linked: Vec<_> =
        calls["calls"].as_array().unwrap().iter().filter(|c| c["approvalId"] == id).collect();
    let mut outcomes: Vec<_> = linked.iter().map(|call| call["outcome"].as_str().unwrap()).collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes, ["AWAITING_APPROVAL", "AWAITING_APPROVAL", "OK"], "the ledger links them");
    let waiting = p.user("ada").get("/api/calls?outcome=AWAITING_APPROVAL").await.json();
    assert_eq!(waiting["calls"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_same_call_gets_the_outcome_and_the_next_one_asks_again() {
    let (p, app, _device) = start(|_| {}).await;
    let id = pending_id(delete(&p, "milk").await);
    answer(&p.user("ada"), &id, "approve").await.expect(200);
    app.wait_requests("/tool", 1).await;
    // The result is picked up by making the same call again.
    let again = loop {
        let again = delete(&p, "milk").await;
        if again.status != 202 {
            break again;
        }
    };
    assert_eq!(again.expect(200).json()["content"], "deleted");
    assert_eq!(runs(&app), 1);
    assert_ne!(pending_id(delete(&p, "milk").await), id, "one approval covers one call");
    assert_eq!(runs(&app), 1);
}

#[tokio::test]
async fn a_no_ends_the_call_with_the_note_and_nothing_runs() {
    let (p, app, _device) = start(|_| {}).await;
    let id = pending_id(delete(&p, "milk").await);
    let body = json!({ "answer": "deny", "note": "keep that one" });
    p.user("ada").post(&format!("/api/approvals/{id}"), &body).await.expect(200);
    let denied = delete(&p, "milk").await.expect(403);
    assert_eq!(denied.code(), "DENIED");
    assert!(denied.text.contains("keep that one"), "{}", denied.text);
    assert_eq!(runs(&app), 0);
}

/// Every answer that must not run anything, for one approval: who, on which path, with what, and the status.
fn wrong_answers<'a>(p: &'a Platform, id: &str) -> Vec<(Person<'a>, String, Value, u16)> {
    let yes = json!({ "answer": "approve" });
    let path = format!("/api/approvals/{id}");
    let for_ada = |who: Person<'a>| who.header("x-user-id", "ada");
    let ada = || p.bearer(&p.token("ada", Role::User));
    let mut other_id = id.to_owned();
    other_id.replace_range(..1, if id.starts_with('0') { "1" } else { "0" });
    vec![
        (p.nobody(), path.clone(), yes.clone(), 401),
        (p.user("ada"), path.clone(), yes.clone(), 401),
        (p.bearer("forged.token.here"), path.clone(), yes.clone(), 401),
        (p.bearer(&p.token("mal", Role::User)), path.clone(), yes.clone(), 404),
        (for_ada(p.bearer(&p.token("mal", Role::Developer))), path.clone(), yes.clone(), 403),
        (for_ada(p.bearer(&p.token("root", Role::Operator))), path.clone(), yes.clone(), 403),
        (ada(), format!("/api/approvals/{other_id}"), yes.clone(), 404),
        (ada(), format!("{path}00"), yes.clone(), 400),
        (ada(), path.clone(), json!({ "answer": "approve", "argumentsDigest": "0".repeat(64) }), 409),
        (ada(), path.clone(), json!({ "answer": true }), 400),
        (ada(), path, json!({ "approved": true }), 400),
    ]
}

#[tokio::test]
async fn two_hundred_forged_edited_replayed_late_and_foreign_answers_run_nothing() {
    let (p, app, device) = start(|_| {}).await;
    let mut ids = Vec::new();
    for number in 0..16 {
        ids.push(pending_id(delete(&p, &number.to_string()).await));
    }
    drop(device);
    let p = p.restart_with(tokens_only).await;
    let mut tried = 0;
    for id in &ids {
        for (who, path, body, status) in wrong_answers(&p, id) {
            let refused = who.post(&path, &body).await;
            assert_eq!(refused.status.as_u16(), status, "{path} {body}: {}", refused.text);
            tried += 1;
        }
    }
    let ada = p.bearer(&p.token("ada", Role::User));
    let (denied, late) = ids.split_at(8);
    for id in denied {
        answer(&ada, id, "deny").await.expect(200);
        answer(&ada, id, "approve").await.expect(409);
        tried += 1;
    }
    p.clock.advance(25 * 60 * 60);
    // The old token has expired as well.
    let ada = p.bearer(&p.token("ada", Role::User));
    for _ in 0..2 {
        for id in late {
            let refused = answer(&ada, id, "approve").await.expect(409);
            assert!(refused.text.contains("expired"), "{}", refused.text);
            tried += 1;
        }
    }
    assert!(tried >= 200, "{tried}");
    assert_eq!(runs(&app), 0);
}

#[tokio::test]
async fn only_trusted_apps_answer_and_a_spoken_yes_is_not_enough_for_high_risk() {
    let rules = json!([{ "arguments": [{ "pointer": "/forever", "equals": true }], "decision": "ask", "risk": "high" }]);
    let (p, app, _device) =
        start(|config| config.approvals.rules = serde_json::from_value(rules).unwrap()).await;
    let helper = FakeApp::start("com.example.voice").await;
    let body = json!({ "packageName": "com.example.voice", "kind": "tools-only", "tools": [] });
    let key = p.register(&helper, body).await["apiKey"].as_str().unwrap().to_owned();
    p.user("ada").put("/api/installs/com.example.voice", &json!({})).await.expect(204);
    let low = pending_id(delete(&p, "a").await);
    let high = pending_id(p.user("ada").call(DELETE, json!({ "id": "a", "forever": true })).await);
    let voice = json!({ "answer": "approve", "surface": "voice" });
    let bearer = format!("Bearer com.example.voice:{key}");
    let untrusted = p.as_with(&[("authorization", &bearer), ("x-user-id", "ada")]);
    untrusted.post(&format!("/api/approvals/{low}"), &voice).await.expect(403);
    untrusted.get("/api/approvals").await.expect(403);
    let p = p.restart_with(|config| config.approvals.apps = vec!["com.example.voice".parse().unwrap()]).await;
    let _device = p.device("ada").await;
    let trusted = p.as_with(&[("authorization", &bearer), ("x-user-id", "ada")]);
    let (yes, high) = (json!({ "answer": "approve" }), format!("/api/approvals/{high}"));
    for said in [&voice, &yes, &json!({ "answer": "approve", "surface": "console" })] {
        let refused = trusted.post(&high, said).await.expect(403);
        assert!(refused.text.contains("button"), "{said}: {}", refused.text);
    }
    p.user("ada").post(&high, &voice).await.expect(403);
    trusted.post(&high, &json!({ "answer": "deny", "surface": "voice" })).await.expect(200);
    assert_eq!(runs(&app), 0);
    trusted.post(&format!("/api/approvals/{low}"), &voice).await.expect(200);
    outcome(&p, &low).await.expect(200);
    assert_eq!(runs(&app), 1);
    // The app is not the caller: it does not get the result.
    trusted.get(&format!("/api/approvals/{low}/outcome")).await.expect(404);
}

#[tokio::test]
async fn an_apps_yes_for_high_risk_needs_a_press_that_the_glasses_reported_after_the_question() {
    let rules = json!([{ "decision": "ask", "risk": "high" }]);
    let (p, app, mut glasses) = start(|config| {
        config.approvals.rules = serde_json::from_value(rules).unwrap();
        config.approvals.apps = vec!["com.example.voice".parse().unwrap()];
    })
    .await;
    let helper = FakeApp::start("com.example.voice").await;
    let body = json!({ "packageName": "com.example.voice", "kind": "tools-only", "tools": [] });
    let key = p.register(&helper, body).await["apiKey"].as_str().unwrap().to_owned();
    p.user("ada").put("/api/installs/com.example.voice", &json!({})).await.expect(204);
    let voice =
        p.as_with(&[("authorization", &format!("Bearer com.example.voice:{key}")), ("x-user-id", "ada")]);
    let pressed = json!({ "answer": "approve", "surface": "button" });
    let press = |kind: &str| json!({ "type": "button_press", "buttonId": "main", "pressType": kind });

    glasses.say(press("short")).await;
    glasses.synced().await;
    p.clock.advance(1);
    let ids = [pending_id(delete(&p, "a").await), pending_id(delete(&p, "b").await)];
    let paths = ids.each_ref().map(|id| format!("/api/approvals/{id}"));
    let refused = voice.post(&paths[0], &pressed).await.expect(403);
    assert!(refused.text.contains("since the question"), "the press was before: {}", refused.text);
    p.clock.advance(1);
    glasses.say(press("long")).await;
    glasses.synced().await;
    voice.post(&paths[0], &pressed).await.expect(403);
    glasses.say(press("short")).await;
    glasses.synced().await;
    p.clock.advance(61);
    voice.post(&paths[0], &pressed).await.expect(403);
    glasses.say(press("short")).await;
    glasses.synced().await;
    let answered = voice.post(&paths[0], &pressed).await.expect(200).json();
    assert_eq!(answered["answer"]["surface"], "button");
    let refused = voice.post(&paths[1], &pressed).await.expect(403);
    assert!(refused.text.contains("press"), "one press confirms one answer: {}", refused.text);
    outcome(&p, &ids[0]).await.expect(200);
    assert_eq!(runs(&app), 1);
}

#[tokio::test]
async fn a_second_answer_is_a_conflict_and_concurrent_answers_run_the_call_once() {
    let (p, app, _device) = start(|_| {}).await;
    let id = pending_id(delete(&p, "milk").await);
    let ada = p.user("ada");
    let answers = join_all((0..20).map(|_| answer(&ada, &id, "approve"))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.status == 409).count(), 19);
    outcome(&p, &id).await.expect(200);
    let late = answer(&ada, &id, "deny").await.expect(409);
    assert!(late.text.contains("approved before, on api"), "{}", late.text);
    assert_eq!(runs(&app), 1);
}

#[tokio::test]
async fn a_changed_definition_voids_the_approval() {
    let (p, app, _device) = start(|_| {}).await;
    let id = pending_id(delete(&p, "milk").await);
    let mut tool = delete_tool();
    tool["description"] = "Deletes every note".into();
    let set = json!({ "tools": [tool, read_tool()] });
    p.nobody().post(&format!("/api/apps/{NOTES}/tools"), &set).await.expect(200);
    answer(&p.user("ada"), &id, "approve").await.expect(200);
    let void = outcome(&p, &id).await.expect(403);
    assert!(void.text.contains("earlier definition"), "{}", void.text);
    assert_eq!(runs(&app), 0);
    let shown = p.user("ada").get(&format!("/api/approvals/{id}")).await.json();
    assert_eq!(shown["state"], "void");
}

#[tokio::test]
async fn an_app_that_asked_and_was_uninstalled_runs_nothing() {
    let (p, app, _device) = start(|_| {}).await;
    let helper = FakeApp::start("com.example.helper").await;
    let body = json!({ "packageName": "com.example.helper", "kind": "tools-only", "tools": [] });
    let key = p.register(&helper, body).await["apiKey"].as_str().unwrap().to_owned();
    p.user("ada").put("/api/installs/com.example.helper", &json!({})).await.expect(204);
    p.user("ada").put("/api/installs/com.example.helper/assistant", &json!({})).await.expect(204);
    p.nobody().patch("/api/apps/com.example.helper", &json!({ "assistant": true })).await.expect(200);
    let bearer = format!("Bearer com.example.helper:{key}");
    let as_helper = p.as_with(&[("authorization", &bearer), ("x-user-id", "ada")]);
    let id = pending_id(as_helper.call(DELETE, json!({ "id": "milk" })).await);
    p.user("ada").delete("/api/installs/com.example.helper").await.expect(204);
    answer(&p.user("ada"), &id, "approve").await.expect(200);
    let shown = loop {
        let shown = p.user("ada").get(&format!("/api/approvals/{id}")).await.json();
        if shown["state"] != "approved" {
            break shown;
        }
    };
    assert_eq!(shown["state"], "void");
    assert_eq!(runs(&app), 0);
}

#[tokio::test]
async fn defaults_that_exclude_each_other_are_not_added() {
    let p = Platform::start().await;
    let app = FakeApp::start(NOTES).await;
    app.set_behavior(AppBehavior::reply("deleted"));
    let tool = json!({ "name": "delete", "description": "Deletes a note", "annotations": { "destructiveHint": true },
        "inputSchema": { "type": "object", "maxProperties": 1, "properties": {
            "id": { "type": "string" }, "all": { "type": "boolean", "default": false } } } });
    let body = json!({ "packageName": NOTES, "name": "Notes", "kind": "tools-only", "tools": [tool] });
    p.register(&app, body).await;
    p.user("ada").put(&format!("/api/installs/{NOTES}"), &json!({})).await.expect(204);
    let _device = p.device("ada").await;
    let id = pending_id(delete(&p, "milk").await);
    answer(&p.user("ada"), &id, "approve").await.expect(200);
    outcome(&p, &id).await.expect(200);
    assert_eq!(app.requests("/tool")[0].body["arguments"], json!({ "id": "milk" }));
}

#[tokio::test]
async fn an_uninstalled_app_voids_the_approval() {
    let (p, app, _device) = start(|_| {}).await;
    let id = pending_id(delete(&p, "milk").await);
    p.user("ada").delete(&format!("/api/installs/{NOTES}")).await.expect(204);
    answer(&p.user("ada"), &id, "approve").await.expect(200);
    assert_eq!(outcome(&p, &id).await.expect(404).code(), "TOOL_NOT_FOUND");
    assert_eq!(runs(&app), 0);
}

#[tokio::test]
async fn a_hundred_pending_approvals_survive_a_restart_and_the_next_is_refused() {
    let (p, app, _device) = start(|_| {}).await;
    let mut ids = Vec::new();
    for number in 0..100 {
        ids.push(pending_id(delete(&p, &number.to_string()).await));
    }
    assert_eq!(delete(&p, "one more").await.expect(429).code(), "RATE_LIMITED");
    let p = p.restart().await;
    let _device = p.device("ada").await;
    let list = p.user("ada").get("/api/approvals?state=pending&limit=200").await.json();
    assert_eq!(list["approvals"].as_array().unwrap().len(), 100);
    for id in &ids {
        answer(&p.user("ada"), id, "approve").await.expect(200);
    }
    for id in &ids {
        outcome(&p, id).await.expect(200);
    }
    assert_eq!(runs(&app), 100);
}

#[tokio::test]
async fn a_yes_before_a_stop_runs_after_the_start() {
    let (p, app, _device) = start(|_| {}).await;
    let id = pending_id(delete(&p, "milk").await);
    // Only stored: nobody on this node learns about it, as if the process ended right after the answer.
    let yes = StoredAnswer {
        answer: ApprovalAnswer::Approve,
        by: "ada".to_owned(),
        surface: ApprovalSurface::Console,
        at: toolyard_core::ports::Clock::now(&*p.clock),
        remember: RememberScope::Once,
        note: None,
    };
    let stores = p.state.stores.clone();
    let (approval, user) = (id.parse().unwrap(), "ada".parse().unwrap());
    let stored = stores.approvals.answer_approval(&approval, &user, &yes, None).await.unwrap();
    assert!(matches!(stored, AnswerOutcome::Answered(_)));
    drop(stores);
    let p = p.restart().await;
    assert_eq!(outcome(&p, &id).await.expect(200).json()["content"], "deleted");
    assert_eq!(runs(&app), 1);
}

#[tokio::test]
async fn a_run_that_was_cut_off_is_not_repeated() {
    let (p, app, _device) = start(|_| {}).await;
    let id = pending_id(delete(&p, "milk").await);
    app.set_behavior(AppBehavior::Hang);
    answer(&p.user("ada"), &id, "approve").await.expect(200);
    app.wait_requests("/tool", 1).await;
    let p = p.restart().await;
    let _device = p.device("ada").await;
    let unknown = outcome(&p, &id).await;
    assert!(matches!(unknown.code().as_str(), "OUTCOME_UNKNOWN" | "CANCELLED"), "{}", unknown.text);
    assert_eq!(runs(&app), 1);
}

#[tokio::test]
async fn an_idempotency_key_leads_to_the_outcome_of_the_approved_call() {
    let (p, app, _device) = start(|_| {}).await;
    let keyed = || p.user("ada").header("idempotency-key", "k");
    let id = pending_id(keyed().call(DELETE, json!({ "id": "milk" })).await);
    answer(&p.user("ada"), &id, "approve").await.expect(200);
    let first = loop {
        let again = keyed().call(DELETE, json!({ "id": "milk" })).await;
        if again.status != 202 {
            break again;
        }
    };
    first.expect(200);
    keyed().call(DELETE, json!({ "id": "milk" })).await.expect(200);
    assert_eq!(runs(&app), 1);
}

#[tokio::test]
async fn an_event_stream_announces_new_and_answered_approvals() {
    let (p, _app, _device) = start(|_| {}).await;
    let first = pending_id(delete(&p, "first").await);
    let ada = p.user("ada");
    let mut stream = ada.open(Method::GET, "/api/approvals/events", None).await.into_events(64 * 1024);
    let mut next = async || {
        let event = stream.next().await.unwrap().unwrap();
        (event.name, serde_json::from_slice::<Value>(&event.data).unwrap())
    };
    assert_eq!(next().await.1["id"], first, "pending ones come first");
    assert_eq!(next().await.0, "ready");
    let second = pending_id(delete(&p, "second").await);
    let (kind, asked) = next().await;
    assert_eq!(
        (kind.as_str(), &asked["id"], &asked["state"]),
        ("approval", &json!(second), &json!("pending"))
    );
    answer(&ada, &second, "deny").await.expect(200);
    assert_eq!(next().await.1["state"], "denied");
}

#[test]
fn the_settings_in_the_documentation_are_valid() {
    let page = include_str!("../../../../../docs/approvals.md");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("toolyard.toml");
    let load = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let sources = ConfigSources { file: Some(file.clone()), environment: Vec::new(), flags: Vec::new() };
        load_config(sources).unwrap_or_else(|error| panic!("{error}: {text}")).approvals
    };
    let examples: Vec<_> =
        page.split("```toml\n").skip(1).map(|rest| load(rest.split("```").next().unwrap())).collect();
    assert_eq!(examples.iter().map(|config| config.rules.len()).collect::<Vec<_>>(), [4, 0, 0]);
    let summaries: Vec<_> =
        examples.iter().filter_map(|config| Some(config.webhook.as_ref()?.summary)).collect();
    assert_eq!(summaries, [true, false]);
}
