//! The server, who we are to it, the apps of the user, and the upstreams.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::Full;
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use serde::Deserialize;
use serde_json::Value;
use toolyard_net::{ClientSettings, HttpClient, NetError, OutsideUrl, UrlRefused};
use toolyard_protocol::{
    api::{AppSummary, InstallSummary, SessionSummary},
    upstream,
};
use toolyard_server::World;

use super::{Check, upstreams};
use crate::{cli::Context, client::Client, commands::apps::guard_beside, error::CliError};

/// How long one answer may take.
const WAIT: Duration = Duration::from_secs(5);
/// Clocks further apart than this make tokens and signatures fail.
const MAX_SKEW: SignedDuration = SignedDuration::from_secs(60);
/// Most installed apps that are looked at.
const MAX_APPS: usize = 50;
/// Most that an app may answer to a question about its health, in bytes.
const MAX_HEALTH_BYTES: usize = 64 * 1024;

pub(super) async fn checks(cx: &Context) -> Vec<Check> {
    let client = match cx.client() {
        Ok(client) => client,
        Err(error) => return vec![Check::failed("server", &error)],
    };
    let (server, reached) = server(&client, cx.server()).await;
    let mut checks = server;
    if !reached {
        return checks;
    }
    checks.push(ready(&client).await);
    checks.push(identity(cx, &client).await);
    checks.push(session(cx, &client).await);
    checks.extend(apps(&client).await);
    checks.extend(upstreams::checks(&client).await);
    checks
}

/// Whether it answers, and whether its clock agrees with ours.
async fn server(client: &Client, name: &str) -> (Vec<Check>, bool) {
    const NAME: &str = "server";
    let asked = async {
        let answer =
            client.send(client.finish(client.request(Method::GET, "healthz")?, Bytes::new())?, WAIT).await?;
        let date = answer.headers.get(header::DATE).and_then(|date| date.to_str().ok()).map(str::to_owned);
        Ok::<_, CliError>((answer.status, date, client.bytes(answer).await?))
    };
    match asked.await {
        Ok((status, date, _)) if status.is_success() => {
            let clock = date.and_then(|date| clock(&date, World::default().clock.now()));
            (std::iter::once(Check::ok(NAME, format!("{name} lives"))).chain(clock).collect(), true)
        }
        Ok((status, _, body)) => (vec![Check::failed(NAME, &client.refused(status, &body))], false),
        Err(error) => (vec![Check::failed(NAME, &error)], false),
    }
}

fn clock(date: &str, now: Timestamp) -> Option<Check> {
    let theirs = rfc2822::parse(date).ok()?.timestamp();
    let skew = now.duration_since(theirs).abs();
    let seconds = skew.as_secs();
    Some(if skew > MAX_SKEW {
        let next = "set both clocks by NTP: tokens and signatures depend on them";
        Check::fail("clock", format!("{seconds} s apart from the server's"), next)
    } else {
        Check::ok("clock", format!("{seconds} s apart from the server's"))
    })
}

async fn ready(client: &Client) -> Check {
    match client.get::<Value>("readyz").await {
        Ok(_) => Check::ok("readiness", "the server takes work and its store answers"),
        Err(error) => Check::failed("readiness", &error),
    }
}

/// The ledger is the one place that everybody with a credential may ask.
async fn identity(cx: &Context, client: &Client) -> Check {
    const NAME: &str = "identity";
    let who = match (cx.token(), cx.user()) {
        (Some(_), _) => "the token is believed".to_owned(),
        (None, Some(user)) => format!("dev mode: {user} is believed without a token"),
        (None, None) => "dev mode: no token needed, and nobody named is the operator".to_owned(),
    };
    match client.get::<Value>("api/calls?limit=1").await {
        Ok(_) => Check::ok(NAME, who),
        // Known, and an app: its key cannot read the ledger.
        Err(CliError::Refused(refused)) if refused.status == StatusCode::FORBIDDEN.as_u16() => {
            Check::ok(NAME, "the app's key is believed")
        }
        Err(error) => Check::failed(NAME, &error),
    }
}

