//! Measures the way through the server against a direct call, in one run, as ratios.
//!
//! Machines are shared and noisy, so: interleaved rounds, medians, and CPU time of the process under test before wall
//! time. Load generator, app, nginx and server are pinned to one core; core placement alone moves a one-connection test
//! by a factor of six.

#![expect(clippy::disallowed_methods, reason = "a measuring tool asks the machine for the time")]

mod app;
mod approvals;
mod assistant;
mod calls;
mod chat;
mod client;
mod data_flow;
mod lists;
mod load;
mod mcp;
mod memory;
mod process;
mod sandbox;
mod secrets;
mod setup;
mod wake;

use clap::{Parser, Subcommand, ValueEnum};

/// Everything is pinned to this core.
const CORE: &str = "0";

#[derive(Parser)]
#[command(about = "Measures the way through the server against a direct call")]
struct Args {
    /// The server's binary.
    #[arg(long, default_value = "target/dist/toolyard")]
    toolyard: std::path::PathBuf,
    /// The assistant's binary.
    #[arg(long, default_value = "target/dist/toolyard-assistant")]
    assistant: std::path::PathBuf,
    /// Seconds of one round.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Rounds of each cell; the median counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Idle device sockets for the memory figure.
    #[arg(long, default_value_t = 2_000)]
    sockets: usize,
    /// Measure these only; all of them where none is named.
    #[arg(long, value_enum)]
    only: Vec<Topic>,
    #[command(subcommand)]
    part: Option<Part>,
}

/// What is measured, in this order.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Topic {
    Memory,
    Calls,
    Lists,
    Mcp,
    Growth,
    Wake,
    Chat,
    Assistant,
    Shortlist,
    Sandbox,
    Approvals,
    Secrets,
    DataFlow,
}

/// Parts that run as processes of their own.
#[derive(Subcommand)]
enum Part {
    /// The echo app.
    App,
    /// The load generator: prints requests and seconds.
    Load(load::LoadArgs),
    /// A worker of the sandbox.
    SandboxWorker,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args = Args::parse();
    match args.part {
        Some(Part::App) => app::run().await,
        Some(Part::Load(load)) => load::run(&load).await,
        Some(Part::SandboxWorker) => toolyard_sandbox::process::serve_worker(&[]),
        None => measure(&args).await,
    }
}

async fn measure(args: &Args) {
    // Needs no server.
    if args.only == [Topic::DataFlow] {
        return data_flow::measure(args.rounds).await;
    }
    let bench = setup::Bench::start(&args.toolyard).await;
    println!(
        "all processes pinned to core {CORE}; {} rounds of {} s, interleaved, medians",
        args.rounds, args.seconds
    );
    match &bench.nginx {
        Some(_) => println!("nginx: plain buffered reverse proxy, keep-alive to the app"),
        None => println!("nginx is not installed: its column is missing (apt-get install nginx-light)"),
    }
    println!();
    let (rounds, seconds) = (args.rounds, args.seconds);
    for topic in Topic::value_variants() {
        if !args.only.is_empty() && !args.only.contains(topic) {
            continue;
        }
        match topic {
            Topic::Memory => {
                memory::measure(&bench, args.sockets).await;
                mcp::sessions(&bench).await;
            }
            Topic::Calls => calls::measure(&bench, rounds, seconds).await,
            Topic::Lists => lists::measure(&bench, rounds, seconds).await,
            Topic::Mcp => mcp::measure(&bench, rounds, seconds).await,
            Topic::Growth => calls::growth(&bench, rounds, seconds).await,
            Topic::Wake => wake::measure(&bench).await,
            Topic::Chat => chat::measure(&bench).await,
            Topic::Assistant => assistant::measure(&bench, &args.assistant).await,
            Topic::Shortlist => chat::shortlist(),
            Topic::Sandbox => sandbox::measure(rounds).await,
            Topic::Approvals => approvals::measure(&bench).await,
            Topic::Secrets => secrets::measure(),
            Topic::DataFlow => data_flow::measure(rounds).await,
        }
    }
    println!("Memory (PSS) after all of this: {:.1} MiB", memory::now(&bench));
}
