//! Which models there are.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use toolyard_agent::model::{
    CallingMode, KeyEnvironment, LocalServer, ModelCatalog, ModelEndpoint, ModelErrorKind, ModelName,
    ModelSettings, ServerKind,
    discovery::{ListedModel, ModelFile, ModelOrigin},
    limits::VendorFamily,
};
use toolyard_core::ports::SystemIds;
use toolyard_protocol::secret::SecretText;
use toolyard_testkit::model::{ScriptedModel, ScriptedReply};

use crate::support::{ask, hello};

const WAIT: Duration = Duration::from_secs(5);

fn make(settings: ModelSettings, environment: KeyEnvironment) -> ModelCatalog {
    ModelCatalog::new(settings, environment, Arc::new(SystemIds)).unwrap()
}

fn nothing() -> ModelSettings {
    ModelSettings { servers: Vec::new(), ..ModelSettings::default() }
}

fn name(text: &str) -> ModelName {
    text.parse().unwrap()
}

fn server(name: &str, scripted: &ScriptedModel, kind: ServerKind) -> LocalServer {
    LocalServer { name: name.to_owned(), title: name.to_owned(), url: scripted.url().parse().unwrap(), kind }
}

fn endpoint(name: &str, url: &str, calling: Option<CallingMode>) -> ModelEndpoint {
    ModelEndpoint {
        name: name.to_owned(),
        url: url.parse().unwrap(),
        key: Some(SecretText::new("the-key")),
        calling,
    }
}

fn models(listed: &[ListedModel]) -> Vec<(&str, CallingMode)> {
    listed.iter().map(|model| (model.name.as_str(), model.calling)).collect()
}

fn err<T>(result: Result<T, toolyard_agent::model::ModelError>) -> (ModelErrorKind, String) {
    result.map(|_| ()).map_err(|error| (error.kind, error.text)).unwrap_err()
}

#[tokio::test]
async fn keys_of_the_environment_bring_vendors_and_what_is_missing_says_how_to_add_it() {
    let environment = KeyEnvironment::new(|name| match name {
        "ANTHROPIC_API_KEY" => Some("a".to_owned()),
        "GOOGLE_API_KEY" => Some("g".to_owned()),
        _ => None,
    });
    let models = make(nothing(), environment);
    let listing = models.discover(WAIT).await;
    let origins: Vec<_> =
        listing.models.iter().map(|model| (model.name.provider(), model.origin.clone())).collect();
    let key = |name: &str| ModelOrigin::Key(name.to_owned());
    assert_eq!(origins, [("anthropic", key("ANTHROPIC_API_KEY")), ("gemini", key("GOOGLE_API_KEY"))]);
    assert_eq!(listing.default.unwrap().provider(), "anthropic");
    let missing: Vec<_> =
        listing.missing.iter().map(|missing| (missing.what.as_str(), missing.how.as_str())).collect();
    assert_eq!(
        missing,
        [
            ("OpenAI (openai/…)", "Set OPENAI_API_KEY."),
            ("OpenRouter (openrouter/…)", "Set OPENROUTER_API_KEY.")
        ]
    );
    let (kind, text) = err(models.get(&name("openai/gpt-x")));
    assert_eq!(
        (kind, text.as_str()),
        (ModelErrorKind::Unauthorized, "openai/gpt-x needs a key; set OPENAI_API_KEY.")
    );
    let (kind, text) = err(models.get(&name("nowhere/m")));
    assert_eq!(kind, ModelErrorKind::Unknown);
    assert_eq!(text, "There is no model nowhere/m: add an endpoint named nowhere with its URL.");
    assert_eq!(models.vendor_family(&name("gemini/x")), Some(VendorFamily::Gemini));
    assert_eq!(models.vendor_family(&name("nowhere/x")), None);
}

