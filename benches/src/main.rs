//! Measures the way through the server against a direct call, in one run, as ratios.
//!
//! Machines are shared and noisy, so: interleaved rounds, medians, and CPU time of the process under test before wall
//! time. Load generator, app, nginx and server are pinned to one core; core placement alone moves a one-connection test
//! by a factor of six.

#![expect(clippy::disallowed_methods, reason = "a measuring tool asks the machine for the time")]

mod app;
mod calls;
mod chat;
mod client;
mod lists;
mod load;
mod mcp;
mod memory;
mod process;
mod sandbox;
mod setup;
mod wake;

use clap::{Parser, Subcommand};

/// Everything is pinned to this core.
const CORE: &str = "0";

#[derive(Parser)]
#[command(about = "Measures the way through the server against a direct call")]
struct Args {
    /// The server's binary.
    #[arg(long, default_value = "target/release/toolyard")]
    toolyard: std::path::PathBuf,
    /// Seconds of one round.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Rounds of each cell; the median counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Idle device sockets for the memory figure.
    #[arg(long, default_value_t = 2_000)]
    sockets: usize,
    #[command(subcommand)]
    part: Option<Part>,
}

/// Parts that run as processes of their own.
#[derive(Subcommand)]
enum Part {
    /// The echo app.
    App,
    /// The load generator: prints requests and seconds.
    Load(load::LoadArgs),
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args = Args::parse();
    match args.part {
        Some(Part::App) => app::run().await,
        Some(Part::Load(load)) => load::run(&load).await,
        None => measure(&args).await,
    }
}

async fn measure(args: &Args) {
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
    memory::measure(&bench, args.sockets).await;
    mcp::sessions(&bench).await;
    calls::measure(&bench, args.rounds, args.seconds).await;
    lists::measure(&bench, args.rounds, args.seconds).await;
    mcp::measure(&bench, args.rounds, args.seconds).await;
    calls::growth(&bench, args.rounds, args.seconds).await;
    wake::measure(&bench).await;
    chat::measure(&bench).await;
    chat::shortlist();
    sandbox::measure(args.rounds).await;
    println!("Memory (PSS) after all of this: {:.1} MiB", memory::now(&bench));
}
