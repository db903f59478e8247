//! What a wake costs beyond the app's own connect time.

use std::time::Instant;

use http::Method;
use serde_json::json;

use crate::{
    process::percentile,
    setup::{Bench, SESSION_APP},
};

const WAKES: usize = 100;

pub async fn measure(bench: &Bench) {
    let user = bench.user();
    let headers = [("authorization", user.as_str())];
    bench.install(SESSION_APP).await;
    let call =
        json!({ "name": format!("{SESSION_APP}:tool_0"), "arguments": { "text": "hello" } }).to_string();
    let execute = bench.url("/api/tools/execute");
    let (mut awake, mut overhead) = (Vec::new(), Vec::new());
    for _ in 0..WAKES {
        let began = Instant::now();
        bench.http.json(Method::POST, &execute, &headers, &call).await;
        let woken = began.elapsed().as_secs_f64();
        let connect = bench
            .http
            .json(Method::GET, &format!("http://{}/connect-time", bench.direct.address), &[], "")
            .await;
        let began = Instant::now();
        bench.http.json(Method::POST, &execute, &headers, &call).await;
        let plain = began.elapsed().as_secs_f64();
        awake.push(plain * 1e3);
        overhead.push((woken - plain - connect.as_f64().unwrap_or(0.0)).max(0.0) * 1e3);
        let stop = bench.url(&format!("/api/session/apps/{SESSION_APP}/stop"));
        bench.http.json(Method::POST, &stop, &headers, "{}").await;
    }
    println!(
        "Wake. {WAKES} starts; overhead beyond the app's own connect time and a plain call: p50 {:.2} ms, p99 {:.2} ms (a plain call: p50 {:.2} ms)",
        percentile(&overhead, 0.5),
        percentile(&overhead, 0.99),
        percentile(&awake, 0.5),
    );
    println!();
}
