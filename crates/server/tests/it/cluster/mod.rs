//! Several nodes as one server.

mod doors;
mod nodes;
mod outages;

use futures_util::future::join_all;
use serde_json::{Value, json};
use toolyard_testkit::{AppBehavior, FakeApp};

use self::nodes::{Nodes, until};
use crate::platform::{Device, ECHO, Person, echo_tool};

/// Registers the echo app at a node, installed for ada.
async fn register_echo(nodes: &Nodes, details: Value) -> FakeApp {
    let app = FakeApp::start(ECHO).await;
    let mut body = json!({ "packageName": ECHO, "name": "Echo", "kind": "tools-only", "tools": [echo_tool()],
        "publicUrl": app.url() });
    body.as_object_mut().unwrap().extend(details.as_object().unwrap().clone());
    let created = nodes.operator(0).post("/api/apps", &body).await.expect(201).json();
    app.set_api_key(created["apiKey"].as_str().unwrap());
    nodes.user(0, "ada").put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    app
}

async fn call_echo(user: &Person<'_>, text: &str) -> crate::platform::Answer {
    user.call(&format!("{ECHO}:echo"), json!({ "text": text })).await
}

#[tokio::test]
async fn any_node_answers_and_the_session_lives_on_one() {
    let nodes = Nodes::start(3).await;
    let app = register_echo(&nodes, json!({})).await;
    let mut device = nodes.device(1, "bob").await;
    device.wears("Even Realities G1").await;
    for node in 0..3 {
        call_echo(&nodes.user(node, "ada"), "hi").await.expect(200);
        let bob = nodes.user(node, "bob").get("/api/session").await.expect(200).json();
        assert_eq!((&bob["deviceConnected"], &bob["userId"]), (&json!(true), &json!("bob")), "{bob}");
        assert_eq!(nodes.user(node, "ada").tools().await, [format!("{ECHO}:echo")]);
    }
    assert_eq!((nodes.homes("ada"), nodes.homes("bob")), (vec![0], vec![1]));
    assert_eq!(app.requests("/tool").len(), 3);
    let calls = nodes.user(2, "ada").get("/api/calls").await.expect(200).json();
    assert_eq!(calls["calls"].as_array().unwrap().len(), 3);
    // What acts for nobody runs anywhere.
    nodes.operator(2).get("/api/apps").await.expect(200);
    nodes.nodes[2].nobody().get("/api/tools").await.expect(401);
}

#[tokio::test]
async fn an_app_that_connects_to_another_node_serves_its_user() {
    let nodes = Nodes::start(2).await;
    let app = register_echo(&nodes, json!({ "kind": "session" })).await;
    // Carl's home is the second node; his apps connect to the first.
    let carl = nodes.user(1, "carl");
    carl.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let mut device = nodes.device(1, "carl").await;
    call_echo(&carl, "hi").await.expect(200);
    assert_eq!(nodes.homes("carl"), [1]);
    let mut session = app.next_session().await;
    session.receive("tpa_connection_ack").await.unwrap();
    let subscribe = json!({ "type": "subscription_update", "packageName": ECHO, "sessionId": session.session,
        "subscriptions": ["button_press"] });
    session.send(subscribe).await;
    until("the subscription arrives", async || {
        let seen = nodes.user(0, "carl").get("/api/session").await.expect(200).json();
        seen["apps"][0]["subscriptions"] == json!(["button_press"])
    })
    .await;
    device.say(json!({ "type": "button_press", "buttonId": "main", "pressType": "short" })).await;
    let data = session.receive("data_stream").await.unwrap();
    assert_eq!(data["streamType"], "button_press");
    // The URL that it was given is its user's alone, and useless to read.
    let webhook = app.requests("/webhook").remove(0).body;
    let url = webhook["mentraOSWebsocketUrl"].as_str().unwrap();
    assert!(url.contains("/u/") && url.ends_with("/app-ws") && !url.contains("carl"), "{url}");
}

