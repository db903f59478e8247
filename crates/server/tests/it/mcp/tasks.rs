//! Calls that wait for an approval, as tasks of modern clients.

use serde_json::{Value, json};
use toolyard_protocol::mcp::meta;
use toolyard_server::auth::Role;

use super::{
    approvals::{modern_deletion, opens_pages, pending, text},
    client::{Ask, LEGACY, soon},
};
use crate::{
    approvals::{DELETE, answer, runs, start},
    platform::{Person, tokens_only},
};

const TASKS: &str = "io.modelcontextprotocol/tasks";

/// The capabilities of a client that supports tasks, and these.
fn supports_tasks(mut others: Value) -> Value {
    others["extensions"] = json!({ TASKS: {} });
    others
}

/// A request about a task, of a client with these capabilities.
fn about(method: &str, id: &str, capabilities: Value) -> Ask {
    Ask::modern(method, json!({ "taskId": id }))
        .with("mcp-name", id)
        .meta(meta::CLIENT_CAPABILITIES, capabilities)
}

/// Starts a call that waits. Returns its task.
async fn task_of(person: &Person<'_>, note: &str, capabilities: Value) -> String {
    let result = person.ask(modern_deletion(note, capabilities)).await.result();
    assert_eq!((&result["resultType"], &result["status"]), (&json!("task"), &json!("working")), "{result}");
    result["taskId"].as_str().unwrap().to_owned()
}

async fn task(person: &Person<'_>, id: &str) -> Value {
    let task = person.ask(about("tasks/get", id, supports_tasks(json!({})))).await.result();
    assert_eq!((&task["taskId"], &task["resultType"]), (&json!(id), &json!("complete")), "{task}");
    task
}

