//! Calls that wait until the user has signed in at their upstream, through every door.

use serde_json::{Value, json};
use toolyard_server::config::Config;
use toolyard_testkit::{
    authorization::GuardedUpstream,
    model::ScriptedReply,
    upstream::{InjectedFault, OfferListKind, RequestMatch, UpstreamEra},
};

use super::{
    guarded::authorize,
    world::{add_with, declaring, live, plain, session_with, text, until},
};
use crate::{
    chat::{Reading, of, one, results, says, script, with_model},
    mcp::{
        approvals::{opens_pages, respond},
        client::{Ask, LEGACY, Session, soon},
    },
    platform::{Answer, Person, Platform},
};

const ECHO: &str = "mcp.up:echo";
const ERAS: [UpstreamEra; 2] = [UpstreamEra::Modern, UpstreamEra::Legacy];

/// A platform with an upstream at which Ada signed in once, and from which she removed her access.
async fn signed_out(p: &Platform, era: UpstreamEra) -> GuardedUpstream {
    let guarded = GuardedUpstream::start(era).await;
    guarded.first.set_list(OfferListKind::Resources, vec![json!({ "uri": "test://note", "name": "note" })]);
    add_with(p, "up", json!({ "url": guarded.url(), "auth": "oauth", "name": "Up \"town\"" })).await;
    live(p, "ada").await;
    authorize(p, "ada", "up").await.expect(200);
    sign_out(p).await;
    guarded
}

async fn sign_out(p: &Platform) {
    p.user("ada").delete("/api/upstreams/up/authorize").await.expect(204);
}

async fn start(change: impl FnOnce(&mut Config)) -> (Platform, GuardedUpstream) {
    let p = Platform::with(change).await;
    let guarded = signed_out(&p, UpstreamEra::Modern).await;
    (p, guarded)
}

/// How often the tools ran. Each sign-in leads to one of the two servers.
fn runs(guarded: &GuardedUpstream) -> usize {
    guarded.first.messages("tools/call").len() + guarded.second.messages("tools/call").len()
}

fn page(p: &Platform) -> String {
    format!("{}/console/upstreams/up/sign-in", p.state.base_url())
}

fn echo() -> Value {
    json!({ "name": ECHO, "arguments": { "text": "hi" } })
}

fn modern_echo(capabilities: Value) -> Ask {
    declaring(Ask::call(ECHO, json!({ "text": "hi" })), capabilities)
}

/// The outcomes of all calls, sorted: the clock of a test stands still, so calls have no order.
async fn ledger(person: &Person<'_>) -> Vec<String> {
    let calls = person.get("/api/calls").await.expect(200).json();
    let outcome = |call: &Value| call["outcome"].as_str().unwrap().to_owned();
    let mut outcomes: Vec<_> = calls["calls"].as_array().unwrap().iter().map(outcome).collect();
    outcomes.sort_unstable();
    outcomes
}

/// The result is an error with the link of the page.
fn is_link(p: &Platform, result: &Value) {
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(result).contains(&format!(" {} ", page(p))), "{result}");
    assert_eq!(result["_meta"]["toolyard/error"]["code"], "DENIED");
}

fn authorization(answer: Answer) -> (Value, Value) {
    let state = answer.expect(200).json();
    (state["authorized"].clone(), state["name"].clone())
}