#[tokio::test]
async fn a_key_runs_once_whichever_node_gets_it() {
    let nodes = Nodes::start(3).await;
    let app = register_echo(&nodes, json!({})).await;
    for round in 0..5 {
        let key = format!("key-{round}");
        let calls = (0..9).map(async |call| {
            let ada = nodes.user(call % 3, "ada").header("idempotency-key", &key);
            call_echo(&ada, "hi").await.status.as_u16()
        });
        let statuses = join_all(calls).await;
        assert!(statuses.contains(&200), "{statuses:?}");
        assert_eq!(app.requests("/tool").len(), round + 1, "{statuses:?}");
    }
}

#[tokio::test]
async fn changes_are_seen_by_every_node() {
    let nodes = Nodes::start(3).await;
    let app = register_echo(&nodes, json!({})).await;
    let body = json!({ "name": "laptop", "ttlDays": 1 });
    let token = nodes.user(0, "ada").post("/api/tokens", &body).await.expect(201).json();
    let with_token = |node: usize| nodes.nodes[node].bearer(token["token"].as_str().unwrap());
    for node in 0..3 {
        with_token(node).get("/api/tools").await.expect(200);
    }
    nodes
        .user(1, "ada")
        .delete(&format!("/api/tokens/{}", token["info"]["id"].as_str().unwrap()))
        .await
        .expect(204);
    for node in 0..3 {
        until("a revoked token is refused", async || with_token(node).get("/api/tools").await.status == 401)
            .await;
    }
    nodes.operator(2).delete(&format!("/api/apps/{ECHO}")).await.expect(204);
    until("a removed app is gone", async || nodes.user(0, "ada").tools().await.is_empty()).await;
    drop(app);
}

#[tokio::test]
async fn tickets_and_sockets_lead_to_the_home() {
    let nodes = Nodes::start(2).await;
    let ticket = nodes.user(1, "ada").post("/api/glasses/ticket", &json!({})).await.expect(200).json();
    let ticket = ticket["ticket"].as_str().unwrap();
    let url = format!("{}/glasses-ws?ticket={ticket}", nodes.nodes[0].url.replace("http", "ws"));
    let mut device = Device::connect(&url, None).await;
    device.wears("Even Realities G1").await;
    assert_eq!(nodes.homes("ada"), [1]);
    let again = tokio_tungstenite::connect_async(&url).await;
    assert!(again.is_err(), "a ticket opens one socket, on any node");
}

#[tokio::test]
async fn a_node_that_stops_hands_its_users_over() {
    let mut nodes = Nodes::start(2).await;
    let app = register_echo(&nodes, json!({ "kind": "session" })).await;
    let carl = nodes.user(1, "carl");
    carl.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    let mut device = nodes.device(1, "carl").await;
    call_echo(&carl, "hi").await.expect(200);
    let mut session = app.next_session().await;
    // A call that runs while its node stops gets its response.
    app.set_behavior(AppBehavior::Lines(vec![
        json!({ "type": "result", "success": true, "content": "late" }),
    ]));
    let first = &nodes.nodes[0];
    let token = first.token("carl", toolyard_server::auth::Role::User);
    let (held, stopped) = {
        let caller = first.bearer(&token);
        let running = call_echo(&caller, "slow");
        let stopping = async {
            app.wait_requests("/tool", 2).await;
            nodes.nodes[1].begin_stop();
            app.let_line_through();
        };
        tokio::join!(running, stopping)
    };
    let () = stopped;
    held.expect(200);
    nodes.nodes.remove(1).stop().await;
    assert_eq!((session.wait_closed().await, device.closed().await), (Some(1012), Some(1012)));
    // The app reconnects with its session, as the SDK does, and is not started again.
    let url = app.requests("/webhook")[0].body["mentraOSWebsocketUrl"].as_str().unwrap().to_owned();
    let mut back = app.connect_socket(&url, &session.session).await;
    back.receive("tpa_connection_ack").await.unwrap();
    app.set_behavior(AppBehavior::reply("again"));
    call_echo(&nodes.user(0, "carl"), "hi").await.expect(200);
    assert_eq!((nodes.homes("carl"), app.requests("/webhook").len()), (vec![0], 1));
}
