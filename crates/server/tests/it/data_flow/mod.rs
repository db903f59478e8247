//! No leaks by combination: private data, content from outside and an outward call in one conversation.

mod conversations;
mod doors;

use serde_json::{Value, json};
use toolyard_protocol::approval::{DataFlowPolicy, DataLabel};
use toolyard_server::config::Config;
use toolyard_testkit::{AppBehavior, FakeApp};

use crate::platform::{Answer, Device, Person, Platform};

const READER: &str = "com.example.reader";
const MAILER: &str = "com.example.mailer";
const SEARCH: &str = "com.example.reader:mail_search";
const FETCH: &str = "com.example.reader:web_fetch";
const PLAIN: &str = "com.example.reader:plain";
const SEND: &str = "com.example.mailer:send_mail";

fn tool(name: &str, annotations: Value) -> Value {
    json!({ "name": name, "description": name, "annotations": annotations, "inputSchema": { "type": "object" } })
}

/// An app that reads, and one that sends. Ada has both.
struct Apps {
    reader: FakeApp,
    mailer: FakeApp,
    _device: Device,
}

impl Apps {
    async fn start(p: &Platform) -> Self {
        let (reader, mailer) = (FakeApp::start(READER).await, FakeApp::start(MAILER).await);
        let read = |is_open: bool| json!({ "readOnlyHint": true, "openWorldHint": is_open });
        let tools = json!([
            tool("mail_search", read(false)),
            tool("web_fetch", read(true)),
            tool("plain", json!({}))
        ]);
        let send = tool("send_mail", json!({ "readOnlyHint": false, "openWorldHint": true }));
        for (app, package, tools) in [(&reader, READER, tools), (&mailer, MAILER, json!([send]))] {
            app.set_behavior(AppBehavior::reply("done"));
            let body =
                json!({ "packageName": package, "name": package, "kind": "tools-only", "tools": tools });
            p.register(app, body).await;
            p.user("ada").put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
        }
        Self { reader, mailer, _device: p.device("ada").await }
    }

    fn sent(&self) -> usize {
        self.mailer.requests("/tool").len()
    }
}

async fn start(change: impl FnOnce(&mut Config)) -> (Platform, Apps) {
    let p = Platform::with(change).await;
    let apps = Apps::start(&p).await;
    (p, apps)
}

/// Ada in a conversation of her own naming.
fn ada_in<'a>(p: &'a Platform, conversation: &str) -> Person<'a> {
    p.user("ada").header("x-conversation-id", conversation)
}

async fn read_both(who: &Person<'_>) {
    who.call(SEARCH, json!({})).await.expect(200);
    who.call(FETCH, json!({})).await.expect(200);
}

/// The approval that a call waits for, as the user sees it.
async fn asked(p: &Platform, answer: Answer) -> Value {
    let id = answer.expect(202).json()["pending"]["id"].as_str().unwrap().to_owned();
    p.user("ada").get(&format!("/api/approvals/{id}")).await.expect(200).json()
}

#[tokio::test]
async fn the_call_that_completes_the_three_asks_and_says_why() {
    let (p, apps) = start(|_| {}).await;
    let ada = ada_in(&p, "c1");
    ada.call(SEND, json!({})).await.expect(200);
    ada.call(SEARCH, json!({})).await.expect(200);
    assert_eq!(apps.sent(), 1);
    let approval = asked(&p, ada.call(SEND, json!({ "n": 1 })).await).await;
    assert_eq!(approval["reason"], "dataFlow", "the answer of the first mail came from outside too");
    ada.call(FETCH, json!({})).await.expect(200);
    let approval = asked(&p, ada.call(SEND, json!({ "n": 2 })).await).await;
    assert_eq!(
        approval["summary"]["warning"],
        "This conversation has read private data (mail_search) and content from outside (send_mail, web_fetch). send_mail \
         can send data out. This reaches others outside the app."
    );
    assert_eq!((&approval["risk"], &approval["canRemember"]), (&json!("medium"), &json!(true)));
    assert_eq!(apps.sent(), 1);
    // The yes runs the call, and the ledger links them as for every approval.
    let id = approval["id"].as_str().unwrap();
    p.user("ada").post(&format!("/api/approvals/{id}"), &json!({ "answer": "approve" })).await.expect(200);
    p.user("ada").get(&format!("/api/approvals/{id}/outcome?wait=30")).await.expect(200);
    assert_eq!(apps.sent(), 2);
    let calls = p.user("ada").get("/api/calls").await.json();
    let linked = calls["calls"].as_array().unwrap().iter().filter(|call| call["approvalId"] == id).count();
    assert_eq!(linked, 2);
    asked(&p, ada.call(SEND, json!({ "n": 3 })).await).await;
    assert_eq!(apps.sent(), 2, "an approved call clears nothing");
}

