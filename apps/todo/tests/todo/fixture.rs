//! The app behind its router, and a fake platform that records what the app shows.

use std::{future::Future, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{
        State, WebSocketUpgrade,
        ws::{Message, WebSocket},
    },
    http::{Request, StatusCode},
    response::Response,
    routing::any,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc, time::timeout};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use toolyard_app_sdk::AppServer;
use tower_service::Service;

/// Far longer than anything here takes; only a broken test gets there.
const PATIENCE: Duration = Duration::from_secs(20);

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("this should have happened by now")
}

pub(crate) struct TodoApp {
    router: Router,
    socket_url: String,
    sockets: mpsc::Receiver<WebSocket>,
    _serving: AbortOnDropHandle<()>,
}

/// What one user sees.
pub(crate) struct Glasses(WebSocket);

impl TodoApp {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (socket, sockets) = mpsc::channel(8);
        let platform = Router::new().route("/app-ws", any(app_socket)).with_state(socket);
        let serving = TaskTracker::new().spawn(async move { axum::serve(listener, platform).await.unwrap() });
        let builder =
            AppServer::builder("com.example.todo").api_key("the-key").server(format!("http://{address}"));
        Self {
            router: toolyard_todo::add_to(builder).unwrap().build().unwrap().router(),
            socket_url: format!("ws://{address}/app-ws"),
            sockets,
            _serving: AbortOnDropHandle::new(serving),
        }
    }

    /// Calls a tool for a user.
    pub(crate) async fn call(&self, user: &str, tool: &str, arguments: Value) -> (StatusCode, Value) {
        let context =
            json!({ "userId": user, "timestamp": "2026-01-02T03:04:05.678Z", "activatedForTool": false });
        self.post("/tool", &json!({ "name": tool, "arguments": arguments, "context": context })).await
    }

    /// Reads the list resource of a user, or gets the prompt.
    pub(crate) async fn ask(&self, user: &str, path: &str, mut body: Value) -> (StatusCode, Value) {
        body["context"] = json!({ "userId": user, "timestamp": "2026-01-02T03:04:05.678Z", "callId": "c-1" });
        self.post(path, &body).await
    }

    /// Opens the app for a user with glasses.
    pub(crate) async fn open(&mut self, user: &str, capabilities: Value) -> Glasses {
        let request = json!({
            "type": "session_request", "sessionId": "s-1", "userId": user, "mentraOSWebsocketUrl": self.socket_url,
        });
        let router = self.router.clone();
        let welcome = async {
            let mut socket = soon(self.sockets.recv()).await.unwrap();
            soon(socket.recv()).await.unwrap().unwrap();
            let ack = json!({ "type": "tpa_connection_ack", "capabilities": capabilities });
            socket.send(Message::Text(ack.to_string().into())).await.unwrap();
            socket
        };
        let ((status, _), socket) = tokio::join!(post(router, "/webhook", &request), welcome);
        assert_eq!(status, StatusCode::OK);
        Glasses(socket)
    }

    async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        post(self.router.clone(), path, body).await
    }
}

async fn post(mut router: Router, path: &str, body: &Value) -> (StatusCode, Value) {
    let request = Request::post(path).header("content-type", "application/json");
    let request = request.body(Body::from(body.to_string())).unwrap();
    let response = soon(router.call(request)).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), 1024 * 1024).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

async fn app_socket(State(sockets): State<mpsc::Sender<WebSocket>>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|socket| async move { sockets.send(socket).await.unwrap() })
}

impl Glasses {
    /// The next text on the display.
    pub(crate) async fn shown(&mut self) -> String {
        loop {
            if let Message::Text(text) = soon(self.0.recv()).await.unwrap().unwrap() {
                let message: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(
                    (&message["type"], &message["layout"]["layoutType"]),
                    (&json!("display_event"), &json!("text_wall"))
                );
                return message["layout"]["text"].as_str().unwrap().to_owned();
            }
        }
    }
}
