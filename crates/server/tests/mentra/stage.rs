//! One server, one user with a device, and the app on the real SDK, installed for that user.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    platform::{Answer, Device, Person, Platform},
    process::{App, PrintOnPanic},
};

/// The app's package.
pub(crate) const TODO: &str = "com.example.todo";
/// The user, as the app has to see the name.
pub(crate) const ADA: &str = "ada@example.com";
/// How long a whole story may take.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    pub(crate) p: Platform,
    pub(crate) device: Device,
    pub(crate) app: App,
    pub(crate) key: String,
}

/// Plays a story with the app running, within the limit. What the app said is printed when it fails.
pub(crate) async fn story(body: impl AsyncFnOnce(Stage)) {
    story_like(json!({}), async |mut stage| {
        stage.run_app().await;
        body(stage).await;
    })
    .await;
}

/// A story with other details of the app, which does not run yet.
pub(crate) async fn story_like(details: Value, body: impl AsyncFnOnce(Stage)) {
    let app = App::new();
    let _printed = PrintOnPanic(app.said());
    let told = async {
        let stage = Stage::open(app, details).await;
        body(stage).await;
    };
    assert!(timeout(LIMIT, told).await.is_ok(), "the story did not end within {LIMIT:?}");
}

impl Stage {
    async fn open(app: App, details: Value) -> Self {
        // As long as by default: the SDK does not wait for a stop that takes all of it.
        let p = Platform::with(|config| config.server.drain_ms = 10_000).await;
        let mut registration = json!({
            "packageName": TODO,
            "name": "To-do list",
            "publicUrl": app.url(),
            "kind": "session",
            "permissions": [{ "type": "MICROPHONE" }],
            "settings": [{ "type": "toggle", "key": "loud", "label": "Loud", "defaultValue": false }],
            "tools": tools(),
        });
        registration.as_object_mut().unwrap().extend(details.as_object().unwrap().clone());
        let created = p.nobody().post("/api/apps", &registration).await.expect(201).json();
        p.user(ADA).put(&format!("/api/installs/{TODO}"), &json!({})).await.expect(204);
        let mut device = p.device(ADA).await;
        device.wears("Even Realities G1").await;
        Self { p, device, app, key: created["apiKey"].as_str().unwrap().to_owned() }
    }

    /// Starts the app's process with its right key.
    pub(crate) async fn run_app(&mut self) {
        self.run_app_with(&[]).await;
    }

    /// Starts the app's process; what is given here comes after its package and key.
    pub(crate) async fn run_app_with(&mut self, environment: &[(&str, &str)]) {
        let key = self.key.clone();
        let usual = [("PACKAGE_NAME", TODO), ("MENTRAOS_API_KEY", key.as_str())];
        self.app.run(&[&usual, environment].concat()).await;
    }

    /// Ada, by any spelling of her name.
    pub(crate) fn ada(&self) -> Person<'_> {
        self.p.user("Ada@Example.com")
    }

    /// Ada's assistant calls a tool.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.ada().call(&format!("{TODO}:{tool}"), arguments).await
    }

    /// Ada opens the app.
    pub(crate) async fn open_app(&self) {
        self.ada().post(&format!("/api/session/apps/{TODO}/start"), &json!({})).await.expect(204);
    }

    /// Ada stops the app.
    pub(crate) async fn stop_app(&self) {
        self.ada().post(&format!("/api/session/apps/{TODO}/stop"), &json!({})).await.expect(204);
    }

    /// What the server says of the apps that run for Ada.
    pub(crate) async fn running(&self) -> Value {
        self.ada().get("/api/session").await.expect(200).json()["apps"].clone()
    }

    /// Waits until the device shows this text.
    pub(crate) async fn device_shows(&mut self, text: &str) {
        while self.device.sees().await != text {}
    }
}

fn tools() -> Value {
    let tool = |name: &str, argument: Option<&str>| {
        let properties: Value = argument.iter().map(|name| (*name, json!({ "type": "string" }))).collect();
        json!({ "name": name, "description": format!("The tool {name}"),
            "inputSchema": { "type": "object", "properties": properties, "required": Vec::from_iter(argument) } })
    };
    json!([
        tool("add_todo", Some("item")),
        tool("get_todos", None),
        tool("fail", None),
        tool("speak", Some("text")),
        tool("remember", Some("text")),
        tool("recall", None),
        tool("photo", None),
        tool("film", None),
        tool("dashboard", Some("text")),
        tool("facts", None),
        // Registered, and not known to the app.
        tool("forgotten", None),
    ])
}
