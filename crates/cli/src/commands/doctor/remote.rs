//! Checks of the server, the credentials, the session, the user's apps and the upstreams.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::Full;
use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use serde::Deserialize;
use serde_json::Value;
use toolyard_net::{ClientSettings, HttpClient, NetError, OutsideUrl, UrlRefused};
use toolyard_protocol::{
    UserId,
    api::{AppSummary, InstallSummary, SessionSummary},
    upstream,
};
use toolyard_server::ServerDependencies;

use super::{DoctorCheck, upstreams};
use crate::{cli::CommandContext, client::ApiClient, connection::CredentialSource, error::CliError};

/// Timeout of one request.
const WAIT: Duration = Duration::from_secs(5);
/// Largest clock difference; beyond it tokens and signatures fail.
const MAX_SKEW: SignedDuration = SignedDuration::from_secs(60);
/// Most installed apps that are checked.
const MAX_APPS: usize = 50;
/// Largest health response of an app, in bytes.
const MAX_HEALTH_BYTES: usize = 64 * 1024;

pub(super) async fn server_checks(cx: &CommandContext) -> Vec<DoctorCheck> {
    let (client, connection) = match cx.client().and_then(|client| Ok((client, cx.connection()?))) {
        Ok(connected) => connected,
        Err(error) => return vec![DoctorCheck::from_error("server", &error)],
    };
    let (server, reached) = check_server(&client, &connection.server).await;
    let mut checks = server;
    if !reached {
        return checks;
    }
    checks.push(check_readiness(&client).await);
    checks.push(check_identity(&connection.source, cx.user(), &client).await);
    checks.push(check_session(cx, &client).await);
    checks.extend(check_apps(&client).await);
    checks.extend(upstreams::upstream_checks(&client).await);
    checks
}

/// Checks that the server answers and that its clock agrees with ours.
async fn check_server(client: &ApiClient, name: &str) -> (Vec<DoctorCheck>, bool) {
    const NAME: &str = "server";
    let health = async {
        let response = client
            .send(client.finish_request(client.build_request(Method::GET, "healthz")?, Bytes::new())?, WAIT)
            .await?;
        let date = response.headers.get(header::DATE).and_then(|date| date.to_str().ok()).map(str::to_owned);
        Ok::<_, CliError>((response.status, date, client.read_body(response).await?))
    };
    match health.await {
        Ok((status, date, _)) if status.is_success() => {
            let clock = date.and_then(|date| check_clock(&date, ServerDependencies::default().clock.now()));
            (std::iter::once(DoctorCheck::ok(NAME, format!("{name} is up"))).chain(clock).collect(), true)
        }
        Ok((status, _, body)) => {
            (vec![DoctorCheck::from_error(NAME, &client.server_refusal(status, &body))], false)
        }
        Err(error) => (vec![DoctorCheck::from_error(NAME, &error)], false),
    }
}

fn check_clock(date: &str, now: Timestamp) -> Option<DoctorCheck> {
    let theirs = rfc2822::parse(date).ok()?.timestamp();
    let skew = now.duration_since(theirs).abs();
    let seconds = skew.as_secs();
    Some(if skew > MAX_SKEW {
        let next = "synchronize both clocks with NTP: tokens and signatures depend on them";
        DoctorCheck::fail("clock", format!("differs from the server's by {seconds} s"), next)
    } else {
        DoctorCheck::ok("clock", format!("differs from the server's by {seconds} s"))
    })
}

async fn check_readiness(client: &ApiClient) -> DoctorCheck {
    match client.get::<Value>("readyz").await {
        Ok(_) => DoctorCheck::ok("readiness", "the server accepts requests and its store responds"),
        Err(error) => DoctorCheck::from_error("readiness", &error),
    }
}

/// Checks the credentials with the ledger, the one route that every role can read.
async fn check_identity(source: &CredentialSource, user: Option<&UserId>, client: &ApiClient) -> DoctorCheck {
    const NAME: &str = "identity";
    let who = match (source, user) {
        (CredentialSource::Token, _) => "the token is valid".to_owned(),
        (CredentialSource::Profile(name), _) => format!("the token of profile `{name}` is valid"),
        (CredentialSource::None, Some(user)) => format!("dev mode: acting as {user} without a token"),
        (CredentialSource::None, None) => {
            "dev mode: acting as operator, without a token and without --user".to_owned()
        }
    };
    match client.get::<Value>("api/calls?limit=1").await {
        Ok(_) => DoctorCheck::ok(NAME, who),
        // A valid key of an app: apps cannot read the ledger.
        Err(CliError::Refused(refused)) if refused.status == StatusCode::FORBIDDEN.as_u16() => {
            DoctorCheck::ok(NAME, "the app's key is valid")
        }
        Err(error) => DoctorCheck::from_error(NAME, &error),
    }
}

