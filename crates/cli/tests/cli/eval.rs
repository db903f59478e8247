//! `toolyard eval`

use std::path::{Path, PathBuf};

use toolyard_testkit::model::{ScriptedModel, ScriptedReply};

use crate::fixture::{Ran, ended, toolyard};

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals/retrieval").join(name)
}

async fn retrieval(tools: &Path, questions: &Path, more: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let files = ["--tools", tools.to_str().unwrap(), "--questions", questions.to_str().unwrap()];
    ended(toolyard(folder.path(), &[&["eval", "retrieval"], &files[..], more].concat())).await
}

#[tokio::test]
async fn the_shipped_set_keeps_its_floor() {
    let (tools, questions) = (shipped("tools.jsonl"), shipped("questions.jsonl"));
    let report = retrieval(&tools, &questions, &["--json"]).await.json();
    assert_eq!((&report["tools"], &report["all"]["questions"]), (&151.into(), &200.into()));
    for (kind, floor) in [("direct", 0.99), ("language", 0.95), ("multi", 0.97)] {
        let picked = report["kinds"][kind]["picked"].as_f64().unwrap();
        assert!(picked >= floor, "{kind}: {picked} is below {floor}");
    }
    let table = retrieval(&tools, &questions, &[]).await.good();
    assert!(table.starts_with("151 tools, 200 questions, without word vectors\nrecall at"), "{table}");
    assert!(table.contains("\nall  ") && table.contains("\nsearch: "), "{table}");
}

#[tokio::test]
async fn unusable_eval_files_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (tools, wrong) = (shipped("tools.jsonl"), folder.path().join("questions.jsonl"));
    std::fs::write(&wrong, "{\"text\":\"hi\",\"tools\":[\"com.example.todo:none\"]}\n").unwrap();
    let told = retrieval(&tools, &wrong, &[]).await.bad();
    assert!(told.contains("line 1 of the questions file: there is no tool com.example.todo:none"), "{told}");
    let missing = retrieval(&tools, &folder.path().join("none"), &[]).await.bad();
    assert!(missing.contains("cannot read"), "{missing}");
    let vectors = ["--vectors", folder.path().to_str().unwrap()];
    let vectors = retrieval(&tools, &shipped("questions.jsonl"), &vectors).await;
    assert!(vectors.code == 2 && vectors.err.contains("model.safetensors"), "{vectors:?}");
}

#[tokio::test]
async fn a_model_that_calls_no_tool_is_right_if_none_is_expected() {
    let (folder, model) = (tempfile::tempdir().unwrap(), ScriptedModel::start().await);
    model.set_default_reply(ScriptedReply::text("Hello."));
    let place = format!("models.local={{ url = \"{}/v1\", calling = \"native\" }}", model.url());
    let asked = [
        "eval",
        "tools",
        "--model",
        "local/talker",
        "--set",
        &place,
        "--set",
        "model_search.local_servers=false",
    ];
    let report = ended(toolyard(folder.path(), &[&asked[..], &["--json"]].concat())).await.json();
    let all = &report["all"];
    assert_eq!(
        (&all["prompts"], &all["wellFormed"], &all["tool"]),
        (&60.into(), &60.into(), &12.into()),
        "{report}"
    );
    assert_eq!(model.requests().len(), 60, "each was asked once");
    let none = ["eval", "tools", "--model", "nowhere/x", "--set", "model_search.local_servers=false"];
    let told = ended(toolyard(folder.path(), &none)).await;
    assert!(
        told.code == 2 && told.err.contains("nowhere/x") && told.err.contains("toolyard models --local"),
        "{told:?}"
    );
}
