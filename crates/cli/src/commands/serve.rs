//! `toolyard serve`: runs a server until a signal, then drains it.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use clap::{Args, builder::PossibleValuesParser};
use serde::Serialize;
use toolyard_server::{
    Server, ServerDependencies,
    config::load_config,
    process::{EXIT_GRACE, StopSignals},
    reload::ReloadSources,
    telemetry,
};

use super::CommandOutcome;
use crate::{
    cli::CommandContext,
    config::{ConfigArgs, env_variables, quote_toml},
    error::CliError,
    output::RenderText,
};

const HELP: &str = "\
Settings come from toolyard.toml, then environment variables such as TOOLYARD_SERVER__LISTEN, then flags. Later ones win.
On SIGINT or SIGTERM the server stops accepting requests and waits for open calls to finish. If that takes longer than
server.drain_ms plus 8 s, it exits with code 124. A second signal stops it at once (exit code 130).
On SIGHUP the server reads its configuration again, applies what needs no restart, and logs what changed.

Examples:
  toolyard serve
  toolyard serve --listen 127.0.0.1:9000 --data /var/lib/toolyard
  toolyard serve --listen 0.0.0.0:8787 --auth token --public-url https://tools.example.com
  toolyard serve --set calls.timeout_ms=5000 --set log.format=json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Address and port to listen on; port 0 takes any free port
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// `dev`: anyone on this machine can act as any user, on loopback addresses only; `token`: requires tokens and keys
    #[arg(long, value_name = "MODE", value_parser = PossibleValuesParser::new(["dev", "token"]))]
    auth: Option<String>,
    /// URL under which apps and clients reach this server
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
}

/// Printed when the server accepts requests.
#[derive(Serialize)]
struct ListeningOutput {
    listening: String,
    /// The web console, if this program was built with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    console: Option<String>,
}

impl RenderText for ListeningOutput {
    fn render_text(&self) -> String {
        format!("listening on {}", self.listening)
    }
}

pub(crate) async fn run_server(cx: &CommandContext, args: ServeArgs) -> Result<CommandOutcome, CliError> {
    // First: until then, a SIGHUP would end the process.
    let signals = StopSignals::listen_with_reload(EXIT_GRACE).map_err(CliError::Runtime)?;
    let sources = args.config.sources(config_flags(&args));
    let config = load_config(sources.clone()).map_err(CliError::Config)?;
    let log = telemetry::init_log(&config.log).map_err(CliError::Log)?;
    signals.stop_timeout().set_drain(Duration::from_millis(config.server.drain_ms));
    let reload = ReloadSources {
        sources,
        loaded: config.clone(),
        log_filter: Some(log.filter()),
        stop_timeout: Some(signals.stop_timeout()),
    };
    let environment: Vec<_> = env_variables().collect();
    let deps =
        ServerDependencies { reload: Some(reload), ..ServerDependencies::with_environment(&environment) };
    let server = Server::start(config, deps).await.map_err(CliError::Start)?;
    server.reload_on(signals.reload_requests());
    tracing::info!(address = %server.address, auth = ?server.state.auth_mode, "listening");
    let listening = format!("http://{}", server.address);
    let console = console_url(&server);
    // Not part of the result: a script may read one line and then close the pipe.
    if let Some(console) = console.as_ref().filter(|_| !cx.output.is_json()) {
        cx.output.print_note(&format!("console at {console}"));
    }
    let base = console.as_deref().unwrap_or(&listening).trim_end_matches("/console/");
    if let Some(link) = server.first_operator_link(base).await.map_err(CliError::Start)? {
        cx.output.print_note(&format!(
            "no operator has an account yet; sign in with this link, once, within 24 hours:\n  {link}"
        ));
    }
    cx.output.print_result(&ListeningOutput { listening, console })?;
    server.run(signals.stop_token()).await;
    Ok(CommandOutcome::Success)
}

/// The URL of the console for a browser on this machine; `None` if this program was built without it.
fn console_url(server: &Server) -> Option<String> {
    server.state.console.find("index.html")?;
    let config = server.state.config.load();
    let public = config.server.public_url.as_deref();
    let base = public.map(|url| url.trim_end_matches('/').to_owned()).unwrap_or_else(|| {
        let mut address = server.address;
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            IpAddr::V4(_) | IpAddr::V6(_) => {}
        }
        format!("http://{address}")
    });
    Some(format!("{base}/console/"))
}

fn config_flags(args: &ServeArgs) -> Vec<(&'static str, &'static str, String)> {
    let flags = [
        ("server", "listen", args.listen.map(|listen| listen.to_string())),
        ("server", "public_url", args.public_url.clone()),
        ("auth", "mode", args.auth.clone()),
    ];
    let given =
        flags.into_iter().filter_map(|(section, key, value)| Some((section, key, quote_toml(&value?))));
    given.collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use toolyard_server::config::AuthMode;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ServeArgs,
    }

    #[test]
    fn every_flag_reaches_the_configuration() {
        let line = "serve --listen 127.0.0.1:9 --auth token --public-url https://t.example --data d --set server.listen=127.0.0.1:8";
        let Line { args } = Line::parse_from(line.split(' '));
        let config = args.config.load_config(config_flags(&args)).unwrap();
        assert_eq!(config.server.listen.to_string(), "127.0.0.1:9");
        assert_eq!(config.server.public_url.as_deref(), Some("https://t.example"));
        assert_eq!(config.auth.mode, Some(AuthMode::Token));
        assert_eq!(config.store.path.to_str(), Some("d/toolyard.db"));
    }
}
