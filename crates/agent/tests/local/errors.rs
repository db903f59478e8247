//! Invalid files, and conversations that are too long.

use toolyard_agent::{
    message::ModelMessage,
    model::{Model as _, ModelErrorKind, ModelRequest},
    small::Scorer as _,
};
use toolyard_testkit::demo_model::demo_model_file;

use crate::open;

#[test]
fn an_invalid_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gguf");
    let error = open(path.clone(), 512).unwrap_err();
    assert!(error.kind == ModelErrorKind::Unknown && error.text.contains("cannot be read"), "{error}");
    std::fs::write(&path, "PK\x03\x04").unwrap();
    assert!(open(path, 512).unwrap_err().text.contains("is not a GGUF file"));
}

#[tokio::test]
async fn a_file_that_is_not_whole_is_an_error_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gguf");
    std::fs::write(&path, b"GGUF\x03\0\0\0 and nothing that makes sense").unwrap();
    let model = open(path, 512).unwrap();
    for _ in 0..2 {
        let error = model.ask(ModelRequest::default()).await.err().unwrap();
        assert!(
            error.kind == ModelErrorKind::Unavailable && error.text.contains("cannot be loaded"),
            "{error}"
        );
        assert!(error.cause.is_some());
        let error = model.score("a", &["b".to_owned()]).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Unavailable);
    }
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_refused_in_numbers() {
    let model = open(demo_model_file(), 256).unwrap();
    let ask = |words: usize| {
        let messages = vec![ModelMessage::from_user_text("many words ".repeat(words))];
        model.ask(ModelRequest { messages, max_tokens: Some(1), ..ModelRequest::default() })
    };
    let error = ask(300).await.err().unwrap();
    assert_eq!(error.kind, ModelErrorKind::Refused);
    assert!(error.text.contains("room for 256"), "{error}");
    assert!(ask(20).await.is_ok(), "and it goes on");
}
