//! Calls in all the forms that servers give them.

use std::collections::HashSet;

use serde_json::json;
use toolyard_agent::model::ModelStopReason;
use toolyard_testkit::model::{ScriptedModel, ScriptedReply, VendorQuirk};

use crate::support::{ALL, Heard, Speak, ask, hello, model};

async fn one(speak: Speak, answer: ScriptedReply) -> Heard {
    let scripted = ScriptedModel::start().await;
    scripted.queue_replies([answer]);
    ask(&model(&scripted, speak), hello()).await
}

fn two() -> ScriptedReply {
    ScriptedReply::text("Let me see.")
        .and_call("add", json!({ "a": 1, "b": "é" }))
        .and_call("add", json!({ "a": 2 }))
}

const TWO: [(&str, &str); 2] = [("add", "{\"a\":1,\"b\":\"é\"}"), ("add", "{\"a\":2}")];

#[tokio::test]
async fn several_calls_of_one_answer_arrive_with_ids_that_fit_everybody() {
    for speak in ALL {
        let heard = one(speak, two()).await;
        assert_eq!((heard.called(), heard.end().stop), (TWO.to_vec(), ModelStopReason::Calls), "{speak:?}");
        assert_eq!(heard.text, "Let me see.");
        let ids: HashSet<_> = heard.calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids.len(), 2, "{speak:?}");
        for id in ids {
            let rest = id.strip_prefix("call_").unwrap();
            assert!(rest.len() == 24 && rest.bytes().all(|b| b.is_ascii_alphanumeric()), "{speak:?} {id}");
        }
        let begun: Vec<_> =
            heard.begun.iter().map(|(id, name, text)| (id.as_str(), name.as_str(), text.as_str())).collect();
        let whole: Vec<_> = heard
            .calls
            .iter()
            .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.get()))
            .collect();
        assert_eq!(begun, whole, "{speak:?}: the pieces are the call");
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
        let heard = one(Speak::Compatible, answer).await;
        assert_eq!((heard.called(), heard.end().stop), (TWO.to_vec(), ModelStopReason::Calls), "{odd:?}");
    }
}

#[tokio::test]
async fn a_call_without_arguments_has_an_empty_object() {
    for speak in ALL {
        let heard = one(speak, ScriptedReply::new().and_call_in_pieces("now", [])).await;
        assert_eq!(heard.called(), [("now", "{}")], "{speak:?}");
    }
}

#[tokio::test]
async fn the_text_of_arguments_is_kept_to_the_letter_where_the_vendor_gives_text() {
    let text = "{\"a\": 1.50, \"n\":12345678901234567890123}";
    for speak in [Speak::OpenAi, Speak::Compatible, Speak::Anthropic] {
        let answer = ScriptedReply::new()
            .and_call_in_pieces("add", ["{\"a\": 1.", "50, \"n\":", "12345678901234567890123}"]);
        assert_eq!(one(speak, answer).await.called(), [("add", text)], "{speak:?}");
    }
}

#[tokio::test]
async fn a_call_that_was_cut_is_told_and_not_made() {
    for (speak, word) in [(Speak::OpenAi, "length"), (Speak::Anthropic, "max_tokens")] {
        let answer = ScriptedReply::call("now", json!({}))
            .and_call_in_pieces("add", ["{\"a\":"])
            .with_stop_reason(word);
        let heard = one(speak, answer).await;
        assert_eq!(
            (heard.called(), heard.end().stop),
            (vec![("now", "{}")], ModelStopReason::Length),
            "{speak:?}"
        );
        let bad = &heard.bad[0];
        assert_eq!((bad.name.as_deref(), bad.text.as_str()), (Some("add"), "{\"a\":"), "{speak:?}");
        assert_eq!(bad.problem, "the answer was cut in the middle of the arguments", "{speak:?}");
        let heard =
            one(speak, ScriptedReply::new().and_call_in_pieces("now", []).with_stop_reason(word)).await;
        assert_eq!((heard.calls.len(), heard.bad.len()), (0, 1), "{speak:?}");
    }
}

#[tokio::test]
async fn arguments_that_are_no_json_are_told() {
    for speak in [Speak::Compatible, Speak::Anthropic] {
        let heard = one(speak, ScriptedReply::new().and_call_in_pieces("add", ["{\"a\":", "nope}"])).await;
        assert_eq!((heard.calls.len(), heard.end().stop), (0, ModelStopReason::Calls), "{speak:?}");
        assert!(heard.bad[0].problem.starts_with("the arguments are not JSON"), "{speak:?} {:?}", heard.bad);
    }
    let heard = one(Speak::Gemini, ScriptedReply::new().with_stop_reason("MALFORMED_FUNCTION_CALL")).await;
    assert_eq!((heard.bad.len(), heard.end().stop), (1, ModelStopReason::Calls));
}