#[tokio::test]
async fn a_rest_call_is_accepted_and_made_again_after_the_sign_in() {
    let (p, guarded) = start(|_| {}).await;
    let ada = p.user("ada");
    let waits = ada.call(ECHO, json!({ "text": "hi" })).await.expect(202).json();
    let pending = json!({ "kind": "sign-in", "id": "up", "name": "Up  town", "url": page(&p) });
    assert_eq!(waits, json!({ "success": false, "pending": pending }));
    // A key is not used up, and the same key is answered once the user has signed in.
    let keyed = ada.clone().header("idempotency-key", "k");
    keyed.call(ECHO, json!({ "text": "hi" })).await.expect(202);
    assert_eq!(runs(&guarded), 0);
    assert_eq!(ledger(&ada).await, ["AWAITING_SIGN_IN", "AWAITING_SIGN_IN"]);
    let found = ada.get("/api/calls?outcome=AWAITING_SIGN_IN").await.expect(200).json();
    assert_eq!(found["calls"].as_array().unwrap().len(), 2);

    let at = "/api/upstreams/up/authorize";
    let now = ada.get(at).await.expect(200).json();
    let host = guarded.url().replace("http://", "").replace("/mcp", "");
    let expected =
        json!({ "packageName": "mcp.up", "name": "Up \"town\"", "host": host, "authorized": false });
    assert_eq!(now, expected);
    let waiting = format!("{at}?wait=60");
    let (waited, done) = tokio::join!(soon(ada.get(&waiting)), authorize(&p, "ada", "up"));
    assert!(done.expect(200).text.contains("Calls that waited for it continue"));
    assert_eq!(authorization(waited).0, true);
    assert_eq!(authorization(p.user("bob").get(at).await).0, false, "bob has not signed in");
    for _ in 0..2 {
        assert_eq!(keyed.call(ECHO, json!({ "text": "hi" })).await.expect(200).json()["content"], "hi");
    }
    assert_eq!(runs(&guarded), 1, "once for the key");

    ada.get(&format!("{at}?wait=no")).await.expect(400);
    ada.get("/api/upstreams/other/authorize").await.expect(404);
    let open = plain(UpstreamEra::Modern).await;
    add_with(&p, "open", json!({ "url": open.url() })).await;
    ada.get("/api/upstreams/open/authorize?wait=60").await.expect(400);
}

#[tokio::test]
async fn a_wait_ends_in_time_and_when_the_server_stops() {
    let (p, _guarded) = start(|config| config.server.streams_per_user = 1).await;
    let ada = p.user("ada");
    assert_eq!(authorization(soon(ada.get("/api/upstreams/up/authorize?wait=1")).await).0, false);
    let session = session_with(&p, "ada", opens_pages()).await;
    let (mut events, _question) = question_of(&session, "tools/call", echo()).await;
    // A waiting call is a stream of the user: the next ones do not wait.
    assert_eq!(authorization(soon(ada.get("/api/upstreams/up/authorize?wait=60")).await).0, false);
    is_link(&p, &session.ask("tools/call", echo()).await.result());
    p.begin_stop();
    is_link(&p, &events.rest().await.pop().unwrap()["result"]);
}

async fn question_of(
    session: &Session<'_>,
    method: &str,
    params: Value,
) -> (crate::mcp::client::Events, Value) {
    let mut events = session.person.stream(Ask::legacy(method, params).id("call")).await;
    let question = events.message().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    (events, question)
}

#[tokio::test]
async fn a_session_opens_the_page_and_its_call_resumes() {
    for era in ERAS {
        let p = Platform::start().await;
        let guarded = signed_out(&p, era).await;
        for (runs_before, client_responds) in [(0, true), (1, false)] {
            let session = session_with(&p, "ada", opens_pages()).await;
            let (mut events, question) = question_of(&session, "tools/call", echo()).await;
            let asked = &question["params"];
            let message = "The MCP server \"Up  town\" (mcp.up) needs you to sign in.";
            assert_eq!((&asked["mode"], &asked["message"]), (&json!("url"), &json!(message)));
            assert_eq!(asked["url"], page(&p));
            if client_responds {
                respond(&session, &question, json!({ "action": "accept" })).await;
            }
            assert_eq!(runs(&guarded), runs_before, "{era:?}");
            authorize(&p, "ada", "up").await.expect(200);
            let mut messages = events.rest().await;
            assert_eq!(text(&messages.pop().unwrap()["result"]), "hi", "{era:?}");
            let complete = messages.remove(0);
            assert_eq!(complete["method"], "notifications/elicitation/complete");
            assert_eq!(complete["params"]["elicitationId"], asked["elicitationId"]);
            let cancelled: Vec<_> = messages.iter().map(|one| &one["params"]["requestId"]).collect();
            assert_eq!(cancelled, if client_responds { vec![] } else { vec![&question["id"]] });
            assert_eq!(runs(&guarded), runs_before + 1);
            sign_out(&p).await;
        }
    }
}

