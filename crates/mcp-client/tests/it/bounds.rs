//! Every limit, exceeded.

use std::{sync::Arc, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_tungstenite::tungstenite::Message;
use toolyard_mcp_client::{
    McpClient, McpClientError, McpTransport, ProtocolEra, StaticHeaders, WebSocketTarget,
};
use toolyard_net::{Guard, GuardedDialer, OutsideUrl};
use toolyard_testkit::upstream::{InjectedFault, RequestMatch, UpstreamOptions as Upstream, quirks};

use crate::{
    peer::Peer,
    world::{ALL, WAIT, Way, World, accept, call, echo, http_to, next, raw},
};

#[tokio::test]
async fn a_message_is_bounded_in_every_form() {
    for (way, era) in ALL {
        for always_sse in [false, true] {
            let world = World::with(Upstream { always_sse, ..Upstream::default() }).await;
            let mut options = world.options(era);
            options.limits.message_bytes = 4000;
            let client = world.connect_with(way, options).await;
            world.upstream.inject_fault(
                RequestMatch::for_tool("echo"),
                InjectedFault::Result(quirks::huge_result(3000)),
            );
            call(&client, "echo", json!({})).await.unwrap();
            world.upstream.inject_fault(
                RequestMatch::for_tool("echo"),
                InjectedFault::Result(quirks::huge_result(4000)),
            );
            let refused = call(&client, "echo", json!({})).await.unwrap_err();
            match way {
                Way::Http => assert!(matches!(refused, McpClientError::Malformed(_)), "{era:?} {refused}"),
                // On a shared channel the lost part is unknown, so the connection is closed.
                Way::WebSocket => assert!(client.is_closed(), "{era:?} {refused}"),
            }
        }
    }
}

#[tokio::test]
async fn requests_under_way_are_bounded_and_the_next_waits() {
    let world = World::new().await;
    let mut options = world.options(ProtocolEra::Modern);
    options.limits.in_flight = 1;
    let client = world.connect_with(Way::Http, options).await;
    world.upstream.inject_fault(RequestMatch::for_tool("echo").times(1), InjectedFault::Hold);
    let both = async { tokio::join!(echo(&client, "first"), echo(&client, "second")) };
    let (answers, ()) = tokio::join!(both, async {
        world.upstream.wait_messages("tools/call", 1).await;
        // The first one holds the only permit: another client's request overtakes the second.
        let other = world.connect(Way::Http, ProtocolEra::Modern).await;
        echo(&other, "third").await;
        assert_eq!(world.upstream.messages("tools/call").len(), 2);
        world.upstream.let_through(1);
    });
    assert_eq!(answers, ("first".to_owned(), "second".to_owned()));
}

#[tokio::test]
async fn politeness_is_bounded() {
    let (world, peer) = (World::new().await, Peer::start().await);
    let mut options = world.options(ProtocolEra::Handshake);
    options.limits.courtesy = Duration::from_millis(50);
    options.capabilities = raw(json!({ "roots": {} }));
    let (to, _asks) = mpsc::channel(1);
    options.asks = Some(to);
    let playing = async {
        peer.handshake(json!({})).await;
        // The stream for server requests is never answered.
        peer.next().await
    };
    let (client, get) = tokio::join!(McpClient::connect(http_to(&peer.url()), options), playing);
    assert_eq!(get.verb(), "GET");
    let client = client.unwrap();
    let (answer, asked) = tokio::join!(call(&client, "x", json!({})), async {
        peer.next().await.status("503 Service Unavailable", "").await;
    });
    assert!(matches!(answer, Err(McpClientError::Status { .. })), "{asked:?}");
    // Neither is the end of the session.
    let ((), delete) = tokio::join!(client.close(), peer.next());
    assert_eq!(delete.verb(), "DELETE");
    world.quiet().await;
}

#[tokio::test]
async fn a_socket_that_is_silent_is_given_up() {
    let world = World::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url =
        OutsideUrl::parse(&format!("http://{}/mcp", listener.local_addr().unwrap()), &Guard::dev()).unwrap();
    let playing = async {
        let mut socket = accept(listener.accept().await.unwrap().0).await;
        let opens: Value =
            serde_json::from_str(socket.next().await.unwrap().unwrap().to_text().unwrap()).unwrap();
        let result = json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} });
        let answer = json!({ "jsonrpc": "2.0", "id": opens["id"], "result": result });
        socket.send(Message::text(answer.to_string())).await.unwrap();
        // From here on the peer reads nothing, so no ping is answered.
        socket
    };
    let mut options = world.options(ProtocolEra::Modern);
    options.limits.ping = Duration::from_millis(20);
    options.limits.courtesy = Duration::from_millis(20);
    let credentials = Arc::new(StaticHeaders::default());
    let target = WebSocketTarget { url, dialer: GuardedDialer::new(Guard::dev(), WAIT), credentials };
    let (client, _socket) =
        tokio::join!(McpClient::connect(McpTransport::WebSocket(target), options), playing);
    let last = format!("{:?}", next(&mut client.unwrap().subscribe_events()).await);
    assert!(last.contains("the socket timed out"), "{last}");
}

#[tokio::test]
async fn a_redirect_is_reported_and_not_followed() {
    let (world, peer) = (World::new().await, Peer::start().await);
    let playing = async {
        let elsewhere = "location: http://elsewhere.example/mcp/\r\n";
        peer.next().await.status("307 Temporary Redirect", elsewhere).await;
    };
    let options = world.options(ProtocolEra::Handshake);
    let (refused, ()) = tokio::join!(McpClient::connect(http_to(&peer.url()), options), playing);
    let expected = "the server answered 307 Temporary Redirect: it redirects to http://elsewhere.example/mcp/; try that URL";
    assert_eq!(refused.unwrap_err().to_string(), expected);
}
