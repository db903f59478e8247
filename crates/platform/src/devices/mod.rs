//! Devices of users.

mod connect;

pub use self::connect::connect;
