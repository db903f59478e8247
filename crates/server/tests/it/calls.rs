//! The ledger: tool, caller and outcome of each call, but never its arguments.

use http::Method;
use serde_json::{Value, json};
use toolyard_server::auth::Role;
use toolyard_testkit::{AppBehavior, FakeApp};

use crate::{
    identity::app_of,
    platform::{ECHO, Person, Platform, echo_tool, tokens_only},
};

async fn page(who: &Person<'_>, query: &str) -> Vec<Value> {
    let page = who.get(&format!("/api/calls{query}")).await.expect(200).json();
    page["calls"].as_array().unwrap().clone()
}

/// Every page of a query, by following `next`.
async fn pages(who: &Person<'_>, limit: usize) -> Vec<Vec<String>> {
    let (mut all, mut before) = (Vec::new(), String::new());
    loop {
        let page = who.get(&format!("/api/calls?limit={limit}{before}")).await.expect(200).json();
        let ids = page["calls"].as_array().unwrap().iter();
        all.push(ids.map(|call| call["id"].as_str().unwrap().to_owned()).collect());
        match page["next"].as_str() {
            Some(next) => before = format!("&before={next}"),
            None => return all,
        }
    }
}

/// Ada makes calls that end in different ways, at different times; bob makes one.
async fn some_calls() -> (Platform, FakeApp, Vec<crate::platform::Device>) {
    let p = Platform::start().await;
    let (app, device) = p.echo().await;
    let other = FakeApp::start("com.example.other").await;
    p.register(
        &other,
        json!({ "packageName": "com.example.other", "kind": "tools-only", "tools": [echo_tool()] }),
    )
    .await;
    let bob = p.device("bob").await;
    for (user, package) in [("ada", "com.example.other"), ("bob", ECHO)] {
        p.user(user).put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
    }
    p.call_echo().await.expect(200);
    p.clock.advance(60);
    app.set_behavior(AppBehavior::Json(500, json!({ "status": "error", "message": "no milk" })));
    p.call_echo().await.expect(500);
    p.clock.advance(60);
    app.set_behavior(AppBehavior::reply("ok"));
    p.user("ada").call("com_example_other__echo", json!({ "text": "x" })).await.expect(200);
    p.clock.advance(1);
    p.user("ada").call("com.example.echo:nothing", json!({})).await.expect(404);
    p.clock.advance(1);
    p.user("ada").call("com.example.echo:echo", json!({})).await.expect(400);
    p.user("bob").call("com.example.echo:echo", json!({ "text": "x" })).await.expect(200);
    drop(other);
    (p, app, vec![device, bob])
}

#[tokio::test]
async fn each_call_leaves_one_record_with_its_outcome() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    app.set_behavior(AppBehavior::reply("hello"));
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let answer = p
        .user("ada")
        .header("traceparent", parent)
        .call("com_example_echo__echo", json!({ "text": "hi" }))
        .await;
    let id = answer.expect(200).header("x-toolyard-call-id").to_owned();
    let calls = page(&p.user("ada"), "").await;
    assert_eq!(calls.len(), 1);
    let mut call = p.user("ada").get(&format!("/api/calls/{id}")).await.expect(200).json();
    assert_eq!(calls[0], call);
    let steps = call["steps"].as_object().unwrap();
    let names: Vec<_> = steps.keys().map(String::as_str).collect();
    assert_eq!(names, ["find", "validate", "authorize", "ready", "invoke", "check"]);
    let sum: u64 = steps.values().map(|us| us.as_u64().unwrap()).sum();
    let (invoke, whole) = (steps["invoke"].as_u64().unwrap(), call["durationUs"].as_u64().unwrap());
    assert!(invoke > 0 && sum <= whole, "{call}");
    for timed in ["steps", "durationUs"] {
        call.as_object_mut().unwrap().remove(timed);
    }
    assert_eq!(
        call,
        json!({ "id": id, "userId": "ada", "tool": "com.example.echo:echo", "source": "app", "door": "rest",
            "caller": "user", "outcome": "OK", "startedAt": "2026-01-02T03:04:05.678Z",
            "bytesIn": r#"{"text":"hi"}"#.len(), "bytesOut": call["bytesOut"],
            "traceId": "4bf92f3577b34da6a3ce929d0e0e4736" })
    );
    assert!(call["bytesOut"].as_u64().unwrap() >= 5, "{call}");
    p.user("ada").get("/api/calls/ffff").await.expect(404);
    p.user("ada").get("/api/calls/a%20b").await.expect(400);
}

