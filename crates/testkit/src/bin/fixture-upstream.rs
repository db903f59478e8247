//! The upstream of the tests as a process of its own: for the conformance suite, and for tests of stdio.

use std::{future::pending, io::Write as _};

use toolyard_testkit::upstream::{Behave, Era, FakeUpstream, Fixtures, On, Options};

const USAGE: &str = "fixture-upstream --stdio | --http ADDRESS
  --era both|modern|legacy      which revisions it speaks (both)
  --fixtures conformance|echo   what it offers (conformance)
  --page-size N                 items on a page of a list
  --bearer TOKEN                wants this token over HTTP
  --always-sse                  answers with streams only
  --fault METHOD=FAULT          hang, die, die-midway, not-json or wrong-shape";

enum Transport {
    Stdio,
    Http(String),
}

struct Command {
    transport: Transport,
    options: Options,
    orders: Vec<(On, Behave)>,
}

fn command(mut words: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut transport = None;
    let mut options = Options { fixtures: Fixtures::Conformance, ..Options::default() };
    let mut orders = Vec::new();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--stdio" => transport = Some(Transport::Stdio),
            "--http" => transport = Some(Transport::Http(value()?)),
            "--era" => {
                options.era = match value()?.as_str() {
                    "both" => Era::Both,
                    "modern" => Era::Modern,
                    "legacy" => Era::Legacy,
                    other => return Err(format!("{other} is no era")),
                };
            }
            "--fixtures" => {
                options.fixtures = match value()?.as_str() {
                    "conformance" => Fixtures::Conformance,
                    "echo" => Fixtures::Echo,
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
                orders.push((On::method(method), fault.parse()?));
            }
            other => return Err(format!("{other} is unknown")),
        }
    }
    let transport = transport.ok_or("--stdio or --http is needed")?;
    Ok(Command { transport, options, orders })
}

#[tokio::main]
#[expect(clippy::disallowed_methods, reason = "a program for tests, whose standard input cannot be closed")]
async fn main() {
    let Command { transport, options, orders } = command(std::env::args().skip(1)).unwrap_or_else(|error| {
        eprintln!("{error}\n{USAGE}");
        std::process::exit(2);
    });
    match transport {
        Transport::Stdio => {
            eprintln!("fixture-upstream is ready");
            FakeUpstream::serve_stdio(options, orders, tokio::io::stdin(), tokio::io::stdout()).await;
            // Standard input is read by a thread that cannot be stopped, so the process ends here.
            std::process::exit(0);
        }
        Transport::Http(address) => {
            let upstream = FakeUpstream::at(&address, options).await;
            for (on, behave) in orders {
                upstream.when(on, behave);
            }
            println!("listening {}", upstream.url());
            std::io::stdout().flush().unwrap();
            pending::<()>().await;
        }
    }
}
