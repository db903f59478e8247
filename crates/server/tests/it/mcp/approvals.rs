//! Calls that the user has to approve: clients open the page of the platform, and all others get a link.

use serde_json::{Value, json};

use super::client::{Ask, Events, LEGACY, Session, hello, soon};
use crate::{
    approvals::{DELETE, answer, runs, start},
    platform::{Answer, Person},
};

/// A client that can open a page.
pub(crate) fn opens_pages() -> Value {
    json!({ "elicitation": { "url": {} } })
}

/// A session of this person with these capabilities.
pub(crate) async fn session_of<'a>(person: &Person<'a>, revision: &str, capabilities: Value) -> Session<'a> {
    let mut params = hello(revision);
    params["capabilities"] = capabilities;
    let answer = person.ask(Ask::legacy("initialize", params)).await.expect(200);
    let id = answer.header("mcp-session-id").to_owned();
    Session { person: person.clone().header("mcp-session-id", &id), id, result: answer.result() }
}

/// The params of a call that deletes a note.
pub(crate) fn deletion(id: &str) -> Value {
    json!({ "name": DELETE, "arguments": { "id": id } })
}

/// A modern request that deletes a note, of a client with these capabilities.
pub(crate) fn modern_deletion(id: &str, capabilities: Value) -> Ask {
    Ask::call(DELETE, json!({ "id": id }))
        .meta(toolyard_protocol::mcp::meta::CLIENT_CAPABILITIES, capabilities)
}

/// Starts a call in a session, and reads the question that follows.
pub(crate) async fn question_of(session: &Session<'_>, params: Value) -> (Events, Value) {
    let mut events = session.person.stream(Ask::legacy("tools/call", params).id("call")).await;
    let question = events.message().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    (events, question)
}

/// Sends the client's response to a question.
pub(crate) async fn respond(session: &Session<'_>, question: &Value, result: Value) {
    let response = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
    soon(session.person.post("/mcp", &response)).await.expect(202);
}

/// The text of a result.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

