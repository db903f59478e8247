//! Requests and plain responses.

use serde_json::json;
use toolyard_agent::model::{ModelRequest, ModelStopReason, ModelUsage, ToolChoice};
use toolyard_protocol::chat::sampling::{SamplingOption, SamplingParams};
use toolyard_testkit::model::{ScriptedModel, ScriptedReply, VendorQuirk};

use crate::support::{ALL, TestProtocol, ask, hello, model};

#[tokio::test]
async fn every_family_streams_text_thoughts_and_usage() {
    for protocol in ALL {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([ScriptedReply::new()
            .and_reasoning("hm")
            .and_text("Hel")
            .and_text("lo é")
            .with_usage(12, 7)]);
        let model = model(&scripted, protocol);
        assert_eq!(model.info().id, protocol.name());
        let response = ask(&model, hello()).await;
        assert_eq!(response.text, "Hello é", "{protocol:?}");
        assert_eq!(response.reasoning, "hm", "{protocol:?}");
        let end = response.end();
        assert_eq!(
            (end.stop, end.usage),
            (ModelStopReason::Done, Some(ModelUsage { input: 12, output: 7 })),
            "{protocol:?}"
        );
        assert!(end.vendor_state.is_none(), "{protocol:?}: nothing was signed");
    }
}

#[tokio::test]
async fn keys_go_where_the_vendor_wants_them_and_models_are_named_as_they_are() {
    for (protocol, header, want) in [
        (TestProtocol::OpenAi, "authorization", "Bearer the-key"),
        (TestProtocol::Compatible, "authorization", "Bearer the-key"),
        (TestProtocol::Anthropic, "x-api-key", "the-key"),
        (TestProtocol::Gemini, "x-goog-api-key", "the-key"),
    ] {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([ScriptedReply::text("hi")]);
        ask(&model(&scripted, protocol), hello()).await;
        let seen = &scripted.requests()[0];
        assert_eq!(seen.headers[header], want, "{protocol:?}");
        match protocol {
            TestProtocol::Gemini => assert_eq!(seen.path, "/v1beta/models/m-1:streamGenerateContent"),
            _ => assert_eq!((&seen.body["model"], &seen.body["stream"]), (&json!("m-1"), &json!(true))),
        }
    }
}

#[tokio::test]
async fn a_name_that_ends_in_a_word_for_effort_is_sent_whole() {
    let scripted = ScriptedModel::start().await;
    scripted.queue_replies([ScriptedReply::text("hi")]);
    let models = crate::support::models(&scripted.url(), crate::support::quick());
    let model = models.get(&"local/qwen-max".parse().unwrap()).unwrap();
    ask(&model, hello()).await;
    let body = &scripted.requests()[0].body;
    assert_eq!(body["model"], "qwen-max");
    assert!(body.get("reasoning_effort").is_none());
}

#[tokio::test]
async fn settings_of_a_request_reach_every_family() {
    let request = || ModelRequest {
        system: Some("Be brief.".to_owned()),
        choice: ToolChoice::Required,
        max_tokens: Some(99),
        temperature: Some(0.5),
        ..hello()
    };
    for protocol in ALL {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([ScriptedReply::text("hi")]);
        ask(&model(&scripted, protocol), request()).await;
        let body = &scripted.requests()[0].body;
        match protocol {
            TestProtocol::OpenAi | TestProtocol::Compatible => {
                let most =
                    if protocol == TestProtocol::OpenAi { "max_completion_tokens" } else { "max_tokens" };
                assert_eq!((&body[most], &body["temperature"]), (&json!(99), &json!(0.5)));
                assert_eq!(body["tool_choice"], "required");
                assert_eq!(body["messages"][0], json!({ "role": "system", "content": "Be brief." }));
                assert_eq!(body["tools"][1]["function"]["name"], "now");
            }
            TestProtocol::Anthropic => {
                assert_eq!((&body["max_tokens"], &body["temperature"]), (&json!(99), &json!(0.5)));
                assert_eq!(body["tool_choice"], json!({ "type": "any" }));
                assert_eq!(body["system"], "Be brief.");
                assert_eq!(body["tools"][1]["name"], "now");
            }
            TestProtocol::Gemini => {
                let config = &body["generationConfig"];
                assert_eq!((&config["maxOutputTokens"], &config["temperature"]), (&json!(99), &json!(0.5)));
                assert_eq!(body["toolConfig"]["functionCallingConfig"]["mode"], "ANY");
                assert_eq!(body["systemInstruction"]["parts"][0]["text"], "Be brief.");
                assert_eq!(body["tools"][0]["functionDeclarations"][1]["name"], "now");
            }
        }
    }
}