#[tokio::test]
async fn calls_are_found_by_every_filter() {
    let (p, _app, _devices) = some_calls().await;
    let ada = p.user("ada");
    let outcomes = async |query: &str| -> Vec<String> {
        let calls = page(&ada, query).await;
        calls.iter().map(|call| call["outcome"].as_str().unwrap().to_owned()).collect()
    };
    let all = ["INVALID_ARGUMENTS", "TOOL_NOT_FOUND", "OK", "EXECUTION_ERROR", "OK"];
    assert_eq!(outcomes("").await, all, "the newest first, and nothing of bob's");
    assert_eq!(outcomes("?outcome=OK").await, ["OK", "OK"]);
    assert_eq!(outcomes("?outcome=EXECUTION_ERROR").await, ["EXECUTION_ERROR"]);
    assert_eq!(outcomes("?outcome=nothing").await, [""; 0]);
    assert_eq!(outcomes("?tool=com.example.other:echo").await, ["OK"]);
    assert_eq!(outcomes("?app=com.example.echo").await, ["INVALID_ARGUMENTS", "EXECUTION_ERROR", "OK"]);
    assert_eq!(outcomes("?app=com.example.echo&outcome=OK").await, ["OK"]);
    assert_eq!(outcomes("?since=2026-01-02T03:05:05.678Z").await, all[..4]);
    assert_eq!(outcomes("?since=2026-01-02T03:05:05.679Z").await, all[..3]);
    assert_eq!(outcomes("?limit=2").await, all[..2]);
    assert_eq!(outcomes("?limit=0").await, all[..1], "at least one");
    for bad in ["tool=echo", "app=A", "since=yesterday", "before=a%20b", "limit=many", "limit=-1"] {
        let answer = ada.get(&format!("/api/calls?{bad}")).await.expect(400);
        let (name, _) = bad.split_once('=').unwrap();
        assert_eq!(answer.code(), "INVALID_REQUEST");
        assert!(answer.text.contains(name), "{bad}: {}", answer.text);
    }
}

#[tokio::test]
async fn pages_of_calls_have_no_gap_and_no_duplicate() {
    let p = Platform::with(|config| config.rates.user_burst = 1_000).await;
    let (_app, _device) = p.echo().await;
    let made = futures_util::future::join_all((0..201).map(|_| p.call_echo())).await;
    let mut made: Vec<_> = made.iter().map(|answer| answer.header("x-toolyard-call-id").to_owned()).collect();
    made.sort_unstable_by(|a, b| b.cmp(a));
    let ada = p.user("ada");
    // The page is exactly full, and there is one more.
    for (limit, sizes) in
        [(500, vec![200, 1]), (200, vec![200, 1]), (100, vec![100, 100, 1]), (67, vec![67; 3])]
    {
        let pages = pages(&ada, limit).await;
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), sizes);
        assert_eq!(pages.concat(), made);
    }
    let default = ada.get("/api/calls").await.expect(200).json();
    assert_eq!(default["calls"].as_array().unwrap().len(), 50);
}

