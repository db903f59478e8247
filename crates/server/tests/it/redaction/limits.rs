//! Placeholders that stand for nothing, limits, and what is stored.

use serde_json::json;

use super::{
    LOGIN, PASSWORD, READ, SEND, Stage, VAULT, contains, database_url, github_token, placeholder_in,
    rest_too, stored_bytes,
};

/// As documented.
const SECRETS_OF_A_CONVERSATION: usize = 256;

#[tokio::test]
async fn a_placeholder_that_stands_for_nothing_never_reaches_a_tool() {
    let stage = Stage::start(rest_too).await;
    let known = placeholder_in(&stage.model_reads(&github_token()).await);
    let _bobs = stage.p.device("bob").await;
    stage.p.user("bob").put(&format!("/api/installs/{VAULT}"), &json!({})).await.expect(204);
    let runs = stage.vault.requests("/tool").len();
    let forged = known.replacen(&known[known.len() - 9..known.len() - 1], "00000000", 1);
    let cases = [
        (stage.ada(), LOGIN, forged.as_str()),
        (stage.ada(), SEND, forged.as_str()),
        (stage.ada(), LOGIN, "[secret:private-key:not-stored]"),
        (stage.p.user("bob"), LOGIN, known.as_str()),
    ];
    for (who, tool, placeholder) in cases {
        let refused = who.call(tool, json!({ "password": format!("x {placeholder}") })).await.expect(400);
        assert_eq!(refused.code(), "INVALID_ARGUMENTS");
        let text = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(text.contains(placeholder) && text.contains("is no longer available"), "{text}");
        assert!(text.contains("Call the tool that returned it again"), "{text}");
    }
    assert_eq!(stage.vault.requests("/tool").len(), runs);
    assert!(stage.mail.requests("/tool").is_empty());
    // Other texts in brackets are nobody's placeholder.
    stage.vault_says("ok");
    stage.ada().call(LOGIN, json!({ "password": "[secret:tip]" })).await.expect(200);
    let metrics = stage.p.nobody().get("/metrics").await.text;
    for line in [
        "toolyard_secrets_replaced_total 1",
        r#"toolyard_placeholders_used_total{outcome="unknown"} 4"#,
        r#"toolyard_placeholders_used_total{outcome="restored"} 0"#,
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
}

#[tokio::test]
async fn secrets_are_forgotten_after_a_restart_and_after_their_lifetime() {
    let stage = Stage::start(|config| config.redaction.expires_s = 60).await;
    let placeholder = placeholder_in(&stage.model_reads(&github_token()).await);
    let login = async |stage: &Stage, placeholder: &str| {
        stage.ada().run(LOGIN, json!({ "password": placeholder })).await.to_string()
    };
    stage.p.clock.advance(59);
    login(&stage, &placeholder).await;
    stage.p.clock.advance(59);
    login(&stage, &placeholder).await;
    assert_eq!(stage.vault_received(), json!({ "password": github_token() }), "each use renews it");
    stage.p.clock.advance(60);
    let told = login(&stage, &placeholder).await;
    assert!(told.contains("is no longer available"), "{told}");

    let placeholder = placeholder_in(&stage.model_reads(&github_token()).await);
    let stage = stage.restart().await;
    let told = login(&stage, &placeholder).await;
    assert!(told.contains("is no longer available"), "{told}");
    let placeholder = placeholder_in(&stage.model_reads(&github_token()).await);
    login(&stage, &placeholder).await;
    assert_eq!(stage.vault_received(), json!({ "password": github_token() }), "the tool was called again");
}

#[tokio::test]
async fn the_secret_seen_longest_ago_makes_room() {
    let stage = Stage::start(|_| {}).await;
    let token = |n: usize| format!("dapi{n:032x}");
    let first = placeholder_in(&stage.model_reads(&token(0)).await);
    let many: String = (1..=SECRETS_OF_A_CONVERSATION).map(|n| token(n) + "\n").collect();
    let told = stage.model_reads(&many).await;
    assert!(!told.contains("dapi0"), "{told}");
    let refused = stage.ada().run(LOGIN, json!({ "password": first })).await.to_string();
    assert!(refused.contains("is no longer available"), "{refused}");
    let last = placeholder_in(told.lines().last().unwrap());
    stage.ada().run(LOGIN, json!({ "password": last })).await;
    assert_eq!(stage.vault_received(), json!({ "password": token(SECRETS_OF_A_CONVERSATION) }));
}

#[tokio::test]
async fn a_long_result_is_searched_to_its_end() {
    let stage = Stage::start(|_| {}).await;
    let told = stage.model_reads(&format!("{}{}", "a b/c: ".repeat(100_000), github_token())).await;
    assert!(told.len() > 700_000 && !told.contains(&github_token()), "{} bytes", told.len());
    placeholder_in(&told[told.len() - 100..]);
}

#[tokio::test]
async fn a_secret_that_a_tool_repeats_is_hidden_whatever_its_form() {
    let stage = Stage::start(|_| {}).await;
    let placeholder = placeholder_in(&stage.model_reads(&database_url()).await);
    stage.vault_says(&format!("logged in with {PASSWORD}"));
    let told = stage.ada().run(LOGIN, json!({ "password": placeholder })).await;
    assert_eq!(told["content"][0]["text"], format!("logged in with {placeholder}"));
    // An error about the arguments quotes them.
    let long = format!("{placeholder}{}", "x".repeat(60));
    let refused = stage.ada().run(LOGIN, json!({ "password": long })).await.to_string();
    assert!(refused.contains("password") && !refused.contains(PASSWORD), "{refused}");
}

#[tokio::test]
async fn the_outcome_of_a_key_is_stored_without_its_secrets() {
    let stage = Stage::start(|_| {}).await;
    stage.vault_says(&format!("{} and {}", github_token(), database_url()));
    let keyed = async |stage: &Stage| {
        stage.ada().header("idempotency-key", "k").call(READ, json!({})).await.expect(200).json()
    };
    let plain = format!("{} and {}", github_token(), database_url());
    assert_eq!(keyed(&stage).await["content"], plain);
    stage.vault_says("another result");
    assert_eq!(keyed(&stage).await["content"], plain, "revealed, as long as the secrets are kept");
    let stage = stage.restart().await;
    let bytes = stored_bytes(&stage.p);
    assert!(!contains(&bytes, &github_token()) && !contains(&bytes, PASSWORD));
    let replayed = keyed(&stage).await;
    let text = replayed["content"].as_str().unwrap();
    assert!(
        text.starts_with("[secret:github-token:1-") && text.contains(" and postgres://app:[secret:"),
        "{text}"
    );

    // A model's call with a key: the key belongs to the call as the model wrote it.
    let placeholder = placeholder_in(&stage.model_reads(&github_token()).await);
    let ask = || {
        let ask = crate::mcp::client::Ask::call(LOGIN, json!({ "password": placeholder }));
        ask.meta(toolyard_protocol::mcp::meta::IDEMPOTENCY_KEY, json!("m"))
    };
    stage.vault_says(&format!("welcome {}", github_token()));
    let runs = stage.vault.requests("/tool").len();
    for _ in 0..2 {
        let result = stage.ada().ask(ask()).await.result();
        assert_eq!(result["content"][0]["text"], format!("welcome {placeholder}"));
    }
    assert_eq!(stage.vault.requests("/tool").len(), runs + 1);
}