#[tokio::test]
async fn sampling_options_reach_every_vendor_that_has_them() {
    let request = |seed: Option<i64>| ModelRequest {
        sampling: SamplingParams {
            top_p: Some(0.25),
            stop: vec!["END".into(), "\n\n".into()],
            seed,
            ..SamplingParams::default()
        },
        ..hello()
    };
    for protocol in ALL {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([
            ScriptedReply::text("hi"),
            ScriptedReply::text("hi"),
            ScriptedReply::text("hi"),
        ]);
        let model = model(&scripted, protocol);
        let has_seed = model.supports(SamplingOption::Seed);
        assert!(model.supports(SamplingOption::TopP) && model.supports(SamplingOption::Stop), "{protocol:?}");
        let sent = async |seed: Option<i64>| {
            ask(&model, request(seed)).await;
            scripted.requests().last().unwrap().body.clone()
        };
        let body = sent(has_seed.then_some(7)).await;
        let stops = json!(["END", "\n\n"]);
        match protocol {
            TestProtocol::OpenAi | TestProtocol::Compatible => {
                assert_eq!((&body["top_p"], &body["stop"], &body["seed"]), (&json!(0.25), &stops, &json!(7)));
            }
            TestProtocol::Anthropic => {
                assert!(!has_seed, "it has none, so whoever asks for one is refused");
                assert_eq!((&body["top_p"], &body["stop_sequences"]), (&json!(0.25), &stops));
                assert!(body.get("seed").is_none(), "{body}");
            }
            TestProtocol::Gemini => {
                let config = &body["generationConfig"];
                assert_eq!((&config["topP"], &config["stopSequences"]), (&json!(0.25), &stops));
                assert_eq!(config["seed"], 7);
                // Gemini accepts 32 bits. Anything else is a 400 for the whole request.
                for (seed, as_sent) in [(-1, i32::MAX), (1 << 40 | 5, 5)] {
                    assert_eq!(sent(Some(seed)).await["generationConfig"]["seed"], as_sent);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_tool_that_is_named_like_one_of_the_vendors_is_ours_all_the_same() {
    for (protocol, name) in [(TestProtocol::Anthropic, "web_search"), (TestProtocol::Gemini, "googleSearch")]
    {
        let scripted = ScriptedModel::start().await;
        scripted.queue_replies([ScriptedReply::call(&format!("{name}__ours"), json!({ "a": 1 }))]);
        let request = ModelRequest { tools: vec![crate::support::tool(name)], ..hello() };
        let response = ask(&model(&scripted, protocol), request).await;
        assert_eq!(response.called(), [(name, "{\"a\":1}")]);
        let sent = scripted.requests()[0].body["tools"].to_string();
        assert!(sent.contains(&format!("Does {name}")) && sent.contains("integer"), "{sent}");
    }
}

#[tokio::test]
async fn servers_that_do_not_stream_or_stream_oddly_are_understood() {
    let scripted = ScriptedModel::start().await;
    let whole = json!({ "choices": [{ "message": { "role": "assistant", "content": "Hello" }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 2 } });
    scripted.queue_replies([
        ScriptedReply::error(200, &whole),
        ScriptedReply::pieces(["Hel", "lo"]).with_quirk(VendorQuirk::CrLf),
        ScriptedReply::text("Hello").with_quirk(VendorQuirk::NoDone).with_usage(1, 2),
    ]);
    let model = model(&scripted, TestProtocol::Compatible);
    for (what, usage) in [("whole", true), ("CR and LF", false), ("no [DONE]", true)] {
        let response = ask(&model, hello()).await;
        assert_eq!((response.text.as_str(), response.end().stop), ("Hello", ModelStopReason::Done), "{what}");
        assert_eq!(response.end().usage.is_some(), usage, "{what}");
    }
}
