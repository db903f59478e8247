//! Opens the socket of a device.

use http::StatusCode;
use toolyard_protocol::session::ToDevice;

use crate::{
    cli::Context,
    error::CliError,
    socket::{DialError, Dialer, Door},
};

/// The socket of devices.
const DOOR: Door = Door { path: "glasses-ws", protocol: None, max_message: 4 * 1024 * 1024 };

pub(super) fn dialer(cx: &Context) -> Result<Dialer, CliError> {
    Dialer::new(cx, &DOOR)
}

/// The error as everybody tells it.
pub(super) fn told(dialer: &Dialer, error: DialError) -> CliError {
    match error {
        DialError::Refused { status, body } => CliError::DeviceRefused(why(status, &body)),
        DialError::NotReached(error) => dialer.unreached(error),
    }
}

/// The server says why in the words of the socket.
fn why(status: StatusCode, body: &[u8]) -> String {
    let said = std::str::from_utf8(body).ok().and_then(|body| ToDevice::read(body).ok());
    match said {
        Some(ToDevice::ConnectionError(refusal) | ToDevice::AuthError(refusal)) => refusal.message,
        _ => format!("it answered {status}"),
    }
}
