//! Calls: direct, through nginx, through the server with every check on.

use http::Method;
use serde_json::json;

use crate::{
    app,
    client::raw,
    process::median,
    setup::{Bench, ECHO_APP, Target},
};

/// The body that the server sends to the app for the call below; the direct baseline sends the same.
const APP_BODY: &str = r#"{"name":"tool_0","arguments":{"text":"hello"},"context":{"userId":"bench@example.com","timestamp":"2026-01-02T03:04:05.678Z","activatedForTool":false,"callId":"0123456789abcdef0123456789abcdef"},"toolId":"tool_0","toolParameters":{"text":"hello"},"userId":"bench@example.com","timestamp":"2026-01-02T03:04:05.678Z"}"#;

/// One cell: calls a second, CPU, and latencies.
#[derive(Default)]
struct Cell {
    rate: Vec<f64>,
    cpu: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    errors: f64,
}

impl Cell {
    async fn round(
        &mut self,
        bench: &Bench,
        target: &Target,
        request: &[u8],
        connections: usize,
        seconds: f64,
    ) {
        let (loaded, of_target, of_app) = bench.load(target, request, connections, seconds).await;
        self.rate.push(loaded.requests / loaded.seconds);
        self.cpu.push(if target.process.is_some() { of_target } else { of_app });
        self.p50.push(loaded.p50_us);
        self.p99.push(loaded.p99_us);
        self.errors += loaded.errors;
    }
}

fn execute(bench: &Bench) -> Vec<u8> {
    let call = json!({ "name": format!("{ECHO_APP}:tool_0"), "arguments": { "text": "hello" } }).to_string();
    let user = bench.user();
    raw("POST", "/api/tools/execute", &bench.server.address, &[("authorization", &user)], &call)
}

pub async fn measure(bench: &Bench, rounds: usize, seconds: f64) {
    println!(
        "Calls. CPU is milliseconds for 1,000 calls of the process named (for direct: of the app itself); ratios are to direct."
    );
    println!(
        "{:<10} {:>5} {:>10} {:>8} {:>9} {:>8} {:>9} {:>9} {:>7}",
        "way", "conns", "calls/s", "ratio", "CPU", "ratio", "p50 us", "p99 us", "errors"
    );
    let direct_request = raw("POST", "/tool", &bench.direct.address, &[], APP_BODY);
    let own_request = execute(bench);
    for connections in [1, 32, 256] {
        let targets: Vec<&Target> =
            [Some(&bench.direct), bench.nginx.as_ref(), Some(&bench.server)].into_iter().flatten().collect();
        let mut cells: Vec<Cell> = targets.iter().map(|_| Cell::default()).collect();
        for round in 0..=rounds {
            for (target, cell) in targets.iter().zip(&mut cells) {
                let request = if target.name == "toolyard" { &own_request } else { &direct_request };
                cell.round(bench, target, request, connections, seconds).await;
                if round == 0 {
                    // Warm-up.
                    *cell = Cell::default();
                }
            }
        }
        let (direct, direct_cpu) = (median(cells[0].rate.clone()), median(cells[0].cpu.clone()));
        for (target, cell) in targets.iter().zip(cells) {
            let (rate, cpu) = (median(cell.rate), median(cell.cpu));
            let (p50, p99) = (median(cell.p50), median(cell.p99));
            println!(
                "{:<10} {connections:>5} {rate:>10.0} {:>8.2} {cpu:>9.1} {:>8.1} {p50:>9.0} {p99:>9.0} {:>7}",
                target.name,
                rate / direct,
                cpu / direct_cpu,
                cell.errors
            );
        }
    }
    println!();
}

/// The same call when the catalog has many more tools.
pub async fn growth(bench: &Bench, rounds: usize, seconds: f64) {
    const APPS: usize = 10;
    const TOOLS: usize = 1_000;
    let mut few = Cell::default();
    let request = execute(bench);
    for _ in 0..rounds {
        few.round(bench, &bench.server, &request, 32, seconds).await;
    }
    for index in 0..APPS {
        let tools: Vec<_> = (0..TOOLS).map(app::tool).collect();
        let package = format!("com.bench.many{index}");
        let body = json!({ "packageName": package, "kind": "tools-only", "publicUrl": "http://127.0.0.1:9", "tools": tools });
        bench.operate(Method::POST, "/api/apps", &body).await;
        bench.install(&package).await;
    }
    let mut many = Cell::default();
    many.round(bench, &bench.server, &request, 32, seconds).await;
    many = Cell::default();
    for _ in 0..rounds {
        many.round(bench, &bench.server, &request, 32, seconds).await;
    }
    let (few, many) = (median(few.cpu), median(many.cpu));
    println!(
        "Growth. CPU for 1,000 calls with 10 tools in the view: {few:.1} ms; with {}: {many:.1} ms; ratio {:.2}",
        APPS * TOOLS + 10,
        many / few
    );
    for index in 0..APPS {
        bench.operate(Method::DELETE, &format!("/api/apps/com.bench.many{index}"), &json!({})).await;
    }
    println!();
}