/// The approvals that wait.
pub(crate) async fn pending(person: &Person<'_>) -> Vec<String> {
    let list = person.get("/api/approvals?state=pending").await.expect(200).json();
    list["approvals"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

/// The result is an error with the link of an approval that waits. Returns its id.
pub(crate) async fn is_link(person: &Person<'_>, result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    let (_, link) = text(result).split_once("/console/approvals/").unwrap_or_else(|| panic!("{result}"));
    let id = link.split(' ').next().unwrap().to_owned();
    assert!(pending(person).await.contains(&id), "{result}");
    id
}

/// The sealed state of a result that asks for input.
fn state_of(result: &Value) -> String {
    assert_eq!(result["resultType"], "input_required", "{result}");
    result["requestState"].as_str().unwrap().to_owned()
}

/// The request again, with the state and the client's action.
pub(crate) fn retry(mut ask: Ask, result: &Value, response: Option<Value>) -> Ask {
    ask.params["requestState"] = state_of(result).into();
    if let Some(response) = response {
        ask.params["inputResponses"] = json!({ "approval": response });
    }
    ask.id("retry")
}

#[tokio::test]
async fn a_session_opens_the_page_and_gets_the_result_of_the_same_call() {
    let (p, app, _device) = start(|_| {}).await;
    let ada = p.user("ada");
    let session = session_of(&ada, LEGACY, opens_pages()).await;
    for client_responds in [true, false] {
        let (mut events, question) = question_of(&session, deletion("milk")).await;
        let id = pending(&ada).await.remove(0);
        let message = question["params"]["message"].as_str().unwrap();
        assert!(message.starts_with("Allow this call? Notes: Delete a note. "), "{message}");
        assert!(message.contains("Note (id): milk") && message.contains("forever: false"), "{message}");
        let url = format!("{}/console/approvals/{id}", p.state.base_url());
        let params = json!({ "mode": "url", "message": message, "url": url, "elicitationId": id });
        assert_eq!(question["params"], params);
        let shown = ada.get(&format!("/api/approvals/{id}")).await.json();
        assert_eq!(
            (&shown["requester"]["door"], &shown["requester"]["client"]),
            (&json!("mcp"), &json!("t"))
        );
        if client_responds {
            // An open page is no answer, and neither is what the client adds.
            respond(&session, &question, json!({ "action": "accept", "content": { "answer": "yes" } })).await;
            assert!(pending(&ada).await.contains(&id));
        }
        answer(&ada, &id, "approve").await.expect(200);
        let mut messages = events.rest().await;
        assert_eq!(text(&messages.pop().unwrap()["result"]), "deleted");
        let complete = messages.remove(0);
        assert_eq!(complete["method"], "notifications/elicitation/complete");
        assert_eq!(complete["params"], json!({ "elicitationId": id }));
        let cancelled: Vec<_> = messages.iter().map(|message| &message["params"]["requestId"]).collect();
        assert_eq!(cancelled, if client_responds { vec![] } else { vec![&question["id"]] });
    }
    assert_eq!(runs(&app), 2);
}

#[tokio::test]
async fn a_no_on_the_page_reaches_the_waiting_call() {
    let (p, app, _device) = start(|_| {}).await;
    let ada = p.user("ada");
    let session = session_of(&ada, LEGACY, opens_pages()).await;
    let (mut events, _question) = question_of(&session, deletion("milk")).await;
    let id = pending(&ada).await.remove(0);
    answer(&ada, &id, "deny").await.expect(200);
    let result = events.rest().await.pop().unwrap()["result"].clone();
    assert_eq!(
        (&result["isError"], &result["_meta"]["toolyard/error"]["code"]),
        (&json!(true), &json!("DENIED"))
    );
    assert_eq!(runs(&app), 0);
}

#[tokio::test]
async fn what_a_client_declines_stays_open_for_the_user() {
    let (p, app, _device) = start(|_| {}).await;
    let ada = p.user("ada");
    let session = session_of(&ada, LEGACY, opens_pages()).await;
    let mut ids = Vec::new();
    for result in [json!({ "action": "decline" }), json!({ "action": "cancel" }), json!({ "what": 1 })] {
        let (mut events, question) = question_of(&session, deletion("milk")).await;
        respond(&session, &question, result).await;
        ids.push(is_link(&ada, &events.message().await["result"]).await);
        assert_eq!(events.next().await, None);
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "the same call waits for the same approval");
    answer(&ada, &ids[0], "approve").await.expect(200);
    ada.get(&format!("/api/approvals/{}/outcome?wait=30", ids[0])).await.expect(200);
    assert_eq!(runs(&app), 1);
}

#[tokio::test]
async fn clients_that_cannot_open_a_page_get_a_text_with_the_link() {
    let (p, app, _device) = start(|_| {}).await;
    let ada = p.user("ada");
    for (revision, capabilities) in [
        (LEGACY, json!({})),
        (LEGACY, json!({ "elicitation": {} })),
        (LEGACY, json!({ "elicitation": { "form": {} } })),
        (LEGACY, json!({ "elicitation": true })),
        ("2025-06-18", opens_pages()),
    ] {
        let session = session_of(&ada, revision, capabilities.clone()).await;
        is_link(&ada, &session.ask("tools/call", deletion("milk")).await.result()).await;
        if revision == LEGACY {
            is_link(&ada, &ada.ask(modern_deletion("milk", capabilities)).await.result()).await;
        }
    }
    // The result of a call with a key belongs to the key.
    let keyed = modern_deletion("milk", opens_pages()).meta("toolyard/idempotencyKey", json!("k"));
    let id = is_link(&ada, &ada.ask(keyed.clone()).await.result()).await;
    answer(&ada, &id, "approve").await.expect(200);
    app.wait_requests("/tool", 1).await;
    soon(async { while ada.ask(keyed.clone()).await.result()["isError"] == true {} }).await;
    assert_eq!(text(&ada.ask(keyed).await.result()), "deleted");
    assert_eq!(runs(&app), 1);
}

#[tokio::test]
async fn a_modern_client_opens_the_page_and_comes_back_for_the_result() {
    let (p, app, _device) = start(|_| {}).await;
    let ada = p.user("ada");
    let ask = || modern_deletion("milk", opens_pages());
    let result = ada.ask(ask()).await.result();
    let id = pending(&ada).await.remove(0);
    let question = &result["inputRequests"]["approval"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["url"], format!("{}/console/approvals/{id}", p.state.base_url()));
    assert!(question["params"].get("elicitationId").is_none() && !state_of(&result).contains(&id));

    // A missing answer is asked for again.
    let again = ada.ask(retry(ask(), &result, None)).await.result();
    assert_eq!(again["inputRequests"], result["inputRequests"]);
    let declined = ada.ask(retry(ask(), &result, Some(json!({ "action": "decline" })))).await.result();
    assert_eq!(is_link(&ada, &declined).await, id);

    let opened = retry(ask(), &result, Some(json!({ "action": "accept", "content": { "answer": "yes" } })));
    let (done, answered) = tokio::join!(ada.ask(opened.clone()), answer(&ada, &id, "approve"));
    answered.expect(200);
    assert_eq!((text(&done.result()), &done.result()["resultType"]), ("deleted", &json!("complete")));
    // The same state again leads to the same result, and nothing runs again.
    assert_eq!(text(&ada.ask(opened).await.result()), "deleted");
    assert_eq!(runs(&app), 1);
    state_of(&ada.ask(ask()).await.result());
    assert_eq!(pending(&ada).await.len(), 1, "one approval covers one call");
}

#[tokio::test]
async fn waiting_for_an_answer_is_limited_in_time() {
    let (p, app, _device) = start(|config| config.approvals.mcp_wait_s = 1).await;
    let ada = p.user("ada");
    let session = session_of(&ada, LEGACY, opens_pages()).await;
    let (mut events, question) = question_of(&session, deletion("milk")).await;
    let messages = events.rest().await;
    assert_eq!(messages[0]["params"]["requestId"], question["id"], "the question is withdrawn");
    is_link(&ada, &messages[1]["result"]).await;
    assert_eq!(messages.len(), 2);

    let ask = || modern_deletion("milk", opens_pages());
    let first = ada.ask(ask()).await.result();
    let waits = ada.ask(retry(ask(), &first, Some(json!({ "action": "accept" })))).await.result();
    assert!(waits.get("inputRequests").is_none(), "the user is not asked to open the page twice: {waits}");
    let page = first["inputRequests"]["approval"]["params"]["url"].as_str().unwrap();
    answer(&ada, page.rsplit('/').next().unwrap(), "approve").await.expect(200);
    let done = soon(async {
        let mut next = waits;
        while next["resultType"] == "input_required" {
            next = ada.ask(retry(ask(), &next, None)).await.result();
        }
        next
    })
    .await;
    assert_eq!((text(&done), runs(&app)), ("deleted", 1));

    let p = p.restart_with(|config| config.approvals.mcp_wait_s = 0).await;
    let _device = p.device("ada").await;
    let ada = p.user("ada");
    is_link(&ada, &ada.ask(ask()).await.result()).await;
}

#[tokio::test]
async fn forged_and_foreign_states_are_refused_and_run_nothing() {
    let (p, app, _device) = start(|_| {}).await;
    let (ada, bob) = (p.user("ada"), p.user("bob"));
    let accept = || Some(json!({ "action": "accept" }));
    let result = ada.ask(modern_deletion("milk", opens_pages())).await.result();
    let state = state_of(&result);
    let mut edited = state.clone().into_bytes();
    edited[20] = if edited[20] == b'A' { b'B' } else { b'A' };
    let forged = [String::from_utf8(edited).unwrap(), state[1..].to_owned(), pending(&ada).await.remove(0)];
    for forged in forged {
        let forged = json!({ "resultType": "input_required", "requestState": forged });
        let ask = retry(modern_deletion("milk", opens_pages()), &forged, accept());
        assert_eq!(ada.ask(ask).await.refusal(), (200, -32602), "{forged}");
    }
    let of_milk = retry(modern_deletion("milk", opens_pages()), &result, accept());
    let of_bread = retry(modern_deletion("bread", opens_pages()), &result, accept());
    let mut of_prompt = Ask::modern("prompts/get", json!({ "name": DELETE }));
    of_prompt.params["requestState"] = state.into();
    let refused: [Answer; 4] =
        [bob.ask(of_milk.clone()).await, ada.ask(of_bread).await, ada.ask(of_prompt).await, {
            p.clock.advance(16 * 60);
            ada.ask(of_milk).await
        }];
    for refused in refused {
        assert_eq!(refused.refusal(), (200, -32602), "{}", refused.text);
    }
    assert_eq!((pending(&ada).await.len(), runs(&app)), (1, 0));
    // The response to a question counts only from the client that was asked.
    let session = session_of(&ada, LEGACY, opens_pages()).await;
    let (mut events, question) = question_of(&session, deletion("milk")).await;
    let foreign = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    soon(bob.post("/mcp", &foreign)).await.expect(202);
    let id = pending(&ada).await.remove(0);
    answer(&ada, &id, "approve").await.expect(200);
    assert_eq!(text(&events.rest().await.pop().unwrap()["result"]), "deleted");
}

#[tokio::test]
async fn a_yes_can_be_remembered_for_the_session() {
    let (p, app, _device) = start(|_| {}).await;
    let ada = p.user("ada");
    let session = session_of(&ada, LEGACY, opens_pages()).await;
    let (mut events, _question) = question_of(&session, deletion("milk")).await;
    let id = pending(&ada).await.remove(0);
    let body = json!({ "answer": "approve", "remember": { "scope": "conversation" } });
    ada.post(&format!("/api/approvals/{id}"), &body).await.expect(200);
    events.rest().await;
    assert_eq!(text(&session.ask("tools/call", deletion("bread")).await.result()), "deleted");
    let other = session_of(&ada, LEGACY, json!({})).await;
    is_link(&ada, &other.ask("tools/call", deletion("bread")).await.result()).await;
    assert_eq!(runs(&app), 2);
}

#[tokio::test]
async fn waiting_calls_are_limited_and_end_when_the_server_stops() {
    let (p, app, _device) = start(|config| {
        config.server.streams_per_user = 1;
        config.calls.in_flight_per_user = 1;
    })
    .await;
    let ada = p.user("ada");
    let session = session_of(&ada, LEGACY, opens_pages()).await;
    let (mut events, _question) = question_of(&session, deletion("milk")).await;
    // A waiting call is a stream, and not a call in progress.
    is_link(&ada, &session.ask("tools/call", deletion("milk")).await.result()).await;
    p.begin_stop();
    let message = events.rest().await.pop().unwrap();
    assert!(text(&message["result"]).contains("/console/approvals/"), "{message}");
    assert_eq!(runs(&app), 0);
}
