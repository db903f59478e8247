//! What is logged, and what is not.

use std::{
    io,
    sync::{Arc, Mutex},
};

use serde_json::json;
use toolyard_client_sdk::{Client, Plugin};
use toolyard_testkit::model::ScriptedReply;
use tracing_subscriber::fmt::MakeWriter;

use crate::stage::{Stage, counted, soon};

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Paper {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// What is traced of a chat with a tool, under our own target.
async fn traced(stage: &Stage, client: Client) -> String {
    let paper = Paper::default();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter("off,toolyard_client=trace")
        .with_ansi(false)
        .with_writer(paper.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    stage.script([
        ScriptedReply::call("mine", json!({ "password": "hunter2" })),
        ScriptedReply::text("Done."),
    ]);
    client.use_plugin(Plugin::new("p", "1").tool(counted("mine").0)).await.unwrap();
    soon(client.ask("the question")).await.unwrap();
    client.unuse("p").await.unwrap();
    String::from_utf8(paper.0.lock().unwrap().clone()).unwrap()
}

#[tokio::test]
async fn debug_logs_each_hook_and_call_without_values() {
    let stage = Stage::start().await;
    let told = traced(&stage, stage.builder().debug(true).build().unwrap()).await;
    for hook in ["on_register", "before_request", "after_response", "on_unregister"] {
        assert!(told.contains(&format!("hook=\"{hook}\"")), "{hook}: {told}");
    }
    assert!(told.contains("tool=\"mine\"") && told.contains("password"), "{told}");
    for secret in ["hunter2", "the question", "ran\"", "Done."] {
        assert!(!told.contains(secret), "{secret}: {told}");
    }
    assert_eq!(told.matches("before_request").count(), 2);
}

#[tokio::test]
async fn without_debug_successes_are_not_logged() {
    let stage = Stage::start().await;
    assert_eq!(traced(&stage, stage.client()).await, "");
}
