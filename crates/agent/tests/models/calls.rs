//! Calls in all the forms that servers send.

use std::collections::HashSet;

use serde_json::json;
use toolyard_agent::model::ModelStopReason;
use toolyard_testkit::model::{ScriptedModel, ScriptedReply, VendorQuirk};

use crate::support::{ALL, ReceivedResponse, TestProtocol, ask, hello, model};

async fn one(protocol: TestProtocol, answer: ScriptedReply) -> ReceivedResponse {
    let scripted = ScriptedModel::start().await;
    scripted.queue_replies([answer]);
    ask(&model(&scripted, protocol), hello()).await
}

fn two() -> ScriptedReply {
    ScriptedReply::text("Let me see.")
        .and_call("add", json!({ "a": 1, "b": "é" }))
        .and_call("add", json!({ "a": 2 }))
}

const TWO: [(&str, &str); 2] = [("add", "{\"a\":1,\"b\":\"é\"}"), ("add", "{\"a\":2}")];

#[tokio::test]
async fn several_calls_arrive_with_ids_that_every_vendor_accepts() {
    for protocol in ALL {
        let response = one(protocol, two()).await;
        assert_eq!(
            (response.called(), response.end().stop),
            (TWO.to_vec(), ModelStopReason::Calls),
            "{protocol:?}"
        );
        assert_eq!(response.text, "Let me see.");
        let ids: HashSet<_> = response.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids.len(), 2, "{protocol:?}");
        for id in ids {
            let rest = id.strip_prefix("call_").unwrap();
            assert!(rest.len() == 24 && rest.bytes().all(|b| b.is_ascii_alphanumeric()), "{protocol:?} {id}");
        }
        let begun: Vec<_> = response
            .begun
            .iter()
            .map(|(id, name, text)| (id.as_str(), name.as_str(), text.as_str()))
            .collect();
        let whole: Vec<_> = response
            .calls
            .iter()
            .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.get()))
            .collect();
        assert_eq!(begun, whole, "{protocol:?}: the pieces are the call");
    }
}

#[tokio::test]
async fn servers_that_deviate_lose_no_call() {
    for odd in [
        vec![VendorQuirk::WholeCalls],
        vec![VendorQuirk::NoIndex],
        vec![VendorQuirk::IndexZero, VendorQuirk::WholeCalls],
        vec![VendorQuirk::NoIds],
        vec![VendorQuirk::NoIndex, VendorQuirk::NoIds, VendorQuirk::WholeCalls],
        vec![VendorQuirk::ArgumentsAsJson],
        vec![VendorQuirk::StopDespiteCalls],
        vec![VendorQuirk::NoDone],
        vec![VendorQuirk::NoDone, VendorQuirk::StopDespiteCalls, VendorQuirk::NoIndex, VendorQuirk::CrLf],
    ] {
        let answer = odd.iter().fold(two(), |answer, odd| answer.with_quirk(*odd));
        let response = one(TestProtocol::Compatible, answer).await;
        assert_eq!(
            (response.called(), response.end().stop),
            (TWO.to_vec(), ModelStopReason::Calls),
            "{odd:?}"
        );
    }
}

#[tokio::test]
async fn a_call_without_arguments_has_an_empty_object() {
    for protocol in ALL {
        let response = one(protocol, ScriptedReply::new().and_call_in_pieces("now", [])).await;
        assert_eq!(response.called(), [("now", "{}")], "{protocol:?}");
    }
}

#[tokio::test]
async fn the_text_of_arguments_is_kept_to_the_letter_where_the_vendor_gives_text() {
    let text = "{\"a\": 1.50, \"n\":12345678901234567890123}";
    for protocol in [TestProtocol::OpenAi, TestProtocol::Compatible, TestProtocol::Anthropic] {
        let answer = ScriptedReply::new()
            .and_call_in_pieces("add", ["{\"a\": 1.", "50, \"n\":", "12345678901234567890123}"]);
        assert_eq!(one(protocol, answer).await.called(), [("add", text)], "{protocol:?}");
    }
}

#[tokio::test]
async fn a_truncated_call_is_a_bad_call() {
    for (protocol, word) in [(TestProtocol::OpenAi, "length"), (TestProtocol::Anthropic, "max_tokens")] {
        let answer = ScriptedReply::call("now", json!({}))
            .and_call_in_pieces("add", ["{\"a\":"])
            .with_stop_reason(word);
        let response = one(protocol, answer).await;
        assert_eq!(
            (response.called(), response.end().stop),
            (vec![("now", "{}")], ModelStopReason::Length),
            "{protocol:?}"
        );
        let bad = &response.bad[0];
        assert_eq!((bad.name.as_deref(), bad.text.as_str()), (Some("add"), "{\"a\":"), "{protocol:?}");
        assert_eq!(bad.problem, "the answer was cut in the middle of the arguments", "{protocol:?}");
        let response =
            one(protocol, ScriptedReply::new().and_call_in_pieces("now", []).with_stop_reason(word)).await;
        assert_eq!((response.calls.len(), response.bad.len()), (0, 1), "{protocol:?}");
    }
}

#[tokio::test]
async fn invalid_json_arguments_are_a_bad_call() {
    for protocol in [TestProtocol::Compatible, TestProtocol::Anthropic] {
        let response =
            one(protocol, ScriptedReply::new().and_call_in_pieces("add", ["{\"a\":", "nope}"])).await;
        assert_eq!((response.calls.len(), response.end().stop), (0, ModelStopReason::Calls), "{protocol:?}");
        assert!(
            response.bad[0].problem.starts_with("the arguments are not JSON"),
            "{protocol:?} {:?}",
            response.bad
        );
    }
    let response =
        one(TestProtocol::Gemini, ScriptedReply::new().with_stop_reason("MALFORMED_FUNCTION_CALL")).await;
    assert_eq!((response.bad.len(), response.end().stop), (1, ModelStopReason::Calls));
}
