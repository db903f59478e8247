//! The server, as the two kinds of model that it can be.

use std::{sync::Arc, time::Duration};

use toolyard_agent::{
    model::{CallingMode, KeyEnvironment, Model, ModelCatalog, ModelEndpoint, ModelSettings, RequestPolicy},
    prompted::check::CountingIds,
    small::llama_server::LlamaServer,
};
use toolyard_testkit::demo_model::demo_server_url;

/// Longest wait for one response: seconds on an idle machine, much more if other tests run at the same time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The server as a scorer.
pub(crate) fn scorer() -> Arc<LlamaServer> {
    let bounds = RequestPolicy { first_byte: PATIENCE, ..RequestPolicy::default() };
    Arc::new(LlamaServer::new("demo/smollm2", &demo_server_url(), None, bounds).unwrap())
}

/// The server as a chat model.
pub(crate) fn chat() -> Arc<dyn Model> {
    let endpoint = ModelEndpoint {
        name: "demo".to_owned(),
        url: demo_server_url(),
        key: None,
        calling: Some(CallingMode::Native),
    };
    let bounds =
        RequestPolicy { first_byte: PATIENCE, idle: PATIENCE, retries: 0, ..RequestPolicy::default() };
    let settings =
        ModelSettings { endpoints: vec![endpoint], servers: Vec::new(), bounds, ..ModelSettings::default() };
    let models =
        ModelCatalog::new(settings, KeyEnvironment::empty(), Arc::new(CountingIds::default())).unwrap();
    models.get(&"demo/smollm2".parse().unwrap()).unwrap()
}
