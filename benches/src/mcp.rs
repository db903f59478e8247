//! The MCP door: calls of an app's tool and of an upstream's, and lists, beside the upstream asked directly.

use http::Method;
use serde_json::{Value, json};

use crate::{
    app::MCP_TOOLS,
    client::raw,
    process::median,
    setup::{Bench, ECHO_APP, Target},
};

/// The revision that is measured.
const REVISION: &str = "2026-07-28";
/// Idle sessions of the handshake revisions.
const SESSIONS: usize = 1_000;

fn message(method: &str, more: Value) -> String {
    let mut params = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientCapabilities": {} } });
    if let (Some(params), Some(more)) = (params.as_object_mut(), more.as_object()) {
        params.extend(more.clone());
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

fn request(bench: &Bench, host: &str, method: &str, name: Option<&str>, more: Value) -> Vec<u8> {
    let user = bench.user();
    let mut headers = vec![
        ("authorization", user.as_str()),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", REVISION),
        ("mcp-method", method),
    ];
    headers.extend(name.map(|name| ("mcp-name", name)));
    raw("POST", "/mcp", host, &headers, &message(method, more))
}

fn call(bench: &Bench, host: &str, tool: &str) -> Vec<u8> {
    request(bench, host, "tools/call", Some(tool), json!({ "name": tool, "arguments": { "text": "hello" } }))
}

pub async fn measure(bench: &Bench, rounds: usize, seconds: f64) {
    let url = format!("http://{}/mcp", bench.direct.address);
    bench.operate(Method::POST, "/api/upstreams", &json!({ "id": "bench", "url": url })).await;
    bench.install("mcp.bench").await;
    bench.operate(Method::POST, "/api/upstreams/bench/refresh", &json!({})).await;
    println!(
        "MCP ({REVISION}), {MCP_TOOLS} tools of the upstream in the list. CPU as above; ratios are to direct."
    );
    println!(
        "{:<26} {:>5} {:>10} {:>8} {:>9} {:>8} {:>7}",
        "way", "conns", "a second", "ratio", "CPU", "ratio", "errors"
    );
    for connections in [1, 32, 256] {
        let direct = call(bench, "localhost", "tool_0");
        let own = call(bench, &bench.server.address, &format!("{ECHO_APP}:tool_0"));
        let upstream = call(bench, &bench.server.address, "mcp.bench:tool_0");
        let ways = [
            ("call, direct", Some(&bench.direct), &direct),
            ("call, nginx", bench.nginx.as_ref(), &direct),
            ("call of an app's tool", Some(&bench.server), &own),
            ("call of the upstream's", Some(&bench.server), &upstream),
        ];
        table(bench, &ways, connections, rounds, seconds).await;
    }
    let direct = request(bench, "localhost", "tools/list", None, json!({}));
    let own = request(bench, &bench.server.address, "tools/list", None, json!({}));
    let ways = [
        ("list, direct", Some(&bench.direct), &direct),
        ("list, nginx", bench.nginx.as_ref(), &direct),
        ("list", Some(&bench.server), &own),
    ];
    table(bench, &ways, 8, rounds, seconds).await;
    bench.operate(Method::DELETE, "/api/upstreams/bench", &json!({})).await;
    println!();
}

/// Name, target, and what is sent.
type Way<'a> = (&'static str, Option<&'a Target>, &'a Vec<u8>);

async fn table(bench: &Bench, ways: &[Way<'_>], connections: usize, rounds: usize, seconds: f64) {
    let mut figures: Vec<(Vec<f64>, Vec<f64>, f64)> = ways.iter().map(|_| Default::default()).collect();
    for round in 0..=rounds {
        for ((_, target, request), (rates, cpus, errors)) in ways.iter().zip(&mut figures) {
            let Some(target) = target else { continue };
            let (loaded, of_target, of_app) = bench.load(target, request, connections, seconds).await;
            // The first round warms up.
            if round > 0 {
                rates.push(loaded.requests / loaded.seconds);
                cpus.push(if target.process.is_some() { of_target } else { of_app });
                *errors += loaded.errors;
            }
        }
    }
    let (direct, direct_cpu) = (median(figures[0].0.clone()), median(figures[0].1.clone()));
    for ((name, target, _), (rates, cpus, errors)) in ways.iter().zip(figures) {
        if target.is_some() {
            let (rate, cpu) = (median(rates), median(cpus));
            println!(
                "{name:<26} {connections:>5} {rate:>10.0} {:>8.2} {cpu:>9.1} {:>8.1} {errors:>7}",
                rate / direct,
                cpu / direct_cpu
            );
        }
    }
}

/// Memory of idle sessions of the handshake revisions: without a stream they are nothing but an id.
pub async fn sessions(bench: &Bench) {
    let before = crate::memory::now(bench);
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } } });
    let (user, hello) = (bench.user(), hello.to_string());
    for _ in 0..SESSIONS {
        bench.http.json(Method::POST, &bench.url("/mcp"), &[("authorization", &user)], &hello).await;
    }
    let each = (crate::memory::now(bench) - before).max(0.0) * 1024.0 / SESSIONS as f64;
    println!("Memory (PSS): each of {SESSIONS} idle MCP sessions of a handshake revision: {each:.2} KiB");
    println!();
}
