//! The requests of a login: one for a code, then one every few seconds until the person has answered in the browser.

use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;
use toolyard_protocol::accounts::{
    DeviceLoginPending, DeviceLoginRequest, DeviceLoginStarted, DeviceToken, DeviceTokenRequest,
};

use crate::{client::ApiClient, error::CliError};

/// Bounds of the interval, in seconds, whatever the server says.
const INTERVALS_S: std::ops::RangeInclusive<u32> = 1..=60;
/// How much longer the interval gets if the server says that it is too short.
const SLOW_DOWN: Duration = Duration::from_secs(5);
/// After this many failed requests in a row the server counts as lost.
const MAX_FAILURES: u32 = 20;
/// No code is valid for longer.
const MAX_WAIT: Duration = Duration::from_secs(60 * 60);

/// Response to a request for the token.
#[derive(Deserialize)]
#[serde(untagged)]
enum TokenResponse {
    Token(DeviceToken),
    Pending(DeviceLoginPending),
}

/// What to do after a failed request for the token.
#[derive(Debug, PartialEq, Eq)]
enum AfterFailure {
    /// The server may be back for the next request.
    Retry,
    SlowDown,
    /// Refused, expired or used.
    Refused,
    Fail,
}

/// Asks for a code.
pub(super) async fn start_login(client: &ApiClient, name: &str) -> Result<DeviceLoginStarted, CliError> {
    let request = DeviceLoginRequest { name: name.to_owned() };
    client.post("api/sign-in/device", &request).await.map_err(|error| match error {
        CliError::Refused(refused) => refused
            .with_not_found_hint(
                "this server has no `toolyard login`; use a token: `toolyard token user NAME`",
            )
            .into(),
        other => other,
    })
}

/// Waits until the person has answered.
pub(super) async fn wait_for_token(
    client: &ApiClient,
    login: &DeviceLoginStarted,
) -> Result<DeviceToken, CliError> {
    let request = DeviceTokenRequest { device_code: login.device_code.clone() };
    let seconds = login.interval_s.clamp(*INTERVALS_S.start(), *INTERVALS_S.end());
    let mut interval = Duration::from_secs(seconds.into());
    let mut failures = 0;
    let polling = async {
        loop {
            tokio::time::sleep(interval).await;
            match client.post("api/sign-in/device/token", &request).await {
                Ok(TokenResponse::Token(token)) => return Ok(token),
                Ok(TokenResponse::Pending(DeviceLoginPending { pending: true })) => failures = 0,
                Ok(TokenResponse::Pending(_)) => {
                    return Err(client.invalid_response("neither a token nor pending"));
                }
                Err(error) => match after_failure(&error) {
                    AfterFailure::Retry if failures < MAX_FAILURES => failures += 1,
                    AfterFailure::SlowDown => interval += SLOW_DOWN,
                    AfterFailure::Refused => return Err(CliError::LoginRefused),
                    AfterFailure::Retry | AfterFailure::Fail => return Err(error),
                },
            }
        }
    };
    // The server ends a login that expired; this is for one that does not.
    tokio::time::timeout(MAX_WAIT, polling).await.unwrap_or(Err(CliError::LoginRefused))
}

fn after_failure(error: &CliError) -> AfterFailure {
    match error {
        CliError::Unreachable { .. } | CliError::NoResponse { .. } | CliError::TimedOut { .. } => {
            AfterFailure::Retry
        }
        CliError::Refused(refused) => match StatusCode::from_u16(refused.status) {
            Ok(StatusCode::UNAUTHORIZED) => AfterFailure::Refused,
            Ok(StatusCode::TOO_MANY_REQUESTS) => AfterFailure::SlowDown,
            Ok(status) if status.is_server_error() => AfterFailure::Retry,
            _ => AfterFailure::Fail,
        },
        _ => AfterFailure::Fail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ServerRefusal;

    #[test]
    fn responses_are_a_token_or_pending() {
        let read = |text: &str| serde_json::from_str::<TokenResponse>(text);
        assert!(matches!(read(r#"{"pending":true}"#), Ok(TokenResponse::Pending(_))));
        let token = r#"{"token":"t","expiresAt":"2030-01-01T00:00:00.000Z","userId":"ada","role":"user"}"#;
        assert!(matches!(read(token), Ok(TokenResponse::Token(token)) if token.token.expose() == "t"));
        assert!(read("{}").is_err());
    }

    #[test]
    fn a_login_survives_a_restart_of_the_server() {
        let refused = |status: u16| {
            let body = br#"{"error":{"code":"X","message":"no"}}"#;
            ServerRefusal::from_response(StatusCode::from_u16(status).unwrap(), body).into()
        };
        for (status, expected) in [
            (401, AfterFailure::Refused),
            (429, AfterFailure::SlowDown),
            (503, AfterFailure::Retry),
            (502, AfterFailure::Retry),
            (404, AfterFailure::Fail),
            (400, AfterFailure::Fail),
        ] {
            assert_eq!(after_failure(&refused(status)), expected, "{status}");
        }
        let late = CliError::TimedOut { server: String::new(), wait: MAX_WAIT };
        assert_eq!(after_failure(&late), AfterFailure::Retry);
    }
}
