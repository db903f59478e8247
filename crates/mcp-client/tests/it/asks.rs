//! Requests from handshake servers.

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolyard_mcp_client::{
    McpClient, ProtocolEra, RequestOptions, ServerRequest, ToolCallParams, UpstreamReply,
};
use toolyard_testkit::upstream::{InjectedFault, RequestMatch};

use crate::{
    peer::Peer,
    world::{Way, World, http_to, raw, value},
};

/// Answers one server request like a user who accepts.
async fn say_yes(asks: &mut mpsc::Receiver<ServerRequest>) -> (String, Value) {
    let ask = asks.recv().await.unwrap();
    let answer = match ask.method.as_str() {
        "elicitation/create" => {
            json!({ "action": "accept", "content": { "username": "ada", "email": "a@b" } })
        }
        "sampling/createMessage" => {
            json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "42" } })
        }
        other => panic!("{other} was asked"),
    };
    ask.answer.send(Ok(raw(answer))).unwrap();
    (ask.method, value(&ask.params.unwrap()))
}

async fn asking_client(world: &World, way: Way, handler: Option<mpsc::Sender<ServerRequest>>) -> McpClient {
    let mut options = world.options(ProtocolEra::Handshake);
    options.capabilities = raw(json!({ "elicitation": {} }));
    options.asks = handler;
    world.connect_with(way, options).await
}

async fn ask_for_input(client: &McpClient, asks: Option<mpsc::Sender<ServerRequest>>) -> Value {
    let options = RequestOptions { asks, ..RequestOptions::default() };
    let message = raw(json!({ "message": "who?" }));
    let answer = client.call_tool(ToolCallParams::new("test_elicitation", Some(&message)), options).await;
    match answer {
        Ok(UpstreamReply::Complete(result)) => value(&result)["content"][0]["text"].clone(),
        Ok(other) => panic!("{other:?}"),
        Err(error) => error.to_string().into(),
    }
}

#[tokio::test]
async fn a_server_request_on_the_stream_of_a_call_goes_to_its_caller() {
    let world = World::rich().await;
    let client = asking_client(&world, Way::Http, None).await;
    let (to, mut asks) = mpsc::channel(1);
    let (answer, asked) = tokio::join!(ask_for_input(&client, Some(to)), say_yes(&mut asks));
    assert_eq!((asked.0.as_str(), &asked.1["message"]), ("elicitation/create", &json!("who?")));
    assert!(answer.as_str().unwrap().contains("ada"), "{answer}");
}

#[tokio::test]
async fn a_question_on_a_shared_channel_goes_to_the_client() {
    let world = World::rich().await;
    let (to, mut asks) = mpsc::channel(1);
    let client = asking_client(&world, Way::WebSocket, Some(to)).await;
    let (answer, asked) = tokio::join!(ask_for_input(&client, None), say_yes(&mut asks));
    assert_eq!(asked.0, "elicitation/create");
    assert!(answer.as_str().unwrap().contains("ada"), "{answer}");
}

#[tokio::test]
async fn a_server_request_without_a_handler_is_refused() {
    for way in [Way::Http, Way::WebSocket] {
        let world = World::rich().await;
        let client = asking_client(&world, way, None).await;
        let answer = ask_for_input(&client, None).await;
        assert!(answer.as_str().unwrap().contains("-32601"), "{answer}");
    }
}

#[tokio::test]
async fn an_undeclared_server_request_is_refused_despite_a_handler() {
    let world = World::rich().await;
    let client = asking_client(&world, Way::Http, None).await;
    let (to, mut asks) = mpsc::channel(1);
    let options = RequestOptions { asks: Some(to), ..RequestOptions::default() };
    // The fixture would not send it; this server does.
    let question = json!({ "jsonrpc": "2.0", "id": 0, "method": "sampling/createMessage", "params": {} });
    let stream = format!("data: {question}\n\n");
    world.upstream.inject_fault(
        RequestMatch::for_tool("test_sampling"),
        InjectedFault::Raw(200, "text/event-stream".to_owned(), stream.into_bytes()),
    );
    let lost = client.call_tool(ToolCallParams::new("test_sampling", None), options).await;
    assert!(lost.is_err());
    let answers = world.upstream.wait_messages("answer", 1).await;
    let answer: Value = serde_json::from_slice(&answers[0].raw).unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(0), &json!(-32601)));
    assert!(asks.recv().await.is_none());
}

