//! The Rust SDK connects by OAuth, from the first refusal on.

use rmcp::{
    service::{ClientInitializeError, ClientServiceExt as _},
    transport::{
        StreamableHttpClientTransport,
        auth::{
            AuthClient, AuthorizationManager, AuthorizationRequest, CredentialStore as _,
            InMemoryCredentialStore, OAuthState, StoredCredentials,
        },
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Value, json};

use crate::{
    ada::{Ada, Connected, call, names},
    rust::auto,
    stage::{Access, Stage},
};

const CALLBACK: &str = "http://127.0.0.1:33418/callback";

async fn manager(stage: &Stage, store: &InMemoryCredentialStore) -> AuthorizationManager {
    let mut manager = AuthorizationManager::new(stage.mcp()).await.unwrap();
    manager.set_credential_store(store.clone());
    manager
}

async fn connect(stage: &Stage, manager: AuthorizationManager) -> Result<Connected, ClientInitializeError> {
    let client = AuthClient::new(reqwest::Client::new(), manager);
    let config = StreamableHttpClientTransportConfig::with_uri(stage.mcp());
    let transport = StreamableHttpClientTransport::with_client(client, config);
    Ada::new().serve_with_lifecycle(transport, auto()).await
}

/// The way from a challenge to an authorized manager, through the browser.
async fn authorize(stage: &Stage, store: &InMemoryCredentialStore, challenge: &str) -> AuthorizationManager {
    let mut state = OAuthState::Unauthorized(manager(stage, store).await);
    let request = AuthorizationRequest::new(CALLBACK).with_client_name("rmcp").with_challenge(challenge);
    state.start_authorization(request).await.unwrap();
    let link = state.get_authorization_url().await.unwrap();
    state.handle_callback_url(&stage.agree(&link).await).await.unwrap();
    state.into_authorization_manager().expect("it is authorized")
}

/// What the client keeps: all of it, and the tokens as JSON.
async fn kept(store: &InMemoryCredentialStore) -> (StoredCredentials, Value) {
    let kept = store.load().await.unwrap().expect("something is kept");
    let tokens = serde_json::to_value(&kept.token_response).unwrap();
    (kept, tokens)
}

async fn echoes(ada: &Connected) {
    assert_eq!(call(ada, "com_example_echo__echo", json!({ "text": "hi" })).await, "hello back");
}

#[tokio::test]
async fn it_connects_and_renews() {
    let stage = Stage::start(Access::Token).await;
    let store = InMemoryCredentialStore::new();
    let refused = connect(&stage, manager(&stage, &store).await).await.err().expect("it has no token");
    let challenge = refused.auth_challenge().unwrap_or_else(|| panic!("{refused}"));
    let ada = connect(&stage, authorize(&stage, &store, challenge).await).await.unwrap();
    assert_eq!(names(&ada).await, stage.aliases().await);
    echoes(&ada).await;
    let (_, first) = kept(&store).await;
    assert!(first["scope"].as_str().unwrap().contains("tools:write"), "{first}");

    // A token that the server refuses is renewed, and the call is made again.
    let (mut credentials, mut tokens) = kept(&store).await;
    tokens["access_token"] = json!("expired");
    credentials.token_response = serde_json::from_value(tokens).unwrap();
    store.save(credentials).await.unwrap();
    echoes(&ada).await;
    let (mut credentials, second) = kept(&store).await;
    assert_ne!(second["refresh_token"], first["refresh_token"]);

    // A token that the client knows to have expired is renewed before the call.
    credentials.token_received_at = Some(0);
    store.save(credentials).await.unwrap();
    echoes(&ada).await;
    let (_, third) = kept(&store).await;
    assert_ne!(third["refresh_token"], second["refresh_token"]);

    ada.cancel().await.unwrap();
    stage.end().await;
}
