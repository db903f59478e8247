//! The stranger table: every route without a credential, as another user, developer and app, and as the permitted caller.

use std::collections::BTreeSet;

use futures_util::{SinkExt as _, StreamExt as _};
use http::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio_tungstenite::tungstenite::Message;
use toolyard_server::auth::Role;
use toolyard_testkit::{AppSession, FakeApp};

use crate::{
    audit::{audit_actions, routes::PROVED_ELSEWHERE},
    knock::knock,
    platform::{Platform, echo_tool, tokens_only},
};

const TODO: &str = "com.dora.todo";
const OTHER: &str = "com.mal.other";

/// The status for strangers: no credential, another user, another developer, another app.
type Strangers = [u16; 4];
/// For a user with a session, or a caller on behalf of one.
const ACTING: Strangers = [401, 403, 403, 401];
/// For a user in person.
const USER: Strangers = [401, 403, 403, 403];
/// For the owner of the app; for others it does not exist.
const OWNER: Strangers = [401, 403, 404, 404];
/// For an app's own key, about users who installed it.
const APP: Strangers = [401, 403, 403, 404];
const PUBLIC: Strangers = [200; 4];
/// The socket opens and authenticates by itself.
const SOCKET: Strangers = [101; 4];
/// A device socket: each person gets their own session, never ada's.
const DEVICE: Strangers = [401, 101, 101, 401];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Nobody,
    Bob,
    Mal,
    OtherApp,
    Ada,
    Dora,
    Todo,
    Session,
    Cleo,
    Operator,
}
use Who::{Ada, Bob, Cleo, Dora, Mal, Nobody, Operator, OtherApp, Session, Todo};

type Row = (&'static str, &'static str, Strangers, Who, u16, Value);

fn handshake() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } })
}

