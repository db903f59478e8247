//! Prompts, resources and completion, forwarded to the upstream that has them.

use serde_json::{Value, json};
use toolyard_testkit::upstream::{InjectedFault, OfferListKind, RequestMatch, UpstreamEra};

use super::world::{add, full, plain};
use crate::{mcp::client::LEGACY, platform::Platform};

const ERAS: [UpstreamEra; 2] = [UpstreamEra::Modern, UpstreamEra::Legacy];

#[tokio::test]
async fn a_prompt_is_filled_by_its_upstream() {
    for era in ERAS {
        let p = Platform::start().await;
        let upstream = full(era).await;
        add(&p, "up", &upstream.url()).await;
        let params = json!({ "name": "mcp_up__test_prompt_with_arguments", "arguments": { "arg1": "a", "arg2": "b" } });
        let session = p.user("ada").handshake(LEGACY).await;
        let modern = p.user("ada").modern("prompts/get", params.clone()).await.result();
        let legacy = session.ask("prompts/get", params).await.result();
        for got in [&modern, &legacy] {
            let said = &got["messages"][0]["content"]["text"];
            assert_eq!(said, "Prompt with arguments: arg1='a', arg2='b'", "{era:?}");
            assert_eq!(got["description"], "A prompt with two arguments.");
        }
        assert_eq!((&modern["resultType"], &legacy["resultType"]), (&json!("complete"), &Value::Null));
        let seen = &upstream.messages("prompts/get")[0].params;
        assert_eq!(seen["name"], "test_prompt_with_arguments");
        assert_eq!(seen["arguments"], json!({ "arg1": "a", "arg2": "b" }));
        let missing =
            p.user("ada").modern("prompts/get", json!({ "name": "mcp.up:test_prompt_with_arguments" })).await;
        assert!(missing.json()["error"]["message"].as_str().unwrap().contains("arg1"), "{}", missing.text);
    }
}

#[tokio::test]
async fn a_resource_is_read_in_text_and_bytes_and_by_template() {
    for era in ERAS {
        let p = Platform::start().await;
        let upstream = full(era).await;
        add(&p, "up", &upstream.url()).await;
        let read =
            async |uri: &str| p.user("ada").modern("resources/read", json!({ "uri": uri })).await.result();
        let text = read("test://mcp.up/static-text").await;
        assert_eq!(text["contents"][0]["text"], "This is the content of the static text resource.");
        assert_eq!((&text["cacheScope"], &text["resultType"]), (&json!("private"), &json!("complete")));
        assert!(text["ttlMs"].is_number());
        let bytes = read("test://mcp.up/static-binary").await;
        assert!(bytes["contents"][0]["blob"].as_str().unwrap().starts_with("iVBOR"), "{era:?}");
        let made = read("test://mcp.up/template/42/data").await;
        assert_eq!(made["contents"][0]["uri"], "test://mcp.up/template/42/data");
        assert!(made["contents"][0]["text"].as_str().unwrap().contains("Data for ID: 42"));
    }
}

#[tokio::test]
async fn missing_items_are_reported_in_the_format_of_the_callers_era() {
    for era in ERAS {
        let p = Platform::start().await;
        let upstream = full(era).await;
        add(&p, "up", &upstream.url()).await;
        let session = p.user("ada").handshake(LEGACY).await;
        let uri = "test://mcp.up/missing";
        let modern = p.user("ada").modern("resources/read", json!({ "uri": uri })).await;
        assert_eq!(modern.refusal(), (200, -32602), "{era:?}: {}", modern.text);
        let legacy = session.ask("resources/read", json!({ "uri": uri })).await;
        assert_eq!(legacy.refusal(), (200, -32002), "{era:?}: {}", legacy.text);
        for answer in [modern, legacy] {
            assert_eq!(answer.json()["error"]["data"]["uri"], uri);
        }
        assert_eq!(upstream.messages("resources/read").len(), 2, "it was asked: not everything is listed");
    }
}

