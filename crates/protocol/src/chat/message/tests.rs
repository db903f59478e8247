use serde_json::json;

use super::*;

fn parts(message: Value) -> Vec<ChatPart> {
    parse_message(&message, "messages[0]").unwrap().parts
}

fn done(output: Value) -> ChatPart {
    ChatPart::Call(ChatCall {
        id: "c1".to_owned(),
        name: "get_time".to_owned(),
        input: json!({ "tz": "UTC" }),
        state: CallState::Done(output),
        approval: None,
    })
}

#[test]
fn results_of_tools_come_back_in_many_shapes() {
    let newer = |kind: &str| {
        json!({ "role": "assistant", "parts": [{ "type": kind, "toolName": "get_time", "toolCallId": "c1",
            "state": "output-available", "input": { "tz": "UTC" }, "output": { "t": 1 } }] })
    };
    for kind in ["tool-get_time", "dynamic-tool", "tool-invocation"] {
        assert_eq!(parts(newer(kind)), [done(json!({ "t": 1 }))], "{kind}");
    }
    let older = json!({ "state": "result", "step": 0, "toolCallId": "c1", "toolName": "get_time",
        "args": { "tz": "UTC" }, "result": "{\"t\":1}" });
    let nested = json!({ "role": "assistant", "content": "", "parts": [{ "type": "step-start" },
        { "type": "tool-invocation", "toolInvocation": older }], "toolInvocations": [older] });
    assert_eq!(parts(nested), [ChatPart::Step, done(json!("{\"t\":1}"))], "once");
    let flat = json!({ "role": "assistant", "content": "", "toolInvocations": [older] });
    assert_eq!(parts(flat), [done(json!("{\"t\":1}"))]);
    let open = json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "c1", "type": "function",
        "function": { "name": "get_time", "arguments": "{\"tz\":\"UTC\"}" } }] });
    assert!(
        matches!(&parts(open)[..], [ChatPart::Call(call)] if call.state == CallState::Open && call.input["tz"] == "UTC")
    );
    let answer =
        json!({ "role": "tool", "tool_call_id": "c1", "content": [{ "type": "text", "text": "noon" }] });
    assert_eq!(parts(answer), [ChatPart::ToolOutput { id: "c1".to_owned(), output: json!("noon") }]);
}

#[test]
fn calls_and_results_as_messages_of_their_own() {
    let open = ChatPart::Call(ChatCall {
        id: "c1".to_owned(),
        name: "get_time".to_owned(),
        input: json!({ "tz": "UTC" }),
        state: CallState::Open,
        approval: None,
    });
    let streamed = json!({ "toolCallId": "c1", "toolName": "get_time", "args": { "tz": "UTC" } });
    let openai = json!({ "id": "c1", "type": "function",
        "function": { "name": "get_time", "arguments": "{\"tz\":\"UTC\"}" } });
    let flat = json!({ "id": "c1", "name": "get_time", "arguments": "{\"tz\":\"UTC\"}" });
    let newer = json!({ "toolCallId": "c1", "toolName": "get_time", "input": { "tz": "UTC" } });
    for list in ["toolCalls", "tool_calls"] {
        for call in [&streamed, &openai, &flat, &newer] {
            let with_text = json!({ "role": "assistant", "content": "", list: [call] });
            assert_eq!(parts(with_text), std::slice::from_ref(&open), "{list} {call}");
            let alone = json!({ "role": "assistant", list: [call] });
            assert_eq!(parts(alone), std::slice::from_ref(&open));
        }
    }
    let answer = |output: Value| [ChatPart::ToolOutput { id: "c1".to_owned(), output }];
    for id in ["toolCallId", "tool_call_id"] {
        let message = json!({ "role": "tool", "content": "{\"t\":1}", id: "c1" });
        assert_eq!(parts(message), answer(json!("{\"t\":1}")));
        assert_eq!(parts(json!({ "role": "tool", id: "c1" })), answer(json!("")));
    }
    let part = |more: Value| {
        let mut part = json!({ "toolCallId": "c1", "toolName": "get_time" });
        part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        part
    };
    let call = part(json!({ "type": "tool-call", "input": { "tz": "UTC" } }));
    assert_eq!(parts(json!({ "role": "assistant", "content": [call] })), [open]);
    for (more, output) in [
        (json!({ "output": { "type": "json", "value": { "t": 1 } } }), json!({ "t": 1 })),
        (json!({ "output": { "type": "error-text", "value": "no" } }), json!("no")),
        (json!({ "output": { "type": "execution-denied", "reason": "why" } }), json!("why")),
        (json!({ "result": { "t": 1 } }), json!({ "t": 1 })),
    ] {
        let mut result = part(more);
        result["type"] = json!("tool-result");
        assert_eq!(parts(json!({ "role": "tool", "content": [result] })), answer(output));
    }
}

