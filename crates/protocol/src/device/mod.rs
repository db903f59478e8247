//! Glasses and what they can do.
//!
//! A device says its model; what that model can do stands in [`all_profiles()`], or comes from the device itself. What an app
//! needs is checked against it in [`hardware`]. Which apps run where is not decided here.

pub mod capabilities;
pub mod hardware;
pub mod profiles;

pub use capabilities::Capabilities;
pub use hardware::{DeviceCompatibility, HardwareLevel, HardwareRequirement, HardwareType, check_hardware};
pub use profiles::{all_profiles, find_profile, profile_names};
