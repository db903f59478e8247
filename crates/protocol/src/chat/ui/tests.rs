use serde_json::json;

use super::*;
use crate::chat::FinishReason;

fn read(json: &Value) -> Result<UiChunk, String> {
    UiChunk::parse(json.to_string().as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn chunks_have_the_keys_that_every_client_knows() {
    let call = UiChunk::ToolInputAvailable {
        tool_call_id: "c".to_owned(),
        tool_name: "t".to_owned(),
        input: to_raw(&json!({ "a": 1 })),
        provider_executed: None,
    };
    assert_eq!(
        call.to_event(),
        "data: {\"type\":\"tool-input-available\",\"toolCallId\":\"c\",\"toolName\":\"t\",\"input\":{\"a\":1}}\n\n"
    );
    assert_eq!(UiChunk::StartStep.to_event(), "data: {\"type\":\"start-step\"}\n\n");
    assert_eq!(
        UiChunk::Finish { finish_reason: Some(FinishReason::ToolCalls), message_metadata: None }.to_event(),
        "data: {\"type\":\"finish\",\"finishReason\":\"tool-calls\"}\n\n"
    );
    let progress = ProgressData { tool_call_id: "c".to_owned(), progress: 0.5, total: None, message: None };
    assert_eq!(
        UiChunk::DataProgress { transient: true, data: progress }.to_event(),
        "data: {\"type\":\"data-progress\",\"transient\":true,\"data\":{\"toolCallId\":\"c\",\"progress\":0.5}}\n\n"
    );
    let sign_in = SignInData {
        tool_call_id: "c".to_owned(),
        package_name: "mcp.github".parse().unwrap(),
        name: "GitHub".to_owned(),
        url: "https://t.example/s".to_owned(),
    };
    assert_eq!(
        UiChunk::DataSignIn { id: "c".to_owned(), transient: true, data: sign_in }.to_event(),
        "data: {\"type\":\"data-sign-in\",\"id\":\"c\",\"transient\":true,\"data\":{\"toolCallId\":\"c\",\
         \"packageName\":\"mcp.github\",\"name\":\"GitHub\",\"url\":\"https://t.example/s\"}}\n\n"
    );
    let request = UiChunk::ToolApprovalRequest {
        approval_id: "a".to_owned(),
        tool_call_id: "c".to_owned(),
        reason: None,
        is_automatic: None,
        signature: None,
        approval_descriptor: None,
        input_schema_input: None,
    };
    assert_eq!(
        request.to_event(),
        "data: {\"type\":\"tool-approval-request\",\"approvalId\":\"a\",\"toolCallId\":\"c\"}\n\n"
    );
}

#[test]
fn every_chunk_of_the_ai_sdk_is_read_and_written_unchanged() {
    for json in [
        r#"{"type":"start","messageId":"m","messageMetadata":{"a":1}}"#,
        r#"{"type":"start"}"#,
        r#"{"type":"start-step"}"#,
        r#"{"type":"finish-step"}"#,
        r#"{"type":"text-start","id":"t"}"#,
        r#"{"type":"text-delta","id":"t","delta":""}"#,
        r#"{"type":"text-end","id":"t"}"#,
        r#"{"type":"reasoning-start","id":"r"}"#,
        r#"{"type":"reasoning-delta","id":"r","delta":"x\ny"}"#,
        r#"{"type":"reasoning-end","id":"r"}"#,
        r#"{"type":"tool-input-start","toolCallId":"c","toolName":"t","providerExecuted":true}"#,
        r#"{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"{\"a\""}"#,
        r#"{"type":"tool-input-available","toolCallId":"c","toolName":"t","input":{"b":1.50, "a":12345678901234567890123}}"#,
        r#"{"type":"tool-input-error","toolCallId":"c","toolName":"t","input":"{","errorText":"no JSON"}"#,
        r#"{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}"#,
        r#"{"type":"tool-approval-request","approvalId":"a","toolCallId":"c","reason":"deletes files","isAutomatic":false,"signature":"s","approvalDescriptor":{"d":1},"inputSchemaInput":[1]}"#,
        r#"{"type":"tool-approval-response","approvalId":"a","approved":false,"reason":"no","providerExecuted":true}"#,
        r#"{"type":"tool-output-available","toolCallId":"c","output":null,"providerExecuted":true,"preliminary":true}"#,
        r#"{"type":"tool-output-error","toolCallId":"c","errorText":"failed","providerExecuted":true}"#,
        r#"{"type":"tool-output-denied","toolCallId":"c"}"#,
        r#"{"type":"source-url","sourceId":"s","url":"https://example.com","title":"Example"}"#,
        r#"{"type":"source-document","sourceId":"s","mediaType":"application/pdf","title":"Example","filename":"a.pdf"}"#,
        r#"{"type":"file","url":"data:image/png;base64,AA","mediaType":"image/png"}"#,
        r#"{"type":"data-tool","id":"c","data":{"toolCallId":"c","name":"com.ex:t"}}"#,
        r#"{"type":"data-approval","id":"a","data":{"toolCallId":"c","name":"com.ex:t","summary":{"title":"Ex: t","app":"Ex","lines":[{"label":"id","value":"1"}]},"risk":"medium","url":"https://yard.example/a","expiresAt":"2026-01-01T00:00:00.000Z"}}"#,
        r#"{"type":"data-progress","transient":true,"data":{"toolCallId":"c","progress":0.5}}"#,
        r#"{"type":"data-notice","data":{"code":"steps","message":"Too many steps."}}"#,
        r#"{"type":"data-weather","id":"w","transient":false,"data":{"t":1.50}}"#,
        r#"{"type":"message-metadata","messageMetadata":{"a":1}}"#,
        r#"{"type":"error","errorText":"no"}"#,
        r#"{"type":"abort","reason":"shutdown"}"#,
        r#"{"type":"abort"}"#,
        r#"{"type":"finish","finishReason":"content-filter","messageMetadata":{"usage":{}}}"#,
        r#"{"type":"finish","finishReason":"interrupted"}"#,
        r#"{"type":"finish"}"#,
    ] {
        let chunk = UiChunk::parse(json.as_bytes()).unwrap();
        assert!(!matches!(chunk, UiChunk::Other(_)), "{json}");
        assert!(json.contains(&format!("\"type\":\"{}\"", chunk.kind())), "{json} {}", chunk.kind());
        assert_eq!(chunk.to_event(), format!("data: {json}\n\n"));
    }
}

#[test]
fn unknown_fields_are_ignored() {
    let chunk = read(&json!({ "type": "text-end", "id": "t", "citations": [], "providerMetadata": {} }));
    assert_eq!(chunk, Ok(UiChunk::TextEnd { id: "t".to_owned() }));
    let chunk = read(&json!({ "type": "tool-output-denied", "toolCallId": "c", "id": 5, "output": [] }));
    assert_eq!(chunk, Ok(UiChunk::ToolOutputDenied { tool_call_id: "c".to_owned() }));
}

#[test]
fn an_optional_field_of_another_type_is_ignored() {
    let chunk = read(
        &json!({ "type": "tool-input-start", "toolCallId": "c", "toolName": "t", "providerExecuted": "yes" }),
    );
    assert_eq!(
        chunk,
        Ok(UiChunk::ToolInputStart {
            tool_call_id: "c".to_owned(),
            tool_name: "t".to_owned(),
            provider_executed: None
        })
    );
}

#[test]
fn a_chunk_of_an_unknown_type_stays_unchanged_on_one_line() {
    for (json, line) in [
        (
            "{\"type\":\"steering-message\", \"id\":\"1\",\n  \"parts\":[ 1.50 ]}",
            r#"{"type":"steering-message","id":"1","parts":[ 1.50 ]}"#,
        ),
        ("{\"parts\":[\n1.50\r\n],\"type\":\"later\"}", r#"{"parts":[1.50],"type":"later"}"#),
    ] {
        let chunk = UiChunk::parse(json.as_bytes()).unwrap();
        assert!(matches!(&chunk, UiChunk::Other(other) if json.contains(other.kind())), "{chunk:?}");
        assert_eq!(chunk.to_event(), format!("data: {line}\n\n"));
    }
}

#[test]
fn data_of_another_shape_belongs_to_another_vendor() {
    for kind in ["data-tool", "data-progress", "data-notice", "data-new"] {
        let json = format!(r#"{{"type":"{kind}","data":"of another vendor"}}"#);
        let chunk = UiChunk::parse(json.as_bytes()).unwrap();
        assert!(matches!(&chunk, UiChunk::Data(data) if data.kind == kind), "{chunk:?}");
        assert_eq!(chunk.to_event(), format!("data: {json}\n\n"));
    }
}

#[test]
fn older_names_of_calls_and_results_are_read() {
    let call = UiChunk::ToolInputAvailable {
        tool_call_id: "c".to_owned(),
        tool_name: "t".to_owned(),
        input: to_raw(&json!({ "a": 1 })),
        provider_executed: None,
    };
    for chunk in [
        json!({ "type": "tool-input-available", "toolCallId": "c", "toolName": "t", "input": { "a": 1 } }),
        json!({ "type": "tool-call", "toolCallId": "c", "toolName": "t", "args": { "a": 1 } }),
        json!({ "type": "tool-call", "id": "c", "name": "t", "arguments": { "a": 1 } }),
        json!({ "type": "tool-call", "id": "other", "toolCallId": "c", "name": "other", "toolName": "t",
            "input": { "a": 1 }, "args": 5 }),
    ] {
        assert_eq!(read(&chunk).as_ref(), Ok(&call), "{chunk}");
    }
    let output = UiChunk::ToolOutputAvailable {
        tool_call_id: "c".to_owned(),
        output: to_raw(&1),
        provider_executed: None,
        preliminary: None,
    };
    assert_eq!(read(&json!({ "type": "tool-result", "toolCallId": "c", "result": 1 })), Ok(output));
    for word in ["tool-calls", "tool_calls"] {
        let finish = UiChunk::Finish { finish_reason: Some(FinishReason::ToolCalls), message_metadata: None };
        assert_eq!(read(&json!({ "type": "finish", "finishReason": word })), Ok(finish));
    }
}

#[test]
fn an_error_names_the_missing_field_of_a_chunk() {
    for (chunk, why) in [
        (
            json!({ "type": "text-delta", "id": "t" }),
            "a chunk `text-delta` cannot be read: `delta` is missing or not a string",
        ),
        (json!({ "type": "text-start", "id": 5 }), "`id` is missing"),
        (json!({ "type": "tool-input-available", "toolName": "t" }), "`toolCallId` is missing"),
        (
            json!({ "type": "tool-input-available", "toolCallId": "", "toolName": "t" }),
            "`toolCallId` is missing",
        ),
        (json!({ "type": "tool-input-start", "toolCallId": "c" }), "`toolName` is missing"),
        (json!({ "type": "tool-input-delta", "toolCallId": "c" }), "`inputTextDelta` is missing"),
        (json!({ "type": "tool-output-error", "toolCallId": "c" }), "`errorText` is missing"),
        (json!({ "type": "tool-approval-request", "toolCallId": "c" }), "`approvalId` is missing"),
        (json!({ "type": "tool-approval-request", "approvalId": "a", "id": "c" }), "`toolCallId` is missing"),
        (
            json!({ "type": "tool-approval-response", "approvalId": "a", "approved": "true" }),
            "`approved` is missing or not a boolean",
        ),
        (json!({ "type": "source-url", "sourceId": "s" }), "`url` is missing"),
        (json!({ "type": "message-metadata" }), "`messageMetadata` is missing"),
        (json!({ "type": 5 }), "`type` is missing"),
        (json!([]), "not a JSON object"),
    ] {
        let error = read(&chunk).unwrap_err();
        assert!(error.contains(why), "{why}: {error}");
    }
    assert_eq!(UiChunk::parse(b"{\"type\":"), Err(UiChunkError::NotAnObject));
}

#[test]
fn an_error_chunk_always_has_a_text() {
    for name in ["errorText", "message", "detail", "error"] {
        let error = UiChunk::Error { error_text: "no".to_owned() };
        assert_eq!(read(&json!({ "type": "error", name: "no" })), Ok(error));
    }
    let Ok(UiChunk::Error { error_text }) = read(&json!({ "type": "error" })) else { panic!() };
    assert!(!error_text.is_empty());
}

#[test]
fn a_text_that_repeats_the_structured_content_is_left_out() {
    let structured = to_raw(&json!({ "n": 1 }));
    let output = |text: Option<&str>| client_output(text, Some(&structured), &[]).get().to_owned();
    assert_eq!(output(Some("{ \"n\" : 1 }")), r#"{"n":1}"#);
    assert_eq!(output(Some("One of them.")), r#""One of them.""#);
    assert_eq!(output(None), r#"{"n":1}"#);
    assert_eq!(client_output(None, None, &[&structured]).get(), r#"[{"n":1}]"#);
}