#[tokio::test]
async fn servers_of_this_machine_are_found_with_what_their_models_can() {
    let (ollama, llama, vllm, studio) = tokio::join!(
        ScriptedModel::start(),
        ScriptedModel::start(),
        ScriptedModel::start(),
        ScriptedModel::start()
    );
    ollama.serve_path("/api/tags", json!({ "models": [{ "name": "llama3.2:3b" }, { "name": "no good" }] }));
    ollama.serve_path("/api/show", json!({ "capabilities": ["completion"] }));
    llama.serve_path("/v1/models", json!({ "data": [{ "id": "/models/smol.gguf" }] }));
    llama.serve_path("/props", json!({ "chat_template_caps": { "supports_tools": false } }));
    vllm.serve_path(
        "/v1/models",
        json!({ "data": [{ "id": "q/w", "owned_by": "vllm" }, { "id": "x", "owned_by": "us" }] }),
    );
    studio.serve_path("/v1/models", json!({ "data": [{ "id": "m" }, { "id": "text-embedding-e" }] }));
    let servers = vec![
        server("ollama", &ollama, ServerKind::Ollama),
        server("llama-server", &llama, ServerKind::LlamaServer),
        server("vllm", &vllm, ServerKind::Vllm),
        server("lmstudio", &studio, ServerKind::LmStudio),
    ];
    let found = make(ModelSettings { servers, ..nothing() }, KeyEnvironment::empty());
    assert_eq!(found.list().models, [], "nobody looked yet");
    let listing = found.discover(WAIT).await;
    assert_eq!(
        models(&listing.models),
        [
            ("ollama/llama3.2:3b", CallingMode::Prompted),
            ("llama-server/smol", CallingMode::Prompted),
            ("vllm/q/w", CallingMode::Native),
            ("lmstudio/m", CallingMode::Native),
        ]
    );
    assert_eq!(found.default().unwrap().info().id, "ollama/llama3.2:3b");
    let calling = |text: &str| found.get(&name(text)).unwrap().info().calling;
    assert_eq!(calling("llama-server/by-any-name"), CallingMode::Prompted);
    assert_eq!(calling("vllm/q/w"), CallingMode::Native);

    llama.queue_replies([ScriptedReply::text("hi")]);
    let response = ask(&found.get(&name("llama-server/smol")).unwrap(), hello()).await;
    assert_eq!(response.text, "hi");
    assert!(!llama.requests()[0].headers.contains_key("authorization"), "no key, no header");
}

#[tokio::test]
async fn models_that_cannot_chat_are_not_listed() {
    let ollama = ScriptedModel::start().await;
    ollama.serve_path("/api/tags", json!({ "models": [{ "name": "embed" }] }));
    ollama.serve_path("/api/show", json!({ "capabilities": ["embedding"] }));
    let servers = vec![server("ollama", &ollama, ServerKind::Ollama)];
    let listing = make(ModelSettings { servers, ..nothing() }, KeyEnvironment::empty()).discover(WAIT).await;
    assert_eq!((listing.models, listing.missing.len()), (vec![], 5));
    assert_eq!(ollama.other_requests()[1].body, json!({ "model": "embed" }));
}

#[tokio::test]
async fn a_server_of_another_kind_is_not_listed() {
    let other = ScriptedModel::start().await;
    // A server of another kind that also lists models.
    other.serve_path("/v1/models", json!({ "data": [{ "id": "m", "owned_by": "toolyard" }] }));
    other.serve_path("/api/tags", json!({ "tags": [] }));
    let servers = vec![
        server("ollama", &other, ServerKind::Ollama),
        server("llama-server", &other, ServerKind::LlamaServer),
        server("vllm", &other, ServerKind::Vllm),
    ];
    let listing = make(ModelSettings { servers, ..nothing() }, KeyEnvironment::empty()).discover(WAIT).await;
    assert_eq!(listing.models, []);
    assert_eq!(listing.missing.len(), 4 + 3);
    let how = "Start ollama with a model, or add an endpoint with its URL.";
    assert!(
        listing
            .missing
            .iter()
            .any(|missing| missing.what == format!("ollama at {}", other.url()) && missing.how == how)
    );
}

#[tokio::test]
async fn a_server_that_does_not_answer_in_time_is_not_waited_for() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut slow = LocalServer::well_known().remove(0);
    slow.url = url.parse().unwrap();
    let settings =
        ModelSettings { servers: vec![slow], endpoints: vec![endpoint("local", &url, None)], ..nothing() };
    let listing = make(settings, KeyEnvironment::empty()).discover(Duration::from_millis(30)).await;
    assert_eq!(listing.models, []);
    assert!(listing.missing.iter().any(|missing| missing.what == "models at the endpoint local"));
}