#[tokio::test]
async fn what_a_client_declines_becomes_a_link() {
    let (p, guarded) = start(|_| {}).await;
    let session = session_with(&p, "ada", opens_pages()).await;
    for action in [json!({ "action": "decline" }), json!({ "action": "cancel" }), json!({ "what": 1 })] {
        let (mut events, question) = question_of(&session, "tools/call", echo()).await;
        respond(&session, &question, action).await;
        is_link(&p, &events.message().await["result"]);
        assert_eq!(events.next().await, None);
    }
    assert_eq!(runs(&guarded), 0);
}

#[tokio::test]
async fn clients_that_cannot_open_a_page_get_a_text_with_the_link() {
    let (p, guarded) = start(|_| {}).await;
    for capabilities in [json!({}), json!({ "elicitation": {} }), json!({ "elicitation": { "form": {} } })] {
        let session = session_with(&p, "ada", capabilities.clone()).await;
        is_link(&p, &session.ask("tools/call", echo()).await.result());
        is_link(&p, &p.user("ada").ask(modern_echo(capabilities)).await.result());
    }
    // The page is ours and names no user: the upstream is contacted only after a press of its button.
    assert_eq!(guarded.authorization.requests("/authorize").len(), 1, "of the first sign-in");
    let p = p.restart_with(|config| config.approvals.mcp_wait_s = 0).await;
    live(&p, "ada").await;
    is_link(&p, &p.user("ada").ask(modern_echo(opens_pages())).await.result());
    assert_eq!(runs(&guarded), 0);
}

/// The request again, with the state and the client's response.
fn retry(mut ask: Ask, result: &Value, response: Option<Value>) -> Ask {
    assert_eq!(result["resultType"], "input_required", "{result}");
    ask.params["requestState"] = result["requestState"].clone();
    if let Some(response) = response {
        ask.params["inputResponses"] = json!({ "sign-in": response });
    }
    ask.id("retry")
}

#[tokio::test]
async fn a_modern_client_opens_the_page_and_comes_back() {
    let (p, guarded) = start(|_| {}).await;
    let ada = p.user("ada");
    let ask = || modern_echo(opens_pages());
    let accept = || Some(json!({ "action": "accept" }));
    let result = ada.ask(ask()).await.result();
    let question = &result["inputRequests"]["sign-in"];
    assert_eq!(
        (&question["method"], &question["params"]["url"]),
        (&json!("elicitation/create"), &json!(page(&p)))
    );
    assert!(question["params"].get("elicitationId").is_none());
    // A missing answer is asked for again.
    let again = ada.ask(retry(ask(), &result, None)).await.result();
    assert_eq!(again["inputRequests"], result["inputRequests"]);
    is_link(&p, &ada.ask(retry(ask(), &result, Some(json!({ "action": "decline" })))).await.result());
    // A state belongs to one user and one call.
    assert_eq!(p.user("bob").ask(retry(ask(), &result, accept())).await.refusal(), (200, -32602));
    let other = declaring(Ask::call(ECHO, json!({ "text": "other" })), opens_pages());
    assert_eq!(ada.ask(retry(other, &result, accept())).await.refusal(), (200, -32602));

    let opened = retry(ask(), &result, accept());
    let (done, signed_in) = tokio::join!(ada.ask(opened), authorize(&p, "ada", "up"));
    signed_in.expect(200);
    assert_eq!((text(&done.result()), runs(&guarded)), ("hi", 1));
    // What the client said to us is not for the upstream.
    let sent = guarded.second.messages("tools/call").pop().or(guarded.first.messages("tools/call").pop());
    let sent = sent.unwrap().params;
    assert!(sent.get("inputResponses").is_none() && sent.get("requestState").is_none(), "{sent}");
}

