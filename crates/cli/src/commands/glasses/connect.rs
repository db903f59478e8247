//! Connects as a device.

use http::StatusCode;
use toolyard_protocol::session::ToDevice;

use crate::{
    cli::CommandContext,
    error::CliError,
    socket::{DialError, ServerDialer, SocketEndpoint},
};

/// The WebSocket of devices.
const DOOR: SocketEndpoint =
    SocketEndpoint { path: "glasses-ws", protocol: None, max_message: 4 * 1024 * 1024 };

pub(super) fn device_dialer(cx: &CommandContext) -> Result<ServerDialer, CliError> {
    ServerDialer::new(cx, &DOOR)
}

/// Converts the error of a failed connection.
pub(super) fn connect_error(dialer: &ServerDialer, error: DialError) -> CliError {
    match error {
        DialError::Refused { status, body } => CliError::DeviceRefused(refusal_reason(status, &body)),
        DialError::NotReached(error) => dialer.connection_error(error),
    }
}

/// The reason, which the server sends as a device message.
fn refusal_reason(status: StatusCode, body: &[u8]) -> String {
    let message = std::str::from_utf8(body).ok().and_then(|body| ToDevice::parse(body).ok());
    match message {
        Some(ToDevice::ConnectionError(refusal) | ToDevice::AuthError(refusal)) => refusal.message,
        _ => format!("status {status}"),
    }
}