#[tokio::test]
async fn a_failure_is_not_the_same_as_missing() {
    let p = Platform::start().await;
    let upstream = full(UpstreamEra::Modern).await;
    add(&p, "up", &upstream.url()).await;
    let uri = json!({ "uri": "test://mcp.up/static-text" });
    for (fault, code) in [
        (InjectedFault::error(-32603, "the disk is gone"), "EXECUTION_ERROR"),
        (InjectedFault::status(500), "HTTP_ERROR"),
        (InjectedFault::not_json(), "INVALID_RESPONSE"),
    ] {
        upstream.inject_fault(RequestMatch::for_method("resources/read").times(1), fault);
        let answer = p.user("ada").modern("resources/read", uri.clone()).await;
        assert_eq!(answer.refusal(), (200, -32603), "{}", answer.text);
        assert_eq!(answer.json()["error"]["data"]["code"], code);
        p.user("ada").modern("resources/read", uri.clone()).await.result();
    }
}

#[tokio::test]
async fn completion_is_forwarded_to_the_upstream_of_the_item() {
    for era in ERAS {
        let p = Platform::start().await;
        let (upstream, silent) = (full(era).await, plain(era).await);
        silent.set_list(
            toolyard_testkit::upstream::OfferListKind::Resources,
            vec![json!({ "uri": "a:b", "name": "r" })],
        );
        add(&p, "up", &upstream.url()).await;
        add(&p, "silent", &silent.url()).await;
        let complete = async |reference: Value| {
            let params = json!({ "ref": reference, "argument": { "name": "arg1", "value": "par" } });
            p.user("ada").modern("completion/complete", params).await
        };
        for (reference, own) in [
            (
                json!({ "type": "ref/prompt", "name": "mcp_up__test_prompt_with_arguments" }),
                json!({ "type": "ref/prompt", "name": "test_prompt_with_arguments" }),
            ),
            (
                json!({ "type": "ref/resource", "uri": "test://mcp.up/template/{id}/data" }),
                json!({ "type": "ref/resource", "uri": "test://template/{id}/data" }),
            ),
        ] {
            let got = complete(reference).await.result();
            assert_eq!(got["completion"]["values"], json!(["paris", "park", "party"]), "{era:?}");
            assert_eq!(upstream.messages("completion/complete").last().unwrap().params["ref"], own);
        }
        let none = complete(json!({ "type": "ref/resource", "uri": "a:mcp.silent/b" })).await.result();
        assert_eq!(none["completion"]["values"], json!([]), "{era:?}");
        assert!(silent.messages("completion/complete").is_empty());
        let wrong = complete(json!({ "type": "ref/prompt", "name": "mcp.up:none" })).await;
        assert_eq!(wrong.refusal(), (200, -32602));
    }
}

#[tokio::test]
async fn a_uri_that_a_client_made_from_the_upstreams_own_template_is_read() {
    for era in ERAS {
        let p = Platform::start().await;
        let (upstream, other) = (full(era).await, plain(era).await);
        add(&p, "up", &upstream.url()).await;
        let session = p.user("ada").handshake(LEGACY).await;
        let params = json!({ "uri": "test://template/42/data" });
        for read in [
            p.user("ada").modern("resources/read", params.clone()).await.result(),
            session.ask("resources/read", params.clone()).await.result(),
        ] {
            assert_eq!(read["contents"][0]["uri"], "test://template/42/data", "{era:?}: {read}");
        }
        assert_eq!(upstream.messages("resources/read")[0].params["uri"], "test://template/42/data");
        for unknown in ["test://template/42/data/more", "test://template//data", "other://template/42/data"] {
            let refused = p.user("ada").modern("resources/read", json!({ "uri": unknown })).await;
            assert_eq!(refused.refusal(), (200, -32602), "{unknown}");
        }
        // Ambiguous between two upstreams: neither is asked.
        other.set_list(
            OfferListKind::Templates,
            vec![json!({ "name": "t", "uriTemplate": "test://{+anything}" })],
        );
        add(&p, "other", &other.url()).await;
        let refused = p.user("ada").modern("resources/read", params).await;
        assert_eq!(refused.refusal(), (200, -32602), "{}", refused.text);
        assert!(other.messages("resources/read").is_empty());
    }
}