#[tokio::test]
async fn usage_counts_calls_errors_and_time() {
    let (p, _app, _devices) = some_calls().await;
    let usage = async |who: &Person<'_>, query: &str| {
        let usage = who.get(&format!("/api/usage{query}")).await.expect(200).json();
        let rows = usage["tools"].as_array().unwrap().iter();
        rows.map(|row| {
            assert!(row["meanUs"].as_u64().unwrap() > 0, "{row}");
            format!("{} {} {}", row["tool"].as_str().unwrap(), row["calls"], row["errors"])
        })
        .collect::<Vec<_>>()
    };
    let ada = p.user("ada");
    assert_eq!(usage(&ada, "").await, ["com.example.echo:echo 3 2", "com.example.other:echo 1 0"]);
    assert_eq!(
        usage(&ada, "?since=2026-01-02T03:06:05Z").await,
        ["com.example.echo:echo 1 1", "com.example.other:echo 1 0"]
    );
    assert_eq!(usage(&p.nobody(), "?user=bob").await, ["com.example.echo:echo 1 0"]);
    assert_eq!(usage(&p.nobody(), "").await, ["com.example.echo:echo 4 2", "com.example.other:echo 1 0"]);
    ada.get("/api/usage?of=everything").await.expect(400);
    ada.get("/api/usage?since=then").await.expect(400);
}

#[tokio::test]
async fn a_user_sees_their_own_calls_a_developer_the_use_of_their_apps_and_an_operator_all() {
    let p = Platform::with(tokens_only).await;
    let ((_echo, key), (_other, _)) =
        (app_of(&p, "dora", ECHO).await, app_of(&p, "mal", "com.example.other").await);
    let token = |name: &str, role| p.bearer(&p.token(name, role));
    let (ada, bob) = (token("ada", Role::User), token("bob", Role::User));
    let (dora, root) = (token("dora", Role::Developer), token("root", Role::Operator));
    for person in [&ada, &bob] {
        for package in [ECHO, "com.example.other"] {
            person.put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
            person.call(&format!("{package}:echo"), json!({ "text": "x" })).await.expect(200);
        }
    }
    assert_eq!((page(&ada, "").await.len(), page(&ada, "?user=Ada").await.len()), (2, 2));
    assert_eq!((page(&root, "").await.len(), page(&root, "?user=bob").await.len()), (4, 2));
    assert_eq!(page(&dora, "").await.len(), 0, "a developer is a user too, who called nothing");
    for path in [
        "/api/calls?user=bob",
        "/api/usage?user=bob",
        "/api/calls/stream?user=bob",
        "/api/usage?of=apps",
        "/api/calls?of=apps",
        "/api/calls/stream?of=apps",
    ] {
        ada.get(path).await.expect(403);
    }
    root.get("/api/calls?of=all").await.expect(400);
    let bobs = page(&bob, "").await[0]["id"].as_str().unwrap().to_owned();
    ada.get(&format!("/api/calls/{bobs}")).await.expect(404);
    root.get(&format!("/api/calls/{bobs}")).await.expect(200);
    p.bearer(&key).header("x-user-id", "ada").get("/api/calls").await.expect(403);
    let of_dora = page(&dora, "?of=apps").await;
    assert_eq!(of_dora.len(), 2);
    for call in &of_dora {
        assert_eq!(call["tool"], "com.example.echo:echo");
        for who in ["userId", "caller", "traceId"] {
            assert!(call.get(who).is_none(), "{call}");
        }
        let id = call["id"].as_str().unwrap();
        let one = dora.get(&format!("/api/calls/{id}?of=apps")).await.expect(200).json();
        assert_eq!(&one, call);
        dora.get(&format!("/api/calls/{id}")).await.expect(404);
        ada.get(&format!("/api/calls/{id}?of=apps")).await.expect(403);
    }
    let not_hers = page(&root, "?app=com.example.other").await[0]["id"].as_str().unwrap().to_owned();
    dora.get(&format!("/api/calls/{not_hers}?of=apps")).await.expect(404);
    let used = dora.get("/api/usage?of=apps").await.expect(200).json();
    let rows = used["tools"].as_array().unwrap();
    assert_eq!(
        (rows.len(), &rows[0]["tool"], &rows[0]["calls"]),
        (1, &json!("com.example.echo:echo"), &json!(2))
    );
    // The package gets another owner.
    let before = of_dora[0]["id"].as_str().unwrap().to_owned();
    dora.delete(&format!("/api/apps/{ECHO}")).await.expect(204);
    p.clock.advance(1);
    let (_echo, _) = app_of(&p, "mal", ECHO).await;
    let mal = token("mal", Role::Developer);
    mal.get(&format!("/api/calls/{before}?of=apps")).await.expect(404);
    assert!(page(&mal, "?of=apps").await.iter().all(|call| call["tool"] != "com.example.echo:echo"));
}

