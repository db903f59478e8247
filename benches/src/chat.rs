//! Chat: what the turn adds before the first word and to each word after it, beside the model asked directly; and how long it
//! takes to choose tools.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::json;
use toolyard_agent::shortlist::{ToolDocument, ToolIndex, ToolQuery, pick_tools};

use crate::{
    app::TOKENS,
    process::{Process, median, percentile},
    setup::Bench,
};

/// Answers of each way.
const ANSWERS: usize = 100;
/// Sizes of views to choose from, and how many are chosen.
const VIEWS: [usize; 4] = [100, 1_000, 5_000, 50_000];
const CHOSEN: usize = 24;
/// Questions for each size.
const QUESTIONS: usize = 200;

pub async fn measure(bench: &Bench) {
    let client: Client<HttpConnector, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let direct =
        json!({ "model": "bench", "stream": true, "messages": [{ "role": "user", "content": "hi" }] });
    let ours =
        json!({ "messages": [{ "id": "m", "role": "user", "parts": [{ "type": "text", "text": "hi" }] }] });
    let ways = [
        (format!("http://{}/v1/chat/completions", bench.direct.address), direct.to_string(), "word"),
        (bench.url("/api/chat"), ours.to_string(), "text-delta"),
    ];
    let mut first: [Vec<f64>; 2] = Default::default();
    let mut whole: [Vec<f64>; 2] = Default::default();
    let (mut cpu, mut model_cpu) = (0.0, 0.0);
    for round in 0..=ANSWERS {
        for (way, (url, body, word)) in ways.iter().enumerate() {
            let server = bench.server.process.as_ref().map_or(0.0, Process::cpu);
            let model = bench.app.cpu();
            let (to_first, to_last) = ask(&client, url, &bench.user(), body, word).await;
            // The first round warms up.
            if round > 0 {
                first[way].push(to_first);
                whole[way].push(to_last);
                if way == 1 {
                    cpu += bench.server.process.as_ref().map_or(0.0, Process::cpu) - server;
                    model_cpu += bench.app.cpu() - model;
                }
            }
        }
    }
    let us = |seconds: f64| seconds * 1e6;
    let tokens = (ANSWERS * TOKENS) as f64;
    println!("Chat, {ANSWERS} answers of {TOKENS} words, one at a time, beside the model asked directly.");
    println!(
        "first word: direct p50 {:.0} us, through us p50 {:.0} us, p99 {:.0} us; added p50 {:.2} ms",
        us(median(first[0].clone())),
        us(median(first[1].clone())),
        us(percentile(&first[1], 0.99)),
        (median(first[1].clone()) - median(first[0].clone())) * 1e3
    );
    println!(
        "whole answer: direct p50 {:.1} ms, through us p50 {:.1} ms; CPU of the server {:.2} us a word (of the model {:.2})",
        median(whole[0].clone()) * 1e3,
        median(whole[1].clone()) * 1e3,
        us(cpu) / tokens,
        us(model_cpu) / tokens
    );
    println!();
}

/// Seconds to the first word, and to the end.
async fn ask(
    client: &Client<HttpConnector, Full<Bytes>>,
    url: &str,
    user: &str,
    body: &str,
    word: &str,
) -> (f64, f64) {
    let request = Request::post(url).header("content-type", "application/json").header("authorization", user);
    let request = request.body(Full::new(Bytes::from(body.to_owned()))).expect("a request");
    let began = Instant::now();
    let response = client.request(request).await.expect("an answer");
    assert!(response.status().is_success(), "{url}: {}", response.status());
    let (mut body, mut first) = (response.into_body(), None);
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.expect("a whole answer").into_data() else { continue };
        all.extend_from_slice(&data);
        if first.is_none() && String::from_utf8_lossy(&data).contains(word) {
            first = Some(began.elapsed().as_secs_f64());
        }
    }
    let first = first.unwrap_or_else(|| panic!("{url}: no word in {}", String::from_utf8_lossy(&all)));
    (first, began.elapsed().as_secs_f64())
}

const VERBS: [&str; 12] =
    ["add", "list", "remove", "find", "send", "open", "close", "plan", "read", "write", "share", "track"];
const THINGS: [&str; 20] = [
    "task", "note", "message", "photo", "song", "route", "meeting", "timer", "lamp", "order", "invoice",
    "recipe", "workout", "flight", "room", "file", "contact", "plant", "book", "ticket",
];

/// How long it takes to choose tools, without word vectors.
pub fn shortlist() {
    println!("Choosing {CHOSEN} tools, words alone.");
    println!("{:>7} {:>10} {:>10} {:>10}", "tools", "index ms", "p50 us", "p95 us");
    for count in VIEWS {
        let tools: Vec<(String, String, String)> = (0..count)
            .map(|n| {
                let (verb, thing) = (VERBS[n % VERBS.len()], THINGS[(n / VERBS.len()) % THINGS.len()]);
                let app = format!("App {}", n / 40);
                (
                    format!("{verb}_{thing}_{n}"),
                    format!("{verb} a {thing} in {app} and say what was done"),
                    app,
                )
            })
            .collect();
        let documents = tools.iter().enumerate().map(|(key, (name, description, app))| ToolDocument {
            key,
            name,
            description,
            app_name: app,
            parameters: vec![("text", "What it is about"), ("count", "How many")],
            ..ToolDocument::default()
        });
        let began = Instant::now();
        let index = ToolIndex::build(documents, None);
        let built = began.elapsed();
        let times: Vec<f64> = (0..QUESTIONS)
            .map(|n| {
                let question = format!(
                    "please {} the {} that I mentioned to you this morning, and then {} it",
                    VERBS[n % VERBS.len()],
                    THINGS[n % THINGS.len()],
                    VERBS[(n + 5) % VERBS.len()]
                );
                let began = Instant::now();
                let chosen = pick_tools(&index, &ToolQuery::new(&question), &[], CHOSEN);
                assert!(!chosen.is_empty());
                us_of(began.elapsed())
            })
            .collect();
        println!(
            "{count:>7} {:>10.1} {:>10.0} {:>10.0}",
            us_of(built) / 1e3,
            percentile(&times, 0.5),
            percentile(&times, 0.95)
        );
    }
    println!();
}

fn us_of(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