async fn check_session(cx: &CommandContext, client: &ApiClient) -> DoctorCheck {
    const NAME: &str = "session";
    match client.get::<SessionSummary>("api/session").await {
        Ok(session) => {
            let model = session.capabilities.map(|device| device.model_name);
            let device = match (session.device_connected, model) {
                (true, Some(model)) => format!("wearing {model}"),
                (true, None) => "with a device".to_owned(),
                (false, _) => "without a device".to_owned(),
            };
            DoctorCheck::ok(
                NAME,
                format!("{} is connected {device}; running apps: {}", session.user_id, session.apps.len()),
            )
        }
        Err(CliError::Refused(refused)) if refused.is_no_session() => {
            let user = cx.user().map_or("NAME", |user| user.as_str());
            DoctorCheck::warn(
                NAME,
                format!("{user} has no session"),
                format!("open one with `toolyard glasses --user {user}`"),
            )
        }
        Err(error) => DoctorCheck::warn(
            NAME,
            format!("not checked: {error}"),
            error.next_step().unwrap_or_else(|| "pass --user".to_owned()),
        ),
    }
}

#[derive(Deserialize)]
struct UserInstalls {
    installs: Vec<InstallSummary>,
}

/// Checks that each installed app can be reached.
async fn check_apps(client: &ApiClient) -> Vec<DoctorCheck> {
    let installs = match client.get::<UserInstalls>("api/installs").await {
        Ok(list) => list.installs,
        // Without a user there is nothing to check; the session check has reported that.
        Err(_) => return Vec::new(),
    };
    if installs.is_empty() {
        let next = "install one with `toolyard apps install PACKAGE --user NAME`";
        return vec![DoctorCheck::warn("apps", "the user has no apps installed", next)];
    }
    let mut checks = Vec::new();
    for install in installs.into_iter().take(MAX_APPS) {
        match upstream::upstream_id(&install.package_name) {
            // Upstreams that we can see have a check of their own.
            id if id != install.package_name.as_str() => {
                checks.extend(upstreams::check_hidden_upstream(client, id).await)
            }
            _ => checks.push(check_app(client, &install).await),
        }
    }
    checks
}

async fn check_app(client: &ApiClient, install: &InstallSummary) -> DoctorCheck {
    let package = &install.package_name;
    let name = format!("app {package}");
    let app = match client.get_optional::<AppSummary>(&format!("api/apps/{package}")).await {
        Ok(Some(app)) => app,
        Ok(None) => {
            let next = "ask its developer, or use a developer's or operator's token";
            return DoctorCheck::warn(&name, "not checked: only its developer can see its URL", next);
        }
        Err(error) => return DoctorCheck::from_error(&name, &error),
    };
    let Some(url) = app.details.public_url else {
        return DoctorCheck::warn(
            &name,
            "has no public URL",
            "its tools cannot be called until its developer sets one",
        );
    };
    let guard = client.guard_for_apps();
    let base = match OutsideUrl::parse(&url, &guard) {
        Ok(base) => base,
        Err(error) => return not_from_here(&name, &url, &error),
    };
    let Ok(request) = Request::get(base.join("health")).body(Full::new(Bytes::new())) else {
        return DoctorCheck::fail(
            &name,
            format!("{url} is not a valid URL"),
            "its developer must correct it",
        );
    };
    let http = HttpClient::new(guard, ClientSettings::default());
    let health = tokio::time::timeout(WAIT, async {
        let response = http.send(request).await?;
        let status = response.status;
        response.bytes(MAX_HEALTH_BYTES).await.map(|_| status)
    });
    let start = "start the app, or correct its URL";
    match health.await {
        Ok(Ok(status)) if status.is_success() => DoctorCheck::ok(&name, format!("{url} is healthy")),
        Ok(Ok(StatusCode::NOT_FOUND)) => DoctorCheck::ok(&name, format!("{url} responds; it has no /health")),
        Ok(Ok(status)) => {
            DoctorCheck::warn(&name, format!("{url}/health responds with {status}"), "check the app's log")
        }
        Ok(Err(NetError::Refused(error))) => not_from_here(&name, &url, &error),
        Ok(Err(error)) => DoctorCheck::fail(&name, format!("cannot reach {url}: {error}"), start),
        Err(_) => DoctorCheck::fail(&name, format!("{url} did not respond within {WAIT:?}"), start),
    }
}

/// The server may be able to reach a URL that is not allowed from here.
fn not_from_here(name: &str, url: &str, error: &UrlRefused) -> DoctorCheck {
    DoctorCheck::warn(name, format!("not checked: {url}: {error}"), "run doctor on the server's machine")
}

#[cfg(test)]
mod tests {
    use super::{super::CheckStatus, *};

    #[test]
    fn clocks_are_compared_by_the_date_header() {
        let now: Timestamp = "1994-11-06T08:49:40Z".parse().unwrap();
        assert_eq!(check_clock("Sun, 06 Nov 1994 08:49:37 GMT", now).unwrap().status, CheckStatus::Ok);
        assert_eq!(check_clock("Sun, 06 Nov 1994 08:40:00 GMT", now).unwrap().status, CheckStatus::Fail);
        assert_eq!(check_clock("Sun, 06 Nov 1994 08:59:00 GMT", now).unwrap().status, CheckStatus::Fail);
        assert!(check_clock("yesterday", now).is_none());
    }
}