#[tokio::test]
async fn a_ping_is_always_answered() {
    let world = World::new().await;
    let client = asking_client(&world, Way::Http, None).await;
    let ping = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" });
    let stream = format!("data: {ping}\n\n");
    world.upstream.inject_fault(
        RequestMatch::for_tool("echo"),
        InjectedFault::Raw(200, "text/event-stream".to_owned(), stream.into_bytes()),
    );
    let _ = client.call_tool(ToolCallParams::new("echo", None), RequestOptions::default()).await;
    let answers = world.upstream.wait_messages("answer", 1).await;
    let answer: Value = serde_json::from_slice(&answers[0].raw).unwrap();
    assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": "p", "result": {} }));
}

#[tokio::test]
async fn a_question_dies_with_the_call_that_it_belongs_to() {
    let world = World::rich().await;
    let client = asking_client(&world, Way::Http, None).await;
    let (to, mut asks) = mpsc::channel(1);
    let ask = tokio::select! {
        answer = ask_for_input(&client, Some(to)) => panic!("{answer}"),
        ask = asks.recv() => ask.unwrap(),
    };
    ask.cancelled.cancelled().await;
    assert_eq!(world.upstream.wait_cancelled(1).await[0].name, "test_elicitation");
    assert!(world.upstream.messages("answer").is_empty());
}

#[tokio::test]
async fn dropping_a_question_refuses_it() {
    let world = World::rich().await;
    let client = asking_client(&world, Way::Http, None).await;
    let (to, mut asks) = mpsc::channel(1);
    let (answer, ()) = tokio::join!(ask_for_input(&client, Some(to)), async { drop(asks.recv().await) });
    assert!(answer.as_str().unwrap().contains("the client did not answer"), "{answer}");
}

#[tokio::test]
async fn the_standing_stream_is_open_for_questions_before_the_first_request() {
    let (world, peer) = (World::new().await, Peer::start().await);
    let (to, mut asks) = mpsc::channel(1);
    let mut options = world.options(ProtocolEra::Handshake);
    options.capabilities = raw(json!({ "elicitation": {} }));
    options.asks = Some(to);
    let playing = async {
        // It reports no changes, but it may send requests.
        peer.handshake(json!({ "tools": {} })).await;
        let get = peer.next().await;
        assert_eq!(get.verb(), "GET");
        assert!(get.head.contains("mcp-session-id: s"), "{}", get.head);
        get.stream().await
    };
    let (client, mut stream) = tokio::join!(McpClient::connect(http_to(&peer.url()), options), playing);
    let client = client.unwrap();
    stream.event(&json!({ "jsonrpc": "2.0", "id": 0, "method": "elicitation/create", "params": {} })).await;
    say_yes(&mut asks).await;
    let answer = peer.next().await;
    assert_eq!((&answer.body["id"], &answer.body["result"]["action"]), (&json!(0), &json!("accept")));
    answer.status("202 Accepted", "").await;
    drop(client);
}

#[tokio::test]
async fn questions_at_once_are_bounded() {
    let (world, peer) = (World::new().await, Peer::start().await);
    let mut options = world.options(ProtocolEra::Handshake);
    options.capabilities = raw(json!({ "elicitation": {} }));
    let (client, ()) = tokio::join!(
        McpClient::connect(http_to(&peer.url()), options),
        peer.handshake(json!({ "tools": {} }))
    );
    let client = client.unwrap();
    let (to, mut asks) = mpsc::channel(32);
    let wants = RequestOptions { asks: Some(to), ..RequestOptions::default() };
    let playing = async {
        let mut stream = peer.next().await.stream().await;
        for id in 0..17 {
            stream.event(&json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create" })).await;
        }
        let refused = peer.next().await;
        assert_eq!(refused.body["id"], 16);
        assert_eq!(refused.body["error"]["message"], "too many open requests");
        // The server cancels one, and there is room again.
        let taken = json!({ "requestId": 3 });
        stream
            .event(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": taken }))
            .await;
        let mut held = Vec::new();
        for _ in 0..16 {
            held.push(asks.recv().await.unwrap());
        }
        held[3].cancelled.cancelled().await;
        assert!(!held[2].cancelled.is_cancelled());
        stream.event(&json!({ "jsonrpc": "2.0", "id": 17, "method": "elicitation/create" })).await;
        asks.recv().await.unwrap();
    };
    tokio::select! {
        answer = client.call_tool(ToolCallParams::new("x", None), wants) => panic!("{answer:?}"),
        () = playing => {}
    }
}
