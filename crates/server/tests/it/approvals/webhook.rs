//! The operator's program is notified of questions and answers.

use serde_json::json;
use toolyard_net::SigningKey;
use toolyard_server::config::ApprovalWebhookConfig;
use toolyard_testkit::{AppBehavior, FakeApp};

use super::{answer, delete, pending_id, start};
use crate::platform::{Device, Platform};

/// A platform that notifies `/hook` of a receiver. The secret is one of the test's environment.
async fn start_with_webhook(receiver: &FakeApp, summary: bool) -> (Platform, FakeApp, Device) {
    receiver.set_path_behavior("/hook", AppBehavior::Json(200, json!({})));
    let url = format!("{}/hook", receiver.url());
    let secret_env = Some("UPSTREAM_KEY".to_owned());
    start(|config| config.approvals.webhook = Some(ApprovalWebhookConfig { url, secret_env, summary })).await
}

#[tokio::test]
async fn a_webhook_is_notified_of_questions_and_answers_and_tried_again() {
    let receiver = FakeApp::start("com.example.receiver").await;
    let (p, _app, _device) = start_with_webhook(&receiver, true).await;
    receiver.set_path_behavior("/hook", AppBehavior::Json(503, json!({})));
    let id = pending_id(delete(&p, "milk").await);
    receiver.wait_requests("/hook", 1).await;
    receiver.set_path_behavior("/hook", AppBehavior::Json(200, json!({})));
    let asked = receiver.wait_requests("/hook", 2).await;
    assert_eq!(asked[0].body["approval"], asked[1].body["approval"]);
    let asked = &asked[1];
    assert_eq!(
        (&asked.body["type"], &asked.body["approval"]["id"]),
        (&json!("approval.requested"), &json!(id))
    );
    let lines = asked.body["approval"]["summary"]["lines"].as_array().unwrap();
    assert!(lines.contains(&json!({ "label": "Note (id)", "value": "milk" })), "{lines:?}");
    let header = |name: &str| asked.headers.get(name).and_then(|value| value.to_str().ok());
    let now = toolyard_core::ports::Clock::now(&*p.clock).as_millisecond();
    let (timestamp, signature) = (header("x-toolyard-timestamp"), header("x-toolyard-signature"));
    SigningKey::new("sesame").verify(timestamp, signature, &asked.raw, now, 1_000).unwrap();

    answer(&p.user("ada"), &id, "deny").await.expect(200);
    let answered = &receiver.wait_requests("/hook", 3).await[2].body;
    assert_eq!(
        (&answered["type"], &answered["approval"]["state"], &answered["approval"]["answer"]["answer"]),
        (&json!("approval.answered"), &json!("denied"), &json!("deny"))
    );
}

#[tokio::test]
async fn a_webhook_without_summary_gets_no_arguments_and_a_refusal_is_final() {
    let receiver = FakeApp::start("com.example.receiver").await;
    let (p, _app, _device) = start_with_webhook(&receiver, false).await;
    receiver.set_path_behavior("/hook", AppBehavior::Json(400, json!({})));
    let id = pending_id(delete(&p, "milk").await);
    let body = json!({ "answer": "deny", "note": "no milk today" });
    p.user("ada").post(&format!("/api/approvals/{id}"), &body).await.expect(200);
    let sent = receiver.wait_requests("/hook", 2).await;
    assert_eq!(sent[0].body["type"], "approval.requested");
    assert_eq!(sent[1].body["type"], "approval.answered", "a refused notification is not sent again");
    for request in sent {
        let approval = &request.body["approval"];
        assert_eq!(approval["summary"]["title"], "Notes: Delete a note");
        let text = String::from_utf8_lossy(&request.raw).into_owned();
        assert!(!text.contains("milk") && approval.get("argumentsDigest").is_none(), "{text}");
    }
}
