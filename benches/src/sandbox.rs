//! Plugin calls: the same function natively, in worker processes as the server runs it, and on threads as programs of one
//! user run it.

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolyard_net::{ClientSettings, Guard, HttpClient};
use toolyard_sandbox::process::{
    PoolParts, RUNS_PER_WORKER, RunOwner, RunRequest, SlotLimits, WORKER_ARGUMENT, WorkerCommand, WorkerPool,
};
use toolyard_sandbox::{RunPermissions, Sandbox, SandboxHost, SandboxJob, SandboxLimits};

use crate::process::median;

/// What a plugin of everyday size does: looks at its arguments, sums, and answers with an object.
const SOURCE: &str = "const prices = args.items.map((item) => item.price * item.count);
const total = prices.reduce((sum, price) => sum + price, 0);
const dear = args.items.filter((item) => item.price > 10).map((item) => item.name.toUpperCase()).sort();
return { total, dear, text: `${args.items.length} items: ${total.toFixed(2)}` };";

const DIFFERENT: usize = 1_000;
/// Runs of one source in a round.
const REPEATS: usize = 200;

fn arguments() -> Value {
    let items: Vec<Value> = (0..20)
        .map(|i| json!({ "name": format!("item {i}"), "price": i as f64 * 1.25, "count": i % 4 }))
        .collect();
    json!({ "items": items })
}

/// The same in Rust, from text to text.
fn native(arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).expect("JSON");
    let items = arguments["items"].as_array().expect("items");
    let price = |item: &Value| item["price"].as_f64().unwrap_or(0.0);
    let total: f64 = items.iter().map(|item| price(item) * item["count"].as_f64().unwrap_or(0.0)).sum();
    let mut dear: Vec<String> = items
        .iter()
        .filter(|item| price(item) > 10.0)
        .map(|item| item["name"].as_str().unwrap_or_default().to_uppercase())
        .collect();
    dear.sort();
    json!({ "total": total, "dear": dear, "text": format!("{} items: {total:.2}", items.len()) }).to_string()
}

fn host() -> SandboxHost {
    let guard = Guard::strict();
    SandboxHost {
        client: HttpClient::new(guard.clone(), ClientSettings::default()),
        guard,
        clock: Arc::new(|| 0),
        random: Arc::new(|bytes: &mut [u8]| bytes.fill(7)),
    }
}

/// Workers as the server has them.
async fn workers() -> WorkerPool {
    let program = std::env::current_exe().expect("the path of this program");
    let parts = PoolParts {
        command: WorkerCommand { program, arguments: vec![WORKER_ARGUMENT.to_owned()] },
        limits: SandboxLimits::default(),
        slots: SlotLimits { runs: 8, per_user: 4, per_content: 6, waiting: 64 },
        runs_per_worker: RUNS_PER_WORKER,
        host: host(),
        tasks: TaskTracker::new(),
    };
    WorkerPool::start(parts).await.expect("workers")
}

fn job(source: &Arc<str>, arguments: &RawValue) -> SandboxJob {
    SandboxJob {
        source: Arc::clone(source),
        name: "bench.js".to_owned(),
        args: arguments.to_owned(),
        permissions: RunPermissions::default(),
    }
}

/// Milliseconds of one run on a thread: on the clock, and of it on a processor.
async fn run(sandbox: &Sandbox, source: &Arc<str>, arguments: &RawValue) -> (f64, f64) {
    let began = Instant::now();
    let outcome = sandbox.run(job(source, arguments), CancellationToken::new(), &mut |_| ()).await;
    let outcome = outcome.expect("a result");
    black_box(outcome.json);
    (milliseconds(began.elapsed()), milliseconds(outcome.used.compute))
}

/// The same in a worker.
async fn run_in_worker(pool: &WorkerPool, source: &Arc<str>, arguments: &RawValue) -> (f64, f64) {
    let began = Instant::now();
    let owner = RunOwner { user: "ada".into(), content: "bench".into() };
    let request = RunRequest { job: job(source, arguments), owner, on_kill: Box::new(|| ()) };
    let outcome = pool.run(request, CancellationToken::new(), &mut |_| ()).await.expect("a result");
    black_box(outcome.json);
    (milliseconds(began.elapsed()), milliseconds(outcome.used.compute))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub async fn measure(rounds: usize) {
    let text = arguments().to_string();
    let arguments = RawValue::from_string(text.clone()).expect("JSON");
    let source: Arc<str> = SOURCE.into();
    let (mut direct, mut cold, mut warm, mut different) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut engine, mut first, mut again, mut other) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds.max(1) {
        let began = Instant::now();
        for _ in 0..REPEATS {
            black_box(native(black_box(&text)));
        }
        direct.push(milliseconds(began.elapsed()) / REPEATS as f64);

        let pool = workers().await;
        first.push(run_in_worker(&pool, &source, &arguments).await.0);
        for _ in 0..REPEATS {
            let (time, compute) = run_in_worker(&pool, &source, &arguments).await;
            again.push(time);
            engine.push(compute);
        }
        let began = Instant::now();
        for index in 0..DIFFERENT {
            let source = format!("const which = '{round}/{index}';\n{SOURCE}").into();
            run_in_worker(&pool, &source, &arguments).await;
        }
        other.push(milliseconds(began.elapsed()) / DIFFERENT as f64);
        drop(pool);

        let sandbox = Sandbox::new(SandboxLimits::default(), host());
        cold.push(run(&sandbox, &source, &arguments).await.0);
        for _ in 0..REPEATS {
            warm.push(run(&sandbox, &source, &arguments).await.0);
        }
        let began = Instant::now();
        for index in 0..DIFFERENT {
            let source = format!("const which = '{round}/{index}';\n{SOURCE}").into();
            run(&sandbox, &source, &arguments).await;
        }
        different.push(milliseconds(began.elapsed()) / DIFFERENT as f64);
    }
    let direct = median(direct);
    println!(
        "Sandbox. One plugin call in milliseconds, each in an engine of its own; ratios are to the same in Rust."
    );
    println!("{:<34} {:>9} {:>8}", "way", "ms", "ratio");
    for (way, time) in [
        ("in Rust, JSON to JSON", direct),
        ("worker, first call", median(first)),
        ("worker, same source again", median(again)),
        ("  of it in the engine", median(engine)),
        ("worker, 1,000 different sources", median(other)),
        ("thread, first call", median(cold)),
        ("thread, same source again", median(warm)),
        ("thread, 1,000 different sources", median(different)),
    ] {
        println!("{way:<34} {time:>9.4} {:>8.1}", time / direct);
    }
    println!();
}