#[tokio::test]
async fn two_of_the_three_ask_nothing() {
    let (p, apps) = start(|_| {}).await;
    for (number, reads) in [[SEARCH, SEARCH], [FETCH, FETCH]].into_iter().enumerate() {
        let ada = ada_in(&p, &format!("c{number}"));
        for read in reads {
            ada.call(read, json!({})).await.expect(200);
        }
        ada.call(SEND, json!({})).await.expect(200);
    }
    assert_eq!(apps.sent(), 2);
    let ada = ada_in(&p, "all-reads");
    read_both(&ada).await;
    read_both(&ada).await;
}

#[tokio::test]
async fn deny_refuses_whatever_users_choose_and_off_asks_nothing() {
    let (p, apps) = start(|config| config.approvals.data_flow = DataFlowPolicy::Deny).await;
    let always = json!({ "choice": "always" });
    p.user("ada").put(&format!("/api/approvals/choices/{SEND}"), &always).await.expect(200);
    let ada = ada_in(&p, "c1");
    read_both(&ada).await;
    let refused = ada.call(SEND, json!({})).await.expect(403);
    assert_eq!(refused.code(), "DENIED");
    assert!(refused.text.contains("private data (mail_search)"), "{}", refused.text);
    // Neither does a grant help.
    let grant = json!({ "tool": SEND, "days": 1, "uses": 9 });
    p.user("ada").post("/api/approvals/grants", &grant).await.expect(201);
    ada.call(SEND, json!({})).await.expect(403);
    assert_eq!(apps.sent(), 0);
    let p = p.restart_with(|config| config.approvals.data_flow = DataFlowPolicy::Off).await;
    let _device = p.device("ada").await;
    ada_in(&p, "c1").call(SEND, json!({})).await.expect(200);
    assert_eq!(apps.sent(), 1);
}

#[tokio::test]
async fn always_and_a_yes_for_the_tool_do_not_cover_it_but_a_yes_with_it_in_view_does() {
    let (p, apps) = start(|_| {}).await;
    let me = p.user("ada");
    let always = json!({ "choice": "always" });
    me.put(&format!("/api/approvals/choices/{SEND}"), &always).await.expect(200);
    me.post("/api/approvals/grants", &json!({ "tool": SEND, "days": 1, "uses": 9 })).await.expect(201);
    let ada = ada_in(&p, "c1");
    ada.call(SEND, json!({})).await.expect(200);
    read_both(&ada).await;
    let approval = asked(&p, ada.call(SEND, json!({ "n": 1 })).await).await;
    let path = format!("/api/approvals/{}", approval["id"].as_str().unwrap());
    let for_tool = json!({ "answer": "approve", "remember": { "scope": "tool" } });
    let refused = me.post(&path, &for_tool).await.expect(400);
    assert!(refused.text.contains("this conversation"), "{}", refused.text);
    let here = json!({ "answer": "approve", "remember": { "scope": "conversation" } });
    me.post(&path, &here).await.expect(200);
    me.get(&format!("{path}/outcome?wait=30")).await.expect(200);
    ada.call(SEND, json!({ "n": 2 })).await.expect(200);
    assert_eq!(apps.sent(), 3, "the yes holds in this conversation");
    let other = ada_in(&p, "c2");
    read_both(&other).await;
    asked(&p, other.call(SEND, json!({ "n": 2 })).await).await;
    // A grant in advance that says which arguments.
    let grant =
        json!({ "tool": SEND, "days": 1, "uses": 1, "arguments": [{ "pointer": "/to", "equals": "bob" }] });
    me.post("/api/approvals/grants", &grant).await.expect(201);
    other.call(SEND, json!({ "to": "bob" })).await.expect(200);
    asked(&p, other.call(SEND, json!({ "to": "mal" })).await).await;
    assert_eq!(apps.sent(), 4);
}