/// The task when it has ended.
async fn ended(person: &Person<'_>, id: &str) -> Value {
    soon(async {
        loop {
            let task = task(person, id).await;
            if task["status"] != "working" {
                return task;
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_call_that_waits_is_a_task_until_it_ends() {
    let (p, app, _device) = start(|_| {}).await;
    let ada = p.user("ada");
    let discovered = ada.modern("server/discover", json!({})).await.result();
    assert_eq!(discovered["capabilities"]["extensions"], json!({ TASKS: {} }));
    let created = ada.ask(modern_deletion("milk", supports_tasks(json!({})))).await.result();
    let id = created["taskId"].as_str().unwrap();
    assert_eq!(pending(&ada).await, [id], "the task is the approval");
    assert_eq!((&created["ttlMs"], &created["pollIntervalMs"]), (&json!(86_400_000), &json!(2_000)));
    let message = created["statusMessage"].as_str().unwrap();
    assert!(message.starts_with("Notes: Delete a note waits") && message.contains("/console/approvals/"));
    let again = ada.ask(modern_deletion("milk", supports_tasks(json!({})))).await.result();
    assert_eq!(again["taskId"], id, "the same call waits for the same approval");

    let waits = task(&ada, id).await;
    assert_eq!((&waits["status"], waits.get("result")), (&json!("working"), None));
    assert_eq!(waits["createdAt"], created["createdAt"]);
    p.clock.advance(5);
    answer(&ada, id, "approve").await.expect(200);
    let done = ended(&ada, id).await;
    assert_eq!((&done["status"], text(&done["result"])), (&json!("completed"), "deleted"));
    assert_eq!(done["result"]["resultType"], "complete");
    assert_ne!(done["lastUpdatedAt"], done["createdAt"]);
    assert_eq!(task(&ada, id).await, done, "it can be read again");
    assert_eq!(runs(&app), 1);
    assert_ne!(task_of(&ada, "milk", supports_tasks(json!({}))).await, id, "one approval covers one call");
}

#[tokio::test]
async fn a_no_and_a_failed_tool_are_results_and_a_task_survives_a_restart() {
    let (p, app, _device) = start(|_| {}).await;
    let ada = p.user("ada");
    let (no, yes) = (
        task_of(&ada, "milk", supports_tasks(json!({}))).await,
        task_of(&ada, "bread", supports_tasks(json!({}))).await,
    );
    answer(&ada, &no, "deny").await.expect(200);
    let p = p.restart_with(|_| {}).await;
    let _device = p.device("ada").await;
    let ada = p.user("ada");
    let denied = ended(&ada, &no).await;
    assert_eq!((&denied["status"], &denied["result"]["isError"]), (&json!("completed"), &json!(true)));
    assert_eq!(denied["result"]["_meta"]["toolyard/error"]["code"], "DENIED");
    assert_eq!(task(&ada, &yes).await["status"], "working");
    app.set_behavior(toolyard_testkit::AppBehavior::Json(500, json!({})));
    answer(&ada, &yes, "approve").await.expect(200);
    let failed = ended(&ada, &yes).await;
    assert_eq!((&failed["status"], &failed["result"]["isError"]), (&json!("completed"), &json!(true)));
}

#[tokio::test]
async fn a_cancelled_task_withdraws_the_question_and_nothing_runs() {
    let (p, app, _device) = start(|_| {}).await;
    let ada = p.user("ada");
    let id = task_of(&ada, "milk", supports_tasks(json!({}))).await;
    let cancel = || about("tasks/cancel", &id, supports_tasks(json!({})));
    assert_eq!(ada.ask(cancel()).await.result(), json!({ "resultType": "complete" }));
    let cancelled = task(&ada, &id).await;
    assert_eq!((&cancelled["status"], cancelled.get("result")), (&json!("cancelled"), None));
    assert!(pending(&ada).await.is_empty());
    let late = answer(&ada, &id, "approve").await.expect(409);
    assert!(late.text.contains("withdrawn"), "{}", late.text);
    assert_ne!(
        task_of(&ada, "milk", supports_tasks(json!({}))).await,
        id,
        "the same call is asked about again"
    );
    assert_eq!(runs(&app), 0);

    // What was answered runs on.
    let id = task_of(&ada, "bread", supports_tasks(json!({}))).await;
    answer(&ada, &id, "approve").await.expect(200);
    ended(&ada, &id).await;
    let late = about("tasks/cancel", &id, supports_tasks(json!({})));
    assert_eq!(ada.ask(late).await.result(), json!({ "resultType": "complete" }));
    assert_eq!((task(&ada, &id).await["status"].clone(), runs(&app)), (json!("completed"), 1));
}

#[tokio::test]
async fn a_client_that_opens_pages_is_asked_once_within_the_task() {
    let (p, app, _device) = start(|_| {}).await;
    let ada = p.user("ada");
    let capabilities = || supports_tasks(opens_pages());
    let id = task_of(&ada, "milk", capabilities()).await;
    let get = || about("tasks/get", &id, capabilities());
    let asks = ada.ask(get()).await.result();
    assert_eq!(asks["status"], "input_required", "{asks}");
    let (key, question) = asks["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(question["method"], "elicitation/create");
    assert!(question["params"]["url"].as_str().unwrap().ends_with(&id), "{question}");
    let update = |key: &str, response: Value| {
        let mut ask = about("tasks/update", &id, capabilities());
        ask.params["inputResponses"] = json!({ key: response });
        ask
    };
    let opened = || json!({ "action": "accept", "content": { "answer": "yes" } });
    let done = json!({ "resultType": "complete" });
    assert_eq!(ada.ask(update("other", opened())).await.result(), done, "unknown keys are ignored");
    assert_eq!(ada.ask(get()).await.result()["status"], "input_required");
    assert_eq!(ada.ask(update(key, opened())).await.result(), done);
    assert_eq!(ada.ask(get()).await.result()["status"], "working", "an open page is no answer");
    assert_eq!(pending(&ada).await, [id.as_str()]);
    assert_eq!(ada.ask(about("tasks/update", &id, capabilities())).await.refusal(), (200, -32602));
    answer(&ada, &id, "approve").await.expect(200);
    assert_eq!(text(&ended(&ada, &id).await["result"]), "deleted");
    assert_eq!(runs(&app), 1);
}

#[tokio::test]
async fn foreign_and_unknown_tasks_and_clients_without_the_extension_are_refused() {
    let (p, _app, device) = start(|_| {}).await;
    let ada = p.user("ada");
    let id = task_of(&ada, "milk", supports_tasks(json!({}))).await;
    let by_rest = ada.call(DELETE, json!({ "id": "bread" })).await.expect(202).json();
    let by_rest = by_rest["pending"]["id"].as_str().unwrap().to_owned();
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let named = |id: &str, capabilities: Value| {
            let mut ask = about(method, id, capabilities);
            ask.params["inputResponses"] = json!({});
            ask
        };
        for other in ["0".repeat(32).as_str(), "x", &by_rest] {
            let refused = ada.ask(named(other, supports_tasks(json!({})))).await;
            assert_eq!(refused.refusal(), (200, -32602), "{method} {other}");
        }
        assert_eq!(p.user("bob").ask(named(&id, supports_tasks(json!({})))).await.refusal(), (200, -32602));
        for capabilities in [json!({}), json!({ "extensions": { TASKS: true } }), json!({ "tasks": {} })] {
            let refused = ada.ask(named(&id, capabilities)).await;
            assert_eq!(refused.json()["error"]["code"], -32021, "{}", refused.text);
            assert_eq!(
                refused.json()["error"]["data"]["requiredCapabilities"],
                json!({ "extensions": { TASKS: {} } })
            );
        }
        let unlike = named(&id, supports_tasks(json!({}))).instead("mcp-name", "other");
        assert_eq!(ada.ask(unlike).await.json()["error"]["code"], -32020);
        let session = ada.handshake(LEGACY).await;
        assert_eq!(session.ask(method, json!({ "taskId": id })).await.refusal(), (200, -32601), "{method}");
    }
    let listen = json!({ "notifications": { "taskIds": [id] } });
    let refused = ada.ask(Ask::modern("subscriptions/listen", listen)).await;
    assert_eq!(refused.json()["error"]["code"], -32021, "{}", refused.text);
    assert_eq!(task(&ada, &id).await["status"], "working");

    // An operator who acts for the user is another caller.
    drop(device);
    let p = p.restart_with(tokens_only).await;
    let root = p.bearer(&p.token("root", Role::Operator)).header("x-user-id", "ada");
    let refused = root.ask(about("tasks/cancel", &id, supports_tasks(json!({})))).await;
    assert_eq!(refused.refusal(), (200, -32602), "{}", refused.text);
}

#[tokio::test]
async fn calls_with_a_key_and_other_clients_get_no_task() {
    let (p, _app, _device) = start(|_| {}).await;
    let ada = p.user("ada");
    let keyed =
        modern_deletion("milk", supports_tasks(json!({}))).meta("toolyard/idempotencyKey", json!("k"));
    let result = ada.ask(keyed).await.result();
    assert!(result.get("taskId").is_none() && text(&result).contains("/console/approvals/"), "{result}");
    let other = ada.ask(modern_deletion("milk", json!({ "extensions": {} }))).await.result();
    assert!(other.get("taskId").is_none() && text(&other).contains("/console/approvals/"), "{other}");
}