async fn session(cx: &Context, client: &Client) -> Check {
    const NAME: &str = "session";
    match client.get::<SessionSummary>("api/session").await {
        Ok(session) => {
            let model = session.capabilities.map(|device| device.model_name);
            let device = match (session.device_connected, model) {
                (true, Some(model)) => format!("wearing {model}"),
                (true, None) => "with a device".to_owned(),
                (false, _) => "without a device".to_owned(),
            };
            Check::ok(NAME, format!("{} is live, {device}; {} apps run", session.user_id, session.apps.len()))
        }
        Err(CliError::Refused(refused)) if refused.is_no_session() => {
            let user = cx.user().map_or("NAME", |user| user.as_str());
            Check::warn(
                NAME,
                format!("{user} has none"),
                format!("open one with `toolyard glasses --user {user}`"),
            )
        }
        Err(error) => Check::warn(
            NAME,
            format!("not checked: {error}"),
            error.next().unwrap_or_else(|| "pass --user".to_owned()),
        ),
    }
}

#[derive(Deserialize)]
struct Installs {
    installs: Vec<InstallSummary>,
}

/// Whether each installed app can be reached.
async fn apps(client: &Client) -> Vec<Check> {
    let installs = match client.get::<Installs>("api/installs").await {
        Ok(list) => list.installs,
        // Without a user there is nothing to look at, and the check before has said so.
        Err(_) => return Vec::new(),
    };
    if installs.is_empty() {
        let next = "install one with `toolyard apps install PACKAGE --user NAME`";
        return vec![Check::warn("apps", "the user has none", next)];
    }
    let mut checks = Vec::new();
    for install in installs.into_iter().take(MAX_APPS) {
        match upstream::id_of(&install.package_name) {
            // Upstreams that we may see are told by themselves.
            id if id != install.package_name.as_str() => checks.extend(upstreams::hidden(client, id).await),
            _ => checks.push(app(client, &install).await),
        }
    }
    checks
}

async fn app(client: &Client, install: &InstallSummary) -> Check {
    let package = &install.package_name;
    let name = format!("app {package}");
    let app = match client.find::<AppSummary>(&format!("api/apps/{package}")).await {
        Ok(Some(app)) => app,
        Ok(None) => {
            let next = "ask its developer, or use a developer's or operator's token";
            return Check::warn(&name, "not checked: only its developer may see where it is", next);
        }
        Err(error) => return Check::failed(&name, &error),
    };
    let Some(url) = app.details.public_url else {
        return Check::warn(
            &name,
            "has no public URL",
            "its tools cannot be called until its developer sets one",
        );
    };
    let guard = guard_beside(client);
    let base = match OutsideUrl::parse(&url, &guard) {
        Ok(base) => base,
        Err(error) => return not_from_here(&name, &url, &error),
    };
    let Ok(request) = Request::get(base.join("health")).body(Full::new(Bytes::new())) else {
        return Check::fail(&name, format!("{url} is no address"), "its developer has to correct it");
    };
    let http = HttpClient::new(guard, ClientSettings::default());
    let asked = tokio::time::timeout(WAIT, async {
        let answer = http.send(request).await?;
        let status = answer.status;
        answer.bytes(MAX_HEALTH_BYTES).await.map(|_| status)
    });
    let start = "start the app, or correct its URL";
    match asked.await {
        Ok(Ok(status)) if status.is_success() => Check::ok(&name, format!("{url} is healthy")),
        Ok(Ok(StatusCode::NOT_FOUND)) => Check::ok(&name, format!("{url} answers; it has no /health")),
        Ok(Ok(status)) => {
            Check::warn(&name, format!("{url}/health answers {status}"), "look at the app's log")
        }
        Ok(Err(NetError::Refused(error))) => not_from_here(&name, &url, &error),
        Ok(Err(error)) => Check::fail(&name, format!("{url} cannot be reached: {error}"), start),
        Err(_) => Check::fail(&name, format!("{url} did not answer within {WAIT:?}"), start),
    }
}

/// The server may reach what we must not.
fn not_from_here(name: &str, url: &str, error: &UrlRefused) -> Check {
    Check::warn(name, format!("not checked: {url}: {error}"), "run doctor on the server's machine")
}

#[cfg(test)]
mod tests {
    use super::{super::Status, *};

    #[test]
    fn clocks_are_compared_by_the_date_header() {
        let now: Timestamp = "1994-11-06T08:49:40Z".parse().unwrap();
        assert_eq!(clock("Sun, 06 Nov 1994 08:49:37 GMT", now).unwrap().status, Status::Ok);
        assert_eq!(clock("Sun, 06 Nov 1994 08:40:00 GMT", now).unwrap().status, Status::Fail);
        assert_eq!(clock("Sun, 06 Nov 1994 08:59:00 GMT", now).unwrap().status, Status::Fail);
        assert!(clock("yesterday", now).is_none());
    }
}
