//! The pages about the assistant: runs their commands and parses their settings.

use std::path::Path;

use tokio::process::Command;
use toolyard_assistant::config::AssistantConfig;
use toolyard_testkit::page::{assert_output_matches, code_blocks};

use crate::stage::{bare_server, soon};

const GUIDE: &str = include_str!("../../../../docs/guide/your-own-assistant.md");
const PAGE: &str = include_str!("../../../../docs/assistant.md");

/// Runs lines in a shell that stops at the first failure.
async fn shell(folder: &Path, lines: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_toolyard-assistant"));
    let mut command = Command::new("/bin/sh");
    command
        .args(["-e", "-c", &format!("exec 2>&1\n{lines}")])
        .env_clear()
        .current_dir(folder)
        .kill_on_drop(true);
    command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", program.parent().unwrap().display()));
    let output = soon(command.output()).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{lines}\n{text}");
    text
}

#[tokio::test]
async fn your_own_assistant() {
    let (url, _server, folder) = bare_server().await;
    let mut output = String::new();
    for (language, block) in code_blocks(GUIDE) {
        match language {
            "sh" => output = shell(folder.path(), &block.replace("http://127.0.0.1:8787", &url)).await,
            "text" => assert_output_matches(&output, block),
            "toml" => drop(toml::from_str::<AssistantConfig>(block).unwrap()),
            // Does not end by itself; the other tests of this binary do the same.
            "console" => {}
            other => panic!("a block of {other} is neither run nor read"),
        }
    }
}

#[test]
fn the_settings_of_the_page_are_the_defaults() {
    let (_, block) = code_blocks(PAGE).find(|(language, _)| *language == "toml").unwrap();
    let shown: AssistantConfig = toml::from_str(block).unwrap();
    let usual = AssistantConfig::default();
    assert_eq!(
        (&shown.listening, &shown.answer, &shown.history),
        (&usual.listening, &usual.answer, &usual.history)
    );
    assert_eq!(
        (shown.listen, shown.server, shown.package, shown.data),
        (usual.listen, usual.server, usual.package, usual.data)
    );
    assert_eq!(shown.phrases_without_model, usual.phrases_without_model);
    // The page lists every setting.
    for setting in
        ["listen", "server", "package", "data", "model", "local_servers", "system", "phrases_without_model"]
    {
        assert!(
            block.contains(&format!("\n{setting} = ")) || block.starts_with(&format!("{setting} = ")),
            "{setting}"
        );
    }
}
