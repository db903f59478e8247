//! llama.cpp's server as a scorer, and servers that are none.

use serde_json::{Value, json};
use toolyard_agent::{
    model::{ModelErrorKind, RequestPolicy},
    small::{MAX_CONTINUATION, Scorer as _, llama_server::LlamaServer},
};
use toolyard_protocol::secret::SecretText;
use toolyard_testkit::model::ScriptedModel;

fn scorer(scripted: &ScriptedModel) -> LlamaServer {
    let url = format!("{}/v1/?x#y", scripted.url()).parse().unwrap();
    LlamaServer::new("tiny", &url, Some(SecretText::new("the-key")), RequestPolicy::default()).unwrap()
}

fn written(logprobs: &[Option<f64>]) -> Value {
    let probabilities: Vec<_> = logprobs.iter().map(|logprob| json!({ "logprob": logprob })).collect();
    json!({ "content": "text", "stop_type": "limit", "tokens_evaluated": 7, "tokens_predicted": 2,
        "completion_probabilities": probabilities })
}

#[tokio::test]
async fn a_continuation_is_scored_by_its_tokens_as_a_grammar() {
    let scripted = ScriptedModel::start().await;
    scripted.serve_path("/tokenize", json!({ "tokens": [5, 17] }));
    scripted.serve_path("/completion", written(&[Some(-1.5), None]));
    let scores = scorer(&scripted).score("Once", &["upon a".to_owned(), "time".to_owned()]).await.unwrap();
    assert_eq!(scores, [-101.5, -101.5], "a token that cannot come counts as -100");
    let looked = scripted.other_requests();
    let paths: Vec<_> = looked.iter().map(|seen| seen.path.as_str()).collect();
    assert_eq!(paths, ["/tokenize", "/tokenize", "/completion"], "what is the same is asked once");
    assert!(looked.iter().all(|seen| seen.headers["authorization"] == "Bearer the-key"));
    assert_eq!(looked[2].body["grammar"], "root ::= <[5]> <[17]>");
    assert_eq!((&looked[2].body["prompt"], &looked[2].body["n_predict"]), (&json!(["Once"]), &json!(2)));
}

#[tokio::test]
async fn only_so_many_tokens_of_a_continuation_count() {
    let scripted = ScriptedModel::start().await;
    scripted.serve_path("/tokenize", json!({ "tokens": vec![3; MAX_CONTINUATION + 1] }));
    scripted.serve_path("/completion", written(&[Some(-1.0); MAX_CONTINUATION]));
    let scores = scorer(&scripted).score("Once", &["long".to_owned()]).await.unwrap();
    assert_eq!(scores, [-(MAX_CONTINUATION as f64)]);
}

#[tokio::test]
async fn a_completion_says_whether_it_came_to_its_end() {
    let scripted = ScriptedModel::start().await;
    for (stop, whole) in [("limit", false), ("eos", true), ("word", true)] {
        scripted.serve_path(
            "/completion",
            json!({ "content": "text", "stop_type": stop, "tokens_evaluated": 7 }),
        );
        let completion = scorer(&scripted).complete("Once", Some("root ::= \"a\""), 9).await.unwrap();
        assert_eq!((completion.text.as_str(), completion.whole, completion.usage.input), ("text", whole, 7));
    }
    let asked = &scripted.other_requests()[0].body;
    assert_eq!((&asked["grammar"], &asked["n_predict"]), (&json!("root ::= \"a\""), &json!(9)));
}

#[tokio::test]
async fn other_servers_are_rejected_with_a_reason() {
    let cases = [
        (None, ModelErrorKind::Unknown, "tiny"),
        (
            Some(json!({ "choices": [] })),
            ModelErrorKind::Broken,
            "does not respond as llama.cpp's server does",
        ),
        (Some(json!({ "tokens": [1, 2, 3] })), ModelErrorKind::Broken, "tiny"),
        (Some(json!({ "tokens": [1], "x": "y".repeat(1024 * 1024) })), ModelErrorKind::Broken, "tiny"),
    ];
    for (tokens, kind, text) in cases {
        let scripted = ScriptedModel::start().await;
        scripted.serve_path("/completion", written(&[Some(-1.0)]));
        if let Some(tokens) = tokens {
            scripted.serve_path("/tokenize", tokens);
        }
        let error = scorer(&scripted).score("Once", &["upon".to_owned()]).await.unwrap_err();
        assert!(error.kind == kind && error.text.contains(text), "{text}: {error:?}");
        assert!(!format!("{error:?}").contains("the-key"));
    }
}
