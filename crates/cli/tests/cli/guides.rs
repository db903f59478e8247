//! The pages of the guide: runs their commands in order and compares the output with what the pages show.
//!
//! A block `sh` is run. A block `text` after it is its output, in order: each of its lines must match one line of the output,
//! with `…` for any text. A block `console` does not end by itself: a server runs until the end of the page, at another
//! address, which the later commands get. Blocks that need a compiler are run in other tests.

use std::path::Path;

use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;
use toolyard_testkit::{
    model::{ScriptedModel, ScriptedReply},
    page::{assert_output_matches, code_blocks},
};

use crate::{
    chat::config,
    fixture::{Ran, Running, ended, toolyard},
};

const FIRST_TOOL: &str = include_str!("../../../../docs/guide/first-client-tool.md");
const WRITE: &str = include_str!("../../../../docs/guide/write-a-plugin.md");
const SIGN: &str = include_str!("../../../../docs/guide/sign-and-publish.md");

/// A folder whose configuration names the model.
fn folder(model: &ScriptedModel) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("toolyard.toml"), config(model, "native")).unwrap();
    folder
}

/// Runs lines in a shell that stops at the first failure.
async fn shell(folder: &Path, lines: &str, server: Option<&str>) -> Ran {
    let program = Path::new(env!("CARGO_BIN_EXE_toolyard"));
    let mut command = Command::new("/bin/sh");
    command.args(["-e", "-c", &format!("exec 2>&1\n{lines}")]).env_clear().current_dir(folder);
    command.env("PATH", format!("{}:/usr/bin:/bin", program.parent().unwrap().display()));
    command.kill_on_drop(true).stdin(std::process::Stdio::null());
    if let Some(url) = server {
        command.env("TOOLYARD_URL", url);
    }
    ended(command).await
}

/// Runs the server of a block, at another address because the default may be in use.
async fn started(folder: &Path, line: &str) -> (Running, String) {
    let words: Vec<_> = line.trim_end().split(' ').skip(1).chain(["--listen", "127.0.0.1:0"]).collect();
    let mut server = Running::start(toolyard(folder, &words));
    let said = server.says("listening on ").await;
    (server, said.trim_start_matches("listening on ").to_owned())
}

/// The server that the commands of a page use.
pub(crate) enum Server<'a> {
    /// None.
    Nowhere,
    /// One that was started before the page.
    At(&'a str),
    /// The one that the page starts.
    OfPage,
}

/// Runs a page. Skips blocks in the languages of `others`: files, which are saved before, and what other tests run.
pub(crate) async fn follow(page: &str, folder: &Path, server: Server<'_>, others: &[&str]) {
    let mut output = String::new();
    let mut started_here = None;
    for (language, block) in code_blocks(page) {
        match language {
            "console" if matches!(server, Server::OfPage) => {
                started_here = Some(started(folder, block).await)
            }
            "sh" => {
                let url = match server {
                    Server::Nowhere => None,
                    Server::At(url) => Some(url),
                    Server::OfPage => started_here.as_ref().map(|(_, url)| url.as_str()),
                };
                let ran = shell(folder, block, url).await;
                assert_eq!(ran.code, 0, "{block}\n{}", ran.out);
                output = ran.out;
            }
            "text" => assert_output_matches(&output, block),
            language if others.contains(&language) => {}
            other => panic!("a block of {other} is neither run nor shown"),
        }
    }
}

/// What a model does with the greeter.
fn greets(model: &ScriptedModel) {
    model.queue_replies([
        ScriptedReply::call("hello", json!({ "name": "Ada" })),
        ScriptedReply::text("Done."),
    ]);
}

#[tokio::test]
async fn write_a_plugin() {
    let model = ScriptedModel::start().await;
    let folder = folder(&model);
    (0..3).for_each(|_| greets(&model));
    follow(WRITE, folder.path(), Server::OfPage, &[]).await;
    assert_eq!(model.requests().len(), 6, "all three chats were had");
}

#[tokio::test]
async fn sign_and_publish() {
    let model = ScriptedModel::start().await;
    let folder = folder(&model);
    for line in [&["plugin", "new", "hello"][..], &["plugin", "pack", "hello", "-o", "hello.json"]] {
        ended(toolyard(folder.path(), line)).await.good();
    }
    greets(&model);
    follow(SIGN, folder.path(), Server::OfPage, &[]).await;
    assert_eq!(model.requests().len(), 2, "what may not run is not offered");
}

#[test]
fn the_first_client_tool_page_has_only_known_commands() {
    // The server is run by every test of this binary, the program by the tests of the client SDK.
    let commands: Vec<_> = code_blocks(FIRST_TOOL).filter(|(language, _)| *language != "rust").collect();
    let program = "cargo run -p toolyard-client-sdk --example first_client_tool -- http://127.0.0.1:8787 ada@example.com\n";
    assert_eq!(commands, [("console", "toolyard serve\n"), ("console", program)]);
}
