//! Usage reports: calls over time, latency, and the CSV export.

use std::sync::Arc;

use serde_json::{Value, json};
use toolyard_core::{
    Caller, Door,
    executor::TraceContext,
    ports::{CallRecord, Clock as _, SourceKind},
};
use toolyard_protocol::{CallId, api::StepTimes};
use toolyard_server::auth::Role;

use crate::{
    identity::app_of,
    platform::{ECHO, Platform, tokens_only},
};

const KINDS: [&str; 3] = ["over-time?", "latency?", "export?what=tools&"];

/// The record of a call with this duration in microseconds.
fn call(p: &Platform, number: u32, tool: &str) -> Arc<CallRecord> {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    Arc::new(CallRecord {
        id: CallId::from_bytes(bytes),
        user: "ada".parse().unwrap(),
        tool: tool.into(),
        package: Some(ECHO.parse().unwrap()),
        source: SourceKind::App,
        door: Door::Rest,
        caller: Caller::User,
        error: None,
        error_message: None,
        replayed: false,
        started_at: p.clock.now(),
        duration_us: number.into(),
        steps: StepTimes { invoke: number.into(), ..StepTimes::default() },
        bytes_in: 1,
        bytes_out: 2,
        approval: None,
        waiting: None,
        trace: TraceContext { trace_id: 1, parent: None, span_id: 2, sampled: false },
    })
}

async fn json_of(p: &Platform, query: &str) -> Value {
    p.nobody().get(&format!("/api/usage/{query}")).await.expect(200).json()
}

#[tokio::test]
async fn calls_are_counted_over_time() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    p.clock.advance(3_600);
    p.call_echo().await.expect(200);
    p.user("ada").call(&format!("{ECHO}:echo"), json!({})).await.expect(400);
    p.user("ada").call("com.example.none:x", json!({})).await.expect(404);
    p.clock.advance(1);
    let day = json_of(&p, "over-time?").await;
    assert_eq!(
        (&day["bucketSeconds"], day["series"][0]["calls"].as_array().unwrap().len()),
        (&json!(1_800), 48)
    );
    let (from, to): (jiff::Timestamp, jiff::Timestamp) =
        (day["from"].as_str().unwrap().parse().unwrap(), day["to"].as_str().unwrap().parse().unwrap());
    assert_eq!((to.as_second() - from.as_second(), to), (86_400, p.clock.now()));
    assert_eq!(
        day["outcomes"],
        json!([{ "code": "OK", "count": 2 }, { "code": "INVALID_ARGUMENTS", "count": 1 }, { "code": "TOOL_NOT_FOUND", "count": 1 }])
    );

    let since = p.clock.now().checked_sub(jiff::SignedDuration::from_secs(7_200)).unwrap();
    let two = json_of(&p, &format!("over-time?since={since}&buckets=2&by=tool")).await;
    assert_eq!(
        two["series"],
        json!([{ "key": format!("{ECHO}:echo"), "calls": [1, 2], "errors": [0, 1] },
            { "key": "*", "calls": [0, 1], "errors": [0, 1] }])
    );
    let until = p.clock.now().checked_sub(jiff::SignedDuration::from_secs(1)).unwrap();
    let before = json_of(&p, &format!("over-time?since={since}&until={until}&buckets=1")).await;
    assert_eq!(before["series"], json!([{ "key": ECHO, "calls": [1], "errors": [0] }]));
    for (query, count) in
        [("app=com.example.echo", 3), ("tool=com.example.echo:echo", 3), ("app=com.b", 0), ("user=bob", 0)]
    {
        let found = json_of(&p, &format!("over-time?since={since}&buckets=1&{query}")).await;
        let calls: u64 =
            found["series"].as_array().unwrap().iter().map(|one| one["calls"][0].as_u64().unwrap()).sum();
        assert_eq!(calls, count, "{query}");
    }
}

#[tokio::test]
async fn only_the_largest_groups_are_listed() {
    let p = Platform::start().await;
    let mut number = 0;
    for tool in 1..=15_u32 {
        for _ in 0..tool {
            number += 1;
            p.state.stores.ledger.record_call(call(&p, number, &format!("{ECHO}:t{tool:02}"))).await;
        }
    }
    p.clock.advance(1);
    let found = json_of(&p, "over-time?by=tool&buckets=1").await;
    let series = found["series"].as_array().unwrap();
    assert_eq!((series.len(), &series[0]["key"]), (13, &json!(format!("{ECHO}:t15"))));
    assert_eq!(series[12], json!({ "key": "*", "calls": [6], "errors": [0] }));
}

