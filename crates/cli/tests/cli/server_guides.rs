//! The pages of the guide for app developers and operators: saves their files and runs their commands in order.

use std::{net::TcpListener, process::Stdio};

use tokio::process::Command;
use toolyard_testkit::page::code_blocks;

use crate::{
    fixture::{Running, Yard},
    guides::{Server, follow},
};

const ADD_TOOLS: &str = include_str!("../../../../docs/guide/add-tools-to-your-app.md");
const OPERATORS: &str = include_str!("../../../../docs/guide/for-operators.md");

/// The first block of a language.
fn file(page: &'static str, language: &str) -> &'static str {
    code_blocks(page).find(|(of, _)| *of == language).expect("the page has one").1
}

/// The app of the page, on its own port.
async fn coffee(yard: &Yard) -> (Running, String) {
    yard.file("coffee.mjs", file(ADD_TOOLS, "js"));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let mut node = Command::new("node");
    node.arg("coffee.mjs").current_dir(yard.folder.path()).env("PORT", &port).kill_on_drop(true);
    node.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut app = Running::start(node);
    app.says("The coffee bar is open.").await;
    (app, port)
}

#[tokio::test]
async fn add_tools_to_your_app() {
    let yard = Yard::start().await;
    let (_app, port) = coffee(&yard).await;
    yard.file("tools.json", file(ADD_TOOLS, "json"));
    let _glasses = yard.glasses(&[]).await;
    let page = ADD_TOOLS.replace(":9000", &format!(":{port}"));
    follow(&page, yard.folder.path(), Server::At(&yard.url), &["js", "json", "console"]).await;
}

#[tokio::test]
async fn for_operators() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("toolyard.toml"), file(OPERATORS, "toml")).unwrap();
    follow(OPERATORS, folder.path(), Server::Nowhere, &["toml", "console"]).await;
    assert!(folder.path().join("data/root.key").exists(), "tokens were made");
}
