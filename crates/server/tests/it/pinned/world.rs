//! An upstream that can change in every way, and requests about changed definitions.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;
use toolyard_testkit::upstream::{FakeUpstream, OfferListKind};

use crate::platform::Person;

pub(crate) const PAGE: &str = "ui://board/main.html";

/// A host of one picture.
#[derive(Clone)]
pub(crate) struct PictureHost {
    pub(crate) url: String,
    pub(crate) picture: Arc<Mutex<Bytes>>,
}

impl PictureHost {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/icon.png", listener.local_addr().unwrap());
        let picture = Arc::new(Mutex::new(Bytes::from_static(b"\x89PNG\r\n\x1a\nfirst")));
        let (tasks, served) = (TaskTracker::new(), picture.clone());
        TaskTracker::new().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let served = served.clone();
                let service = service_fn(move |_| {
                    let body = Full::new(served.lock().unwrap().clone());
                    async { Ok::<_, hyper::Error>(Response::new(body)) }
                });
                tasks.spawn(async {
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service).await
                });
            }
        });
        Self { url, picture }
    }

    pub(crate) fn change(&self) {
        *self.picture.lock().unwrap() = Bytes::from_static(b"\x89PNG\r\n\x1a\nsecond");
    }
}

/// The tools before any change.
pub(crate) fn tools(icon: &str) -> Vec<Value> {
    vec![
        json!({ "name": "echo", "description": "Says the text again.", "icons": [{ "src": icon }],
            "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] },
            "annotations": { "readOnlyHint": false }, "_meta": { "ui": { "resourceUri": PAGE } } }),
        json!({ "name": "add", "description": "Adds two numbers and returns their sum.",
            "inputSchema": { "type": "object", "properties": { "a": { "type": "number" }, "b": { "type": "number" } },
                "required": ["a", "b"] } }),
    ]
}

/// A resource with this page.
pub(crate) fn page(text: &str) -> Value {
    json!({ "uri": PAGE, "name": "board", "mimeType": "text/html", "_meta": { "test/content": text } })
}

/// Gives an upstream everything that can be pinned.
pub(crate) fn furnish(upstream: &FakeUpstream, host: &PictureHost) {
    upstream.set_list(OfferListKind::Tools, tools(&host.url));
    upstream.set_list(OfferListKind::Resources, vec![page("<p>The board.</p>")]);
}

/// Changes one tool.
pub(crate) fn edit(upstream: &FakeUpstream, name: &str, change: impl Fn(&mut Value)) {
    let mut tools = upstream.list_items(OfferListKind::Tools);
    tools.iter_mut().filter(|tool| tool["name"] == name).for_each(change);
    upstream.set_list(OfferListKind::Tools, tools);
}

/// The changes that wait, as `kind subject name`.
pub(crate) async fn waiting(person: &Person<'_>) -> Vec<String> {
    let listed = person.get("/api/definitions?state=pending").await.expect(200).json();
    let text = |one: &Value, member: &str| one[member].as_str().unwrap().to_owned();
    let line = |one: &Value| format!("{} {} {}", text(one, "kind"), text(one, "subject"), text(one, "name"));
    listed["changes"].as_array().unwrap().iter().map(|one| line(one).trim_end().to_owned()).collect()
}

/// The only change that waits.
pub(crate) async fn only_change(person: &Person<'_>) -> Value {
    let listed = person.get("/api/definitions?state=pending").await.expect(200).json();
    assert_eq!(listed["changes"].as_array().unwrap().len(), 1, "{listed}");
    listed["changes"][0].clone()
}

/// Answers a change as it was shown.
pub(crate) async fn answer(person: &Person<'_>, change: &Value, answer: &str) -> crate::platform::Answer {
    let path = format!("/api/definitions/{}", change["id"].as_str().unwrap());
    person.post(&path, &json!({ "answer": answer, "digest": change["digest"] })).await
}

/// The definition of a tool as MCP clients see it.
pub(crate) async fn listed_tool(person: &Person<'_>, alias: &str) -> Value {
    let listed = person.modern("tools/list", json!({})).await.result();
    let found = listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == alias);
    found.cloned().unwrap_or_default()
}

/// The text of the page as MCP clients read it.
pub(crate) async fn page_text(person: &Person<'_>) -> String {
    let result =
        person.modern("resources/read", json!({ "uri": "ui://mcp.up/board/main.html" })).await.result();
    result["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}
