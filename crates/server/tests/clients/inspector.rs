//! The inspector, on its command line: one command, one connection.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::{process::Command, time::timeout};

use crate::{
    program::{self, folder, node},
    stage::{Access, PATIENCE, Stage},
    story::NOTICE,
};

/// The inspector before a server.
struct Inspector<'a> {
    stage: &'a Stage,
    era: &'a str,
    home: tempfile::TempDir,
}

impl<'a> Inspector<'a> {
    fn new(stage: &'a Stage, era: &'a str) -> Self {
        Self { stage, era, home: tempfile::tempdir().unwrap() }
    }

    fn command(&self, method: &str, options: &[&str]) -> Command {
        let mut command = program::command(&node(), self.home.path());
        command.arg(folder().join("node_modules/.bin/mcp-inspector")).args(["--cli", &self.stage.mcp()]);
        command.args(["--transport", "http", "--format", "json", "--quiet", "--protocol-era", self.era]);
        for (name, value) in &self.stage.ada {
            command.args(["--header", &format!("{name}: {value}")]);
        }
        command.args(["--method", method]).args(options);
        command
    }

    /// What a command says, and its exit code.
    async fn ends(&self, method: &str, options: &[&str]) -> (Option<i32>, String, String) {
        let mut command = self.command(method, options);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let output = timeout(PATIENCE, command.output()).await.expect("it ends").unwrap();
        let text = |said: &[u8]| String::from_utf8_lossy(said).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    /// The result of a command that worked.
    async fn result(&self, method: &str, options: &[&str]) -> Value {
        let (code, said, errors) = self.ends(method, options).await;
        assert_eq!(code, Some(0), "{said}{errors}");
        let said: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("not JSON: {said}"));
        said["result"].clone()
    }

    /// With `--strict` it also fails where a schema would trouble the models of some vendor.
    async fn lists(&self) {
        let list = self.result("tools/list", &["--strict"]).await;
        let tools = list["tools"].as_array().unwrap().iter();
        let mut names: Vec<_> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, self.stage.aliases().await);
    }

    /// It knows no other names than those in the list.
    async fn calls(&self) {
        let answer =
            self.result("tools/call", &["--tool-name", "com_example_echo__echo", "--tool-arg", "text=hi"]);
        assert_eq!(answer.await["content"], json!([{ "type": "text", "text": "hello back" }]));
    }

    /// It has no key for it, but it can be ended.
    async fn cancels(&self) {
        let call = ["--tool-name", "com_example_slow__wait"];
        let mut running = self.command("tools/call", &call).spawn().unwrap();
        timeout(PATIENCE, self.stage.slow.wait_requests("/tool", 1)).await.expect("the app is called");
        running.kill().await.unwrap();
        timeout(NOTICE, self.stage.slow.wait_cancelled(1)).await.expect("the app sees it");
    }
}

#[tokio::test]
async fn with_a_handshake() {
    let stage = Stage::start(Access::Header).await;
    let inspector = Inspector::new(&stage, "legacy");
    inspector.lists().await;
    inspector.calls().await;
    inspector.cancels().await;
    stage.end().await;
}

#[tokio::test]
async fn without_one() {
    let stage = Stage::start(Access::Header).await;
    let inspector = Inspector::new(&stage, "modern");
    inspector.lists().await;
    let load = ["--tool-name", "com_example_echo__echo", "--load", "--load-requests", "50"];
    let load = inspector.result("tools/call", &load).await;
    assert_eq!((&load["ok"], &load["errors"]), (&json!(50), &json!(0)), "{load}");
    inspector.cancels().await;
    stage.end().await;
}

#[tokio::test]
async fn a_call_that_waits_for_the_user_is_a_task() {
    let stage = Stage::start(Access::Header).await;
    stage.ask_before("com.example.echo:echo").await;
    let inspector = Inspector::new(&stage, "modern");
    tokio::join!(inspector.calls(), stage.answer_next("approve"));
    let denied = ["--tool-name", "com_example_echo__echo", "--tool-arg", "text=again"];
    let ((_, said, errors), ()) =
        tokio::join!(inspector.ends("tools/call", &denied), stage.answer_next("deny"));
    assert!(said.contains("declined this call"), "{said}{errors}");
    stage.end().await;
}

#[tokio::test]
async fn with_a_token() {
    let mut stage = Stage::start(Access::Token).await;
    Inspector::new(&stage, "auto").calls().await;

    stage.ada = vec![("authorization", "Bearer wrong".to_owned())];
    let (code, _, errors) = Inspector::new(&stage, "auto").ends("tools/list", &["--stored-auth-only"]).await;
    assert_eq!(code, Some(3), "{errors}");
    assert!(errors.contains("auth_required"), "{errors}");
    stage.end().await;
}
