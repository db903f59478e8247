//! The pages of the guide for those who write apps and those who run servers: their files are saved and their commands run, in
//! order.

use std::{net::TcpListener, path::Path, process::Stdio};

use tokio::process::Command;

use crate::{
    fixture::{Running, Yard},
    guides::{blocks, fits, shell},
};

const ADD_TOOLS: &str = include_str!("../../../../docs/guide/add-tools-to-your-app.md");
const OPERATORS: &str = include_str!("../../../../docs/guide/for-operators.md");

/// Runs what is to be run and compares what is to be seen. Files are saved under the names that the page gives them.
async fn follow(page: &str, folder: &Path, server: Option<&str>) {
    let mut output = String::new();
    for (language, block) in blocks(page) {
        match language {
            "sh" => {
                let ran = shell(folder, block, server).await;
                assert_eq!(ran.code, 0, "{block}\n{}", ran.out);
                output = ran.out;
            }
            "text" => {
                let mut lines = output.lines();
                for shown in block.lines() {
                    assert!(lines.any(|line| fits(line, shown)), "`{shown}` is not in\n{output}");
                }
            }
            "js" | "json" | "toml" | "console" => {}
            other => panic!("a block of {other} is neither run nor saved"),
        }
    }
}

/// The first block of a language.
fn file(page: &'static str, language: &str) -> &'static str {
    blocks(page).into_iter().find(|(of, _)| *of == language).expect("the page has one").1
}

/// The app of the page, on a port of its own.
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
    follow(&page, yard.folder.path(), Some(&yard.url)).await;
}

#[tokio::test]
async fn for_operators() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("toolyard.toml"), file(OPERATORS, "toml")).unwrap();
    follow(OPERATORS, folder.path(), None).await;
    assert!(folder.path().join("data/root.key").exists(), "tokens were made");
}