#[tokio::test]
async fn invalid_usage_queries_are_refused() {
    let p = Platform::start().await;
    for query in [
        "over-time?buckets=0",
        "over-time?buckets=201",
        "over-time?buckets=x",
        "over-time?by=user",
        "over-time?since=2999-01-01T00:00:00Z",
        "export",
        "export?what=users",
    ] {
        assert_eq!(
            p.nobody().get(&format!("/api/usage/{query}")).await.expect(400).code(),
            "INVALID_REQUEST",
            "{query}"
        );
    }
    for kind in KINDS {
        for query in ["since=yesterday", "app=NOT%20ONE", "tool=nocolon", "user=a%20b", "of=users"] {
            p.nobody().get(&format!("/api/usage/{kind}{query}")).await.expect(400);
        }
    }
    for kind in [KINDS[0], KINDS[2]] {
        let span = "since=2026-01-02T00:00:00Z&until=2026-01-02T00:00:00Z";
        p.nobody().get(&format!("/api/usage/{kind}{span}")).await.expect(400);
    }
    p.nobody().get("/api/usage/over-time?buckets=200").await.expect(200);
}

#[tokio::test]
async fn latency_reports_the_duration_of_calls() {
    let p = Platform::start().await;
    let none = json_of(&p, "latency?").await;
    assert_eq!((&none["count"], &none["p99Us"], &none["sampled"]), (&json!(0), &json!(0), &json!(false)));
    for number in 1..=100 {
        p.state.stores.ledger.record_call(call(&p, number * 1_000, &format!("{ECHO}:echo"))).await;
    }
    let found = json_of(&p, "latency?").await;
    let told =
        ["count", "p50Us", "p90Us", "p95Us", "p99Us", "maxUs"].map(|name| found[name].as_u64().unwrap());
    assert_eq!(told, [100, 50_000, 90_000, 95_000, 99_000, 100_000]);
    assert_eq!(found["steps"]["invoke"], json!({ "p50Us": 50_000, "p95Us": 95_000 }));
    for step in ["find", "validate", "authorize", "ready", "check"] {
        assert_eq!(found["steps"][step], json!({ "p50Us": 0, "p95Us": 0 }), "{step}");
    }
    let histogram = found["histogram"].as_array().unwrap();
    assert_eq!(histogram.len(), 24);
    assert_eq!(histogram.iter().map(|span| span["count"].as_u64().unwrap()).sum::<u64>(), 100);
    for (query, count) in [
        ("user=ada", 100),
        ("user=bob", 0),
        ("app=com.b", 0),
        ("tool=com.example.echo:echo", 100),
        ("since=2999-01-01T00:00:00Z", 0),
    ] {
        assert_eq!(json_of(&p, &format!("latency?{query}")).await["count"], count, "{query}");
    }
}

#[tokio::test]
async fn the_csv_export_has_a_row_per_call_and_no_formulas() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    p.clock.advance(1);
    p.state.stores.ledger.record_call(call(&p, u32::MAX, "=1+1,\"x\"")).await;
    let answer = p.nobody().get("/api/usage/export?what=calls").await.expect(200);
    assert_eq!(answer.header("content-type"), "text/csv; charset=utf-8");
    assert_eq!(answer.header("content-disposition"), "attachment; filename=\"toolyard-calls.csv\"");
    assert_eq!(
        (answer.header("x-content-type-options"), answer.header("cache-control")),
        ("nosniff", "no-store")
    );
    let rows: Vec<&str> = answer.text.split_terminator("\r\n").collect();
    assert_eq!(rows.len(), 3, "{}", answer.text);
    assert!(rows[0].starts_with("id,started_at,user,tool,source,door,caller,outcome,"), "{}", rows[0]);
    assert!(
        rows[1].contains(",ada,\"'=1+1,\"\"x\"\"\",app,rest,user,OK,false,4294967295,1,2,"),
        "{}",
        rows[1]
    );
    assert!(rows[2].contains(&format!(",ada,{ECHO}:echo,app,rest,user,OK,false,")), "{}", rows[2]);
    let later = p.clock.now();
    let since = p.nobody().get(&format!("/api/usage/export?what=calls&since={later}")).await.expect(200).text;
    let until = p.nobody().get(&format!("/api/usage/export?what=calls&until={later}")).await.expect(200).text;
    assert_eq!((since.lines().count(), until.lines().count()), (2, 2));
    assert!(since.contains("'=1+1") && until.contains(":echo"), "{since} {until}");

    let tools = p.nobody().get(&format!("/api/usage/export?what=tools&tool={ECHO}:echo")).await.expect(200);
    assert_eq!(tools.header("content-disposition"), "attachment; filename=\"toolyard-tools.csv\"");
    assert!(
        tools.text.starts_with(&format!("tool,calls,errors,mean_us\r\n{ECHO}:echo,1,0,")),
        "{}",
        tools.text
    );
    assert_eq!(p.nobody().get("/api/usage/export?what=tools").await.expect(200).text.lines().count(), 3);
}

