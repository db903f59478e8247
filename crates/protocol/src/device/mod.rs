//! Glasses and what they can do.
//!
//! A device reports its model. The capabilities of that model are in [`all_profiles()`], or the device sends them itself. What
//! an app requires is checked against them in [`hardware`]. Which apps run where is decided elsewhere.

pub mod capabilities;
pub mod hardware;
pub mod profiles;

pub use capabilities::Capabilities;
pub use hardware::{DeviceCompatibility, HardwareLevel, HardwareRequirement, HardwareType, check_hardware};
pub use profiles::{all_profiles, find_profile, profile_names};