#[tokio::test]
async fn a_modern_client_that_waits_longer_is_not_asked_twice() {
    let (p, guarded) = start(|config| config.approvals.mcp_wait_s = 1).await;
    let ada = p.user("ada");
    let ask = || modern_echo(opens_pages());
    let first = ada.ask(ask()).await.result();
    let waits = ada.ask(retry(ask(), &first, Some(json!({ "action": "accept" })))).await.result();
    assert!(waits.get("inputRequests").is_none(), "{waits}");
    authorize(&p, "ada", "up").await.expect(200);
    let done = ada.ask(retry(ask(), &waits, None)).await.result();
    assert_eq!((text(&done), runs(&guarded)), ("hi", 1));
}

#[tokio::test]
async fn resources_wait_as_well() {
    for era in ERAS {
        let p = Platform::start().await;
        let guarded = signed_out(&p, era).await;
        let ada = p.user("ada");
        let params = json!({ "uri": "test://mcp.up/note" });
        let read = || Ask::modern("resources/read", params.clone());
        let refused = ada.ask(read()).await.json();
        assert!(refused["error"]["message"].as_str().unwrap().contains(&page(&p)), "{era:?}: {refused}");
        assert_eq!(refused["error"]["data"]["code"], "DENIED");

        let ask = || declaring(read(), opens_pages());
        let first = ada.ask(ask()).await.result();
        let opened = retry(ask(), &first, Some(json!({ "action": "accept" })));
        let (done, signed_in) = tokio::join!(ada.ask(opened), authorize(&p, "ada", "up"));
        signed_in.expect(200);
        let reads =
            guarded.first.messages("resources/read").len() + guarded.second.messages("resources/read").len();
        assert_eq!(reads, 1, "{era:?}: {}", done.text);

        sign_out(&p).await;
        let session = session_with(&p, "ada", opens_pages()).await;
        let (mut events, _question) = question_of(&session, "resources/read", params).await;
        authorize(&p, "ada", "up").await.expect(200);
        let last = events.rest().await.pop().unwrap();
        assert_eq!(last["id"], "call", "{era:?}: {last}");
        let reads =
            guarded.first.messages("resources/read").len() + guarded.second.messages("resources/read").len();
        assert_eq!(reads, 2, "{era:?}");
    }
}

#[tokio::test]
async fn an_upstream_that_rejects_each_sign_in_does_not_keep_its_caller() {
    let (p, guarded) = start(|_| {}).await;
    authorize(&p, "ada", "up").await.expect(200);
    for upstream in [&guarded.first, &guarded.second] {
        upstream.inject_fault(RequestMatch::for_tool("echo"), InjectedFault::status(401));
    }
    let session = session_with(&p, "ada", opens_pages()).await;
    let mut events = session.person.stream(Ask::legacy("tools/call", echo()).id("call")).await;
    // It is signed in already, as far as we know, so the call is made again at once; and not forever.
    let signs_in = async {
        loop {
            authorize(&p, "ada", "up").await.expect(200);
        }
    };
    let messages = tokio::select! {
        messages = events.rest() => messages,
        () = signs_in => unreachable!(),
    };
    let result = &messages.last().unwrap()["result"];
    assert_eq!(result["_meta"]["toolyard/error"]["code"], "APP_NOT_AVAILABLE", "{messages:?}");
    assert!(text(result).contains("after each sign-in"), "{result}");
    let questions = messages.iter().filter(|one| one["method"] == "elicitation/create").count();
    assert!(questions <= 4, "{messages:?}");
}

