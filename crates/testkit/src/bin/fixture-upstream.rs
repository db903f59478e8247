//! The test upstream as a separate process: for the conformance suite, and for tests of stdio.

use std::{future::pending, io::Write as _};

use toolyard_testkit::upstream::{
    FakeUpstream, FixtureSet, InjectedFault, RequestMatch, UpstreamEra, UpstreamOptions,
};

const USAGE: &str = "fixture-upstream --stdio | --http ADDRESS
  --era both|modern|legacy      which revisions it speaks (both)
  --fixtures conformance|echo   what it offers (conformance)
  --page-size N                 items on a page of a list
  --bearer TOKEN                wants this token over HTTP
  --always-sse                  answers with streams only
  --fault METHOD=FAULT          hang, die, die-midway, not-json or wrong-shape";

enum FixtureTransport {
    Stdio,
    Http(String),
}

struct FixtureCommand {
    transport: FixtureTransport,
    options: UpstreamOptions,
    orders: Vec<(RequestMatch, InjectedFault)>,
}

fn parse_command(mut words: impl Iterator<Item = String>) -> Result<FixtureCommand, String> {
    let mut transport = None;
    let mut options = UpstreamOptions { fixtures: FixtureSet::Conformance, ..UpstreamOptions::default() };
    let mut orders = Vec::new();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--stdio" => transport = Some(FixtureTransport::Stdio),
            "--http" => transport = Some(FixtureTransport::Http(value()?)),
            "--era" => {
                options.era = match value()?.as_str() {
                    "both" => UpstreamEra::Both,
                    "modern" => UpstreamEra::Modern,
                    "legacy" => UpstreamEra::Legacy,
                    other => return Err(format!("{other} is no era")),
                };
            }
            "--fixtures" => {
                options.fixtures = match value()?.as_str() {
                    "conformance" => FixtureSet::Conformance,
                    "echo" => FixtureSet::Echo,
                    other => return Err(format!("{other} are no fixtures")),
                };
            }
            "--page-size" => {
                options.page_size = Some(value()?.parse().map_err(|_| "a page size is a number")?);
            }
            "--bearer" => options.bearer = Some(value()?),
            "--always-sse" => options.always_sse = true,
            "--fault" => {
                let order = value()?;
                let (method, fault) = order.split_once('=').ok_or("a fault is METHOD=FAULT")?;
                orders.push((RequestMatch::for_method(method), fault.parse()?));
            }
            other => return Err(format!("{other} is unknown")),
        }
    }
    let transport = transport.ok_or("--stdio or --http is needed")?;
    Ok(FixtureCommand { transport, options, orders })
}

#[tokio::main]
#[expect(clippy::disallowed_methods, reason = "a program for tests, whose standard input cannot be closed")]
async fn main() {
    let FixtureCommand { transport, options, orders } = parse_command(std::env::args().skip(1))
        .unwrap_or_else(|error| {
            eprintln!("{error}\n{USAGE}");
            std::process::exit(2);
        });
    match transport {
        FixtureTransport::Stdio => {
            eprintln!("fixture-upstream is ready");
            FakeUpstream::serve_stdio(options, orders, tokio::io::stdin(), tokio::io::stdout()).await;
            // Standard input is read by a thread that cannot be stopped, so the process exits here.
            std::process::exit(0);
        }
        FixtureTransport::Http(address) => {
            let upstream = FakeUpstream::start_at(&address, options).await;
            for (on, behave) in orders {
                upstream.inject_fault(on, behave);
            }
            println!("listening {}", upstream.url());
            std::io::stdout().flush().unwrap();
            pending::<()>().await;
        }
    }
}