#[test]
fn failures_denials_and_open_calls_are_distinguished() {
    let state = |more: Value| {
        let mut part = json!({ "type": "tool-x", "toolCallId": "c" });
        part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        match parts(json!({ "role": "assistant", "parts": [part] })).remove(0) {
            ChatPart::Call(call) => call.state,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        state(json!({ "state": "output-error", "errorText": "no" })),
        CallState::Failed("no".to_owned())
    );
    assert_eq!(state(json!({ "state": "output-denied" })), CallState::Denied(None));
    let said_no = json!({ "state": "approval-responded", "approval": { "id": "a", "approved": false, "reason": "why" } });
    assert_eq!(state(said_no), CallState::Denied(Some("why".to_owned())));
    for open in ["input-streaming", "input-available", "approval-requested"] {
        assert_eq!(state(json!({ "state": open })), CallState::Open);
    }
    assert_eq!(
        state(json!({ "state": "output-available", "preliminary": true, "output": 1 })),
        CallState::Open
    );
}

#[test]
fn words_and_files_are_read_and_the_rest_is_left_out() {
    let message = json!({ "role": "user", "id": "m", "parts": [{ "type": "text", "text": "hi" }, { "type": "reasoning", "text": "x" },
        { "type": "data-x", "data": 1 }, { "type": "file", "mediaType": "image/png", "url": "https://e/x.png" },
        { "type": "file", "mimeType": "image/png", "data": "AAAA" }] });
    assert_eq!(
        parts(message),
        [
            ChatPart::Text("hi".to_owned()),
            ChatPart::File { media_type: "image/png".to_owned(), url: "https://e/x.png".to_owned() },
            ChatPart::File {
                media_type: "image/png".to_owned(),
                url: "data:image/png;base64,AAAA".to_owned()
            },
        ]
    );
    let attached = json!({ "role": "user", "content": "look", "experimental_attachments": [{ "contentType": "image/png",
        "name": "n", "url": "data:image/png;base64,AA" }] });
    assert_eq!(parts(attached).len(), 2);
    let openai = |part: Value| parts(json!({ "role": "user", "content": [part] }));
    let file = |media_type: &str, url: &str| {
        [ChatPart::File { media_type: media_type.to_owned(), url: url.to_owned() }]
    };
    for (part, expected) in [
        (
            json!({ "type": "image_url", "image_url": { "url": "https://e/x" } }),
            file("image/*", "https://e/x"),
        ),
        (json!({ "type": "input_image", "image_url": "https://e/x" }), file("image/*", "https://e/x")),
        (
            json!({ "type": "input_audio", "input_audio": { "data": "AA", "format": "mp3" } }),
            file("audio/mp3", "data:audio/mp3;base64,AA"),
        ),
        (
            json!({ "type": "file", "file": { "file_data": "data:text/plain;base64,AA", "filename": "a" } }),
            file("", "data:text/plain;base64,AA"),
        ),
        (
            json!({ "type": "input_file", "file_data": "AA" }),
            file("application/pdf", "data:application/pdf;base64,AA"),
        ),
        (json!({ "type": "input_file", "file_url": "https://e/x" }), file("", "https://e/x")),
    ] {
        assert_eq!(openai(part.clone()), expected, "{part}");
    }
    assert_eq!(openai(json!({ "type": "refusal", "refusal": "No." })), [ChatPart::Text("No.".to_owned())]);
}

#[test]
fn what_cannot_be_read_is_named() {
    for (message, why) in [
        (json!({ "role": "user" }), "messages[0]: expected `content`"),
        (json!({ "role": "user", "content": 5 }), "messages[0]: expected `content`"),
        (json!({ "role": "user", "parts": [5] }), "messages[0].parts[0]: expected an object"),
        (json!({ "role": "user", "parts": [{}] }), "messages[0].parts[0].type: expected a text"),
        (
            json!({ "role": "assistant", "parts": [{ "type": "tool-x" }] }),
            "parts[0].toolCallId: expected a text",
        ),
        (
            json!({ "role": "assistant", "parts": [{ "type": "dynamic-tool", "toolCallId": "c" }] }),
            "parts[0].toolName",
        ),
        (json!({ "role": "tool", "content": "x" }), "messages[0].tool_call_id: missing"),
        (
            json!({ "role": "user", "content": [{ "type": "input_image", "file_id": "f" }] }),
            "content[0]: input_image: expected a URL",
        ),
        (json!({ "role": "assistant", "tool_calls": [{}] }), "tool_calls[0]: expected `id`"),
        (
            json!({ "role": "user", "parts": vec![json!({ "type": "text" }); MAX_PARTS + 1] }),
            "2001 parts; at most 2000",
        ),
    ] {
        let error = parse_message(&message, "messages[0]").unwrap_err().to_string();
        assert!(error.contains(why), "{why}: {error}");
    }
}

#[test]
fn the_approval_of_an_open_call_is_read_and_only_a_boolean_is_an_answer() {
    let read = |state: &str, approval: Value| {
        let part =
            json!({ "type": "tool-t", "toolCallId": "c", "input": {}, "state": state, "approval": approval });
        match parts(json!({ "role": "assistant", "parts": [part] })).remove(0) {
            ChatPart::Call(call) => call.approval,
            part => panic!("{part:?}"),
        }
    };
    let approval = |approved: Option<bool>, reason: Option<&str>| {
        Some(CallApproval { id: "a".to_owned(), approved, reason: reason.map(str::to_owned) })
    };
    assert_eq!(read("approval-requested", json!({ "id": "a", "approved": true })), approval(None, None));
    for (approved, answer) in [
        (json!(true), Some(true)),
        (json!(false), Some(false)),
        (json!("true"), None),
        (json!(1), None),
        (json!(null), None),
    ] {
        let reported = json!({ "id": "a", "approved": approved, "reason": "why" });
        assert_eq!(read("approval-responded", reported), approval(answer, Some("why")), "{approved}");
    }
    assert_eq!(read("approval-responded", json!({ "approved": true })), None, "without an id");
    assert_eq!(read("output-available", json!({ "id": "a", "approved": true })), None, "it has its result");
}
