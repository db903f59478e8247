//! A call that waits until the user has signed in at the server behind its tool.

use std::{
    io::{IsTerminal as _, stdin},
    time::Duration,
};

use serde::Deserialize;
use toolyard_protocol::approval::PendingSignIn;

use crate::{
    cli::CommandContext,
    client::{ApiClient, path_segment},
    error::CliError,
    text,
};

/// How long the server holds one request, in seconds.
const POLL_S: u64 = 50;
/// Timeout of such a request.
const POLL_TIMEOUT: Duration = Duration::from_secs(POLL_S + 30);

/// The part of a response that says whether the user has signed in.
#[derive(Deserialize)]
struct AuthorizationFields {
    authorized: bool,
}

/// Shows where to sign in. In a terminal, or if `wait` is set, waits until the user has signed in, and returns true.
pub(super) async fn follow_sign_in(
    cx: &CommandContext,
    client: &ApiClient,
    pending: &PendingSignIn,
    wait: bool,
) -> Result<bool, CliError> {
    let name = text::sanitize_line(&pending.name);
    cx.output.print_note(&format!("{name} needs you to sign in: {}", text::sanitize_line(&pending.url)));
    if !wait && (cx.output.is_json() || !stdin().is_terminal()) {
        return Ok(false);
    }
    cx.output.print_note("waiting for the sign-in; press Ctrl-C to stop");
    let path = format!("api/upstreams/{}/authorize?wait={POLL_S}", path_segment(&pending.id));
    loop {
        let state: AuthorizationFields = client.get_within(&path, POLL_TIMEOUT).await?;
        if state.authorized {
            return Ok(true);
        }
    }
}