#[tokio::test]
async fn an_approved_call_ends_with_the_link() {
    let (p, guarded) = start(|_| {}).await;
    let delete = json!({ "name": "delete", "description": "Deletes.", "inputSchema": { "type": "object" },
        "annotations": { "destructiveHint": true } });
    for upstream in [&guarded.first, &guarded.second] {
        upstream.set_list(OfferListKind::Tools, vec![delete.clone()]);
    }
    authorize(&p, "ada", "up").await.expect(200);
    let ada = p.user("ada");
    until(async || ada.tools().await, |tools| *tools == ["mcp.up:delete"]).await;
    sign_out(&p).await;
    let waits = ada.call("mcp.up:delete", json!({})).await.expect(202).json();
    assert_eq!(waits["pending"]["kind"], "approval");
    let id = waits["pending"]["id"].as_str().unwrap().to_owned();
    ada.post(&format!("/api/approvals/{id}"), &json!({ "answer": "approve" })).await.expect(200);
    let ended = soon(ada.get(&format!("/api/approvals/{id}/outcome?wait=30"))).await.expect(403);
    assert!(ended.text.contains(&page(&p)), "{}", ended.text);
    assert_eq!(runs(&guarded), 0);
}

fn request(shows_requests: bool) -> Value {
    json!({ "id": "chat-1", "trigger": "submit-message", "approvals": shows_requests,
        "messages": [says("say hi")] })
}

#[tokio::test]
async fn a_chat_shows_the_link_and_the_call_resumes_in_the_same_turn() {
    let (p, model) = with_model(|_| {}).await;
    let guarded = signed_out(&p, UpstreamEra::Modern).await;
    let call = || ScriptedReply::call("mcp_up__echo", json!({ "text": "hi" }));
    script(&model, [call(), ScriptedReply::text("It says hi.")]);
    let mut reading = Reading::begin(&p.user("ada"), request(true)).await;
    let shown = reading.until("data-sign-in").await;
    assert_eq!(shown["transient"], true);
    assert_eq!(shown["data"]["toolCallId"], shown["id"]);
    assert_eq!(
        (&shown["data"]["packageName"], &shown["data"]["name"], &shown["data"]["url"]),
        (&json!("mcp.up"), &json!("Up  town"), &json!(page(&p)))
    );
    assert_eq!(runs(&guarded), 0);
    authorize(&p, "ada", "up").await.expect(200);
    let told = reading.all().await;
    assert_eq!(one(&told, "tool-output-available")["toolCallId"], shown["id"]);
    assert_eq!(runs(&guarded), 1);
    assert_eq!(ledger(&p.user("ada")).await, ["AWAITING_SIGN_IN", "OK"]);

    // A client that does not show requests gets the link from the model.
    sign_out(&p).await;
    script(&model, [call(), ScriptedReply::text("Please sign in.")]);
    let told = Reading::begin(&p.user("ada"), request(false)).await.all().await;
    assert!(of(&told, "data-sign-in").is_empty());
    let read = results(model.requests().last().unwrap()).pop().unwrap();
    assert!(read.contains(&page(&p)), "{read}");
    assert_eq!(runs(&guarded), 1);
}

#[tokio::test]
async fn a_turn_that_is_not_followed_by_a_sign_in_goes_on_with_the_link() {
    let (p, model) = with_model(|config| config.approvals.mcp_wait_s = 1).await;
    let guarded = signed_out(&p, UpstreamEra::Modern).await;
    let call = ScriptedReply::call("mcp_up__echo", json!({ "text": "hi" }));
    script(&model, [call, ScriptedReply::text("Please sign in.")]);
    let told = Reading::begin(&p.user("ada"), request(true)).await.all().await;
    one(&told, "data-sign-in");
    assert!(one(&told, "tool-output-error")["errorText"].as_str().unwrap().contains(&page(&p)));
    assert_eq!(runs(&guarded), 0);
}

#[tokio::test]
async fn the_older_revision_is_not_asked_to_open_pages() {
    let (p, _guarded) = start(|_| {}).await;
    assert_eq!(LEGACY, "2025-11-25", "the first that can");
    let session = crate::mcp::approvals::session_of(&p.user("ada"), "2025-06-18", opens_pages()).await;
    is_link(&p, &session.ask("tools/call", echo()).await.result());
}