#[tokio::test]
async fn a_yes_for_the_conversation_from_before_does_not_cover_it() {
    let rule = json!([{ "tools": [SEND], "decision": "ask" }]);
    let (p, apps) = start(|config| config.approvals.rules = serde_json::from_value(rule).unwrap()).await;
    let ada = ada_in(&p, "c1");
    let approval = asked(&p, ada.call(SEND, json!({})).await).await;
    assert_eq!(approval["reason"], "policy");
    let path = format!("/api/approvals/{}", approval["id"].as_str().unwrap());
    let here = json!({ "answer": "approve", "remember": { "scope": "conversation" } });
    p.user("ada").post(&path, &here).await.expect(200);
    p.user("ada").get(&format!("{path}/outcome?wait=30")).await.expect(200);
    ada.call(SEND, json!({ "n": 1 })).await.expect(200);
    read_both(&ada).await;
    let approval = asked(&p, ada.call(SEND, json!({ "n": 2 })).await).await;
    assert_eq!((&approval["reason"], apps.sent()), (&json!("dataFlow"), 2));
}

#[tokio::test]
async fn the_operators_labels_replace_those_of_the_definition() {
    let (p, apps) = start(|config| {
        let labels = [
            // The spelling of a name does not matter.
            ("*:Mail_*", vec![]),
            (PLAIN, vec![DataLabel::Untrusted]),
            ("com.example.mailer:*", vec![DataLabel::Private, DataLabel::Outward]),
        ];
        config.approvals.labels = labels.map(|(name, labels)| (name.to_owned(), labels)).into();
    })
    .await;
    let ada = ada_in(&p, "c1");
    ada.call(SEARCH, json!({})).await.expect(200);
    ada.call(SEND, json!({})).await.expect(200);
    ada.call(PLAIN, json!({})).await.expect(200);
    let approval = asked(&p, ada.call(SEND, json!({ "n": 1 })).await).await;
    let warning = approval["summary"]["warning"].as_str().unwrap();
    assert!(warning.starts_with(
        "This conversation has read private data (send_mail) and content from outside (plain). send_mail can send data out."
    ), "{warning}");
    assert_eq!(apps.sent(), 1);
    let listed = p.user("ada").get("/api/tools/labels").await.expect(200).json();
    assert_eq!(listed["dataFlow"], "ask");
    let of = |name: &str| {
        let tools = listed["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["tool"] == name).unwrap().clone()
    };
    assert_eq!(of(SEND)["labels"], json!(["private", "outward"]));
    assert_eq!((&of(SEARCH)["labels"], &of(SEARCH)["byOperator"]), (&json!([]), &json!(true)));
    assert_eq!((&of(FETCH)["labels"], &of(FETCH)["byOperator"]), (&json!(["untrusted"]), &json!(false)));
}

#[tokio::test]
async fn what_mcp_implies_counts_in_strict_only() {
    let (p, _apps) = start(|_| {}).await;
    let ada = ada_in(&p, "c1");
    read_both(&ada).await;
    ada.call(PLAIN, json!({})).await.expect(200);
    let rules = json!({ "preset": "strict", "rules": [{ "tools": ["*"], "decision": "allow" }] });
    p.nobody().put("/api/approvals/policy", &rules).await.expect(200);
    let approval = asked(&p, ada.call(PLAIN, json!({})).await).await;
    assert_eq!(approval["reason"], "dataFlow");
}

#[tokio::test]
async fn other_users_have_conversations_of_their_own() {
    let (p, apps) = start(|_| {}).await;
    for package in [READER, MAILER] {
        p.user("bob").put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
    }
    let _bobs = p.device("bob").await;
    read_both(&ada_in(&p, "c1")).await;
    let bob = p.user("bob").header("x-conversation-id", "c1");
    bob.call(SEND, json!({})).await.expect(200);
    assert_eq!(apps.sent(), 1);
    asked(&p, ada_in(&p, "c1").call(SEND, json!({})).await).await;
}