#[tokio::test]
async fn the_export_as_json_lines_has_the_same_rows() {
    let p = Platform::start().await;
    let (_app, _device) = p.echo().await;
    p.call_echo().await.expect(200);
    p.clock.advance(1);
    p.state.stores.ledger.record_call(call(&p, u32::MAX, "=1+1,\"x\"")).await;
    let lines =
        |text: &str| -> Vec<Value> { text.lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
    let answer = p.nobody().get("/api/usage/export?what=calls&format=jsonl").await.expect(200);
    assert_eq!(answer.header("content-type"), "application/x-ndjson");
    assert_eq!(answer.header("content-disposition"), "attachment; filename=\"toolyard-calls.jsonl\"");
    let calls = lines(&answer.text);
    assert_eq!((&calls[0]["tool"], &calls[0]["userId"]), (&json!("=1+1,\"x\""), &json!("ada")));
    assert_eq!((calls.len(), &calls[1]["outcome"]), (2, &json!("OK")));
    let tools = p.nobody().get("/api/usage/export?what=tools&format=jsonl").await.expect(200);
    assert_eq!(tools.header("content-disposition"), "attachment; filename=\"toolyard-tools.jsonl\"");
    assert!(
        lines(&tools.text)
            .contains(&json!({ "tool": "=1+1,\"x\"", "calls": 1, "errors": 0, "meanUs": u32::MAX }))
    );
    p.nobody().get("/api/usage/export?what=tools&format=xml").await.expect(400);
}

#[tokio::test]
async fn latency_uses_the_newest_calls_and_the_export_has_all() {
    let p = Platform::start().await;
    for number in 1..=20_001 {
        p.state.stores.ledger.record_call(call(&p, number, "com.example.echo:echo")).await;
        if number == 1 {
            p.clock.advance(1);
        }
    }
    let found = json_of(&p, "latency?").await;
    assert_eq!((&found["count"], &found["sampled"]), (&json!(20_000), &json!(true)));
    let exact = p.clock.now();
    assert_eq!(json_of(&p, &format!("latency?since={exact}&user=bob")).await["sampled"], false);
    let table = p.nobody().get("/api/usage/export?what=calls").await.expect(200).text;
    let rows: Vec<&str> = table.split_terminator("\r\n").collect();
    assert_eq!(rows.len(), 20_002, "the head, and every call once");
    assert!(rows[1].contains(",20001,1,2,") && rows[20_001].contains(",1,1,2,"), "the newest first");
}

#[tokio::test]
async fn users_see_only_their_own_usage() {
    let p = Platform::with(tokens_only).await;
    let (_app, key) = app_of(&p, "dora", ECHO).await;
    let ada = p.bearer(&p.token("ada", Role::User));
    ada.put(&format!("/api/installs/{ECHO}"), &json!({})).await.expect(204);
    ada.call(&format!("{ECHO}:echo"), json!({ "text": "x" })).await.expect(200);
    p.clock.advance(1);
    let (bob, dora, root) = (
        p.bearer(&p.token("bob", Role::User)),
        p.bearer(&p.token("dora", Role::Developer)),
        p.bearer(&p.token("root", Role::Operator)),
    );
    for kind in KINDS {
        let path = format!("/api/usage/{kind}");
        p.nobody().get(&path).await.expect(401);
        p.bearer(&key).get(&path).await.expect(403);
        p.bearer(&key).get(&format!("{path}of=apps")).await.expect(403);
        bob.get(&format!("{path}user=ada")).await.expect(403);
        ada.get(&format!("{path}of=apps")).await.expect(403);
    }
    let seen = async |who: &crate::platform::Person<'_>, query: &str| {
        let path = format!("/api/usage/over-time?buckets=1{query}");
        who.get(&path).await.expect(200).json()["series"].as_array().unwrap().len()
    };
    assert_eq!([seen(&ada, "").await, seen(&bob, "").await, seen(&dora, "").await], [1, 0, 0]);
    assert_eq!(
        [seen(&dora, "&of=apps").await, seen(&root, "").await, seen(&root, "&of=apps").await],
        [1, 1, 0]
    );
    let mal = p.bearer(&p.token("mal", Role::Developer));
    assert_eq!(seen(&mal, "&of=apps").await, 0);
    // A developer does not see the callers.
    let table = dora.get("/api/usage/export?what=calls&of=apps").await.expect(200).text;
    assert!(table.contains(&format!(",,{ECHO}:echo,")) && !table.contains(",ada,"), "{table}");
    assert!(ada.get("/api/usage/export?what=calls").await.expect(200).text.contains(",ada,"));
}
