//! Device authorization (RFC 8628): a person allows a program on a device without a browser.

mod polling;
mod request;
mod user_code;

pub use polling::{
    DeviceState, DeviceStatus, INTERVAL_STEP_S, MAX_INTERVAL_S, MIN_INTERVAL_S, PollDecision, decide_poll,
};
pub use request::{
    DEVICE_CODE_LIFETIME_S, DeviceRequest, DeviceResponse, MAX_DEVICE_CODE_BYTES, device_code_from_bytes,
};
pub use user_code::{InvalidUserCode, MAX_TYPED_CHARS, USER_CODE_ALPHABET, USER_CODE_CHARS, UserCode};