#[tokio::test]
async fn endpoints_list_their_models_and_the_configured_one_is_the_default() {
    let scripted = ScriptedModel::start().await;
    scripted.serve_path("/v1/models", json!({ "data": [{ "id": "a" }, { "id": "b" }] }));
    scripted.serve_path(
        "/props",
        json!({ "chat_template": "", "chat_template_caps": { "supports_tools": false } }),
    );
    let settings = ModelSettings {
        default: Some(name("local/b")),
        endpoints: vec![
            endpoint("local", &scripted.url(), None),
            endpoint("tiny", &scripted.url(), Some(CallingMode::Small)),
        ],
        ..nothing()
    };
    let found =
        make(settings, KeyEnvironment::new(|name| (name == "OPENAI_API_KEY").then(|| "k".to_owned())));
    assert_eq!(found.default().unwrap().info().id, "local/b", "even before anybody looked");
    let listing = found.discover(WAIT).await;
    assert_eq!(
        models(&listing.models),
        [
            ("local/b", CallingMode::Prompted),
            ("local/a", CallingMode::Prompted),
            ("tiny/a", CallingMode::Small),
            ("tiny/b", CallingMode::Small),
            ("openai/gpt-5-mini", CallingMode::Native),
        ]
    );
    assert_eq!(listing.models[0].origin, ModelOrigin::Configured);
    assert_eq!(listing.default, Some(name("local/b")));
    assert_eq!(found.get(&name("tiny/x")).unwrap().info().calling, CallingMode::Small);
    let asked = scripted.other_requests();
    let with_key = asked
        .iter()
        .filter(|asked| asked.headers.get("authorization").is_some_and(|key| key == "Bearer the-key"));
    assert_eq!(with_key.map(|asked| asked.path.as_str()).collect::<Vec<_>>(), ["/v1/models", "/v1/models"]);
    let wire = serde_json::to_value(&listing).unwrap();
    assert_eq!(
        wire["models"][1],
        json!({ "name": "local/a", "calling": "prompted", "origin": { "endpoint": "local" } })
    );
}

#[tokio::test]
async fn an_endpoint_takes_the_place_of_the_vendor_with_its_name() {
    let scripted = ScriptedModel::start().await;
    scripted.serve_path("/v1/models", json!({ "data": [{ "id": "mine" }] }));
    let endpoints =
        vec![endpoint("openai", &scripted.url(), None), endpoint("gemini", &scripted.url(), None)];
    let found = make(
        ModelSettings { endpoints, ..nothing() },
        KeyEnvironment::new(|_| Some("from the environment".to_owned())),
    );
    let listing = found.discover(WAIT).await;
    let names: Vec<_> = listing.models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names, ["openai/mine", "anthropic/claude-sonnet-4-6", "openrouter/openrouter/auto"]);
    scripted.queue_replies([ScriptedReply::text("hi")]);
    ask(&found.get(&name("openai/mine")).unwrap(), hello()).await;
    assert_eq!(scripted.requests()[0].headers["authorization"], "Bearer the-key");
}

#[tokio::test]
async fn without_any_model_the_error_says_what_to_do() {
    let (kind, text) = err(make(nothing(), KeyEnvironment::empty()).default());
    assert_eq!(kind, ModelErrorKind::Unknown);
    assert!(text.starts_with("There is no model. Set a key such as OPENAI_API_KEY"), "{text}");
}

#[tokio::test]
async fn endpoints_need_names_of_their_own() {
    let new = |endpoints| {
        ModelCatalog::new(
            ModelSettings { endpoints, ..nothing() },
            KeyEnvironment::empty(),
            Arc::new(SystemIds),
        )
    };
    let (_, text) = err(new(vec![endpoint("My Own", "http://h", None)]));
    assert!(text.starts_with("An endpoint cannot be named \"My Own\""), "{text}");
    let (_, text) = err(new(vec![endpoint("a", "http://h", None), endpoint("a", "http://h", None)]));
    assert_eq!(text, "There are two endpoints named a; rename one.");
}

#[tokio::test]
async fn files_in_the_models_folder_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("b.gguf"), "12").unwrap();
    std::fs::write(folder.path().join("a.GGUF"), "1").unwrap();
    std::fs::write(folder.path().join("c.txt"), "1").unwrap();
    std::fs::create_dir(folder.path().join("d.gguf")).unwrap();
    let settings = ModelSettings { folder: Some(folder.path().to_owned()), ..nothing() };
    let file = |name: &str, bytes| ModelFile { name: name.to_owned(), bytes };
    let listing = make(settings.clone(), KeyEnvironment::empty()).discover(WAIT).await;
    assert_eq!(listing.files, [file("a.GGUF", 1), file("b.gguf", 2)]);
    let gone = ModelSettings { folder: Some(folder.path().join("none")), ..settings };
    let listing = make(gone, KeyEnvironment::empty()).discover(WAIT).await;
    assert_eq!(listing.missing.last().unwrap().what, "files in the models folder");
}
