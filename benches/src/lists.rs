//! Listings of 10, 100 and 1,000 tools.

use http::Method;
use serde_json::json;

use crate::{
    app,
    client::raw,
    process::median,
    setup::{Bench, ECHO_APP},
};

pub async fn measure(bench: &Bench, rounds: usize, seconds: f64) {
    println!(
        "Listings, 8 connections. CPU is milliseconds for 1,000 listings of the process named (for direct: of the app itself)."
    );
    println!("{:<10} {:>6} {:>10} {:>8} {:>9}", "way", "tools", "lists/s", "ratio", "CPU");
    for count in app::LISTS {
        let tools: Vec<_> = (0..count).map(app::tool).collect();
        bench.operate(Method::POST, &format!("/api/apps/{ECHO_APP}/tools"), &json!({ "tools": tools })).await;
        let plain = raw("GET", &format!("/list-{count}"), "localhost", &[], "");
        let user = bench.user();
        let own = raw("GET", "/api/tools", &bench.server.address, &[("authorization", &user)], "");
        let targets: Vec<_> =
            [Some(&bench.direct), bench.nginx.as_ref(), Some(&bench.server)].into_iter().flatten().collect();
        let mut figures: Vec<(Vec<f64>, Vec<f64>)> = targets.iter().map(|_| Default::default()).collect();
        for round in 0..=rounds {
            for (target, (rates, cpus)) in targets.iter().zip(&mut figures) {
                let request = if target.name == "toolyard" { &own } else { &plain };
                let (loaded, of_target, of_app) = bench.load(target, request, 8, seconds).await;
                if round > 0 {
                    rates.push(loaded.requests / loaded.seconds);
                    cpus.push(if target.process.is_some() { of_target } else { of_app });
                }
            }
        }
        let direct = median(figures[0].0.clone());
        for (target, (rates, cpus)) in targets.iter().zip(figures) {
            let rate = median(rates);
            println!(
                "{:<10} {count:>6} {rate:>10.0} {:>8.2} {:>9.1}",
                target.name,
                rate / direct,
                median(cpus)
            );
        }
    }
    println!();
}
