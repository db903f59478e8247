//! Models from files, in this process. `make test-local` builds with the required feature.

use crate::fixture::{Ran, ended, toolyard};

async fn asked(file: &str, more: &str, question: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let model = format!("models.smol={{ file = {file:?}{more} }}");
    let args = [
        "chat",
        "--local",
        "--set",
        &model,
        "--set",
        "model_search.local_servers=false",
        "--message",
        question,
    ];
    ended(toolyard(folder.path(), &args)).await
}

#[tokio::test]
async fn invalid_settings_are_reported_by_name() {
    for (more, told) in [
        (", url = \"http://127.0.0.1:1/v1\"", "set either url or file"),
        (", key_env = \"KEY\"", "key_env is not supported with file"),
        (", calling = \"native\"", "`prompted` or `small`"),
        (", calling = \"small\", threads = 0", "threads: expected 1 to 256"),
        (", calling = \"small\", context = 2000000", "context: expected 1 to 1048576"),
        ("", "missing.gguf cannot be read"),
    ] {
        let ran = asked("missing.gguf", more, "Hi").await;
        assert!(
            ran.code == 1 && ran.err.contains("models.smol") && ran.err.contains(told),
            "{told}: {ran:?}"
        );
    }
}

#[cfg(not(feature = "local"))]
#[tokio::test]
async fn a_build_without_llama_cpp_says_how_to_get_one() {
    let ran = asked("model.gguf", ", calling = \"small\"", "Hi").await;
    assert!(
        ran.code == 1 && ran.err.contains("--features local") && ran.err.contains("llama-server"),
        "{ran:?}"
    );
}

#[cfg(feature = "local")]
#[tokio::test]
async fn a_file_answers_through_a_tool() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/demo-model");
    let file = folder.join("SmolLM2-135M-Instruct.Q4_1.gguf");
    let ran = asked(file.to_str().unwrap(), "", "Calculate 12 * 7").await;
    assert!(ran.code == 0 && ran.out.contains("84"), "{ran:?}");
}
