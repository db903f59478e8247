//! `toolyard health`: whether the server on this machine accepts requests, for container health checks and systemd.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use bytes::Bytes;
use clap::Args;
use http::{Method, Uri, header};
use serde::Serialize;
use toolyard_server::config::{Config, ServerConfig};

use super::CommandOutcome;
use crate::{
    cli::CommandContext,
    client::{ApiClient, header_value},
    config::ConfigArgs,
    error::CliError,
    output::RenderText,
    text,
};

const HELP: &str = "\
Requests /readyz of the server on this machine, at the address in its configuration. If you start the server with flags,
pass the same ones here; `serve --listen ADDR` is `--set server.listen=ADDR`.

Exit codes: 0 ready; 1 not ready, also if the configuration is invalid; 2 usage error.

Examples:
  toolyard health
  toolyard health --config /etc/toolyard/toolyard.toml --timeout 5
  toolyard health --url https://tools.example.com --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct HealthArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// URL of the server to check [default: --server or TOOLYARD_URL, or the configured address on this machine]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// How long the server may take to respond
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=300))]
    timeout: u64,
}

/// The result of the check.
#[derive(Debug, Serialize)]
struct HealthReport {
    ready: bool,
    /// The server that was asked. `None` if its address is unknown, because the configuration is invalid.
    url: Option<String>,
    /// Why it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl RenderText for HealthReport {
    fn render_text(&self) -> String {
        let line = match &self.reason {
            None => format!("ready: {}", self.url.as_deref().unwrap_or_default()),
            Some(reason) => format!("not ready: {reason}"),
        };
        text::sanitize_line(&line)
    }
}

/// What to ask: a URL, and the Host to send if it is another one than that of the URL.
#[derive(Debug, PartialEq, Eq)]
struct ProbeTarget {
    url: String,
    host: Option<String>,
}

pub(crate) async fn check_health(cx: &CommandContext, args: HealthArgs) -> Result<CommandOutcome, CliError> {
    let report = match find_target(cx, &args) {
        Ok(target) => {
            let result = probe(&target, Duration::from_secs(args.timeout)).await;
            let reason = result.err().map(|error| error.to_string());
            HealthReport { ready: reason.is_none(), url: Some(target.url), reason }
        }
        Err(error) => HealthReport { ready: false, url: None, reason: Some(error.to_string()) },
    };
    cx.output.print_result(&report)?;
    Ok(if report.ready { CommandOutcome::Success } else { CommandOutcome::Failure })
}

fn find_target(cx: &CommandContext, args: &HealthArgs) -> Result<ProbeTarget, CliError> {
    if let Some(url) = args.url.as_deref().or(cx.server_flag()) {
        return Ok(ProbeTarget { url: url.trim_end_matches('/').to_owned(), host: None });
    }
    let Config { server, .. } = args.config.load_config(Vec::new())?;
    Ok(local_target(&server))
}

/// The server on this machine. One that listens on all addresses allows no address as Host, only configured names.
fn local_target(server: &ServerConfig) -> ProbeTarget {
    let url = |ip| format!("http://{}", SocketAddr::new(ip, server.listen.port()));
    let loopback = match server.listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => return ProbeTarget { url: url(ip), host: None },
    };
    let public = server.public_url.as_deref().and_then(|url| url.parse::<Uri>().ok());
    let public = public.as_ref().and_then(Uri::host).map(str::to_owned);
    ProbeTarget { url: url(loopback), host: public.or_else(|| server.hosts.first().cloned()) }
}

/// Requests `/readyz` within this time.
async fn probe(target: &ProbeTarget, wait: Duration) -> Result<(), CliError> {
    let client = ApiClient::new(&target.url, None, None)?;
    let mut request = client.build_request(Method::GET, "readyz")?;
    if let Some(host) = &target.host {
        request = request.header(header::HOST, header_value("server.hosts", host)?);
    }
    let request = client.finish_request(request, Bytes::new())?;
    let respond = async {
        let response = client.send(request, wait).await?;
        let (status, body) = (response.status, client.read_body(response).await?);
        if status.is_success() { Ok(()) } else { Err(client.server_refusal(status, &body)) }
    };
    let timed_out = || CliError::TimedOut { server: target.url.clone(), wait };
    tokio::time::timeout(wait, respond).await.unwrap_or_else(|_| Err(timed_out()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(listen: &str, public_url: Option<&str>, hosts: &[&str]) -> ProbeTarget {
        local_target(&ServerConfig {
            listen: listen.parse().unwrap(),
            public_url: public_url.map(str::to_owned),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            ..ServerConfig::default()
        })
    }

    #[test]
    fn an_address_of_the_machine_is_asked_directly() {
        for listen in ["127.0.0.1:8787", "[::1]:9000", "192.0.2.7:80"] {
            let asked = target(listen, Some("https://tools.example.com"), &["a.example"]);
            assert_eq!(asked, ProbeTarget { url: format!("http://{listen}"), host: None });
        }
    }

    #[test]
    fn all_addresses_are_asked_on_loopback_with_a_host_that_is_allowed() {
        let host = |host: &str| Some(host.to_owned());
        let asked = target("0.0.0.0:8787", Some("https://tools.example.com:8443/x"), &["a.example"]);
        assert_eq!(asked.url, "http://127.0.0.1:8787");
        assert_eq!(asked.host, host("tools.example.com"));
        let asked = target("[::]:8787", None, &["a.example", "b.example"]);
        assert_eq!(asked.url, "http://[::1]:8787");
        assert_eq!(asked.host, host("a.example"));
        assert_eq!(target("0.0.0.0:1", None, &[]).host, None);
    }
}