#[tokio::test]
async fn a_call_stream_contains_only_permitted_calls() {
    let p = Platform::with(tokens_only).await;
    let (_echo, _) = app_of(&p, "dora", ECHO).await;
    let token = |name: &str| p.bearer(&p.token(name, Role::User));
    let stream = token("ada").open(Method::GET, "/api/calls/stream", None).await;
    let mut lines = stream.into_lines(64 * 1024, 1024 * 1024);
    for name in ["bob", "ada"] {
        token(name).put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
        token(name).call(&format!("{ECHO}:echo"), json!({ "text": "x" })).await.expect(200);
    }
    let data = loop {
        let line = lines.next().await.unwrap().unwrap();
        if let Some(data) = std::str::from_utf8(&line).unwrap().strip_prefix("data: ") {
            break serde_json::from_str::<Value>(data).unwrap();
        }
    };
    assert_eq!(data["userId"], "ada", "bob's call came first, and not here");
}

#[tokio::test]
async fn a_developer_watches_the_calls_of_their_apps_and_not_who_calls() {
    let p = Platform::with(tokens_only).await;
    let ((_echo, _), (_other, _)) =
        (app_of(&p, "mal", "com.example.other").await, app_of(&p, "dora", ECHO).await);
    let dora = p.bearer(&p.token("dora", Role::Developer));
    let stream = dora.open(Method::GET, "/api/calls/stream?of=apps", None).await;
    let mut lines = stream.into_lines(64 * 1024, 1024 * 1024);
    let bob = p.bearer(&p.token("bob", Role::User));
    for package in ["com.example.other", ECHO] {
        bob.put(&format!("/api/installs/{package}"), &json!({})).await.expect(204);
        bob.call(&format!("{package}:echo"), json!({ "text": "x" })).await.expect(200);
    }
    let data = loop {
        let line = lines.next().await.unwrap().unwrap();
        if let Some(data) = std::str::from_utf8(&line).unwrap().strip_prefix("data: ") {
            break serde_json::from_str::<Value>(data).unwrap();
        }
    };
    assert_eq!((&data["tool"], data.get("userId")), (&json!("com.example.echo:echo"), None));
}

#[tokio::test]
async fn arguments_and_results_are_not_stored() {
    let p = Platform::start().await;
    let (app, _device) = p.echo().await;
    let (said, heard) = ("marker-of-an-argument", "marker-of-a-result");
    app.set_behavior(AppBehavior::reply(heard));
    let call = async |person: Person<'_>| person.call(&format!("{ECHO}:echo"), json!({ "text": said })).await;
    call(p.user("ada")).await.expect(200);
    p.user("ada").call(&format!("{ECHO}:echo"), json!({ "text": 5, "x": said })).await.expect(400);
    assert_eq!(page(&p.user("ada"), "").await.len(), 2, "written by now");
    let folder = p.data().parent().unwrap().to_owned();
    let holds = |text: &str| {
        let files = std::fs::read_dir(&folder).unwrap();
        let mut files = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
        files.any(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
    };
    assert!(holds("com.example.echo:echo"), "the files are the right ones");
    assert!(!holds(said) && !holds(heard));
    // Under a key the outcome is kept for repeated requests; the arguments are not.
    call(p.user("ada").header("idempotency-key", "k")).await.expect(200);
    assert!(!holds(said) && holds(heard));
}