/// Routes that remove something come last, because permitted callers succeed.
fn rows() -> Vec<Row> {
    let no = Value::Null;
    let tool = json!({ "name": format!("{TODO}:echo"), "arguments": { "text": "hi" } });
    let old_call = json!({ "toolId": "echo", "userId": "ada", "toolParameters": { "text": "hi" } });
    let grant = json!({ "tool": format!("{TODO}:echo"), "days": 1, "uses": 1 });
    let browser = json!({ "endpoint": "https://push.example/send/1", "keys": { "auth": "BTBZMqHH6r4Tts7J_aSIgg",
        "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4" } });
    let definition_answer = json!({ "answer": "accept", "digest": "00".repeat(32) });
    let stored = json!({ "data": { "color": "red" } });
    let plugin = json!({ "id": "com.example.time", "name": "Time", "version": "1", "tools": [{ "name": "now",
        "description": "d", "parameters": { "type": "object" }, "executorCode": "return 1;" }] });
    let mut second = echo_tool();
    second["description"] = "Says it once more".into();
    vec![
        ("GET", "/healthz", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/readyz", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/metrics", USER, Operator, 200, no.clone()),
        // The server of this test has no file; an operator is told so.
        ("POST", "/api/config/reload", USER, Operator, 501, no.clone()),
        ("GET", "/api/openapi.json", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/", [303; 4], Nobody, 303, no.clone()),
        ("GET", "/console", [303; 4], Nobody, 303, no.clone()),
        ("GET", "/console/", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/console/{*path}", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/sandbox/frame", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/sandbox/frame.js", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/.well-known/oauth-authorization-server", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/.well-known/oauth-authorization-server/mcp", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/.well-known/openid-configuration", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/.well-known/openid-configuration/mcp", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/mcp/.well-known/openid-configuration", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/oauth/jwks.json", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/oauth/authorize", [400; 4], Nobody, 400, no.clone()),
        ("POST", "/oauth/token", [400; 4], Nobody, 400, no.clone()),
        ("POST", "/oauth/revoke", [400; 4], Nobody, 400, no.clone()),
        ("POST", "/oauth/introspect", [400; 4], Nobody, 400, no.clone()),
        ("POST", "/oauth/register", [400; 4], Nobody, 400, no.clone()),
        // Only an access token of a client names someone here.
        ("GET", "/oauth/userinfo", [401, 403, 403, 403], Nobody, 401, no.clone()),
        ("POST", "/oauth/userinfo", [401, 403, 403, 403], Nobody, 401, no.clone()),
        ("GET", "/api/devices", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/api/me", USER, Ada, 200, no.clone()),
        ("GET", "/api/users", USER, Operator, 200, no.clone()),
        ("POST", "/api/users", USER, Operator, 201, json!({ "userId": "zoe" })),
        ("GET", "/api/users/{user}", USER, Operator, 404, no.clone()),
        ("PATCH", "/api/users/{user}", USER, Operator, 404, json!({ "name": "Ada" })),
        ("GET", "/api/users/{user}/data", USER, Operator, 200, no.clone()),
        ("POST", "/api/users/{user}/link", USER, Operator, 404, json!({})),
        ("POST", "/api/users/{user}/sign-out", USER, Operator, 204, json!({})),
        ("DELETE", "/api/users/{user}", USER, Operator, 400, json!({ "confirm": "bob" })),
        // What is about the own account needs a browser session; a token is refused.
        ("GET", "/api/me/sessions", USER, Ada, 403, no.clone()),
        ("DELETE", "/api/me/sessions", USER, Ada, 403, no.clone()),
        ("DELETE", "/api/me/sessions/{token}", USER, Ada, 403, no.clone()),
        ("GET", "/api/me/sign-in", USER, Ada, 403, no.clone()),
        ("PUT", "/api/me/password", USER, Ada, 403, json!({ "password": "correct horse battery" })),
        ("DELETE", "/api/me/password", USER, Ada, 403, no.clone()),
        ("POST", "/api/me/passkeys/challenge", USER, Ada, 403, json!({})),
        ("POST", "/api/me/passkeys", USER, Ada, 403, json!({ "state": "x", "name": "x", "credential": {} })),
        ("DELETE", "/api/me/passkeys/{id}", USER, Ada, 403, no.clone()),
        ("GET", "/api/me/data", USER, Ada, 403, no.clone()),
        ("DELETE", "/api/me", USER, Ada, 403, json!({ "confirm": "ada" })),
        ("GET", "/api/device-logins/{code}", USER, Ada, 403, no.clone()),
        ("POST", "/api/device-logins/{code}", USER, Ada, 403, json!({ "approve": true })),
        ("POST", "/api/sign-out", [204; 4], Nobody, 204, json!({})),
        ("GET", "/api/sign-in", PUBLIC, Nobody, 200, no.clone()),
        ("POST", "/api/sign-in/password", [401; 4], Nobody, 401, json!({ "user": "ada", "password": "x" })),
        ("POST", "/api/sign-in/passkey/challenge", [403; 4], Nobody, 403, json!({})),
        ("POST", "/api/sign-in/passkey", [403; 4], Nobody, 403, json!({ "state": "x", "credential": {} })),
        ("POST", "/api/sign-in/link", [401; 4], Nobody, 401, json!({ "code": "x" })),
        ("POST", "/api/sign-in/device", PUBLIC, Nobody, 200, json!({ "name": "x" })),
        ("POST", "/api/sign-in/device/token", [401; 4], Nobody, 401, json!({ "deviceCode": "x" })),
        ("GET", "/sign-in/{issuer}", [404; 4], Nobody, 404, no.clone()),
        ("GET", "/sign-in/{issuer}/callback", [404; 4], Nobody, 404, no.clone()),
        ("GET", "/api/library", USER, Ada, 200, no.clone()),
        ("GET", "/api/models", [401, 200, 200, 200], Ada, 200, no.clone()),
        // The body is empty; access is checked before.
        ("GET", "/api/tts", [401, 400, 400, 400], Ada, 400, no.clone()),
        ("GET", "/api/tools", ACTING, Ada, 200, no.clone()),
        ("GET", "/api/tools/labels", ACTING, Ada, 200, no.clone()),
        ("POST", "/api/tools/execute", ACTING, Ada, 200, tool),
        ("GET", "/api/calls?user=ada", USER, Ada, 200, no.clone()),
        ("GET", "/api/calls/stream?user=ada", USER, Ada, 200, no.clone()),
        ("GET", "/api/calls/{id}", [401, 404, 404, 403], Ada, 200, no.clone()),
        ("GET", "/api/changes", USER, Ada, 200, no.clone()),
        ("GET", "/api/usage?user=ada", USER, Ada, 200, no.clone()),
        ("GET", "/api/usage/over-time?user=ada", USER, Ada, 200, no.clone()),
        ("GET", "/api/usage/latency?user=ada", USER, Ada, 200, no.clone()),
        ("GET", "/api/usage/export?what=calls&user=ada", USER, Ada, 200, no.clone()),
        ("GET", "/api/audit", USER, Operator, 200, no.clone()),
        ("GET", "/api/audit/export", USER, Operator, 200, no.clone()),
        ("GET", "/api/tokens", USER, Ada, 200, no.clone()),
        ("POST", "/api/tokens", USER, Ada, 201, json!({ "name": "for a test" })),
        ("DELETE", "/api/tokens/{token}", USER, Ada, 204, no.clone()),
        // Another developer registers an app of their own.
        ("POST", "/api/apps", [401, 403, 201, 403], Dora, 201, json!({ "packageName": "com.fresh.{who}" })),
        ("GET", "/api/apps", [401, 403, 200, 200], Dora, 200, no.clone()),
        ("GET", "/api/apps/{package}", OWNER, Dora, 200, no.clone()),
        // For every authenticated caller; this app names no user.
        ("GET", "/api/apps/{package}/icon", [401, 404, 404, 404], Ada, 404, no.clone()),
        ("PATCH", "/api/apps/{package}", OWNER, Dora, 200, json!({ "name": "Changed" })),
        ("POST", "/api/apps/{package}/tools", OWNER, Todo, 200, json!({ "tools": [second] })),
        ("GET", "/api/apps/{package}/tools", OWNER, Todo, 200, no.clone()),
        ("POST", "/api/apps/{package}/tools/check", OWNER, Todo, 200, json!({ "tools": [echo_tool()] })),
        ("GET", "/api/apps/{package}/versions", OWNER, Dora, 200, no.clone()),
        ("GET", "/api/apps/{package}/versions/{version}", OWNER, Dora, 200, no.clone()),
        ("GET", "/api/apps/{package}/versions/{version}/diff/{other}", OWNER, Dora, 200, no.clone()),
        ("POST", "/api/apps/{package}/versions/{version}/activate", OWNER, Dora, 200, no.clone()),
        ("GET", "/api/installs", USER, Ada, 200, no.clone()),
        ("PUT", "/api/installs/{package}", USER, Ada, 204, no.clone()),
        ("PUT", "/api/installs/{package}/assistant", USER, Ada, 204, no.clone()),
        ("DELETE", "/api/installs/{package}/assistant", USER, Ada, 204, no.clone()),
        ("GET", "/api/settings/tools", USER, Ada, 200, no.clone()),
        ("PUT", "/api/settings/tools/{name}", USER, Ada, 204, json!({ "enabled": true })),
        ("GET", "/api/approvals", USER, Ada, 200, no.clone()),
        ("GET", "/api/approvals/events", USER, Ada, 200, no.clone()),
        ("GET", "/api/approvals/{id}", USER, Ada, 404, no.clone()),
        ("POST", "/api/approvals/{id}", USER, Ada, 404, json!({ "answer": "approve" })),
        ("GET", "/api/approvals/{id}/outcome", ACTING, Ada, 404, no.clone()),
        ("GET", "/api/clients", USER, Ada, 200, no.clone()),
        ("DELETE", "/api/clients/{id}", USER, Ada, 404, no.clone()),
        ("GET", "/api/oauth/consent", USER, Ada, 400, no.clone()),
        ("POST", "/api/oauth/consent", USER, Ada, 400, json!({ "request": "x", "approve": true })),
        ("GET", "/api/push", USER, Ada, 200, no.clone()),
        // Before Ada has a browser, so nothing is sent.
        ("POST", "/api/push/test", USER, Ada, 200, no.clone()),
        ("POST", "/api/push/subscriptions", USER, Ada, 201, browser),
        ("DELETE", "/api/push/subscriptions/{id}", USER, Ada, 404, no.clone()),
        ("GET", "/api/definitions", USER, Ada, 200, no.clone()),
        ("GET", "/api/definitions/{id}", USER, Ada, 404, no.clone()),
        ("POST", "/api/definitions/{id}", USER, Ada, 404, definition_answer),
        ("GET", "/api/definitions/pins/{package}", USER, Ada, 200, no.clone()),
        ("GET", "/api/approvals/choices", USER, Ada, 200, no.clone()),
        ("PUT", "/api/approvals/choices/{tool}", USER, Ada, 200, json!({ "choice": "always" })),
        ("DELETE", "/api/approvals/choices/{tool}", USER, Ada, 204, no.clone()),
        ("GET", "/api/approvals/grants", USER, Ada, 200, no.clone()),
        ("POST", "/api/approvals/grants", USER, Ada, 201, grant),
        ("DELETE", "/api/approvals/grants/{id}", USER, Ada, 404, no.clone()),
        ("GET", "/api/approvals/policy", [401, 200, 200, 200], Ada, 200, no.clone()),
        ("PUT", "/api/approvals/policy", USER, Operator, 200, json!({ "preset": "default" })),
        ("DELETE", "/api/approvals/policy", USER, Operator, 204, no.clone()),
        ("POST", "/api/approvals/preview", USER, Ada, 200, json!({ "decision": "ask" })),
        ("GET", "/api/settings/platform", USER, Ada, 200, no.clone()),
        ("PUT", "/api/settings/platform", USER, Ada, 200, json!({ "metricSystemEnabled": true })),
        ("GET", "/api/settings/apps/{package}", USER, Ada, 200, no.clone()),
        ("PUT", "/api/settings/apps/{package}", USER, Ada, 200, json!({ "loud": true })),
        ("GET", "/api/session", ACTING, Ada, 200, no.clone()),
        ("POST", "/api/session/apps/{package}/start", ACTING, Ada, 204, no.clone()),
        ("PUT", "/api/sdk/simple-storage/{user}", APP, Todo, 200, stored),
        ("GET", "/api/sdk/simple-storage/{user}", APP, Todo, 200, no.clone()),
        ("GET", "/api/sdk/simple-storage/{user}/{key}", APP, Todo, 200, no.clone()),
        ("PUT", "/api/sdk/simple-storage/{user}/{key}", APP, Todo, 200, json!({ "value": "blue" })),
        ("DELETE", "/api/sdk/simple-storage/{user}/{key}", APP, Todo, 200, no.clone()),
        ("DELETE", "/api/sdk/simple-storage/{user}", APP, Todo, 200, no.clone()),
        ("GET", "/appsettings/user/{package}", [401; 4], Session, 200, no.clone()),
        ("GET", "/api/public/permissions/{package}", PUBLIC, Nobody, 200, no.clone()),
        // The old server responded with 500 for an unknown app.
        ("GET", "/api/tools/apps/{package}/tools", [401, 500, 500, 500], Dora, 200, no.clone()),
        ("GET", "/api/tools/users/{user}/tools", [401, 403, 403, 404], Ada, 200, no.clone()),
        ("POST", "/api/tools/apps/{package}/tool", ACTING, Ada, 200, old_call),
        ("POST", "/mcp", ACTING, Ada, 200, handshake()),
        // Without a session there is no stream to read or cancel.
        ("GET", "/mcp", ACTING, Ada, 400, no.clone()),
        ("DELETE", "/mcp", ACTING, Ada, 400, no.clone()),
        ("GET", "/mcp/ws", ACTING, Ada, 101, no.clone()),
        ("POST", "/api/mcp/ticket", ACTING, Ada, 200, no.clone()),
        // There is no model in this test; access is checked before.
        ("POST", "/api/chat", ACTING, Ada, 503, json!({ "messages": [{ "role": "user", "content": "hi" }] })),
        ("GET", "/api/chat/{id}/stream", ACTING, Ada, 204, no.clone()),
        (
            "POST",
            "/v1/chat/completions",
            ACTING,
            Ada,
            503,
            json!({ "messages": [{ "role": "user", "content": "hi" }] }),
        ),
        ("POST", "/v1/responses", ACTING, Ada, 503, json!({ "input": "hi" })),
        ("GET", "/v1/models", ACTING, Ada, 200, no.clone()),
        ("GET", "/.well-known/oauth-protected-resource", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/.well-known/oauth-protected-resource/mcp", PUBLIC, Nobody, 200, no.clone()),
        // Another developer adds an upstream of their own.
        (
            "POST",
            "/api/upstreams",
            [401, 403, 201, 403],
            Dora,
            201,
            json!({ "id": "fresh-{who}", "url": "http://127.0.0.1:9/mcp" }),
        ),
        ("GET", "/api/upstreams", [401, 403, 200, 200], Dora, 200, no.clone()),
        ("GET", "/api/upstreams/{upstream}", OWNER, Dora, 200, no.clone()),
        ("PATCH", "/api/upstreams/{upstream}", OWNER, Dora, 200, json!({ "name": "Changed" })),
        ("POST", "/api/upstreams/{upstream}/refresh", OWNER, Dora, 200, no.clone()),
        // The upstream is unreachable, so there is no link; only the access matters.
        ("GET", "/api/upstreams/{upstream}/authorize", USER, Ada, 200, no.clone()),
        ("POST", "/api/upstreams/{upstream}/authorize", USER, Ada, 503, no.clone()),
        ("DELETE", "/api/upstreams/{upstream}/authorize", USER, Ada, 204, no.clone()),
        ("GET", "/oauth/callback", [400; 4], Nobody, 400, no.clone()),
        ("POST", "/oauth/callback", [400; 4], Nobody, 400, no.clone()),
        ("GET", "/oauth/client.json", PUBLIC, Nobody, 200, no.clone()),
        ("DELETE", "/api/upstreams/{upstream}", OWNER, Dora, 204, no.clone()),
        ("POST", "/api/plugins/sign", USER, Cleo, 200, json!({ "manifest": plugin })),
        ("GET", "/api/plugins", [401, 200, 200, 200], Ada, 200, no.clone()),
        ("GET", "/api/plugins/{plugin}/{version}", [401, 404, 404, 404], Ada, 200, no.clone()),
        ("GET", "/api/plugins/policy", [401, 200, 200, 200], Ada, 200, no.clone()),
        ("GET", "/api/plugins/keys", PUBLIC, Nobody, 200, no.clone()),
        ("GET", "/api/plugins/revocations", PUBLIC, Nobody, 200, no.clone()),
        (
            "POST",
            "/api/plugins/installed",
            USER,
            Ada,
            201,
            json!({ "catalogueId": "com.example.time", "version": "1" }),
        ),
        ("GET", "/api/plugins/installed", USER, Ada, 200, no.clone()),
        ("PATCH", "/api/plugins/installed/{plugin}", USER, Ada, 200, json!({ "enabled": true })),
        ("DELETE", "/api/plugins/installed/{plugin}", USER, Ada, 204, no.clone()),
        ("POST", "/api/plugins/{plugin}/revoke", USER, Cleo, 200, json!({ "reason": "for a test" })),
        ("POST", "/api/plugins/reload", USER, Operator, 200, no.clone()),
        ("GET", "/app-ws", SOCKET, Nobody, 101, no.clone()),
        ("GET", "/ws/miniapp", SOCKET, Nobody, 101, no.clone()),
        ("GET", "/glasses-ws", DEVICE, Ada, 101, no.clone()),
        ("GET", "/ws/client", DEVICE, Ada, 101, no.clone()),
        ("POST", "/api/glasses/ticket", USER, Ada, 200, no.clone()),
        ("POST", "/api/apps/{package}/key", OWNER, Dora, 200, no.clone()),
        ("POST", "/api/apps/{package}/secret", OWNER, Dora, 200, no.clone()),
        ("POST", "/api/session/apps/{package}/stop", ACTING, Ada, 204, no.clone()),
        ("DELETE", "/api/installs/{package}", USER, Ada, 204, no.clone()),
        ("DELETE", "/api/chat/{id}/stream", ACTING, Ada, 404, no.clone()),
        ("DELETE", "/api/session", ACTING, Ada, 204, no.clone()),
        ("DELETE", "/api/apps/{package}", OWNER, Dora, 204, no),
    ]
}

/// Ada with dora's app, which is running and has stored data for her; mal with an app that no user installed.
struct World {
    p: Platform,
    _apps: [FakeApp; 2],
    created: Value,
    other_key: String,
    call: String,
    token: String,
    session: AppSession,
}

impl World {
    async fn start() -> Self {
        let p = Platform::with_console(crate::console::files(), |config| {
            crate::plugins::curating(config);
            tokens_only(config);
        })
        .await;
        let (dora, mal) = (p.token("dora", Role::Developer), p.token("mal", Role::Developer));
        let (todo, other) = (FakeApp::start(TODO).await, FakeApp::start(OTHER).await);
        let settings = json!([{ "key": "loud", "defaultValue": false }]);
        let body = |app: &FakeApp, name| json!({ "packageName": name, "publicUrl": app.url(), "tools": [echo_tool()], "settings": settings });
        let created = p.bearer(&dora).post("/api/apps", &body(&todo, TODO)).await.expect(201).json();
        let others = p.bearer(&mal).post("/api/apps", &body(&other, OTHER)).await.expect(201).json();
        let key = created["apiKey"].as_str().unwrap();
        todo.set_api_key(key);
        let ada = p.bearer(&p.token("ada", Role::User)).header("x-user-id", "ada");
        ada.put(&format!("/api/installs/{TODO}"), &json!({})).await.expect(204);
        let up = json!({ "id": "dora-up", "url": "http://127.0.0.1:9/mcp", "auth": "oauth" });
        p.bearer(&dora).post("/api/upstreams", &up).await.expect(201);
        ada.put("/api/installs/mcp.dora-up", &json!({})).await.expect(204);
        let call = ada.call(&format!("{TODO}:echo"), json!({ "text": "hi" })).await.expect(200);
        let token = ada.post("/api/tokens", &json!({ "name": "hers" })).await.expect(201).json();
        p.bearer(&format!("{TODO}:{key}"))
            .put("/api/sdk/simple-storage/ada", &json!({ "data": { "color": "red" } }))
            .await
            .expect(200);
        Self {
            call: call.header("x-toolyard-call-id").to_owned(),
            token: token["info"]["id"].as_str().unwrap().to_owned(),
            other_key: others["apiKey"].as_str().unwrap().to_owned(),
            session: todo.next_session().await,
            _apps: [todo, other],
            created,
            p,
        }
    }

    fn credential(&self, who: Who) -> Option<String> {
        Some(match who {
            Nobody => return None,
            Bob => self.p.token("bob", Role::User),
            Mal => self.p.token("mal", Role::Developer),
            OtherApp => format!("{OTHER}:{}", self.other_key),
            Ada => self.p.token("ada", Role::User),
            Dora => self.p.token("dora", Role::Developer),
            Todo => format!("{TODO}:{}", self.created["apiKey"].as_str().unwrap()),
            Session => self.session.session.clone(),
            Cleo => self.p.token("cleo", Role::Curator),
            Operator => self.p.token("root", Role::Operator),
        })
    }

    /// Status and body. Strangers claim to act for ada.
    async fn ask(&self, (method, path, _, _, _, body): &Row, who: Who) -> (u16, String) {
        let values = [
            ("{package}", TODO),
            ("{name}", "com.dora.todo:echo"),
            ("{tool}", "com.dora.todo:echo"),
            ("{*path}", "assets/app.js"),
            ("{user}", "ada"),
            ("{upstream}", "dora-up"),
            ("{plugin}", "com.example.time"),
            ("{id}", &self.call),
            ("{token}", &self.token),
            ("{code}", "BCDF-GHJK"),
            ("{issuer}", "corp"),
            ("{key}", "color"),
            ("{version}", "1"),
            ("{other}", "2"),
        ];
        let path = values.iter().fold((*path).to_owned(), |path, (name, value)| path.replace(name, value));
        let credential = self.credential(who).map(|credential| format!("Bearer {credential}"));
        let mut headers: Vec<(&str, &str)> = vec![("x-user-id", "ada")];
        headers.extend(credential.as_deref().map(|credential| ("authorization", credential)));
        if path.contains("ws") {
            return match knock(&self.p, &path, &headers).await {
                Ok(_) => (101, String::new()),
                Err(refused) => refused,
            };
        }
        let person = self.p.as_with(&headers);
        let method: Method = method.parse().unwrap();
        if ["/stream", "/changes", "/events"].iter().any(|part| path.contains(part)) {
            return (person.open(method, &path, None).await.status.as_u16(), String::new());
        }
        let body =
            (!body.is_null()).then(|| body.to_string().replace("{who}", &format!("{who:?}").to_lowercase()));
        let answer = person.send(method, &path, body).await;
        (answer.status.as_u16(), answer.text)
    }

    /// Everything that a stranger might have changed.
    async fn state(&self) -> Vec<String> {
        let mut state = Vec::new();
        let (dora, ada) = (self.credential(Dora).unwrap(), self.credential(Ada).unwrap());
        for (credential, path) in [
            (&dora, "/api/apps/com.dora.todo"),
            (&dora, "/api/apps/com.dora.todo/versions"),
            (&dora, "/api/apps"),
            (&ada, "/api/installs"),
            (&ada, "/api/settings/tools"),
            (&ada, "/api/approvals/choices"),
            (&ada, "/api/approvals/grants"),
            (&ada, "/api/approvals/policy"),
            (&ada, "/api/settings/apps/com.dora.todo"),
            (&ada, "/api/session"),
            (&ada, "/api/calls"),
            (&ada, "/api/tokens"),
            (&self.credential(Todo).unwrap(), "/api/sdk/simple-storage/ada"),
        ] {
            state.push(self.p.bearer(credential).get(path).await.expect(200).text);
        }
        state
    }

    /// Secrets that must be in no response.
    fn secrets(&self) -> Vec<String> {
        let text = |member: &str| self.created[member].as_str().unwrap().to_owned();
        vec![text("apiKey"), text("signingSecret"), hex::encode(Sha256::digest(text("apiKey")))]
    }
}

fn shows_secrets_rightly(row: &Row) -> bool {
    let made = ["/api/apps", "/api/apps/{package}/key", "/api/apps/{package}/secret"];
    // The description of the API has the names of the members.
    (row.0 == "POST" && made.contains(&row.1)) || row.1 == "/api/openapi.json"
}

#[tokio::test]
async fn every_route_is_in_the_table_and_refuses_strangers() {
    let rows = rows();
    let route = |row: &Row| {
        format!(
            "{} {}",
            row.0,
            row.1
                .split('?')
                .next()
                .unwrap()
                .replace("{upstream}", "{id}")
                .replace("{plugin}", "{id}")
                .replace("{token}", "{id}")
        )
    };
    let tested: BTreeSet<String> = rows.iter().map(route).collect();
    let table = toolyard_server::routes::route_table();
    let routes: BTreeSet<String> =
        table.iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    assert_eq!(tested, routes, "a route without a row, or a row without a route");
    assert_eq!((tested.len(), routes.len()), (rows.len(), table.len()), "one row a route");

    let world = World::start().await;
    let (before, mut answers) = (world.state().await, Vec::new());
    for row in &rows {
        for (who, expected) in [Nobody, Bob, Mal, OtherApp].into_iter().zip(row.2) {
            let (status, text) = world.ask(row, who).await;
            assert_eq!(status, expected, "{who:?}: {} {}: {text}", row.0, row.1);
            let own = (200..300).contains(&status) && row.2 != PUBLIC;
            assert!(!own || !text.contains("dora"), "{who:?}: {} {}: {text}", row.0, row.1);
            answers.push((row, text));
        }
    }
    assert_eq!(world.state().await, before, "strangers changed nothing");
    let mut recorded = BTreeSet::new();
    for row in &rows {
        let entries = audit_actions(&world.p).await.len();
        let (status, text) = world.ask(row, row.3).await;
        assert_eq!(status, row.4, "{:?}: {} {}: {text}", row.3, row.0, row.1);
        let is_audited = table
            .iter()
            .any(|entry| entry.audited && format!("{} {}", entry.method, entry.path) == route(row));
        let is_recorded = audit_actions(&world.p).await.len() > entries;
        let is_failed_sign_in = row.1.starts_with("/api/sign-in/") && status == 401;
        assert!(
            is_failed_sign_in || !is_recorded || is_audited,
            "{} {} is not declared as audited",
            row.0,
            row.1
        );
        if is_recorded && !is_failed_sign_in {
            recorded.insert(route(row));
        }
        answers.push((row, text));
    }
    recorded.extend(PROVED_ELSEWHERE.iter().map(|(route, _)| (*route).to_owned()));
    let audited: BTreeSet<String> = table
        .iter()
        .filter(|route| route.audited)
        .map(|route| format!("{} {}", route.method, route.path))
        .collect();
    assert_eq!(recorded, audited, "an audited route that records nothing, or the other way round");
    let secrets = world.secrets();
    for (row, text) in answers {
        let (method, path) = (row.0, row.1);
        assert!(!secrets.iter().any(|secret| text.contains(secret.as_str())), "{method} {path}: {text}");
        for name in ["apiKey", "signingSecret", "keyHash", "key_hash"] {
            assert!(shows_secrets_rightly(row) || !text.contains(name), "{method} {path}: {text}");
        }
    }
}

#[tokio::test]
async fn a_device_needs_a_valid_token() {
    let world = World::start().await;
    let of_an_app = world.credential(Todo).unwrap();
    for path in ["/glasses-ws", "/ws/client"] {
        for token in ["", "nonsense", "a.b.c", &of_an_app] {
            for (path, headers) in [
                (format!("{path}?token={token}"), vec![]),
                (path.to_owned(), vec![("authorization", format!("Bearer {token}"))]),
            ] {
                let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
                let (status, text) = knock(&world.p, &path, &headers).await.unwrap_err();
                assert_eq!(status, 401, "{path} {headers:?}");
                let told: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(told["type"], "connection_error", "{text}");
            }
        }
        let (status, _) =
            knock(&world.p, &format!("{path}?user=ada"), &[("x-user-id", "ada")]).await.unwrap_err();
        assert_eq!(status, 401, "a name alone is believed in dev mode only");
    }
}

#[tokio::test]
async fn an_app_socket_must_authenticate_first() {
    let world = World::start().await;
    let init = |session: &str, package: &str, key: &str| {
        json!({ "type": "tpa_connection_init", "sessionId": session, "packageName": package, "apiKey": key })
            .to_string()
    };
    let key = world.created["apiKey"].as_str().unwrap();
    for (first, code) in [
        ("not JSON".to_owned(), 1008),
        (json!({ "type": "display_event", "layout": {} }).to_string(), 1008),
        (json!({ "type": "subscription_update", "subscriptions": [] }).to_string(), 1008),
        (init(&world.session.session, TODO, "wrong"), 1008),
        (init(&world.session.session, TODO, &world.secrets()[2]), 1008),
        (init(&world.session.session, OTHER, &world.other_key), 1008),
        // A session that was never issued: the app is told to close.
        (init("ada-com.dora.todo", TODO, key), 1000),
    ] {
        let mut socket = knock(&world.p, "/app-ws", &[]).await.unwrap();
        socket.send(Message::text(first.clone())).await.unwrap();
        let closed = loop {
            match socket.next().await {
                Some(Ok(Message::Close(frame))) => break frame.map(|frame| u16::from(frame.code)),
                Some(Ok(message)) => assert!(!message.to_string().contains("ack"), "{first}: {message}"),
                Some(Err(_)) | None => break None,
            }
        };
        assert_eq!(closed, Some(code), "{first}");
    }
}
